"""Bregman divergences: one convex function gives a divergence, its dual, its centres, its symmetric forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import lambertw, log_softmax, logsumexp, softmax

from lookalike.arrays import row_blocks

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class BregmanDivergence:
    r"""The divergence :math:`D_F(p\|q)=F(p)-F(q)-\langle p-q,\nabla F(q)\rangle` of a convex function F.

    Equation (3.3) of [1]_. Give your own function by its value and its gradient and the inverse of that
    gradient; each takes rows and works on the last axis.

    Parameters
    ----------
    name : str
        What messages and files call it.
    generator : callable
        ``F``: rows (..., d) to values (...).
    gradient, inverse_gradient : callable
        The gradient of ``F`` and its inverse: rows to rows.
    direct : callable, optional
        A formula of ``D(p || q)`` without cancellation; the definition is used without it.
    positive : bool, default=False
        Whether every coordinate must be above zero.

    References
    ----------
    .. [1] P. Piro, *Learning prototype-based classification rules in a boosting framework*, PhD thesis,
       Université de Nice - Sophia Antipolis, 2010, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> cosh = BregmanDivergence("cosh", lambda x: np.cosh(x).sum(-1), np.sinh, np.arcsinh)
    >>> float(cosh([1.0, 2.0], [1.0, 2.0]))
    0.0
    >>> dual = cosh.conjugate()
    >>> p, q = np.array([0.3, 1.0]), np.array([0.5, -1.0])
    >>> bool(np.isclose(cosh(p, q), dual(np.sinh(q), np.sinh(p))))
    True
    """

    name: str
    generator: Callable[[Rows], Rows]
    gradient: Callable[[Rows], Rows]
    inverse_gradient: Callable[[Rows], Rows]
    direct: Callable[[Rows, Rows], Rows] | None = None
    positive: bool = False

    def __call__(self, p: ArrayLike, q: ArrayLike) -> Rows:
        """``D(p || q)`` along the last axis; the other axes broadcast. Rounding below zero is cut off."""
        p, q = np.asarray(p, float), np.asarray(q, float)
        if self.direct is not None:
            return np.maximum(self.direct(p, q), 0.0)
        inner = np.sum((p - q) * self.gradient(q), axis=-1)
        return np.maximum(self.generator(p) - self.generator(q) - inner, 0.0)

    def __reduce__(self) -> Any:
        if NAMED.get(self.name) is self:  # comes back as the same object
            return resolve_divergence, (self.name,)
        return super().__reduce__()

    def conjugate(self) -> BregmanDivergence:
        """The divergence of the convex conjugate, equation (3.6): ``D*(grad q || grad p) = D(p || q)``."""

        def dual(y: Rows) -> Rows:
            x = self.inverse_gradient(y)
            return np.sum(x * y, axis=-1) - self.generator(x)

        return BregmanDivergence(f"conjugate of {self.name}", dual, self.inverse_gradient, self.gradient)


def _kl_generator(x: Rows) -> Rows:
    return np.sum(x * np.log(x) - x, axis=-1)


def _kl_direct(p: Rows, q: Rows) -> Rows:
    return np.sum(p * (np.log(p) - np.log(q)) - p + q, axis=-1)


def _itakura_direct(p: Rows, q: Rows) -> Rows:
    return np.sum(p / q - np.log(p) + np.log(q) - 1, axis=-1)


def _exponential_direct(p: Rows, q: Rows) -> Rows:
    return np.sum(np.exp(p) - np.exp(q) * (1 + p - q), axis=-1)


def _with_zero(x: Rows) -> Rows:
    return np.concatenate([x, np.zeros_like(x[..., :1])], axis=-1)


def _multinomial_direct(p: Rows, q: Rows) -> Rows:
    # The arguments swap: between natural parameters the divergence is KL(q || p) of the histograms.
    log_p, log_q = log_softmax(_with_zero(p), axis=-1), log_softmax(_with_zero(q), axis=-1)
    return np.sum(np.exp(log_q) * (log_q - log_p), axis=-1)


def _logit(y: Rows) -> Rows:
    return np.log(y) - np.log1p(-np.sum(y, axis=-1, keepdims=True))


SQUARED_EUCLID = BregmanDivergence(
    "sqeuclidean",
    lambda x: np.sum(x * x, axis=-1),
    lambda x: 2 * x,
    lambda y: y / 2,
    lambda p, q: np.sum((p - q) ** 2, axis=-1),
)
KL = BregmanDivergence("kl", _kl_generator, np.log, np.exp, _kl_direct, positive=True)
ITAKURA_SAITO = BregmanDivergence(
    "itakura_saito",
    lambda x: -np.sum(np.log(x), axis=-1),
    lambda x: -1 / x,
    lambda y: -1 / y,
    _itakura_direct,
    positive=True,
)
EXPONENTIAL = BregmanDivergence(
    "exponential", lambda x: np.sum(np.exp(x), axis=-1), np.exp, np.log, _exponential_direct
)
MULTINOMIAL = BregmanDivergence(
    "multinomial",
    lambda x: logsumexp(_with_zero(x), axis=-1),
    lambda x: softmax(_with_zero(x), axis=-1)[..., :-1],
    _logit,
    _multinomial_direct,
)
NAMED = {d.name: d for d in (SQUARED_EUCLID, KL, ITAKURA_SAITO, EXPONENTIAL, MULTINOMIAL)}
SIDES = ("right", "left", "jeffreys", "jensen", "mixed")


def mahalanobis(covariance: ArrayLike) -> BregmanDivergence:
    r"""The squared Mahalanobis distance :math:`(p-q)^\top\Sigma^{-1}(p-q)` as a Bregman divergence.

    Parameters
    ----------
    covariance : array of shape (d, d)
        Symmetric and positive definite.

    Examples
    --------
    >>> distance = mahalanobis([[4.0, 0.0], [0.0, 1.0]])
    >>> float(distance([2.0, 1.0], [0.0, 0.0]))
    2.0
    """
    covariance = np.asarray(covariance, float)
    if covariance.ndim != 2 or not np.allclose(covariance, covariance.T):
        raise ValueError("covariance must be a symmetric matrix.")
    try:
        root = np.linalg.inv(np.linalg.cholesky(covariance)).T
    except np.linalg.LinAlgError as error:
        raise ValueError("covariance must be positive definite: add something to its diagonal.") from error
    return _Mahalanobis(covariance, root)


class _Mahalanobis(BregmanDivergence):
    """Kept as a class of its own so that a tree can turn it into the squared Euclidean distance."""

    covariance: Rows
    root: Rows

    def __init__(self, covariance: Rows, root: Rows) -> None:
        precision = root @ root.T
        super().__init__(
            "mahalanobis",
            lambda x: np.sum((x @ root) ** 2, axis=-1),
            lambda x: 2 * x @ precision,
            lambda y: y @ covariance / 2,
            lambda p, q: np.sum(((p - q) @ root) ** 2, axis=-1),
        )
        object.__setattr__(self, "root", root)  # the dataclass is frozen
        object.__setattr__(self, "covariance", covariance)

    def __reduce__(self) -> Any:
        return mahalanobis, (self.covariance,)


def resolve_divergence(divergence: str | BregmanDivergence) -> BregmanDivergence:
    """The divergence of that name, or the object itself."""
    if isinstance(divergence, BregmanDivergence):
        return divergence
    if divergence not in NAMED:
        raise ValueError(
            f"divergence must be one of {sorted(NAMED)} or a BregmanDivergence, but is {divergence!r}."
        )
    return NAMED[divergence]


def _check_domain(divergence: BregmanDivergence, *arrays: Rows) -> None:
    for array in arrays:
        if not np.all(np.isfinite(array)):
            raise ValueError("the coordinates must be finite.")
        if divergence.positive and array.size and array.min() <= 0:
            raise ValueError(
                f"the divergence {divergence.name!r} needs coordinates above zero: "
                "pass histograms through smooth_histograms first."
            )


def smooth_histograms(X: ArrayLike, *, epsilon: float = 1e-6) -> Rows:
    """Give every empty bin a little mass: rows with a zero get ``epsilon`` in each bin and keep their sum.

    Rows without a zero are left as they are.

    Parameters
    ----------
    X : array of shape (n, d)
        Nothing below zero.
    epsilon : float, default=1e-6
        What each bin gets, as a share of the row's sum.

    Examples
    --------
    >>> smooth_histograms([[0.5, 0.5], [1.0, 0.0]], epsilon=0.1).round(3)
    array([[0.5  , 0.5  ],
           [0.917, 0.083]])
    """
    X = np.array(X, float, ndmin=2)
    if X.size and X.min() < 0:
        raise ValueError("a histogram has nothing below zero.")
    rows = np.flatnonzero((X <= 0).any(axis=1))
    total = X[rows].sum(axis=1, keepdims=True)
    total[total == 0] = 1.0  # an empty histogram becomes the uniform one
    raised = X[rows] + epsilon * total
    X[rows] = raised * (total / raised.sum(axis=1, keepdims=True))
    return X


def bregman_divergence(
    p: ArrayLike,
    q: ArrayLike,
    *,
    divergence: str | BregmanDivergence = "kl",
    side: str = "right",
    alpha: float = 0.5,
) -> Rows:
    r"""The divergence between points ``p`` and queries ``q``, row by row (the other axes broadcast).

    Parameters
    ----------
    p, q : arrays of shape (..., d)
        Points and queries.
    divergence : str or BregmanDivergence, default="kl"
        ``"sqeuclidean"``, ``"kl"``, ``"itakura_saito"``, ``"exponential"``, ``"multinomial"`` (between
        natural parameters), or an object.
    side : {"right", "left", "jeffreys", "jensen", "mixed"}, default="right"
        ``right`` is :math:`D(p\|q)`, ``left`` is :math:`D(q\|p)`; ``jeffreys`` is half their sum (3.4);
        ``jensen`` is :math:`\frac12(F(p)+F(q))-F(\frac{p+q}2)` (3.19), for ``"kl"`` the Jensen-Shannon
        divergence; ``mixed`` is :math:`(1-\alpha)D(q\|p)+\alpha D(p\|q)`, (3.20) with both ends the query.
    alpha : float, default=0.5
        Only for ``side="mixed"``.

    Returns
    -------
    array of shape (...)

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, sections 3.1 and 3.2.2.

    Examples
    --------
    >>> p, q = [0.5, 0.5], [0.25, 0.75]
    >>> float(bregman_divergence(p, q).round(6)), float(bregman_divergence(p, q, side="left").round(6))
    (0.143841, 0.130812)
    """
    if side not in SIDES:
        raise ValueError(f"side must be one of {list(SIDES)}, but is {side!r}.")
    d = resolve_divergence(divergence)
    p, q = np.asarray(p, float), np.asarray(q, float)
    _check_domain(d, p, q)
    if side == "right":
        return d(p, q)
    if side == "left":
        return d(q, p)
    if side == "jeffreys":
        return 0.5 * np.maximum(np.sum((p - q) * (d.gradient(p) - d.gradient(q)), axis=-1), 0.0)
    if side == "jensen":
        middle = 0.5 * (p + q)
        return 0.5 * (d(p, middle) + d(q, middle))
    return (1 - alpha) * d(q, p) + alpha * d(p, q)


def mixed_divergence(
    left: ArrayLike,
    x: ArrayLike,
    right: ArrayLike,
    *,
    divergence: str | BregmanDivergence = "kl",
    alpha: float = 0.5,
) -> Rows:
    r"""The mixed divergence :math:`(1-\alpha)D(l\|x)+\alpha D(x\|r)`, equation (3.20) of [1]_.

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010.

    Examples
    --------
    >>> p, q = [0.5, 0.5], [0.25, 0.75]
    >>> bool(np.isclose(mixed_divergence(q, p, q), bregman_divergence(p, q, side="jeffreys")))
    True
    """
    d = resolve_divergence(divergence)
    left, x, right = np.asarray(left, float), np.asarray(x, float), np.asarray(right, float)
    _check_domain(d, left, x, right)
    return (1 - alpha) * d(left, x) + alpha * d(x, right)


def bregman_pairwise(
    X: ArrayLike, Q: ArrayLike, *, divergence: str | BregmanDivergence = "kl", side: str = "right"
) -> Rows:
    """All divergences of points ``X`` to queries ``Q``, in blocks of bounded memory.

    Parameters
    ----------
    X, Q : arrays of shape (n, d) and (m, d)
        Points and queries.
    divergence, side : see :func:`bregman_divergence`.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> bregman_pairwise([[1.0], [3.0]], [[0.0], [1.0]], divergence="sqeuclidean")
    array([[1., 0.],
           [9., 4.]])
    """
    X, Q = np.array(X, float, ndmin=2), np.array(Q, float, ndmin=2)
    out = np.empty((len(X), len(Q)))
    for rows in row_blocks(len(X), 48 * Q.size):
        out[rows] = bregman_divergence(X[rows, None], Q[None], divergence=divergence, side=side)
    return out


def lambert_centre(arithmetic: Rows, log_geometric: Rows) -> Rows:
    """The point of [1]_ between an arithmetic and a geometric mean: ``a / W(e a / g)``, per coordinate."""
    ratio = 1 + np.log(arithmetic) - log_geometric
    # W(exp(y)) by its asymptote where exp(y) would overflow, refined by Newton steps on w + log w = y.
    w = np.real(lambertw(np.exp(np.minimum(ratio, 1))))
    w = np.where(ratio > 1, ratio - np.log(np.maximum(ratio, 1)), w)
    for _ in range(4):
        w = w * (1 + ratio - np.log(w)) / (1 + w)
    return arithmetic / w


def symmetrised_centroid(X: ArrayLike, *, divergence: str | BregmanDivergence = "kl") -> Rows:
    r"""The point with the least mean Jeffreys divergence to the rows of ``X``.

    For Kullback-Leibler, coordinate by coordinate, :math:`a/W_0(e\,a/g)` with the arithmetic mean a, the
    geometric mean g and Lambert's function; for Itakura-Saito :math:`\sqrt{a h}` with the harmonic mean h;
    for the squared Euclidean distance the mean. The thesis [1]_ walks along the geodesic between the two
    sided centroids instead, which is close but not exact in more than one dimension.

    Parameters
    ----------
    X : array of shape (n, d)
        At least one row.
    divergence : {"kl", "itakura_saito", "sqeuclidean"} or the object, default="kl"

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, section 3.2.2.

    Examples
    --------
    >>> symmetrised_centroid([[1.0, 4.0], [4.0, 1.0]], divergence="itakura_saito")
    array([2., 2.])
    """
    d = resolve_divergence(divergence)
    X = np.array(X, float, ndmin=2)
    _check_domain(d, X)
    if len(X) == 0:
        raise ValueError("a centroid needs at least one point.")
    if d is KL:
        return lambert_centre(X.mean(axis=0), np.log(X).mean(axis=0))
    if d is ITAKURA_SAITO:
        return np.sqrt(X.mean(axis=0) / (1 / X).mean(axis=0))
    if d is SQUARED_EUCLID:
        return np.asarray(X.mean(axis=0))
    raise ValueError(f"no closed form of the symmetrised centroid is known for {d.name!r}.")


def natural_parameters(histograms: ArrayLike) -> Rows:
    """Natural parameters of multinomials, ``log(p_j / p_d)`` without the last: for ``"multinomial"``.

    Examples
    --------
    >>> natural_parameters([[0.2, 0.4, 0.4]]).round(3)
    array([[-0.693,  0.   ]])
    """
    p: Any = np.asarray(histograms, float)
    _check_domain(KL, p)
    return np.log(p[..., :-1]) - np.log(p[..., -1:])
