"""Multiple kernel learning, as its documents define it: what boosted kernels are compared with.

Kernels are lists of (n, n) matrices, labels of a binary problem are −1 and 1.

.. [1] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered alignment",
   Journal of Machine Learning Research 13, 2012.
.. [2] F. Aiolli, M. Donini, "EasyMKL: a scalable multiple kernel learning algorithm",
   Neurocomputing 169, 2015.
.. [3] A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet, "SimpleMKL", Journal of Machine Learning
   Research 9, 2008.
.. [4] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel learning", Journal of Machine
   Learning Research 12, 2011.
.. [5] P. Gehler, S. Nowozin, "On feature combination for multiclass object classification", ICCV 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls
from scipy.sparse import coo_array, csr_array, hstack
from sklearn.svm import SVC

from lookalike.learn._fusion._targets import label_root

Array = NDArray[Any]
Solution = tuple[Array, float, float]  # αy, bias, objective


def combined(kernels: Sequence[Array], weights: Array) -> Array:
    """``Σ w_s K_s``, without a stack of all kernels."""
    total = np.zeros_like(kernels[0])
    for kernel, weight in zip(kernels, weights):
        if weight:
            total += weight * kernel
    return total


def geometric_mean(kernels: Sequence[Array]) -> Array:
    """The product kernel ``(Π K_s)^(1/S)``; for ``exp(−D)`` it averages the distances."""
    if any(k.min() < 0 for k in kernels):
        raise ValueError("A product of kernels needs kernels without negative values: use rbf or distances.")
    total = np.ones_like(kernels[0])
    for kernel in kernels:
        total *= kernel ** (1 / len(kernels))
    return total


def centred(kernel: Array) -> Array:
    """``HKH``."""
    rows = kernel.mean(axis=0)
    return kernel - rows - rows[:, None] + rows.mean()


def _products(kernels: Sequence[Array], labels: Array) -> tuple[Array, Array]:
    """``⟨K̄_s, K̄_t⟩`` and ``⟨K̄_s, QQᵀ⟩``."""
    HL = labels - labels.mean(axis=0)
    Q = HL @ label_root(HL.T @ HL)
    hits = np.array([np.sum(Q * (k @ Q)) for k in kernels])
    products = np.empty((len(kernels),) * 2)
    for s, kernel in enumerate(kernels):
        middle = centred(kernel)  # centring one side is enough: H is a projection
        for t in range(s, len(kernels)):
            products[s, t] = products[t, s] = np.vdot(middle, kernels[t])
    return products, hits


def align_weights(kernels: Sequence[Array], labels: Array) -> Array:
    """Weights proportional to the centred alignment of each kernel with the labels ("align" of [1]_)."""
    products, hits = _products(kernels, labels)
    sizes = np.sqrt(np.maximum(products.diagonal(), 1e-300))
    weights = np.maximum(hits, 0) / sizes
    out: Array = weights / weights.sum()
    return out


def alignf_weights(kernels: Sequence[Array], labels: Array) -> Array:
    """Non-negative weights of the highest centred alignment ("alignf" of [1]_), of unit norm."""
    products, hits = _products(kernels, labels)
    values, vectors = np.linalg.eigh(products)
    keep = values > 1e-12 * values[-1]
    root = np.sqrt(values[keep])[:, None] * vectors[:, keep].T
    found, _ = nnls(root, (vectors[:, keep].T @ hits) / np.sqrt(values[keep]))
    size = float(np.linalg.norm(found))
    return found / size if size > 0 else np.full(len(kernels), 1 / len(kernels))


def _dual(kernel: Array, y: Array, C: float) -> tuple[Array, float, float]:
    """``αy``, the bias and the dual objective of a support vector machine."""
    machine = SVC(C=C, kernel="precomputed", tol=1e-5, cache_size=1000).fit(kernel, y)
    signed = np.zeros(len(y))
    signed[machine.support_] = machine.dual_coef_[0]
    objective = float(np.abs(signed).sum() - 0.5 * signed @ kernel @ signed)
    return signed, float(machine.intercept_[0]), objective


def nearest_points(kernel: Array, y: Array) -> Array:
    """γ of the two nearest points of the convex hulls of the classes: γ ≥ 0 that sum to 1 in each.

    The hard-margin machine has the same solution up to scale.
    """
    signed, _, _ = _dual(kernel / np.mean(kernel.diagonal()), y, 1e8)
    gamma = np.abs(signed)
    out: Array = gamma / gamma[y > 0].sum()
    return out


def easy_mkl(kernels: Sequence[Array], y: Array, *, spread: float = 0.1) -> tuple[Array, Array, float]:
    """EasyMKL [2]_: weights, ``γy`` and bias; ``spread`` is its λ in (0, 1].

    The weights are proportional to ``γᵀYK_rYγ``, where γ solves the problem of the summed kernels; γ is
    then solved again with the weighted sum.
    """

    def solve(kernel: Array) -> Array:
        mixed = (1 - spread) * kernel
        mixed[np.diag_indices_from(mixed)] += spread
        return nearest_points(mixed, y) * y

    signed = solve(combined(kernels, np.ones(len(kernels))))
    weights = _pulls(kernels, signed)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(kernels), 1 / len(kernels))
    best = combined(kernels, weights)
    signed = solve(best)
    reach = best @ signed
    return weights, signed, -0.5 * float(np.abs(signed) @ reach)


def _pulls(kernels: Sequence[Array], signed: Array) -> Array:
    """``αᵀYK_mYα`` of every kernel: minus twice the slope of the dual optimum in its weight."""
    return np.array([max(float(signed @ k @ signed), 0.0) for k in kernels])


def simple_mkl(
    kernels: Sequence[Array], y: Array, C: float, *, gap: float = 1e-2, max_steps: int = 100
) -> tuple[Array, Array, float]:
    """SimpleMKL [3]_: weights on the simplex by reduced gradient, ``αy`` and bias.

    It stops when the duality gap is below ``gap`` times the objective.
    """

    def solve(weights: Array) -> Solution:
        return _dual(combined(kernels, weights), y, C)

    weights = np.full(len(kernels), 1 / len(kernels))
    now = solve(weights)
    for _ in range(max_steps):
        pulls = _pulls(kernels, now[0])
        if pulls.max() - weights @ pulls <= gap * max(now[2], 1e-12):
            break
        direction = _reduced_gradient(weights, -0.5 * pulls)
        before, (weights, now) = now[2], _descend(kernels, solve, weights, direction, now)
        if not now[2] < before:
            break
    return weights, now[0], now[1]


def _reduced_gradient(weights: Array, gradient: Array) -> Array:
    """The steepest descent that keeps the sum of the weights, and zero weights that would fall at zero."""
    pivot = int(np.argmax(weights))
    direction = gradient[pivot] - gradient
    direction[(weights <= 1e-12) & (direction < 0)] = 0
    direction[pivot] = 0
    direction[pivot] = -direction.sum()
    return direction


def _descend(
    kernels: Sequence[Array],
    solve: Callable[[Array], Solution],
    weights: Array,
    direction: Array,
    now: Solution,
) -> tuple[Array, Solution]:
    """Go along the direction: to each bound while that helps, then to where the slope is nearly nought."""
    while True:
        falling = direction < -1e-15
        if not falling.any():
            return weights, now
        steps = np.where(falling, -weights / np.where(falling, direction, -1.0), np.inf)
        first = int(np.argmin(steps))
        bound = _moved(weights, direction, float(steps[first]))
        if not np.isfinite(bound).all():  # a direction of rounding errors alone leads nowhere
            return weights, now
        far = solve(bound)
        if far[2] >= now[2]:
            return _lowest_between(kernels, solve, (weights, now), (bound, far))
        weights, now = bound, far
        pivot = int(np.argmax(weights))
        direction = direction.copy()
        direction[pivot] += direction[first]
        direction[first] = 0


def _moved(weights: Array, direction: Array, step: float) -> Array:
    out: Array = np.maximum(weights + step * direction, 0)
    total = out.sum()
    return out / total if 0 < total < np.inf else np.full(len(out), np.nan)


def _lowest_between(
    kernels: Sequence[Array],
    solve: Callable[[Array], Solution],
    near: tuple[Array, Solution],
    far: tuple[Array, Solution],
) -> tuple[Array, Solution]:
    """Where the slope between two weightings crosses zero, by false position: the objective is convex."""
    direction = far[0] - near[0]

    def slope(solution: Solution) -> float:
        return -0.5 * float(direction @ _pulls(kernels, solution[0]))

    low, high = (0.0, slope(near[1])), (1.0, slope(far[1]))
    start, best = abs(low[1]), near
    for _ in range(12):
        if low[1] >= 0 or high[1] <= 0:
            break
        step = low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])
        weights = near[0] + step * direction
        found = solve(weights)
        if found[2] < best[1][2]:
            best = (weights, found)
        here = slope(found)
        if abs(here) < 0.05 * start:
            break
        # Half the slope at the end that stays keeps it from staying for ever ("Illinois").
        ends = ((step, here), (high[0], high[1] / 2)), ((low[0], low[1] / 2), (step, here))
        low, high = ends[here >= 0]
    return best


def lp_mkl(
    kernels: Sequence[Array],
    y: Array,
    C: float,
    *,
    p: float = 2.0,
    tolerance: float = 1e-3,
    max_steps: int = 100,
) -> tuple[Array, Array, float]:
    """lp-norm MKL [4]_: a machine and the closed form of the weights in turn; weights have p-norm 1."""
    weights = np.full(len(kernels), len(kernels) ** (-1 / p))
    signed, bias, _ = _dual(combined(kernels, weights), y, C)
    for _ in range(max_steps):
        norms = _pulls(kernels, signed) * weights**2
        raised = norms ** (1 / (p + 1))
        total = float(np.sum(raised**p)) ** (1 / p)
        if total <= 0:
            break
        fresh = raised / total
        change = float(np.abs(fresh - weights).max())
        weights = fresh
        signed, bias, _ = _dual(combined(kernels, weights), y, C)
        if change < tolerance:
            break
    return weights, signed, bias


def lp_beta(scores: Array, y: Array, *, nu: float = 0.5) -> tuple[Array, float]:
    """LP-β [5]_: weights of the kernels' classifiers, and the margin, from held-out scores.

    ``scores[m, i, c]`` is what classifier ``m`` thinks of sample ``i`` in class ``c``; ``y`` are class
    positions. ``max ρ − Σξ/(νn)`` with ``Σ_m β_m (score of the true class − of any other) + ξ_i ≥ ρ``.
    """
    m, n, c = scores.shape
    truth = scores[:, np.arange(n), y]
    wrong = np.ones((n, c), bool)
    wrong[np.arange(n), y] = False
    rows, others = np.nonzero(wrong)
    margins = truth[:, rows] - scores[:, rows, others]  # (m, n(c−1))
    k = len(rows)
    slack = coo_array((-np.ones(k), (np.arange(k), rows)), shape=(k, n))
    matrix = hstack([csr_array(-margins.T), slack, csr_array(np.ones((k, 1)))]).tocsr()
    cost = np.concatenate([np.zeros(m), np.full(n, 1 / (nu * n)), [-1.0]])
    once = csr_array(np.concatenate([np.ones(m), np.zeros(n + 1)])[None])
    bounds = [(0, None)] * (m + n) + [(None, None)]
    found = linprog(cost, matrix, np.zeros(k), once, [1.0], bounds, method="highs")
    if found.x is None:
        raise ValueError(f"LP-β has no solution here: {found.message}")
    return np.maximum(found.x[:m], 0), float(found.x[-1])
