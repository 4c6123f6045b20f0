"""Kernels of two bags without any model of them; each pair costs the product of their sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.pairwise import euclidean_distances

from lookalike.arrays import Bags
from lookalike.bags._base import check_bags

KINDS = ("sum", "power", "best-match", "transport")


def set_kernel(
    X: Any, Y: Any = None, *, kind: str = "sum", gamma: float | None = None, power: float = 2
) -> NDArray[np.float64]:
    """A kernel of bags built from the Gaussian kernel k of their descriptors.

    Parameters
    ----------
    X : Bags
    Y : Bags or None
    kind : {"sum", "power", "best-match", "transport"}
        "sum" is the mean of k over all pairs (equation 2.1 of [1]_), "power" that of k^power (2.3), so that
        good matches count more; "best-match" the mean of each descriptor's best k (2.2), which is not
        positive definite; "transport" the mean k of the best one-to-one matching of the smaller bag (2.4 to
        2.8, there called earth mover's distance although it grows with likeness).
    gamma : float or None
        Of k(x, z) = exp(-gamma |x - z|²); None is 1 / d.
    power : float, default=2
        For "power", at least 1.

    Returns
    -------
    array of shape (len(X), len(Y)); pairs with an empty bag have 0

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 2.3.

    Examples
    --------
    >>> from lookalike.bags import Bags
    >>> bags = Bags.from_list([[[0.0], [3.0]], [[0.0]]])
    >>> set_kernel(bags, kind="sum", gamma=1.0).round(2)
    array([[0.5, 0.5],
           [0.5, 1. ]])
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, but is {kind!r}.")
    if power < 1:
        raise ValueError(f"power must be at least 1, but is {power!r}.")
    X = check_bags(X)
    Y = X if Y is None else check_bags(Y, dim=X.dim)
    gamma = 1 / X.dim if gamma is None else gamma
    if kind == "power":
        kind, gamma = "sum", gamma * power  # the power of a Gaussian kernel is a narrower one
    reduce = {"sum": _mean, "best-match": _best_match, "transport": _transport}[kind]
    return _pairwise(X, Y, lambda x, z: reduce(np.exp(-gamma * euclidean_distances(x, z, squared=True))))


def transport_distance(X: Any, Y: Any = None) -> NDArray[np.float64]:
    """Earth mover's distance of bags: mean Euclidean distance under the cheapest flow [1]_.

    Every descriptor of a bag has the same mass, and the masses of both bags sum to 1. The flow of two bags
    of equal size is a matching; other sizes are solved as a linear programme.

    References
    ----------
    .. [1] Y. Rubner, C. Tomasi, L. Guibas, "The earth mover's distance as a metric for image retrieval",
       IJCV 40, 2000.

    Examples
    --------
    >>> from lookalike.bags import Bags
    >>> bags = Bags.from_list([[[0.0], [1.0]], [[2.0], [1.0]]])
    >>> transport_distance(bags)
    array([[0., 1.],
           [1., 0.]])
    """
    X = check_bags(X)
    Y = X if Y is None else check_bags(Y, dim=X.dim)
    return _pairwise(X, Y, _cheapest_flow)


def _pairwise(X: Bags, Y: Bags, measure: Callable[[Any, Any], float]) -> NDArray[np.float64]:
    out = np.zeros((len(X), len(Y)))
    for a, x in enumerate(X):
        for b, z in enumerate(Y):
            if len(x) and len(z):
                out[a, b] = measure(x.astype(np.float64), z.astype(np.float64))
    return out


def _mean(K: NDArray[Any]) -> float:
    return float(K.mean())


def _best_match(K: NDArray[Any]) -> float:
    return float(0.5 * (K.max(1).mean() + K.max(0).mean()))


def _transport(K: NDArray[Any]) -> float:
    # The constraints are totally unimodular: an optimal flow is a matching of the smaller bag.
    return float(K[linear_sum_assignment(K, maximize=True)].mean())


def _cheapest_flow(x: NDArray[Any], z: NDArray[Any]) -> float:
    cost = euclidean_distances(x, z)
    n, m = cost.shape
    if n == m:
        return float(cost[linear_sum_assignment(cost)].mean())
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    rows = kron(eye_array(n), np.ones((1, m)))
    columns = kron(np.ones((1, n)), eye_array(m))
    masses = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    solved = linprog(cost.ravel(), A_eq=vstack([rows, columns]).tocsr(), b_eq=masses, method="highs")
    return float(solved.fun)
