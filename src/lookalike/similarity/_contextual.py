"""Similarity in a context: how much of q is p, and how much is what everything looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from lookalike.arrays import row_blocks
from lookalike.bags import Mixtures
from lookalike.bags._gaussians import References, moments
from lookalike.bags._mixtures import check_mixtures
from lookalike.similarity._histogram_kernels import check_histograms


def contextual_similarity(
    X: Any,
    Y: Any = None,
    context: Any = None,
    *,
    kind: str = "kl",
    symmetric: bool = True,
    match: str = "one-to-one",
    n_iter: int = 5,
    sharpness: float = 1.0,
) -> NDArray[Any]:
    """Mixing weight w for which w p + (1 - w) u comes nearest to q, for all pairs of mixtures.

    q is a mixture of X, p one of Y, and u the context: the universal mixture. 1 means that the context
    explains nothing that p does not; p = u gives 1/2. There is no parameter to tune; EM starts at 1/2 and
    stops early, for the reason given with `MixtureOfReferences`.

    Parameters
    ----------
    X, Y : Mixtures
        None for Y compares X with itself.
    context : UniversalGMM, (weights, means, variances) or None
        None is what the mixtures of X were adapted from.
    kind : {"kl", "bhattacharyya"}
        "kl" is CTXT KL (equations 6.13 to 6.17 of [1]_, 6.16 with its missing sum); "bhattacharyya" the
        same idea for the overlap, which the thesis names but does not work out.
    symmetric : bool, default=True
        Add the objectives of both directions (equation 6.5).
    match : {"one-to-one", "one-to-many"}
    n_iter : int, default=5
    sharpness : float, default=1
        Exponent of the likeness of two components; below 1 it tempers, as in `MixtureOfReferences`.

    Returns
    -------
    array of shape (len(X), len(Y)), values from 0 to 1

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Mixtures
    >>> m = Mixtures(np.ones((2, 1)), [[[0.0]], [[3.0]]], [[[1.0]], [[1.0]]])
    >>> contextual_similarity(m, None, (np.ones(1), np.zeros((1, 1)), np.full((1, 1), 9.0))).round(2)
    array([[0.96, 0.  ],
           [0.  , 1.  ]])
    """
    if kind not in ("kl", "bhattacharyya") or match not in ("one-to-one", "one-to-many"):
        raise ValueError(
            "kind must be 'kl' or 'bhattacharyya' and match 'one-to-one' or 'one-to-many', "
            f"but are {kind!r} and {match!r}."
        )
    if n_iter < 1 or not sharpness > 0:
        raise ValueError(
            f"n_iter must be at least 1 and sharpness positive, but are {n_iter!r} and {sharpness!r}."
        )
    matched = match == "one-to-one"
    X = check_mixtures(X)
    Y = X if Y is None else check_mixtures(Y, like=X, matched=matched)
    if context is None and X.universal is None:
        raise ValueError("these mixtures know no universal one: give it as context.")
    universal = _as_mixtures(X.universal if context is None else context, X.dtype)
    check_mixtures(universal, like=X, matched=matched)
    power = 2 if kind == "bhattacharyya" else 0
    sides = _Sides(X, Y, universal, power, matched)
    out = np.empty((len(X), len(Y)), X.dtype)
    for block in row_blocks(len(X), 2 * sides.bytes_per_query):
        forward, base_q = sides.forward(X[block])
        backward, base_p = sides.backward(X[block]) if symmetric else (forward[:, :0], base_q)
        if sharpness != 1:
            forward, backward = sharpness * forward, sharpness * backward
            base_q, base_p = sharpness * base_q, sharpness * base_p
        if kind == "kl":
            out[block] = _em_kl(forward, backward, X.weights[block], Y.weights, n_iter)
        else:
            out[block] = _em_overlap(
                (forward, X.weights[block].T[:, :, None], base_q[:, :, None]),
                (backward, Y.weights.T[:, None, :], base_p[:, None, :]) if symmetric else None,
                n_iter,
            )
    return out


def smoothed_kl(Q: Any, P: Any, background: ArrayLike, *, weight: float = 0.5) -> NDArray[np.float64]:
    """KL(q || w p + (1 - w) u) of histograms: the language model of [1]_, equation 6.1 of [2]_.

    Parameters
    ----------
    Q, P : arrays of shape (n, d), (m, d)
        Histograms that sum to 1.
    background : array of shape (d,)
        The histogram u of everything; positive wherever a q is.
    weight : float, default=0.5
        w, at least 0 and below 1.

    References
    ----------
    .. [1] J. Ponte, W. Croft, "A language modeling approach to information retrieval", SIGIR 1998.
    .. [2] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> smoothed_kl([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]).round(4)
    array([[0.2877, 1.3863]])
    """
    if not 0 <= weight < 1:
        raise ValueError(f"weight must be at least 0 and below 1, but is {weight!r}.")
    Q, P = _wide(Q), _wide(P)
    u = check_histograms([background], like=Q)[0]
    if np.any((Q > 0) & (u == 0)):
        raise ValueError("the background must be positive wherever a histogram is.")
    own = rel_entr(Q, 1.0).sum(1)
    # What q never holds may have no background either: 0 log 0 = 0 keeps it out of the product.
    mixed = np.where(u > 0, weight * P + (1 - weight) * u, 1.0)
    return np.asarray(own[:, None] - Q @ np.log(mixed).T)


def contextual_histograms(
    Q: Any,
    P: Any,
    background: ArrayLike,
    *,
    divergence: str = "kl",
    symmetric: bool = False,
    tol: float = 1e-9,
) -> NDArray[np.float64]:
    """The mixing weight w of w p + (1 - w) u that comes nearest to q, for histograms, solved exactly.

    Equations 6.3 to 6.10 of [1]_. For each of these divergences of q and the mixture the objective is
    convex in w, so its derivative changes sign at most once and halving the interval finds the optimum.

    Parameters
    ----------
    Q, P : arrays of shape (n, d), (m, d)
        Histograms that sum to 1.
    background : array of shape (d,)
    divergence : {"kl", "euclidean", "chi2", "bhattacharyya"}
        KL(q || mixture), squared Euclidean distance (a Bregman divergence), sum (q - x)² / x and
        1 - sum sqrt(q x) (Csiszár divergences).
    symmetric : bool, default=False
        Add the objective with p and q exchanged.
    tol : float, default=1e-9

    Returns
    -------
    array of shape (n, m); 1/2 where p is the background

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, chapter 6.

    Examples
    --------
    >>> u = [0.4, 0.3, 0.3]
    >>> contextual_histograms([[0.5, 0.25, 0.25]], [[0.6, 0.2, 0.2], u], u).round(3)
    array([[0.5, 0.5]])
    """
    if divergence not in _SLOPES:
        raise ValueError(f"divergence must be one of {', '.join(_SLOPES)}, but is {divergence!r}.")
    slope = _SLOPES[divergence]
    Q, P = _wide(Q), _wide(P)
    u = check_histograms([background], like=Q)[0].astype(np.float64)
    out = np.empty((len(Q), len(P)))
    for a, q in enumerate(Q):
        for block in row_blocks(len(P), 64 * P.shape[1]):
            out[a, block] = _bisect(slope, q, P[block], u, symmetric, tol)
    return out


def _wide(X: Any) -> NDArray[np.float64]:
    return check_histograms(X).astype(np.float64, copy=False)


def _ratio(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a / b with 0 / 0 = 0."""
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.where(a == 0, 0.0, np.inf), where=b > 0)


# Derivatives by x of the sum whose minimum is looked for; x is the mixture.
_SLOPES = {
    "kl": lambda q, x: -_ratio(q, x),
    "euclidean": lambda q, x: 2 * (x - q),
    "chi2": lambda q, x: 1 - _ratio(q, x) ** 2,
    "bhattacharyya": lambda q, x: -np.sqrt(_ratio(q, x)),
}


def _bisect(slope: Any, q: Any, P: Any, u: Any, symmetric: bool, tol: float) -> NDArray[np.float64]:
    low, high = np.zeros(len(P)), np.ones(len(P))

    def derivative(w: NDArray[Any]) -> NDArray[Any]:
        w = w[:, None]
        with np.errstate(invalid="ignore"):
            value = _product(slope(q, w * P + (1 - w) * u), P - u)
            if symmetric:
                value = value + _product(slope(P, w * q + (1 - w) * u), np.broadcast_to(q - u, P.shape))
        return value

    rises, falls = derivative(low) >= 0, derivative(high) <= 0
    while (high - low).max(initial=0.0) > tol:
        middle = (low + high) / 2
        up = derivative(middle) > 0
        high, low = np.where(up, middle, high), np.where(up, low, middle)
    out = np.where(rises & ~falls, 0.0, np.where(falls & ~rises, 1.0, (low + high) / 2))
    flat = np.all(np.abs(P - u) <= 1e-15, axis=1) & (not symmetric or np.allclose(q, u, atol=1e-15))
    return np.where(flat, 0.5, np.where(rises & falls, 0.5, out))


def _product(slope: NDArray[Any], direction: NDArray[Any]) -> NDArray[Any]:
    """Sum over words, where a direction of 0 counts for nothing even against an infinite slope."""
    return np.where(direction == 0, 0.0, slope * direction).sum(1)


def _as_mixtures(context: Any, dtype: Any) -> Mixtures:
    triple = getattr(context, "mixture_", context)
    weights, means, variances = (np.asarray(a, dtype=dtype)[None] for a in triple)
    return Mixtures(weights, means, variances)


class _Sides:
    """Logarithms of a / b for both directions, where b is the same number for the context."""

    def __init__(self, X: Mixtures, Y: Mixtures, universal: Mixtures, power: int, matched: bool) -> None:
        self.references = References(Y, overlap=power, matched=matched)
        self.context = References(universal, overlap=power, matched=matched)
        self.Y, self.power, self.matched = Y, power, matched
        self.base_p = self.context.logs(Y)[:, :, 0]
        # All directions share one frame, so that the moments of Y are made once.
        self.frame = None if power else self.references.frame
        self.side = moments(Y, self.frame) if self.frame is not None and matched else None
        self.bytes_per_query = self.references.bytes_per_query

    def forward(self, queries: Mixtures) -> tuple[NDArray[Any], NDArray[Any]]:
        logs, base = self.references.logs(queries), self.context.logs(queries)
        logs -= base
        return logs, base[:, :, 0]

    def backward(self, queries: Mixtures) -> tuple[NDArray[Any], NDArray[Any]]:
        there = References(queries, overlap=self.power, matched=self.matched, frame=self.frame)
        exchanged = there.logs(self.Y, self.side)
        exchanged -= self.base_p[:, :, None]
        return exchanged.transpose(0, 2, 1), self.base_p


def _em_kl(
    forward: NDArray[Any], backward: NDArray[Any], wq: NDArray[Any], wp: NDArray[Any], n_iter: int
) -> NDArray[Any]:
    from lookalike.similarity._contextual_loops import mixing_weights

    dtype = forward.dtype
    limit, least = (50.0, 1e-6) if dtype == np.float32 else (300.0, 1e-12)
    there, back = (np.ascontiguousarray(np.exp(np.clip(side, -limit, limit))) for side in (forward, backward))
    out = np.empty(forward.shape[1:], dtype)
    wq, wp = (np.ascontiguousarray(w.T, dtype=dtype) for w in (wq, wp))
    mixing_weights(there, back, wq, wp, n_iter, dtype.type(least), out)
    return out


def _em_overlap(side: Any, other: Any, n_iter: int) -> NDArray[Any]:
    """The same for sum_i w_i sqrt(omega a_i + (1 - omega) b_i)."""
    parts = []
    for logs, weights, base in (s for s in (side, other) if s is not None):
        parts.append((np.exp(np.clip(logs, -80, 80)), weights * np.exp(0.5 * base)))
    omega = np.full(parts[0][0].shape[1:], 0.5, parts[0][0].dtype)
    for _ in range(n_iter):
        own: Any = 0.0
        context: Any = 0.0
        for ratio, weight in parts:
            share = weight / np.sqrt(np.maximum(omega * ratio + (1 - omega), 1e-30))
            context = context + share.sum(0)
            own = own + (share * ratio).sum(0)
        own, context = omega * own**2, (1 - omega) * context**2
        omega = own / np.maximum(own + context, 1e-30)
    return omega
