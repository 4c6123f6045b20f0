"""Entropy, cross-entropy and Kullback-Leibler divergence of samples, from distances to neighbours alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln
from sklearn.utils import check_array, check_random_state

from lookalike.errors import LookalikeWarning
from lookalike.similarity import _knn_kernels as kernels

Rows = NDArray[Any]
CHUNK = 9  # coordinates that the compiled loop takes at once


def padded(points: Rows) -> Rows:
    """The same points with coordinates of zero up to what the compiled loop takes."""
    n, d = points.shape
    out = np.zeros((n, -(-max(d, 1) // CHUNK) * CHUNK), points.dtype)
    out[:, :d] = points
    return out


def main_axis(points: Rows) -> NDArray[np.float64]:
    """The direction in which points spread most: where their shadows tell them apart best."""
    sample = points[:: max(1, len(points) // 20_000)].astype(np.float64)
    moments = np.cov(sample.T).reshape(points.shape[1], -1) if len(sample) > 1 else np.eye(points.shape[1])
    return np.ascontiguousarray(np.linalg.eigh(moments)[1][:, -1])


def in_order(points: Rows, axis: NDArray[np.float64]) -> Rows:
    """The same points in the order of their shadows on the axis."""
    return np.ascontiguousarray(points[np.argsort(points.astype(np.float64) @ axis, kind="stable")])


def kth_distances(P: Rows, Q: Rows, k: int, axis: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The distance of each point of P to its k-th nearest in Q, all of which count.

    With an axis, Q is in the order of its shadows on it already.
    """
    if axis is None:
        axis = main_axis(Q)
        Q = in_order(Q, axis)
    points = padded(P)
    columns = np.zeros((points.shape[1], -(-len(Q) // 64) * 64), P.dtype)
    kernels.fill_columns(Q, columns)
    places, shade = np.empty(len(P)), np.empty(len(Q))
    kernels.shadows(P, axis, places)
    kernels.shadows(Q, axis, shade)
    found = np.empty(len(P), P.dtype)
    kernels.kth_squared(points, places, columns, shade, k, found)
    return np.sqrt(found.astype(np.float64))


def knn_entropy(P: ArrayLike, k: int = 10, *, corrected: bool = True, floor: float | str = "auto") -> float:
    r"""The differential entropy of a sample, in nats.

    With ``corrected`` equation (2.11) of [1]_,
    :math:`\log((N-1)v_d)-\psi(k)+\frac dN\sum_n\log\rho_k(w_n)`, where :math:`\rho_k` is the distance to the
    k-th neighbour, the point itself excluded, and :math:`v_d` the volume of the unit ball: consistent, and
    nearly unbiased where the density is nearly constant within :math:`\rho_k`. Without, the plug-in (2.9)
    with :math:`\log N-\log k`, which is too high by :math:`\log k-\psi(k)\approx\frac1{2k}` and a little
    more.

    Parameters
    ----------
    P : array of shape (n, d)
        At least two points.
    k : int, default=10
        Reduced, with a warning, where there are too few points.
    corrected : bool, default=True
    floor : float or "auto", default="auto"
        Smaller distances count as this one; see :func:`knn_kl`.

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.random.default_rng(0).uniform(0, 4, (4000, 1))
    >>> round(knn_entropy(P), 1)  # the logarithm of 4
    1.4
    """
    p, _ = _checked(P, P)
    k = _possible(k, len(p) - 1)
    mean = float(np.mean(_logs(floor, kth_distances(p, p, k + 1))[0]))
    size = np.log(len(p) - 1) - digamma(k) if corrected else np.log(len(p)) - np.log(k)
    return float(size + _log_volume(p.shape[1]) + p.shape[1] * mean)


def knn_cross_entropy(
    P: ArrayLike, Q: ArrayLike, k: int = 10, *, corrected: bool = True, floor: float | str = "auto"
) -> float:
    r"""The cross-entropy :math:`-\int p\log q` of two samples, in nats.

    With ``corrected`` equation (2.12) of [1]_, without the plug-in (2.10): see :func:`knn_entropy`. Where q
    is much narrower than p the estimate is far too low for any sample one can have.

    Parameters
    ----------
    P, Q : arrays of shape (n, d) and (m, d)
    k, corrected, floor : see :func:`knn_entropy`.

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> P, Q = rng.uniform(0, 2, (4000, 1)), rng.uniform(0, 4, (4000, 1))
    >>> round(knn_cross_entropy(P, Q), 1)  # the logarithm of 4
    1.4
    """
    p, q = _checked(P, Q)
    k = _possible(k, len(q))
    mean = float(np.mean(_logs(floor, kth_distances(p, q, k))[0]))
    size = np.log(len(q)) - (digamma(k) if corrected else np.log(k))
    return float(size + _log_volume(p.shape[1]) + p.shape[1] * mean)


def knn_kl(P: ArrayLike, Q: ArrayLike, k: int = 10, *, floor: float | str = "auto") -> float:
    r"""The Kullback-Leibler divergence of the density behind P from that behind Q, in nats.

    Equation (2.13) of [1]_, cross-entropy less entropy, in which all constants cancel:

    .. math:: \log\frac{N_Q}{N_P-1}+\frac d{N_P}\sum_n\log\frac{\rho_{k,Q}(w_n)}{\rho_{k,P}(w_n)}

    It is unchanged by a common rotation, shift or scaling of both sets. It is made for ranking: for distant
    densities in many dimensions it is far too low, it may be negative, and for a set against itself it is not
    0 but about :math:`-1/(k-1)`, because each point finds itself.

    Parameters
    ----------
    P, Q : arrays of shape (n, d) and (m, d)
        Two samples; at least two points in P and one in Q.
    k : int, default=10
        Reduced, with a warning, to what the sets allow.
    floor : float or "auto", default="auto"
        Smaller distances count as this one, since copies of a point have a distance of zero and its logarithm
        has no value. ``auto`` is half of the smallest distance that is not zero; for quantised data give the
        quantisation's own, as half a grey level for patches.

    Returns
    -------
    float

    Notes
    -----
    Coordinates that are constant in both sets together (as the colours of two grey images) say nothing and do
    not count in d.

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, section 2.3.
    .. [2] O. Boltz, E. Debreuve, M. Barlaud, "High-dimensional statistical measure for region-of-interest
       tracking", IEEE Transactions on Image Processing, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> P, Q = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) + [1, 0]
    >>> round(knn_kl(P, Q, k=10), 1)  # the true value is 0.5
    0.5
    """
    p, q = _checked(P, Q)
    k = _possible(k, min(len(q), len(p) - 1))
    to_q, to_p = _logs(floor, kth_distances(p, q, k), kth_distances(p, p, k + 1))
    return float(np.log(len(q) / (len(p) - 1)) + _varying(p, q) * (np.mean(to_q) - np.mean(to_p)))


def knn_jensen_shannon(
    P: ArrayLike, Q: ArrayLike, k: int = 10, *, floor: float | str = "auto", random_state: Any = 0
) -> float:
    r"""The Jensen-Shannon divergence of two samples, in nats: symmetric, and at most log 2 but for its error.

    :math:`\frac12D(p\|m)+\frac12D(q\|m)` with (2.13) of [1]_, where the mixture m is sampled by the union
    of both sets, cut at random to equal sizes. A point does not count as its own neighbour in the mixture
    either.

    Parameters
    ----------
    P, Q, k, floor : see :func:`knn_kl`.
    random_state : int, RandomState or None, default=0
        For cutting the larger set.

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> P, Q = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)) + [50, 0]
    >>> round(knn_jensen_shannon(P, Q), 2)  # the logarithm of 2
    0.69
    """
    p, q = _checked(P, Q)
    n = min(len(p), len(q))
    k = _possible(k, n - 1)
    random = check_random_state(random_state)
    p, q = (x if len(x) == n else x[random.choice(len(x), n, replace=False)] for x in (p, q))
    return jensen_shannon(p, q, k, floor, main_axis(np.concatenate([p, q])))


def jensen_shannon(
    p: Rows, q: Rows, k: int, floor: float | str, axis: NDArray[np.float64], stride: int = 1
) -> float:
    """The same of two sets of one size, by every ``stride``-th point of each in the order of the axis."""
    n = len(p)
    p, q = in_order(p, axis), in_order(q, axis)
    mixture = in_order(np.concatenate([p, q]), axis)
    thin = [np.ascontiguousarray(x[::stride]) for x in (p, q)]
    far = [kth_distances(x, mixture, k + 1, axis) for x in thin]
    near = [kth_distances(x, whole, k + 1, axis) for x, whole in zip(thin, (p, q))]
    logs = _logs(floor, *far, *near)
    gap = 0.5 * sum(float(np.mean(a) - np.mean(b)) for a, b in zip(logs[:2], logs[2:]))
    return float(np.log((2 * n - 1) / (n - 1)) + _varying(p, q) * gap)


def _checked(P: ArrayLike, Q: ArrayLike) -> tuple[Rows, Rows]:
    p: Any = check_array(P, dtype=[np.float64, np.float32], ensure_min_samples=2, input_name="P")
    q: Any = check_array(Q, dtype=p.dtype, input_name="Q")
    if p.shape[1] != q.shape[1]:
        raise ValueError(f"P has {p.shape[1]} coordinates, but Q has {q.shape[1]}.")
    return p, q


def _possible(k: int, most: int) -> int:
    if k < 1:
        raise ValueError(f"k must be at least 1, but is {k}.")
    if k > most:
        warnings.warn(f"k={k} neighbours are reduced to {most}: a set is too small.", LookalikeWarning, 3)
    return min(k, most)


def _logs(floor: float | str, *distances: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Logarithms of distances, none of which is below the floor."""
    if floor == "auto":
        positive = [d[d > 0].min() for d in distances if (d > 0).any()]
        floor = 0.5 * min(positive) if positive and any((d == 0).any() for d in distances) else 0.0
        if not positive:
            return [np.zeros_like(d) for d in distances]  # one point, many times, on both sides
    return [np.log(np.maximum(d, floor)) for d in distances]


def _varying(P: Rows, Q: Rows) -> int:
    low, high = np.minimum(P.min(axis=0), Q.min(axis=0)), np.maximum(P.max(axis=0), Q.max(axis=0))
    return int(np.count_nonzero(low < high))


def _log_volume(d: int) -> float:
    return float(0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1))
