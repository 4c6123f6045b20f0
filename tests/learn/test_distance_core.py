"""The functional core of distance-based discriminant analysis, against literal transcriptions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from lookalike.learn._distance import _core, _piecewise
from lookalike.learn._distance._kernels import pair_weights


def psi(d, c):
    return np.where(d <= c, 0.5 * d * d, c * d - 0.5 * c * c)


def literal(x, y, t, c, floor):
    """(2.5) pair by pair."""
    n, m = len(x), len(y)
    within = sum(
        np.log(psi(np.sqrt(((x[i] - x[j]) @ t @ t.T) @ (x[i] - x[j]) + floor**2), c))
        for i in range(n)
        for j in range(i)
    )
    between = sum(
        0.5 * np.log(((x[i] - y[j]) @ t @ t.T) @ (x[i] - y[j]) + floor**2) for i in range(n) for j in range(m)
    )
    return 2.0 / (n * (n - 1)) * within - between / (n * m)


def binary(rng, nx=8, ny=12, m=4, *, huber=1.0, floor=0.1):
    x, y = rng.normal(size=(nx, m)), rng.normal(size=(ny, m)) + 0.5
    z = np.concatenate([x, y])
    terms = _core.coefficients(np.array([nx, ny]), np.array([1, 0]))
    problem = _core.Problem(z - z.mean(axis=0), np.array([0, nx, nx + ny]), terms, huber, floor)
    return problem, x, y


def full_weights(problem, t):
    """The numpy twin of the compiled loop: whole matrices of pair weights, and the criterion."""
    z, b = problem.points, problem.bounds
    owner = np.repeat(np.arange(len(b) - 1), np.diff(b))
    p = z @ t
    d = np.sqrt(((p[:, None] - p) ** 2).sum(-1) + problem.floor**2)
    same = (owner[:, None] == owner) & ~np.eye(len(z), dtype=bool)
    value = psi(d, problem.huber)
    a = np.where(same, problem.terms[0][owner][:, None] * np.minimum(1, problem.huber / d) / value, 0)
    beta = np.where(owner[:, None] == owner, 0, problem.terms[1][owner][:, None] + problem.terms[1][owner])
    criterion = (
        0.5 * (np.where(same, problem.terms[0][owner][:, None] * np.log(value), 0) - beta * np.log(d)).sum()
    )
    return a, beta / d**2, criterion


def laplacian(a):
    return np.diag(a.sum(axis=1)) - a


# --- T1: majorizers dominate and touch ---


@pytest.mark.parametrize("at", [0.3, 1.0, 1.7, 5.0])
@pytest.mark.parametrize("c", [0.5, 1.0, 3.0])
def test_huber_and_logarithm_bounds_hold_on_a_grid(at, c):
    d = np.linspace(1e-3, 9, 500)
    weight = 1.0 if at <= c else c / at
    constant = 0.0 if at <= c else c * at / 2 - c * c / 2
    bound = 0.5 * weight * d**2 + constant  # (2.10)
    assert np.all(bound >= psi(d, c) - 1e-12)
    assert 0.5 * weight * at**2 + constant == pytest.approx(float(psi(at, c)))
    tangent = weight * (d**2 - at**2) / (2 * psi(at, c)) + np.log(psi(at, c))  # (2.13)
    assert np.all(tangent >= np.log(psi(d, c)) - 1e-12)


@pytest.mark.parametrize("curvature", [1.0, 1.55, 4.0])
def test_the_taylor_step_bounds_the_logarithm_where_it_is_said_to(curvature):
    """(2.20), (2.22) and the safeguard: above -log u for all u >= 1, and from 1/2 on with curvature 1.55."""
    u = np.linspace(0.5 if curvature >= 1.55 else 1.0, 30, 3000)
    bound = -(u - 1) + curvature / 2 * (u - 1) ** 2
    assert np.all(bound >= -np.log(u) - 1e-3 * (curvature == 1.55))  # 1.55 is rounded
    if curvature == 1.0:
        low = np.linspace(0.05, 0.95, 50)
        assert np.all(-(low - 1) + 0.5 * (low - 1) ** 2 < -np.log(low))  # the thesis's bound is none there
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(2, 200, 3))
    linear = -(x * at).sum(axis=1) / np.linalg.norm(at, axis=1)
    assert np.all(linear >= -np.linalg.norm(x, axis=1) - 1e-12)


@given(
    st.floats(0.05, 5), st.floats(0.1, 4), st.floats(-2, 4), st.floats(-2, 4).filter(lambda v: abs(v) > 1e-3)
)
def test_bend_majorizer_dominates_and_touches(at, x0, left, right):
    if left + right <= 1e-6 or abs(at - x0) < 1e-6:
        return
    a, b, c = _piecewise.bend_majorizer(at, x0, left, right)
    x = np.linspace(0, 8, 200)
    scale = abs(a) * 64 + abs(b) * 8 + abs(c) + 1
    assert np.all(a * x * x + b * x + c >= _piecewise.bend(x, x0, left, right) - 1e-9 * scale)
    touch = float(_piecewise.bend(np.array(at), x0, left, right))
    assert a * at * at + b * at + c == pytest.approx(touch, abs=1e-9 * scale)


def test_the_example_of_figure_2_3():
    assert _piecewise.bend_majorizer(1.8, 0.0, 3.0, 1.0) == pytest.approx((0.5556, -1.0, 1.8), abs=5e-5)


def test_the_broken_line_follows_the_logarithm():
    line = _piecewise.BrokenLine.of_logarithm(0.1, 10.0, 30)
    x = np.geomspace(0.1, 10.0, 400)
    assert np.all(line(x) >= -np.log(x) - 1e-12)
    assert np.max(line(x) + np.log(x)) < 0.01
    assert np.all(line.left >= line.right)


def test_the_piecewise_criterion_never_increases():
    problem, *_ = binary(np.random.default_rng(4), m=5)
    solution = _piecewise.minimise_piecewise(problem, np.eye(5), length=5.0, max_iter=40)
    assert np.all(np.diff(solution.criteria) <= 1e-12)
    assert solution.criteria[-1] < solution.criteria[0] - 0.1
    true = [_core.assess(problem, t).criterion for t in (np.eye(5), solution.transformation)]
    assert true[1] < true[0]


# --- the compiled pass against its twin ---


@pytest.mark.parametrize("blocks", [10**9, 900])
def test_criterion_and_matrices_equal_the_literal_ones(blocks, monkeypatch):
    rng = np.random.default_rng(0)
    sizes, targets = np.array([5, 9, 7]), np.array([1, 0, 1])
    z = rng.normal(size=(21, 4))
    problem = _core.Problem(
        z, np.array([0, 5, 14, 21]), _core.coefficients(sizes, targets, class_weight="thesis"), 1.1, 0.2
    )
    real = _core.row_blocks
    monkeypatch.setattr(_core, "row_blocks", lambda n, size: real(n, size, budget=blocks))
    t = rng.normal(size=(4, 3))
    a, g, criterion = full_weights(problem, t)
    state = _core.assess(problem, t)
    assert state.criterion == pytest.approx(criterion, rel=1e-12)
    np.testing.assert_allclose(state.within, z.T @ laplacian(a) @ z, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state.between, z.T @ laplacian(g) @ z, rtol=1e-10, atol=1e-12)


def test_distances_by_products_equal_those_by_differences():
    rng = np.random.default_rng(1)
    p = rng.normal(size=(80, 40))
    norms = (p * p).sum(axis=1)
    np.testing.assert_allclose(
        _core.squared_distances(p[:5], p, norms, 1.0),
        _core.squared_distances(p[:5], p, norms, 1e-30),
        atol=1e-11,
    )


def test_binary_criterion_is_2_5():
    problem, x, y = binary(np.random.default_rng(2))
    t = np.random.default_rng(3).normal(size=(4, 2))
    assert _core.assess(problem, t).criterion == pytest.approx(literal(x, y, t, 1.0, 0.1), rel=1e-11)


def test_logarithms_of_products_survive_extreme_distances():
    for scale in (1e-60, 1e60):
        squares = np.full((1, 300), scale**2)
        squares[0, 0] = 0.0
        terms = np.array([[1.0, 0.0], [1.0, 0.0]])
        out = pair_weights(
            squares,
            np.zeros((1, 100)),
            0,
            np.array([0, 100, 300]),
            terms,
            1e99 * scale,
            (1e-9 * scale) ** 2,
        )
        assert out == pytest.approx(99 * np.log(0.5 * scale**2) - 200 * np.log(scale), rel=1e-9)


# --- T2, T7: gradients and Laplacians ---


def test_surrogate_and_criterion_have_one_gradient():
    problem, *_ = binary(np.random.default_rng(5))
    t = np.random.default_rng(6).normal(size=(4, 2))
    numeric = approx_fprime(t.ravel(), lambda v: _core.assess(problem, v.reshape(4, 2)).criterion, 1e-7)
    np.testing.assert_allclose(_core.gradient(_core.assess(problem, t)).ravel(), numeric, atol=1e-6)


def test_the_laplacian_is_the_sum_of_pair_matrices():
    rng = np.random.default_rng(7)
    a = np.abs(rng.normal(size=(5, 5)))
    a = np.triu(a, 1) + np.triu(a, 1).T
    total = np.zeros((5, 5))
    for i in range(5):
        for j in range(i):
            e = np.zeros(5)
            e[i], e[j] = 1, -1
            total += a[i, j] * np.outer(e, e)
    np.testing.assert_allclose(total, laplacian(a))


# --- T3-T6: the iteration ---


@pytest.mark.parametrize("block", range(10))
def test_the_criterion_never_increases(block):
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 30))
        sizes = rng.integers(2, 9, size=int(rng.integers(2, 4)))
        if seed % 5 == 0:
            sizes = np.array([2, 100])
        x = rng.normal(size=(sizes.sum(), m)) * 10.0 ** rng.integers(-2, 3)
        x[1] = x[0]  # a duplicate within a class
        x[-1] = x[0]  # and one across classes
        codes = np.repeat(np.arange(len(sizes)), sizes)
        targets = np.ones(len(sizes)) if seed % 2 else np.arange(len(sizes)) == 0
        settings = _core.Settings(
            floor=float(rng.choice([1e-3, 0.1, 1])), huber=float(rng.choice([0.1, 1, 10])), tol=0
        )
        fit = _core.learn_transformation(x, codes, targets, settings, max_iter=12)
        criteria = np.array(fit.solution.criteria)
        assert np.isfinite(criteria).all()
        assert np.all(np.diff(criteria) <= 1e-11 * np.maximum(1, np.abs(criteria[:-1])))
        assert np.sum(fit.transformation**2) == pytest.approx(m, rel=1e-8)
        assert np.linalg.matrix_rank(fit.transformation) <= min(m, len(x) - 1)


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(1e-3, 1e3))
def test_the_length_constraint_is_met_at_the_unique_root(seed, r, length):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=(r, r))
    matrix, linear = b @ b.T, rng.normal(size=(r, 2))
    t, s = _core.solve_length(matrix, linear, length)
    assert (t * t).sum() == pytest.approx(length, rel=1e-10)
    values = np.linalg.eigvalsh(matrix)
    assert s > -values[0] - 1e-9 * values[-1]
    residual = (matrix + s * np.eye(r)) @ t - linear
    assert np.abs(residual).max() <= 1e-6 * (np.abs(linear).max() + values[-1] * np.sqrt(length))


def test_the_hard_case_still_has_the_right_length():
    t, s = _core.solve_length(np.diag([1.0, 5.0]), np.array([[0.0], [1.0]]), 4.0)
    assert (t * t).sum() == pytest.approx(4.0)
    assert s == pytest.approx(-1.0, abs=1e-9)


def test_the_multiplier_is_negative_and_the_between_part_is_one_at_convergence():
    rng = np.random.default_rng(8)
    problem, *_ = binary(rng, 10, 15, 3, huber=1.0, floor=1e-7)
    state = _core.assess(problem, np.eye(3))
    t, _ = _core.solve_length(state.within + state.between, 2 * state.between @ np.eye(3), 3.0)
    for _ in range(15):
        state = _core.assess(problem, t)
        assert np.trace(t.T @ state.between @ t) == pytest.approx(1.0, abs=1e-6)
        t, s = _core.solve_length(state.within + state.between, 2 * state.between @ t, 3.0)
    assert -1 <= s * 3.0 < 0


def test_shrinking_always_lowers_the_criterion_and_the_free_step_shrinks():
    rng = np.random.default_rng(9)
    for huber in (0.3, 1.0, 1e6):
        problem, *_ = binary(rng, huber=huber, floor=1e-9)
        t = rng.normal(size=(4, 4))
        state = _core.assess(problem, t)
        slope = np.trace(t.T @ _core.gradient(state))  # d/ds log J(sT) at s = 1, which is A - 1
        assert 0 < slope <= 1 + 1e-9
        if huber == 1e6:
            assert slope == pytest.approx(1.0, abs=1e-6)
    solution = _core.minimise(problem, np.eye(4), length=None, max_iter=30, tol=0)
    assert np.linalg.norm(solution.transformation) < 1e-3 * 2
    assert np.all(np.diff(solution.criteria) <= 1e-9)


def test_the_rank_never_grows():
    """T9: directions that were given up do not come back."""
    problem, *_ = binary(np.random.default_rng(6), 9, 14, m=8, floor=0.01)
    ranks = []

    def note(step, t):
        ranks.append(np.linalg.matrix_rank(t, tol=1e-9 * np.linalg.norm(t)))
        return False

    start = np.linalg.qr(np.random.default_rng(7).normal(size=(8, 5)))[0] * np.sqrt(8 / 5)
    solution = _core.minimise(problem, start, length=8.0, max_iter=200, on_step=note)
    assert ranks[0] == 5
    assert np.all(np.diff(ranks) <= 0)
    u, s = _core.spectrum(solution.transformation)
    z = problem.points
    distances = ((z[:, None] - z) @ solution.transformation) ** 2
    np.testing.assert_allclose(
        (((z[:, None] - z) @ (u * s)) ** 2).sum(-1), distances.sum(-1), rtol=1e-8, atol=1e-12
    )


def test_scaling_law_and_invariances():
    rng = np.random.default_rng(10)
    _, x, y = binary(rng)
    t = rng.normal(size=(4, 2))
    j = literal(x, y, t, 1.0, 0.1)
    assert literal(x, y, 3 * t, 3.0, 0.3) == pytest.approx(j + np.log(3))
    assert literal(x + 5, y + 5, t, 1.0, 0.1) == pytest.approx(j)
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert literal(x @ q, y @ q, q.T @ t, 1.0, 0.1) == pytest.approx(j)
    assert literal(x[::-1], y[::-1], t, 1.0, 0.1) == pytest.approx(j)


def test_the_fit_follows_translation_rotation_and_permutation():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(30, 4)) * [1, 2, 3, 4]
    codes = np.arange(30) % 2
    targets = np.array([1, 0])
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    order = rng.permutation(30)

    def metric(points, labels):
        t = _core.learn_transformation(points, labels, targets, _core.Settings(), max_iter=8).transformation
        return t @ t.T

    m = metric(x, codes)
    np.testing.assert_allclose(metric(x + 100, codes), m, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(metric(x[order], codes[order]), m, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(q @ metric(x @ q, codes) @ q.T, m, rtol=1e-7, atol=1e-9)


def test_the_span_loses_nothing():
    """T8: in more dimensions than points, as the full computation with a pseudo-inverse."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(12, 30))
    codes = np.arange(12) % 2
    fit = _core.learn_transformation(x, codes, np.array([1, 0]), _core.Settings(floor=0.3, tol=0), max_iter=3)
    order = np.argsort(codes, kind="stable")
    problem = _core.Problem(
        x[order], fit.problem.bounds, fit.problem.terms, fit.problem.huber, fit.problem.floor
    )
    # Start on the span, as the rest of an identity does nothing; there the full matrix has a null space.
    t = fit.basis * np.sqrt(30 / fit.basis.shape[1])
    for _ in range(3):
        state = _core.assess(problem, t)
        matrix, linear = state.within + state.between, 2 * state.between @ t
        values, vectors = np.linalg.eigh(matrix)
        kept = values > 1e-10 * values[-1]
        u, d = vectors[:, kept], values[kept]
        inner, _ = _core.solve_length(np.diag(d), u.T @ linear, 30.0)
        t = u @ inner
    np.testing.assert_allclose(t @ t.T, fit.transformation @ fit.transformation.T, atol=1e-8)


def test_more_starts_never_give_a_higher_criterion():
    rng = np.random.default_rng(13)
    x = rng.normal(size=(40, 2))
    codes = (np.abs(x[:, 0]) > 0.6).astype(int)
    one, ten = (
        _core.learn_transformation(x, codes, np.array([1, 0]), _core.Settings(n_components=1, n_starts=n))
        for n in (1, 10)
    )
    assert ten.solution.criteria[-1] <= one.solution.criteria[-1]


# --- T10: several classes ---


def test_two_classes_with_one_left_out_are_the_binary_problem():
    terms = _core.coefficients(np.array([4, 6]), np.array([1, 0]))
    np.testing.assert_allclose(terms, [[2 / 12, 0], [1 / 24, 0]])
    np.testing.assert_allclose(
        _core.coefficients(np.array([4, 6]), np.array([1, 0]), class_weight="thesis"), terms
    )


def test_both_weightings_coincide_for_balanced_classes_only():
    balanced, skew = np.array([5, 5, 5]), np.array([5, 5, 50])
    targets = np.array([1, 1, 0])
    np.testing.assert_allclose(
        _core.coefficients(balanced, targets), _core.coefficients(balanced, targets, class_weight="thesis")
    )
    targets = np.array([0, 1, 1])
    a = _core.coefficients(skew, targets)
    assert not np.allclose(a, _core.coefficients(skew, targets, class_weight="thesis"))


# --- T22: the golden value on Sonar ---


def sonar(data):
    table = np.genfromtxt(data / "uci" / "sonar.csv", delimiter=",", dtype=str)
    x, y = table[:, :-1].astype(float), table[:, -1]
    order = np.argsort(y != "R", kind="stable")
    n = int((y == "R").sum())
    points, _ = _core.span(x[order])
    bounds, targets = np.array([0, n, len(y)]), np.array([1, 0])
    middle = _core.typical_distance(points, bounds, targets)
    terms = _core.coefficients(np.diff(bounds), targets)
    return _core.Problem(points, bounds, terms, middle, 0.1 * middle), middle


@pytest.mark.data
def test_sonar_reaches_its_value_from_every_start(data):
    problem, middle = sonar(data)
    assert middle == pytest.approx(1.768, abs=5e-4)
    starts = [np.eye(60)]
    for seed in range(6):
        for k in (2, 60):
            q = np.linalg.qr(np.random.default_rng(seed).normal(size=(60, k)))[0]
            starts.append(q * np.sqrt(60 / k))
    for start in starts:
        solution = _core.minimise(problem, start, length=60.0, max_iter=300, tol=1e-7)
        assert solution.criteria[-1] == pytest.approx(-3.0567, abs=1e-3)
        assert solution.evaluations <= 100


@pytest.mark.data
def test_majorization_needs_far_fewer_evaluations_than_a_general_optimiser(data):
    problem, _ = sonar(data)
    start = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 2)))[0] * np.sqrt(30)
    ours = _core.minimise(problem, start, length=60.0, max_iter=300, tol=1e-6)
    count = 0

    def value(v):
        nonlocal count
        count += 1
        t = v.reshape(60, 2)
        norm = np.sqrt((t * t).sum() / 60.0)
        state = _core.assess(problem, t / norm)
        slope = _core.gradient(state)
        slope = (slope - state.transformation * (slope * state.transformation).sum() / 60.0) / norm
        return state.criterion, slope.ravel()

    theirs = minimize(
        value, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-12}
    )
    assert theirs.fun == pytest.approx(ours.criteria[-1], abs=2e-3)
    assert ours.evaluations < count
