"""Projections under a kernel that may be indefinite ((3.15), (3.21) of [1]_).

The squared distance of two projections is a sum of squares whatever the kernel, so a step's surrogate is
convex; only the norm ``tr(P' K P)`` that is held is not. The step is taken on the interval of multipliers
where the whole stays convex, and there the norm falls strictly from plus to minus infinity (or to zero),
so that each value is met once.

References
----------
.. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, sections 3.2 and 3.3, appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lookalike.learn._distance import _core

Array = NDArray[Any]

RIDGE = 1e-10  # of the mean eigenvalue, so that a step's matrix can be inverted


def norm_at(s: float, nu: Array, q: Array) -> float:
    """``tr(P' K P)`` at the multiplier ``s``, from the eigenvalues of the kernel in the step's metric."""
    return float((nu * q / (1.0 + s * nu) ** 2).sum())


def admissible(nu: Array) -> tuple[float, float]:
    """The open interval of multipliers at which a step's problem is convex."""
    top, bottom = nu.max(), nu.min()
    small = 1e-12 * np.abs(nu).max()
    low = -1.0 / top if top > small else -np.inf
    high = -1.0 / bottom if bottom < -small else np.inf
    return low, high


def solve_norm(matrix: Array, linear: Array, kernel: Array, length: float) -> tuple[Array, float]:
    """Minimise tr(P'MP)/2 - tr(P'L) under tr(P'KP) = length for any symmetric ``kernel``."""
    n = len(matrix)
    values, vectors = eigh(matrix + RIDGE * np.trace(matrix) / n * np.eye(n), check_finite=False)
    root = vectors / np.sqrt(np.maximum(values, values[-1] * 1e-15))
    inner = root.T @ kernel @ root
    nu, e = eigh(0.5 * (inner + inner.T), check_finite=False)
    rotated = e.T @ (root.T @ linear)
    q = np.einsum("ij,ij->i", rotated, rotated)
    low, high = admissible(nu)
    if not np.isfinite(low):
        raise ValueError("the kernel has no positive direction, so its norm cannot be held positive.")
    # Walk inwards from the ends until they enclose the root.
    width = min(high - low, 1.0 / nu.max())
    a, b = low + 0.5 * width, low + 0.5 * width
    for _ in range(200):
        if norm_at(a, nu, q) >= length:
            break
        a = low + 0.5 * (a - low)
    step = width
    for _ in range(200):
        if norm_at(b, nu, q) <= length:
            break
        b = b + 0.5 * (high - b) if np.isfinite(high) else b + step
        step *= 2.0
    for _ in range(200):
        middle = 0.5 * (a + b)
        if norm_at(middle, nu, q) > length:
            a = middle
        else:
            b = middle
    s = 0.5 * (a + b)
    return root @ (e @ (rotated / (1.0 + s * nu)[:, None])), s


def solve_step(matrix: Array, linear: Array, kernel: Array, length: float, reg: str) -> Array:
    """A step under one of the norms: the kernel's own, its absolute value's, or the plain one."""
    if reg == "l2":
        return _core.solve_length(matrix, linear, length)[0]
    if reg == "abs":
        values, vectors = np.linalg.eigh(kernel)
        kernel = (vectors * np.abs(values)) @ vectors.T
    return solve_norm(matrix, linear, kernel, length)[0]


def first_projection(kernel: Array, n_components: int, length: float) -> Array:
    """The leading directions of the kernel (kernel PCA), scaled so that ``tr(P' K P) = length``."""
    n = len(kernel)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(centring @ kernel @ centring)
    k = max(1, min(n_components, int((values > 1e-12 * abs(values[-1])).sum())))
    p = vectors[:, ::-1][:, :k] / np.sqrt(np.maximum(values[::-1][:k], 1e-300))
    norm = np.trace(p.T @ kernel @ p)
    if norm <= 0:
        raise ValueError("the kernel has no positive direction, so its norm cannot be held positive.")
    return np.asarray(p * np.sqrt(length / norm))


def projection_step(
    problem: _core.Problem, state: _core.State, kernel: Array, length: float, reg: str
) -> tuple[_core.State, int]:
    """One majorization step of the projection; the same state where none lowers the criterion."""
    curvature, count = 1.0, 0
    while curvature <= 1e8:
        matrix = state.within + curvature * state.between
        linear = (1.0 + curvature) * (state.between @ state.transformation)
        new = _core.assess(problem, solve_step(matrix, linear, kernel, length, reg))
        count += 1
        if new.criterion <= state.criterion + _core.SAME * max(1.0, abs(state.criterion)):
            return new, count
        curvature *= 2.0
    return state, count


def learn_projection(
    kernel: Array,
    codes: Array,
    targets: Array,
    settings: _core.Settings,
    *,
    reg: str = "krein",
    max_iter: int = 100,
) -> _core.Solution:
    """The projection stage alone, for a given kernel matrix; P is in the order of the observations."""
    order = np.argsort(codes, kind="stable")
    sorted_kernel = kernel[np.ix_(order, order)]
    length = 1.0 if settings.length is None else settings.length
    p = first_projection(sorted_kernel, settings.n_components or 2, length)
    # A row of the kernel matrix is an observation, and P its linear transformation.
    projected = sorted_kernel @ p
    sizes = np.bincount(codes, minlength=len(targets))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    unit = _core.typical_distance(projected, bounds, targets)
    terms = _core.coefficients(sizes, targets)
    problem = _core.Problem(sorted_kernel, bounds, terms, settings.huber * unit, settings.floor * unit)
    state = _core.assess(problem, p)
    solution = _core.Solution(p, [state.criterion], 1)
    for _ in range(max_iter):
        new, count = projection_step(problem, state, sorted_kernel, length, reg)
        solution.evaluations += count
        decrease = state.criterion - new.criterion
        state = new
        solution.criteria.append(state.criterion)
        if decrease < settings.tol:
            solution.converged = True
            break
    solution.transformation = np.empty_like(state.transformation)
    solution.transformation[order] = state.transformation
    return solution
