"""Kernels of histograms: sums over dimensions, and their exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

ADDITIVE = ("bhattacharyya", "chi2", "intersection")


def check_histograms(X: Any, *, like: NDArray[Any] | None = None) -> NDArray[Any]:
    """Non-negative finite rows, float32 unless they are float64."""
    X = check_array(X, dtype=[np.float64, np.float32])
    if X.size and X.min() < 0:
        raise ValueError("Negative values in data: histograms must be non-negative.")
    if like is not None and X.shape[1] != like.shape[1]:
        raise ValueError(f"histograms of {X.shape[1]} and of {like.shape[1]} words cannot be compared.")
    return np.ascontiguousarray(X)


def additive_kernel(X: Any, Y: Any = None, *, kind: str = "chi2") -> NDArray[Any]:
    """Sum over dimensions of a kernel of two numbers (equations 2.10 to 2.12 of [1]_).

    For histograms that sum to 1 the values lie from 0 to 1, and 1 means equal.

    Parameters
    ----------
    X : array of shape (n, d)
        Non-negative.
    Y : array of shape (m, d) or None
    kind : {"bhattacharyya", "chi2", "intersection"}
        sqrt(x y), 2 x y / (x + y), or min(x, y).

    Returns
    -------
    array of shape (n, m)

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 2.3.

    Examples
    --------
    >>> a, b = [[0.5, 0.3, 0.2, 0.0]], [[0.1, 0.4, 0.4, 0.1]]
    >>> [additive_kernel(a, b, kind=k).item().__round__(6) for k in ("bhattacharyya", "chi2", "intersection")]
    [0.85286, 0.77619, 0.6]
    """
    if kind not in ADDITIVE:
        raise ValueError(f"kind must be one of {', '.join(ADDITIVE)}, but is {kind!r}.")
    X = check_histograms(X)
    Y = X if Y is None else check_histograms(Y, like=X).astype(X.dtype, copy=False)
    if kind == "bhattacharyya":
        return np.asarray(np.sqrt(X) @ np.sqrt(Y).T)
    from lookalike.similarity._histogram_loops import chi2_sums, intersection_sums

    out = np.empty((len(X), len(Y)), X.dtype)
    (chi2_sums if kind == "chi2" else intersection_sums)(X, Y, out)
    return out


def exponential_kernel(
    X: Any, Y: Any = None, *, kind: str = "chi2", gamma: float | None = None
) -> NDArray[Any]:
    """exp(gamma (K - 1)) of an additive kernel K (equations 2.13 to 2.15 of [1]_, 2.15 with its missing 1/2).

    Parameters
    ----------
    X, Y, kind
        As in `additive_kernel`.
    gamma : float or None
        None is 1 / mean of (1 - K) over the different pairs of this very matrix.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 2.3.

    Examples
    --------
    >>> a, b = [[0.5, 0.3, 0.2, 0.0]], [[0.1, 0.4, 0.4, 0.1]]
    >>> exponential_kernel(a, b, kind="intersection", gamma=2.0).item().__round__(6)
    0.449329
    """
    from lookalike.similarity._mixture_kernels import mean_bandwidth

    K = additive_kernel(X, Y, kind=kind)
    K -= 1
    if gamma is None:
        gamma = mean_bandwidth(-K)
    K *= gamma
    return np.asarray(np.exp(K, out=K))
