"""Distance-based discriminant analysis as functions of arrays.

References
----------
.. [1] S. Kosinov, "Machine learning approach to semantic augmentation of multimedia documents for
   efficient access and retrieval", PhD thesis 3707, University of Geneva, 2005, chapter 2, appendix A.

Every pair of observations is looked at, in blocks of rows, and each block once in a step: the same pass
gives the criterion at the new point and the matrices of the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from lookalike.arrays import row_blocks
from lookalike.learn._distance._kernels import pair_weights

Array = NDArray[Any]

KEPT = 1e-10  # directions whose singular value is a smaller share of the largest hold nothing
SAME = 1e-12  # a criterion may rise by this much through rounding alone
PLAIN_STEPS = 3  # of the iteration, before steps are made longer
COLUMN = 1e-8  # columns of T with a smaller share of its largest singular value are dropped on the way


@dataclass(frozen=True, slots=True)
class Problem:
    """What the criterion (2.5), or its sum over target classes (2.31), is about.

    ``points`` are sorted by class and class ``j`` is ``bounds[j]:bounds[j + 1]``; ``terms[0]`` and
    ``terms[1]`` are the coefficients of the within and the between sums of each class (zero where the
    class is no target).
    """

    points: Array
    bounds: Array
    terms: Array
    huber: float
    floor: float


@dataclass(frozen=True, slots=True)
class State:
    """A transformation with its criterion and the two matrices of the surrogate (2.26) at it."""

    transformation: Array
    criterion: float
    within: Array
    between: Array


@dataclass(slots=True)
class Solution:
    """Where the iteration ended, the criterion after each step, and how often it was evaluated."""

    transformation: Array
    criteria: list[float] = field(default_factory=list)
    evaluations: int = 0
    converged: bool = False


def coefficients(
    sizes: Array, targets: Array, *, class_weight: str = "equal", within_weight: float = 1.0
) -> Array:
    """The factors of each class: (2.31) as written, or reweighted as in (2.32)-(2.33).

    ``class_weight="thesis"`` multiplies each class by ``N_i (N - N_i)``, which is what the printed
    matrices minimise; both coincide where the classes have equal sizes, up to one common factor that is
    divided out here.
    """
    sizes = np.asarray(sizes, dtype=float)
    n = sizes.sum()
    weight = np.asarray(targets, dtype=float)
    if class_weight == "thesis":
        weight = weight * sizes * (n - sizes)
        weight = weight * np.count_nonzero(targets) / weight.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = np.where(sizes > 1, 2.0 / (sizes * (sizes - 1)), 0.0)
        beta = np.where(n > sizes, 1.0 / (sizes * (n - sizes)), 0.0)
    return np.stack([within_weight * weight * alpha, weight * beta])


def span(points: Array) -> tuple[Array, Array]:
    """Points in an orthonormal basis of what their differences span, and that basis (columns).

    The criterion knows only differences, so nothing is lost, the hard case of the length constraint
    cannot arise, and a step costs the cube of the rank instead of the cube of the dimension.
    """
    centred = points - points.mean(axis=0)
    n, m = centred.shape
    if n >= m:
        _, values, rows = np.linalg.svd(np.linalg.qr(centred, mode="r"), full_matrices=False)
    else:
        _, values, rows = np.linalg.svd(centred, full_matrices=False)
    kept = values > KEPT * values[0] if len(values) and values[0] > 0 else np.zeros(len(values), bool)
    basis = np.ascontiguousarray(rows[kept].T)
    return centred @ basis, basis


def squared_distances(rows: Array, points: Array, norms: Array, floor2: float) -> Array:
    """Squared distances of some rows to all points.

    Products of matrices are used where their rounding is far below the floor, and the differences
    themselves where it is not: a nearly collapsed pair would cancel.
    """
    largest = norms.max(initial=0.0)
    if len(points) * points.shape[1] < 2000 or 4e-16 * largest > 1e-9 * floor2:
        return cdist(rows, points, "sqeuclidean")
    squares = rows @ points.T
    squares *= -2.0
    squares += np.einsum("ij,ij->i", rows, rows)[:, None]
    squares += norms
    return np.maximum(squares, 0.0, out=squares)


def assess(problem: Problem, transformation: Array) -> State:
    """Criterion (2.5) and the matrices X'RX (2.14) and Z'GZ (2.23) at ``transformation``, in one pass.

    Weights ``W`` of pairs, each met once, stand for the Laplacian of ``W + W'``.
    """
    z, bounds = problem.points, problem.bounds
    n, r = z.shape
    projected = z @ transformation
    norms = np.einsum("ij,ij->i", projected, projected)
    floor2 = problem.floor**2
    products, degrees = np.zeros((2, r, r)), np.zeros((2, n))
    total = 0.0
    for rows in row_blocks(n, 24 * n):
        rest = slice(rows.start, n)
        # Points are sorted, so the classes of these rows are one run of columns.
        run = slice(rows.start, bounds[np.searchsorted(bounds, rows.stop - 1, side="right")])
        g = squared_distances(projected[rows], projected[rest], norms[rest], floor2)
        a = np.zeros((len(g), run.stop - run.start))
        total += pair_weights(g, a, rows.start, bounds, problem.terms, problem.huber, floor2)
        for k, (weights, columns) in enumerate(((a, run), (g, rest))):
            products[k] += z[rows].T @ (weights @ z[columns])
            degrees[k, rows] += weights.sum(axis=1)
            degrees[k, columns] += weights.sum(axis=0)
    within, between = (z.T @ (d[:, None] * z) - p - p.T for d, p in zip(degrees, products))
    return State(transformation, total, within, between)


def gradient(state: State) -> Array:
    """The gradient of the criterion at a state, which is also that of the surrogate there."""
    return np.asarray((state.within - state.between) @ state.transformation)


def solve_length(matrix: Array, linear: Array, length: float) -> tuple[Array, float]:
    """Minimise tr(T'MT)/2 - tr(T'L) under tr(T'T) = length, by (2.28)-(2.30); also gives 2 lambda.

    The multiplier may have either sign (the criterion alone would shrink T), so the secular equation
    (2.29) is solved on the whole interval above minus the smallest eigenvalue, where it has one root.
    """
    values, vectors = eigh(matrix, check_finite=False)
    rotated = vectors.T @ linear
    q = np.einsum("ij,ij->i", rotated, rotated)
    if q[0] <= 1e-24 * q.sum():
        # The hard case: rounding is all that separates it from a regular one, so move off by as much.
        rotated[0] += 1e-12 * np.sqrt(q.sum() / rotated.shape[1])
        q = np.einsum("ij,ij->i", rotated, rotated)
    gaps = values - values[0]  # distances from the pole keep their digits
    low, high = np.sqrt(q[0] / length), np.sqrt(q.sum() / length)
    target = 1.0 / np.sqrt(length)
    s = high
    for _ in range(200):
        inverse = 1.0 / (gaps + s)
        phi = (q * inverse**2).sum()
        if phi > length:
            low = max(low, s)
        else:
            high = min(high, s)
        if abs(phi - length) <= 1e-13 * length or high - low <= 1e-15 * high:
            break
        root = 1.0 / np.sqrt(phi)
        step = s - (root - target) / (root**3 * (q * inverse**3).sum())
        s = step if low < step < high else 0.5 * (low + high)
    t = vectors @ (rotated / (gaps + s)[:, None])
    return t * np.sqrt(length / (t * t).sum()), float(s - values[0])


def solve_free(matrix: Array, linear: Array) -> Array:
    """The unconstrained minimiser of the surrogate, on the directions where it is curved."""
    values, vectors = eigh(matrix, check_finite=False)
    kept = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ linear) / values[kept, None]))


def compress(transformation: Array) -> Array:
    """The same distances in as few columns as the rank has (columns may be rotated freely)."""
    if transformation.shape[1] == 1:
        return transformation
    u, s, _ = np.linalg.svd(transformation, full_matrices=False)
    kept = max(1, int((s > COLUMN * s[0]).sum()))
    return transformation if kept == transformation.shape[1] else u[:, :kept] * s[:kept]


def _next_state(
    problem: Problem, state: State, length: float | None, longer: float, safe: bool, solution: Solution
) -> State | None:
    """One step that does not raise the criterion (unless it need not be safe), or None where none is left."""
    bound = state.criterion + SAME * max(1.0, abs(state.criterion))
    curvature = 1.0
    while curvature <= 1e8:
        matrix = state.within + curvature * state.between
        linear = (1.0 + curvature) * (state.between @ state.transformation)
        if length is None:
            t = solve_free(matrix, linear)
        else:
            t, _ = solve_length(matrix, linear, length)
        if longer > 1.0 and length is not None:
            far = state.transformation + longer * (t - state.transformation)
            new = assess(problem, compress(far * np.sqrt(length / (far * far).sum())))
            solution.evaluations += 1
            if new.criterion <= bound:
                return new
            longer = 1.0
        new = assess(problem, compress(t))
        solution.evaluations += 1
        if not safe or new.criterion <= bound:
            return new
        curvature *= 2.0
    return None


def minimise(
    problem: Problem,
    start: Array,
    *,
    length: float | None,
    max_iter: int = 100,
    tol: float = 1e-6,
    safe: bool = True,
    relaxation: float = 1.9,
    on_step: Callable[[int, Array], bool] | None = None,
) -> Solution:
    """Iterative majorization of the criterion (algorithm DDA of [1], with its step made safe).

    The Taylor step (2.24) is a bound only where distances between classes do not shrink. Where a step
    raised the criterion its curvature is doubled until it does not: the fixed points stay the same and
    the criterion never increases. ``length=None`` leaves out the constraint.

    From the fourth step on a step is made ``relaxation`` times as long, where that lowers the criterion:
    steps of a majorizer are too short, and near 2 a third of them does. The first ones stay as they are,
    because those who stop early choose among them.
    """
    state = assess(problem, compress(start))
    solution = Solution(state.transformation, [state.criterion], 1)
    if on_step is not None:
        on_step(0, state.transformation)
    for step in range(1, max_iter + 1):
        longer = relaxation if step > PLAIN_STEPS and length is not None else 1.0
        new = _next_state(problem, state, length, longer, safe, solution)
        if new is None:
            solution.converged = True
            return solution
        decrease = state.criterion - new.criterion
        state = new
        solution.transformation = state.transformation
        solution.criteria.append(state.criterion)
        if on_step is not None and on_step(step, state.transformation):
            break
        if 0.0 <= decrease < tol or (not safe and decrease < 0.0 and abs(decrease) < tol):
            solution.converged = True
            break
    return solution


def typical_distance(points: Array, bounds: Array, targets: Array, *, most: int = 1000) -> float:
    """The median distance within the target classes (an evenly spread sample of large classes).

    Where half of the pairs coincide it falls back on the mean, then on 1: only ratios to it matter.
    """
    squares = []
    for j in np.flatnonzero(targets):
        rows = points[bounds[j] : bounds[j + 1]]
        if len(rows) > most:
            rows = rows[np.linspace(0, len(rows) - 1, most).astype(int)]
        if len(rows) > 1:
            squares.append(cdist(rows, rows)[np.triu_indices(len(rows), 1)])
    found = np.concatenate(squares) if squares else np.zeros(0)
    if not len(found) or found.max() == 0.0:
        found = cdist(points[:most], points[:most]).ravel()
    middle = float(np.median(found))
    return middle or float(found.mean()) or 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How a transformation is sought; distances are in units of the typical within distance."""

    n_components: int | None = None
    class_weight: str = "equal"
    within_weight: float = 1.0
    huber: float = 1.0
    floor: float = 0.1
    length: float | None = None  # the squared norm of T; None leaves it free
    constrained: bool = True
    init: str | Array = "pca"
    n_starts: int = 1
    tol: float = 1e-6


@dataclass(slots=True)
class Fit:
    """A transformation of the given points (``x @ transformation``) and the problem it solves."""

    transformation: Array
    solution: Solution
    problem: Problem
    basis: Array
    unit: float


def starts(basis: Array, settings: Settings, length: float, rng: np.random.RandomState) -> list[Array]:
    """Starting points in the coordinates of ``basis``, each of squared norm ``length``."""
    r = basis.shape[1]
    k = r if settings.n_components is None else min(settings.n_components, r)
    found = []
    for i in range(settings.n_starts):
        if i == 0 and not isinstance(settings.init, str):
            t = basis.T @ settings.init
        elif i == 0 and settings.init == "pca":
            t = np.eye(r, k)  # the basis is sorted by variance
        else:
            t = np.linalg.qr(rng.normal(size=(r, k)))[0]
        norm2 = float((t * t).sum())
        if norm2 == 0.0:
            raise ValueError("init maps every difference between observations to zero; give another start.")
        found.append(t * np.sqrt(length / norm2))
    return found


def pose(
    points: Array, codes: Array, targets: Array, settings: Settings, scale: float
) -> tuple[Problem, float]:
    """The problem of points in the coordinates of their span, at a start of ``scale`` per direction."""
    order = np.argsort(codes, kind="stable")
    z = np.ascontiguousarray(points[order])
    sizes = np.bincount(codes, minlength=len(targets))
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    terms = coefficients(
        sizes, targets, class_weight=settings.class_weight, within_weight=settings.within_weight
    )
    unit = scale * typical_distance(z, bounds, targets)
    return Problem(z, bounds, terms, settings.huber * unit, settings.floor * unit), unit


def learn_transformation(
    x: Array,
    codes: Array,
    targets: Array,
    settings: Settings,
    *,
    max_iter: int = 100,
    rng: np.random.RandomState | None = None,
    on_step: Callable[[int, Array], bool] | None = None,
) -> Fit:
    """Algorithm DDA of [1] on observations ``x`` with class numbers ``codes``; the best of its starts.

    ``on_step`` is told the number of the step and the transformation in the input's coordinates, and
    ends the iteration by answering True; it hears the first start only.
    """
    rng = rng if rng is not None else np.random.RandomState(0)
    points, basis = span(x)
    if basis.shape[1] == 0:
        raise ValueError("all observations are equal: there is no distance to learn from.")
    length = float(x.shape[1]) if settings.length is None else settings.length
    # An identity of squared norm `length` stretches each of the input's m directions by this much.
    problem, unit = pose(points, codes, targets, settings, float(np.sqrt(length / x.shape[1])))
    best: Solution | None = None
    for i, start in enumerate(starts(basis, settings, length, rng)):
        told = None
        if on_step is not None and i == 0:

            def told(step: int, t: Array) -> bool:
                return on_step(step, basis @ t)

        solution = minimise(
            problem,
            start,
            length=length if settings.constrained else None,
            max_iter=max_iter,
            tol=settings.tol,
            on_step=told,
        )
        if best is None or solution.criteria[-1] < best.criteria[-1]:
            best = solution
    assert best is not None
    return Fit(basis @ best.transformation, best, problem, basis, unit)


def spectrum(transformation: Array) -> tuple[Array, Array]:
    """Left singular vectors and singular values of T, signs fixed so that the result is determined."""
    u, s, _ = np.linalg.svd(transformation, full_matrices=False)
    largest = np.abs(u).argmax(axis=0)
    return u * np.sign(u[largest, np.arange(u.shape[1])]), s


def n_dimensions(values: Array, threshold: float) -> int:
    """How many singular values are not negligible beside the first: the dimension that T has found."""
    return max(1, int((values > threshold * values[0]).sum()))
