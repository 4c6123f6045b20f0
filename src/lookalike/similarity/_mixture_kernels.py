"""Divergences and kernels of Gaussian mixtures, as Gram matrices of two collections."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lookalike.arrays import row_blocks
from lookalike.bags import Mixture, Mixtures, sample_mixture
from lookalike.bags._em import Encoder
from lookalike.bags._gaussians import (
    MatchedKL,
    Moments,
    Naturals,
    Overlaps,
    crossed_cross_entropies,
    frame_of,
    log_sum_exp,
    logarithm,
    moments,
    naturals,
    one_to_one_kl,
    part_of,
)
from lookalike.bags._mixtures import check_mixtures

KL_METHODS = ("one-to-one", "matching", "variational", "unscented", "monte-carlo")


def mixture_kl(
    X: Any,
    Y: Any = None,
    *,
    method: str = "one-to-one",
    n_samples: int = 1000,
    random_state: Any = None,
) -> NDArray[np.float64]:
    """KL(x || y) between all mixtures of two collections.

    Parameters
    ----------
    X : Mixtures
    Y : Mixtures or None
        None compares X with itself.
    method : {"one-to-one", "matching", "variational", "unscented", "monte-carlo"}
        "one-to-one" (equation 4.24 of [1]_) compares matched components and is an upper bound; it is one
        matrix product for the whole collection. "matching" (4.20, 4.21) takes for each component the
        nearest of the other mixture, "variational" (4.22, 4.23) the difference of two bounds; both may be
        negative. "unscented" (4.17 to 4.19) and "monte-carlo" (4.16) average the log-ratio over points.
    n_samples : int, default=1000
        Points drawn from each mixture of X by "monte-carlo".
    random_state : int, RandomState or None

    Returns
    -------
    array of shape (len(X), len(Y)), float64

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Mixtures
    >>> m = Mixtures(np.ones((2, 1)), [[[0.0]], [[1.0]]], [[[1.0]], [[4.0]]])
    >>> mixture_kl(m).round(4)
    array([[0.    , 0.4431],
           [1.3069, 0.    ]])
    """
    if method not in KL_METHODS:
        raise ValueError(f"method must be one of {', '.join(KL_METHODS)}, but is {method!r}.")
    X = check_mixtures(X)
    Y = X if Y is None else check_mixtures(Y, like=X, matched=method == "one-to-one")
    if method == "one-to-one":
        return one_to_one_kl(X, Y)
    if method in ("matching", "variational"):
        return _crossed_kl(X, Y, method)
    return _pointwise_kl(X, Y, method, n_samples, check_random_state(random_state))


def symmetric_kl(
    X: Any, Y: Any = None, *, method: str = "one-to-one", **settings: Any
) -> NDArray[np.float64]:
    """KL(x || y) + KL(y || x) (equation 2.20 of [1]_); estimates below 0 become 0.

    Parameters are those of `mixture_kl`.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Mixtures
    >>> m = Mixtures(np.ones((2, 1)), [[[0.0]], [[1.0]]], [[[1.0]], [[4.0]]])
    >>> symmetric_kl(m).round(2)
    array([[0.  , 1.75],
           [1.75, 0.  ]])
    """
    if method == "one-to-one":
        X = check_mixtures(X)
        Y = X if Y is None else check_mixtures(Y, like=X, matched=True)
        return MatchedKL(Y).symmetric(X) if len(Y) else np.zeros((len(X), 0))
    out = mixture_kl(X, Y, method=method, **settings)
    out = out + (out.T if Y is None else mixture_kl(Y, X, method=method, **settings).T)
    return np.maximum(out, 0, out=out)


def mean_bandwidth(divergences: Any) -> float:
    """gamma = 1 / mean divergence over the pairs of different images (rule of [1]_, section 4.2.4).

    Parameters
    ----------
    divergences : array of shape (n, m)
        A square matrix is taken as one of a collection with itself: its diagonal is left out.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> mean_bandwidth([[0.0, 4.0], [4.0, 0.0]])
    0.25
    """
    D = np.asarray(divergences, dtype=np.float64)
    total, count = D.sum(), D.size
    if D.ndim == 2 and D.shape[0] == D.shape[1]:
        total, count = total - np.trace(D), count - len(D)
    if count == 0 or not total > 0:
        raise ValueError("all divergences are 0 (or there are none): a bandwidth needs different images.")
    return float(count / total)


def kl_kernel(
    X: Any, Y: Any = None, *, gamma: float | None = None, method: str = "one-to-one", **settings: Any
) -> NDArray[np.float64]:
    """The Kullback-Leibler kernel exp(-gamma SKL) (equation 2.21 of [1]_).

    It is not positive definite in general. ``gamma`` None follows `mean_bandwidth` on this very matrix: fix
    it on training images where two matrices are to be comparable. Other parameters: see `mixture_kl`.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Mixtures
    >>> m = Mixtures(np.ones((2, 1)), [[[0.0]], [[1.0]]], [[[1.0]], [[4.0]]])
    >>> kl_kernel(m, gamma=1.0).round(4)
    array([[1.    , 0.1738],
           [0.1738, 1.    ]])
    """
    D = symmetric_kl(X, Y, method=method, **settings)
    D *= -(mean_bandwidth(D) if gamma is None else gamma)
    return np.exp(D, out=D)


def probability_product(
    X: Any,
    Y: Any = None,
    *,
    rho: float = 0.5,
    method: str = "one-to-one",
    weight_exponent: float | str = "rho",
    normalise: bool = False,
) -> NDArray[np.float64]:
    """Probability product kernel of mixtures; rho = 1/2 is the Bhattacharyya overlap.

    Parameters
    ----------
    X : Mixtures
    Y : Mixtures or None
    rho : float, default=0.5
    method : {"one-to-one", "one-to-many", "variational"}
        "one-to-one" (equation 4.13 of [1]_) sums over matched components, "one-to-many" (4.11) over all
        pairs; it is exact for rho = 1. "variational" (4.12, rho = 1/2 only) is the lower bound of Hershey and
        Olsen.
    weight_exponent : "rho" or float, default="rho"
        Exponent of the products of weights. 1 is how the equations are printed; "rho" makes the one-to-one
        kernel of a mixture with itself 1 at rho = 1/2, and a lower bound of the true kernel there.
    normalise : bool, default=False
        Divide by the square roots of the self-similarities.

    Returns
    -------
    array of shape (len(X), len(Y)), float64

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Mixtures
    >>> m = Mixtures(np.ones((2, 1)), [[[0.0]], [[1.0]]], [[[1.0]], [[4.0]]])
    >>> probability_product(m).round(4)
    array([[1.    , 0.8508],
           [0.8508, 1.    ]])
    """
    if method not in ("one-to-one", "one-to-many", "variational"):
        raise ValueError(f"method must be one-to-one, one-to-many or variational, but is {method!r}.")
    if not rho > 0 or (method == "variational" and rho != 0.5):
        raise ValueError(f"rho must be positive, and 0.5 for 'variational', but is {rho!r}.")
    X = check_mixtures(X)
    Y = X if Y is None else check_mixtures(Y, like=X, matched=method == "one-to-one")
    exponent = rho if weight_exponent == "rho" else float(weight_exponent)
    out = products(X, Overlaps(Y, rho, matched=method == "one-to-one"), Y, method, exponent)
    if normalise:
        own = [np.sqrt(_self_products(m, rho, method, exponent)) for m in (X, Y)]
        out /= np.maximum(own[0][:, None] * own[1], 1e-300)
    return out


def products(
    X: Mixtures, overlaps: Overlaps, Y: Mixtures, method: str, exponent: float
) -> NDArray[np.float64]:
    """The sums of `probability_product`, with the prepared side of Y."""
    out = np.empty((len(X), len(Y)))
    logs_y = logarithm(Y.weights)
    if method == "one-to-one":
        logs_x = exponent * logarithm(X.weights)
        per_query = 3 * Y.dtype.itemsize * max(1, len(Y)) * Y.n_components
        for block in row_blocks(len(X), per_query):
            logs = overlaps.matched_logs(X[block])
            logs += logs_x[block].T[:, :, None].astype(logs.dtype)
            logs += (exponent * logs_y.T)[:, None, :].astype(logs.dtype)
            out[block] = np.exp(logs, out=logs).sum(0, dtype=np.float64)
        return out
    if method == "variational":
        exponent = 1.0
    per_mixture = 4 * Y.dtype.itemsize * X.n_components * Y.n_components
    for a in range(len(X)):
        query = X[a : a + 1]
        logs_x = exponent * logarithm(query.weights)[0]
        for block in row_blocks(len(Y), per_mixture):
            logs = overlaps.crossed_logs(query, block).astype(np.float64)
            if method == "variational":
                logs *= 2
            logs += logs_x[:, None, None] + exponent * logs_y[block]
            out[a, block] = np.exp(logs).sum((0, 2))
    return np.sqrt(out) if method == "variational" else out


def _self_products(X: Mixtures, rho: float, method: str, exponent: float) -> NDArray[np.float64]:
    matched = method == "one-to-one"
    alone = (X[a : a + 1] for a in range(len(X)))
    return np.array(
        [products(x, Overlaps(x, rho, matched=matched), x, method, exponent)[0, 0] for x in alone]
    )


def _crossed_kl(X: Mixtures, Y: Mixtures, method: str) -> NDArray[np.float64]:
    """Estimates that need the cross-entropies of all pairs of components: one product for each row."""
    frame = frame_of(Y if len(Y) else X, shared=True)
    side, inside = moments(X, frame), naturals(Y, frame)
    logs_x, logs_y = logarithm(X.weights), logarithm(Y.weights)
    alone = _self_terms(X, side, logs_x, method)
    out = np.empty((len(X), len(Y)))
    per_mixture = 3 * Y.dtype.itemsize * X.n_components * Y.n_components
    for a in range(len(X)):
        for block in row_blocks(len(Y), per_mixture):
            nearness = _nearness(
                part_of(side, slice(a, a + 1)), part_of(inside, block), logs_y[block], method
            )
            out[a, block] = X.weights[a].astype(np.float64) @ (alone[a][:, None] - nearness)
    return out


def _nearness(side: Moments, inside: Naturals, log_weights: NDArray[Any], method: str) -> NDArray[np.float64]:
    """log of the best, or of the sum, of w_j e^(-H(p_i, q_j)) over j: (N, m)."""
    logs = log_weights.astype(side.rows.dtype) - crossed_cross_entropies(side, inside)
    reduced = logs.max(2) if method == "matching" else log_sum_exp(logs)
    return reduced.astype(np.float64)


def _self_terms(X: Mixtures, side: Moments, logs: NDArray[Any], method: str) -> NDArray[np.float64]:
    """What the mixture of the left-hand side brings: its own logarithm of density, by the same estimate."""
    if method == "matching":
        return np.asarray(logs - side.entropy)
    inside = naturals(X, frame_of(X, shared=True))
    own_side = moments(X, frame_of(X, shared=True))
    rows = [
        _nearness(
            part_of(own_side, slice(a, a + 1)), part_of(inside, slice(a, a + 1)), logs[a : a + 1], method
        )
        for a in range(len(X))
    ]
    return np.concatenate(rows, axis=1).T if rows else np.zeros((0, X.n_components))


def _pointwise_kl(X: Mixtures, Y: Mixtures, method: str, n_samples: int, rng: Any) -> NDArray[np.float64]:
    """Means of log p / q over points of p, drawn or placed."""
    densities = [Encoder(y, np.float64) for y in Y]
    out = np.empty((len(X), len(Y)))
    for a, x in enumerate(X):
        if method == "monte-carlo":
            points, weights = sample_mixture(x, n_samples, rng), np.full(n_samples, 1 / n_samples)
        else:
            points, weights = _sigma_points(x)
        own = weights @ Encoder(x, np.float64).log_density(points)
        out[a] = [own - weights @ density.log_density(points) for density in densities]
    return out


def _sigma_points(mixture: Mixture) -> tuple[NDArray[Any], NDArray[Any]]:
    """2 d points of each Gaussian, sqrt(d) deviations along each axis (equations 4.18 and 4.19)."""
    weights, means, variances = (np.asarray(a, dtype=np.float64) for a in mixture)
    d = means.shape[1]
    steps = np.sqrt(d * variances)[:, :, None] * np.eye(d)
    points = np.concatenate([means[:, None] + steps, means[:, None] - steps], axis=1)
    return points.reshape(-1, d), np.repeat(weights / (2 * d), 2 * d)
