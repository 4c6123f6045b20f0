"""The piece-wise linear surrogate of the between part ((2.16)-(2.19), appendix A of [1]_).

The negative logarithm is replaced by a convex broken line, which does have a quadratic majorizer
everywhere. It is kept for comparison: the Taylor step is faster and falls lower.

References
----------
.. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 2.2.2 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from lookalike.arrays import row_blocks
from lookalike.learn._distance._core import Problem, Solution, compress, solve_free, solve_length

Array = NDArray[Any]

NEAR = 1e-9  # a distance never comes nearer to a breakpoint than this


def bend(x: Array, x0: float, left: float, right: float) -> Array:
    """The line broken at ``x0`` (2.16): slope ``right`` beyond it and ``-left`` before it."""
    return np.where(x >= x0, right * (x - x0), -left * (x - x0))


def bend_majorizer(at: float, x0: float, left: float, right: float) -> tuple[float, float, float]:
    """The quadratic ``a x^2 + b x + c`` that touches a bend at ``at`` and lies above it (2.17)-(2.19)."""
    gap = max(abs(at - x0), NEAR)
    both = left + right
    a = both / (4 * gap)
    b = (right - left) / 2 - both * x0 / (2 * gap)
    c = both * x0**2 / (4 * gap) + (left - right) * x0 / 2 + both * gap / 4
    return a, b, c


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A convex sum of bends and a constant, made of chords of the negative logarithm."""

    knots: Array
    left: Array
    right: Array
    constant: float

    @classmethod
    def of_logarithm(cls, low: float, high: float, n_knots: int) -> BrokenLine:
        """Chords between ``n_knots + 2`` points spaced evenly in the logarithm of ``[low, high]``.

        Every bend gets an equal share of the last slope on its right, so that none rises there and the
        linear parts can be majorized by the Cauchy-Schwarz inequality.
        """
        points = np.geomspace(low, high, n_knots + 2)
        slopes = np.diff(-np.log(points)) / np.diff(points)
        right = np.full(n_knots, slopes[-1] / n_knots)
        left = np.diff(slopes) - right
        knots = points[1:-1]
        line = cls(knots, left, right, 0.0)
        return cls(knots, left, right, float(-np.log(knots[0]) - line(knots[:1])[0]))

    def __call__(self, x: Array) -> Array:
        bends = (bend(x, *parts) for parts in zip(self.knots, self.left, self.right))
        return np.asarray(sum(bends, np.zeros_like(x)) + self.constant)

    def weights(self, d: Array) -> tuple[Array, Array]:
        """The pair weights of the quadratic (A.16) and of the linear part (A.15) at distances ``d``."""
        quadratic, linear = np.zeros_like(d), np.zeros_like(d)
        for x0, left, right in zip(self.knots, self.left, self.right):
            gap = np.maximum(np.abs(d - x0), NEAR)
            quadratic += (left + right) / (4 * gap)
            linear += (left + right) * x0 / (2 * gap) + (left - right) / 2
        return quadratic, linear / d


class UnitCurve:
    """The expansion of ``-log d`` about the constant 1, ``d^2 / 2 - 2 d + 3 / 2``: printed (3.12)-(3.14).

    With it the criterion is a stress that draws every distance between classes towards 2.
    """

    def __call__(self, x: Array) -> Array:
        return np.asarray(0.5 * x * x - 2.0 * x + 1.5)

    def weights(self, d: Array) -> tuple[Array, Array]:
        """The pair weights of its quadratic and of its linear part."""
        return np.full_like(d, 0.5), 2.0 / d


Curve = BrokenLine | UnitCurve


def assess_curve(problem: Problem, curve: Curve, transformation: Array) -> tuple[float, Array, Array, Array]:
    """The criterion with a curve for ``-log d``, and the matrices X'RX, Z'G_Q Z and Z'G_L Z."""
    z, bounds = problem.points, problem.bounds
    n, r = z.shape
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    projected = z @ transformation
    total, matrices = 0.0, np.zeros((3, r, r))
    huber = problem.huber
    for rows in row_blocks(n, 64 * n):
        d = np.sqrt(cdist(projected[rows], projected, "sqeuclidean") + problem.floor**2)
        same = owner[rows, None] == owner
        alpha = np.where(same, problem.terms[0][owner[rows]][:, None], 0.0)
        alpha[np.arange(len(d)), np.arange(rows.start, rows.stop)] = 0.0
        beta = np.where(same, 0.0, problem.terms[1][owner[rows]][:, None] + problem.terms[1][owner])
        value = np.where(d <= huber, 0.5 * d * d, huber * d - 0.5 * huber**2)
        total += (alpha * np.log(value)).sum() + (beta * curve(d)).sum()
        quadratic, linear = curve.weights(d)
        for k, w in enumerate((alpha * np.minimum(1.0, huber / d) / value, beta * quadratic, beta * linear)):
            matrices[k] += z[rows].T @ (w.sum(axis=1)[:, None] * z[rows] - w @ z)
    return 0.5 * total, matrices[0], matrices[1], matrices[2]


def minimise_curve(
    problem: Problem,
    curve: Curve,
    start: Array,
    *,
    length: float | None,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Solution:
    """Iterative majorization of the criterion with a curve for ``-log d``; that is what never increases."""
    t = compress(start)
    value, within, quadratic, linear = assess_curve(problem, curve, t)
    solution = Solution(t, [value], 1)
    for _ in range(max_iter):
        matrix, right = within + 2.0 * quadratic, linear @ t
        t = solve_free(matrix, right) if length is None else solve_length(matrix, right, length)[0]
        value, within, quadratic, linear = assess_curve(problem, curve, t)
        solution.evaluations += 1
        decrease = solution.criteria[-1] - value
        if decrease >= 0.0:
            solution.transformation = t
            solution.criteria.append(value)
        if decrease < tol:
            solution.converged = True
            break
    return solution


def minimise_piecewise(
    problem: Problem,
    start: Array,
    *,
    length: float,
    n_knots: int = 4,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Solution:
    """The whole method of section 2.2.2: a broken line over the distances that occur at the start."""
    projected = problem.points @ start
    sample = projected[:: max(1, len(projected) // 500)]
    d = np.sqrt(cdist(sample, sample, "sqeuclidean") + problem.floor**2)
    line = BrokenLine.of_logarithm(0.5 * problem.floor + 0.05 * d.max(), 2.0 * d.max(), n_knots)
    return minimise_curve(problem, line, start, length=length, max_iter=max_iter, tol=tol)
