"""The functional core of leveraged neighbours against literal transcriptions of its equations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from lookalike.learn import _leverage as core
from lookalike.learn import _leverage_general as general
from lookalike.learn import _leverage_kernels as kernels
from lookalike.neighbors import KNNGraph

PSI = {
    "exponential": lambda x: np.exp(-x),
    "logistic": lambda x: np.logaddexp(0, -x),
    "squared": lambda x: (1 - x) ** 2,
    "matsushita": lambda x: np.sqrt(1 + x * x) - x,
}
WEIGHT = {  # −ψ'
    "exponential": lambda x: np.exp(-x),
    "logistic": lambda x: 1 / (1 + np.exp(x)),
    "squared": lambda x: 2 * (1 - x),
    "matsushita": lambda x: 1 - x / np.sqrt(1 + x * x),
}


def dense(edges):
    """The edge matrix, with all its zeros."""
    m, k = edges.indices.shape
    R = np.zeros((m, m))
    for i, t in itertools.product(range(m), range(k)):
        j = edges.indices[i, t]
        if j >= 0:
            same = edges.codes[i] == edges.codes[j]
            R[i, j] = (
                edges.values[i, t] if edges.values is not None else (edges.up[j] if same else -edges.down[j])
            )
    return R


def gap(d, loss, r, e, up, down, tau):
    """The equation of a step, with its two pseudo-examples."""
    pseudo = (WEIGHT[loss](up * d) - WEIGHT[loss](-down * d)) / WEIGHT[loss](0.0)
    return (r * WEIGHT[loss](e + d * r)).sum() + tau * pseudo


def literal_step(j, R, e, edges, loss, smoothing, epsilon=1.0):
    """δ of a column, by a root finder that knows nothing of closed forms."""
    rows = np.flatnonzero(R[:, j])
    if len(rows) == 0:
        return 0.0
    r = R[rows, j]
    if loss == "squared":
        return (r * WEIGHT[loss](e[rows])).sum() / (2 * (r * r).sum())
    tau = 0.0
    if smoothing != "needed" or (r > 0).all() or (r < 0).all():
        tau = epsilon * WEIGHT[loss](0.0) * min(edges.up[j], edges.down[j])
    args = (loss, r, e[rows], edges.up[j], edges.down[j], tau)
    limit = 100 / (edges.up[j] + edges.down[j])
    if gap(-limit, *args) <= 0:
        return -limit
    if gap(limit, *args) >= 0:
        return limit
    return brentq(gap, -limit, limit, args, xtol=1e-15, rtol=1e-15)


def replay(rounds, edges, loss, chooser, smoothing="needed", rate=1.0):
    """Algorithms 3–6 beside the rounds that were done: every choice a best one, every step its root."""
    R = dense(edges)
    m = len(R)
    e, alive = np.zeros(m), np.ones(m, bool)
    assert rounds.risks[0] == pytest.approx(PSI[loss](e).mean(), abs=1e-12)
    for t, (j, step) in enumerate(zip(rounds.chosen, rounds.steps)):
        delta = np.array([literal_step(i, R, e, edges, loss, smoothing) for i in range(m)])
        assert step == pytest.approx(rate * delta[j], abs=1e-8, rel=1e-8)
        if chooser in ("once", "boosting"):
            assert delta[j] >= delta[alive].max() - 1e-7
        if chooser == "decrease":
            drops = PSI[loss](e)[:, None] - PSI[loss](e[:, None] + rate * delta * R)
            drops = np.where(delta > 0, drops.sum(axis=0), -1)
            assert drops[j] >= drops[alive].max() - 1e-7
        if chooser == "lazy":
            assert j == np.flatnonzero(R.any(axis=0))[t]
        assert alive[j]
        alive[j] = chooser == "boosting"
        e = e + step * R[:, j]
        assert rounds.risks[t + 1] == pytest.approx(PSI[loss](e).mean(), abs=1e-12)
    if chooser in ("once", "decrease") and len(rounds.chosen) < alive.sum():
        rest = [literal_step(i, R, e, edges, loss, smoothing) for i in np.flatnonzero(alive)]
        assert max(rest) < 1e-9
    return e


def problem(seed, m=60, n_classes=3, k=5, weights=None):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, m)
    X = rng.normal(size=(m, 2)) + 1.2 * np.stack([np.cos(2 * y), np.sin(2 * y)], axis=1)
    graph = KNNGraph.build(X, n_neighbors=k)
    K = core.neighbour_weights(weights, graph.distances) if weights else None
    return graph, y, K


def multiclass(seed, **options):
    graph, y, K = problem(seed, **options)
    return core.multiclass_edges(graph.indices, y, options.get("n_classes", 3), K)


@pytest.mark.parametrize("chooser", ["once", "decrease", "boosting", "lazy"])
@pytest.mark.parametrize("smoothing", ["needed", "always"])
@pytest.mark.parametrize(
    "loss,kernel",
    [("exponential", None), ("exponential", "adaptive"), ("logistic", None), ("logistic", "adaptive"),
     ("squared", None), ("squared", "adaptive"), ("matsushita", None)],
)  # fmt: skip
def test_the_rounds_are_those_of_the_naive_algorithm(chooser, smoothing, loss, kernel):
    edges = multiclass(3, m=30, weights=kernel)
    rounds = core.boost(edges, loss=loss, chooser=chooser, smoothing=smoothing, n_rounds=30)
    assert len(rounds.chosen) > 10
    replay(rounds, edges, loss, chooser, smoothing)


def naive_rounds(edges, loss, chooser, smoothing, T):
    """The chooser that values every column in every round, with the compiled column solvers."""
    closed = edges.values is None and loss == "exponential"
    matrix, code = core.edge_matrix(edges, not closed), core.LOSSES[loss]
    m = len(edges.codes)
    scale, w, e = np.ones(m), np.ones(m), np.zeros(m)
    rule = kernels.Rule(
        code, 1 if chooser == "decrease" else 0, False, T, T, core.SMOOTHINGS[smoothing], 1.0, 1.0
    )
    columns = np.zeros((m, 8))
    columns[:, kernels.EXTRA_PLUS] = kernels._shares(matrix, rule.smoothing)
    columns[:, kernels.COUNT] = matrix.n_plus + matrix.n_minus
    unit = general.loss_weight(code, 0.0)
    alive, followed, epsilon = np.ones(m, bool), None, unit
    chosen, steps = [], []
    for _ in range(T):
        weight = w if closed else np.array([general.loss_weight(code, x) for x in e])
        if smoothing == "normalised" and (followed is None or weight.sum() < kernels.FOLLOW * followed):
            followed = weight.sum()
            epsilon = followed / m
        step, keys, everyone = np.empty(m), np.empty(m), np.arange(m)
        if closed:
            kernels._value_closed(everyone, True, True, matrix, rule, epsilon, scale, w, columns, step, keys)
            step = step / (edges.up + edges.down)
        else:
            state = general.new_state(e, np.ones(m), matrix, rule)
            general._value_general(everyone, True, matrix, rule, epsilon, scale, state, 0)
            step, keys = state.solved, state.keys
        j = int(np.argmax(np.where(alive, keys, -np.inf)))
        if keys[j] <= 0:
            break
        alive[j] = False
        chosen.append(j)
        steps.append(step[j])
        rows = np.flatnonzero(dense(edges)[:, j])
        r = dense(edges)[rows, j]
        e[rows] += step[j] * r
        w[rows] *= np.exp(-step[j] * r)
    return chosen, steps


@pytest.mark.parametrize("chooser", ["once", "decrease"])
@pytest.mark.parametrize("smoothing", ["needed", "normalised"])
@pytest.mark.parametrize(
    "loss,kernel",
    [("exponential", None), ("exponential", "adaptive"), ("exponential", "gaussian"), ("logistic", None),
     ("logistic", "adaptive"), ("matsushita", "adaptive")],
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_the_heap_chooses_as_the_naive_chooser_does(chooser, smoothing, loss, kernel, seed):
    same_rounds(multiclass(seed, m=60, weights=kernel), loss, chooser, smoothing)


@pytest.mark.parametrize("smoothing", ["needed", "always", "normalised"])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("kernel", ["adaptive", "gaussian"])
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_bounds_by_running_sums_choose_as_the_naive_chooser_does(smoothing, loss, kernel, seed):
    same_rounds(multiclass(seed, m=150, k=11, weights=kernel), loss, "once", smoothing)


def same_rounds(edges, loss, chooser, smoothing):
    rounds = core.boost(edges, loss=loss, chooser=chooser, smoothing=smoothing)
    chosen, steps = naive_rounds(edges, loss, chooser, smoothing, len(edges.codes))
    assert rounds.chosen.tolist() == chosen
    np.testing.assert_allclose(rounds.steps, steps, rtol=1e-10, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3, 15, 1000]),
    st.integers(1, 20),
    st.sampled_from(list(PSI)),
    st.sampled_from(["once", "boosting"]),
    st.sampled_from(list(core.SMOOTHINGS)),
    st.sampled_from(["adaptive", "gaussian"]),
    st.sampled_from([1.0, 0.3]),
)
def test_each_choice_is_the_best_of_its_round(seed, C, k, loss, chooser, smoothing, kernel, rate):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) if seed % 3 else rng.integers(0, 3, size=(60, 2)).astype(float)
    X[:, 0] += (seed % 2) * 3 * np.sign(X[:, 0])  # also classes so far apart that the weights vanish
    y = (X[:, 0] > 0).astype(np.int64) if seed % 2 else rng.integers(0, min(C, 60), 60)
    graph = KNNGraph.build(X, n_neighbors=k)
    edges = core.multiclass_edges(graph.indices, y, C, core.neighbour_weights(kernel, graph.distances))
    w = rng.random(60) + 1e-6
    w *= 60 / w.sum()
    options = {"loss": loss, "chooser": chooser, "smoothing": smoothing, "learning_rate": rate}
    rounds = core.boost(edges, **options, sample_weight=w, n_rounds=100)
    matrix, code = core.edge_matrix(edges, True), core.LOSSES[loss]
    rule = kernels.Rule(code, 0, chooser == "boosting", 100, 61, core.SMOOTHINGS[smoothing], 1.0, rate)
    e, alive, everyone = np.zeros(60), np.ones(60, bool), np.arange(60)
    followed, epsilon = np.inf, general.loss_weight(code, 0.0)
    for j, step in zip(rounds.chosen, rounds.steps):
        state = general.new_state(e, w, matrix, rule)
        mass = state.pulls.sum()
        if smoothing == "normalised" and (
            followed == np.inf or (loss != "squared" and mass < kernels.FOLLOW * followed)
        ):
            followed, epsilon = mass, mass / 60
        general._value_general(everyone, True, matrix, rule, epsilon, np.ones(60), state, 0)
        assert state.keys[j] >= state.keys[alive].max() - 1e-7 * (abs(state.keys[j]) + 1e-3)
        assert step == pytest.approx(rate * state.keys[j], rel=1e-7, abs=1e-9)
        alive[j] = chooser == "boosting"
        own = slice(matrix.starts[j], matrix.starts[j + 1])
        e[matrix.rows[own]] += step * matrix.across[own]


# -- T8: the decrease of the risk is a Bregman divergence of the weights (thesis (A.6)) -----------------

DIVERGENCE = {
    "exponential": lambda a, b: a * np.log(a / b) - a + b,
    "squared": lambda a, b: (a - b) ** 2 / 4,
    "logistic": lambda a, b: a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b)),
}


@pytest.mark.parametrize("loss", list(DIVERGENCE))
@pytest.mark.parametrize("kernel", [None, "adaptive"])
def test_the_risk_falls_by_the_divergence_of_the_weights(loss, kernel):
    edges = multiclass(5, m=80, k=7, weights=kernel)
    rounds = core.boost(edges, loss=loss, smoothing="needed")
    R = dense(edges)
    e = np.zeros(80)
    exact = 0
    for t, (j, step) in enumerate(zip(rounds.chosen, rounds.steps)):
        before = WEIGHT[loss](e)
        e = e + step * R[:, j]
        both = (R[:, j] > 0).any() and (R[:, j] < 0).any()
        if both or loss == "squared":  # a smoothed step is not the exact one
            exact += 1
            fall = rounds.risks[t] - rounds.risks[t + 1]
            assert fall == pytest.approx(DIVERGENCE[loss](WEIGHT[loss](e), before).mean(), abs=1e-10)
    assert exact > 5


@pytest.mark.parametrize("loss", ["exponential", "logistic", "matsushita"])
@pytest.mark.parametrize("kernel", [None, "adaptive"])
def test_a_risk_that_has_almost_vanished_is_right_to_its_last_digits(loss, kernel):
    X = np.random.default_rng(6).normal(size=(500, 2))
    X[:, 0] += 3 * np.sign(X[:, 0])
    graph = KNNGraph.build(X, n_neighbors=7)
    K = core.neighbour_weights(kernel, graph.distances) if kernel else None
    edges = core.multiclass_edges(graph.indices, (X[:, 0] > 0).astype(np.int64), 2, K)
    rounds = core.boost(edges, loss=loss, chooser="boosting", n_rounds=10_001)
    state = -np.log(rounds.state) if kernel is None and loss == "exponential" else rounds.state
    plain = {**PSI, "matsushita": lambda x: 1 / (np.sqrt(1 + x * x) + x)}[loss](state)
    assert rounds.risks[-1] < (1e-3 if loss == "matsushita" else 1e-60)
    assert rounds.risks[-1] == pytest.approx(plain.mean(), rel=1e-12)


# -- T9: closed forms against roots --------------------------------------------------------------------


def one_column(signs, e, up, down, kernel=None):
    """Edges of which column 0 has these signs; the points have these edges already."""
    m = len(signs) + 1
    indices = np.zeros((m, 1), np.int32)
    indices[0] = -1
    codes = np.r_[1, np.where(np.asarray(signs) > 0, 1, 0)].astype(np.int64)
    K = None if kernel is None else np.r_[0.0, kernel][:, None]
    return core._edges(indices, codes, np.full(m, up), np.full(m, down), K), np.r_[0.0, e]


@pytest.mark.parametrize("C", [2, 3, 8, 15])
@pytest.mark.parametrize("one_sign", [False, True])
def test_closed_forms_equal_roots(C, one_sign):
    rng = np.random.default_rng(C)
    D = C - 1
    signs = np.ones(9) if one_sign else np.array([1, 1, 1, 1, -1, -1, -1, 1, -1])
    e = rng.normal(size=9)
    w = np.exp(-e)
    plus, minus = w[signs > 0].sum(), w[signs < 0].sum()
    edges, state = one_column(signs, e, 1 / D, 1 / D**2)
    matrix = core.edge_matrix(edges, True)
    extra = 1.0 / D**2 if one_sign else 0.0
    solved = general.solve_column(0, 0, matrix, state, np.ones(10), extra)
    epsilon = 1.0 if one_sign else 0.0
    closed = D**2 / C * np.log((D * plus + epsilon) / (minus + epsilon))  # (5.26), (B.11)
    assert solved == pytest.approx(closed, rel=1e-9)
    squared = general.solve_column(0, 2, matrix, state, np.ones(10), 0.0)
    wq = 2 * (1 - e)
    n_plus, n_minus = (signs > 0).sum(), (signs < 0).sum()
    expected = D**2 * (D * wq[signs > 0].sum() - wq[signs < 0].sum()) / (2 * (D**2 * n_plus + n_minus))
    assert squared == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("C", [2, 3, 8, 15])
def test_steps_of_symmetric_labels_are_those_of_the_table(C):
    rng = np.random.default_rng(C)
    D = C - 1
    member = rng.random(40) < 0.5
    graph = KNNGraph.build(rng.normal(size=(40, 2)), n_neighbors=6)
    edges = core.binary_edges(graph.indices, member, C, labels="symmetric")
    rounds = core.boost(edges, chooser="lazy", smoothing="always", n_rounds=40)
    R, w = dense(edges), np.ones(40)
    for j, step in zip(rounds.chosen, rounds.steps):
        plus, minus = w[R[:, j] > 0].sum(), w[R[:, j] < 0].sum()
        if member[j]:
            expected = D / C * np.log((D * plus + 1) / (minus + 1))
        else:
            expected = D**2 / C * np.log((plus + 1) / (D * minus + 1))
        assert step == pytest.approx(expected, rel=1e-9, abs=1e-12)
        w *= np.exp(-step * R[:, j])


# -- T10, T11: the risk never rises, but with the labels as printed ------------------------------------


@pytest.mark.parametrize("loss", list(PSI))
@pytest.mark.parametrize("labels", ["multiclass", "pm1", "symmetric"])
def test_the_risk_never_rises(loss, labels):
    graph, y, _ = problem(7, m=500, n_classes=5, k=9)
    if labels == "multiclass":
        edges = core.multiclass_edges(graph.indices, y, 5)
    else:
        edges = core.binary_edges(graph.indices, y == 0, 5, labels=labels)
    for chooser in ("random", "boosting"):
        rounds = core.boost(edges, loss=loss, chooser=chooser, n_rounds=500, random_state=0)
        assert len(rounds.chosen) > 100
        assert np.diff(rounds.risks).max() <= 1e-12


def test_the_labels_and_steps_as_printed_can_raise_the_risk():
    """Thesis Algorithm 3 with class vectors of 1 and −1/(C−1): ten classes, w⁺ = 1, w⁻ = 2."""
    D = 9
    r = np.array([1.0, -1 / D, -1 / D])
    printed = 0.5 * np.log(1 / 2)
    assert np.exp(-printed * r).sum() == pytest.approx(3.3387, abs=1e-4)
    edges, state = one_column([1, -1, -1], np.zeros(3), 1.0, 1 / D)
    exact = general.solve_column(0, 0, core.edge_matrix(edges, True), state, np.ones(4), 0.0)
    assert exact == pytest.approx(1.354, abs=1e-3)
    assert np.exp(-exact * r).sum() == pytest.approx(2.583, abs=1e-3)


# -- T12: two classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", ["needed", "normalised"])
def test_two_classes_of_mlnn_are_one_problem_of_unn(smoothing):
    graph, y, _ = problem(11, m=120, n_classes=2)
    one = core.boost(core.multiclass_edges(graph.indices, y, 2), smoothing=smoothing)
    for c in (0, 1):
        other = core.boost(core.binary_edges(graph.indices, y == c), smoothing=smoothing)
        np.testing.assert_array_equal(one.chosen, other.chosen)
        np.testing.assert_allclose(one.steps, other.steps, rtol=1e-12)


# -- T13, M2: Theorems 2 and 4, step by step -----------------------------------------------------------


@pytest.mark.parametrize("C", [2, 3, 6])
def test_each_exact_step_shrinks_the_weights_as_the_theorems_say(C):
    graph, y, _ = problem(13, m=200, n_classes=C, k=9)
    edges = core.multiclass_edges(graph.indices, y, C)
    rounds = core.boost(edges, smoothing="needed")
    R, w, checked = dense(edges), np.ones(200), 0
    for t, (j, step) in enumerate(zip(rounds.chosen, rounds.steps)):
        plus, minus = w[R[:, j] > 0].sum(), w[R[:, j] < 0].sum()
        eta, p = (plus + minus) / w.sum(), plus / (plus + minus)
        w = w * np.exp(-step * R[:, j])
        shrink = rounds.risks[t + 1] / rounds.risks[t]
        if (R[:, j] > 0).any() and (R[:, j] < 0).any():
            checked += 1
            f = C / (C - 1) * ((C - 1) * p) ** (1 / C) * (1 - p) ** ((C - 1) / C)
            assert shrink == pytest.approx(1 - eta * (1 - f), abs=1e-10)
            assert shrink <= np.exp(-C / (C - 1) * eta * (p - 1 / C) ** 2) + 1e-12
            if C == 2:
                assert shrink <= np.exp(-2 * eta * (p - 0.5) ** 2) + 1e-12
    assert checked > 20
    # The weights are those of the edges: w = exp(−Rα).
    members, alphas = rounds.coefficients()
    np.testing.assert_allclose(rounds.state, np.exp(-R[:, members] @ alphas), rtol=1e-10)


# -- T15: the optimum ----------------------------------------------------------------------------------


def test_many_squared_rounds_reach_least_squares():
    edges = multiclass(17, m=40, k=4)
    R = dense(edges)
    best = np.linalg.lstsq(R, np.ones(40), rcond=None)[0]
    alphas, e = np.zeros(40), np.zeros(40)
    matrix = core.edge_matrix(edges, True)
    for _ in range(400):
        for j in np.flatnonzero(R.any(axis=0)):
            step = general.solve_column(j, 2, matrix, e, np.ones(40), 0.0)
            alphas[j] += step
            e += step * R[:, j]
    assert ((1 - e) ** 2).mean() == pytest.approx(((1 - R @ best) ** 2).mean(), rel=1e-3)


def test_many_exponential_rounds_reach_the_optimum_of_a_general_solver():
    rng = np.random.default_rng(19)
    graph, y, _ = problem(19, m=60, n_classes=2, k=8)
    y = np.where(rng.random(60) < 0.4, 1 - y, y)  # noise and few columns, so that the optimum is finite
    edges = core.binary_edges(graph.indices, y == 1)
    R = dense(edges)
    both = np.flatnonzero((R > 0).any(axis=0) & (R < 0).any(axis=0))[:12]
    peer = minimize(
        lambda a: np.exp(-R[:, both] @ a).mean(),
        np.zeros(len(both)),
        jac=lambda a: -R[:, both].T @ np.exp(-R[:, both] @ a) / 60,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    e, matrix = np.zeros(60), core.edge_matrix(edges, True)
    for _ in range(300):
        for j in both:
            e += general.solve_column(j, 0, matrix, e, np.ones(60), 0.0) * R[:, j]
    assert np.exp(-e).mean() == pytest.approx(peer.fun, rel=1e-3)


# -- T16, T17, M1: kernels and the solver --------------------------------------------------------------


def test_the_intersection_of_unit_histograms_is_one_minus_half_of_manhattan():
    rng = np.random.default_rng(23)
    H = rng.dirichlet(np.full(20, 0.3), size=30)
    graph = KNNGraph.build(H, n_neighbors=29, metric="intersection")
    K = core.neighbour_weights("intersection", graph.distances)
    expected = np.minimum(H[:, None], H[None]).sum(-1)
    np.testing.assert_allclose(K, np.take_along_axis(expected, graph.indices, axis=1), atol=1e-12)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "matsushita"])
def test_the_solver_finds_the_roots_of_random_columns(loss):
    rng = np.random.default_rng(29)
    for _ in range(200):
        n = int(rng.integers(2, 12))
        signs = rng.permutation(np.r_[1, -1, rng.choice([-1, 1], n - 2)])
        kernel, e = np.exp(-rng.exponential(2, n)), rng.normal(scale=3, size=n)
        C = int(rng.choice([2, 3, 8, 15]))
        edges, state = one_column(signs, e, 1 / (C - 1), 1 / (C - 1) ** 2, kernel)
        got = general.solve_column(0, core.LOSSES[loss], core.edge_matrix(edges), state, np.ones(n + 1), 0.0)
        r = edges.values[1:, 0]
        limit = 100 / (edges.up[0] + edges.down[0])
        args = (loss, r, e, edges.up[0], edges.down[0], 0.0)
        if gap(-limit, *args) * gap(limit, *args) < 0:
            root = brentq(gap, -limit, limit, args, xtol=1e-14, rtol=1e-14)
            assert got == pytest.approx(root, rel=1e-8, abs=1e-8)
        else:
            assert abs(got) == pytest.approx(limit)


@pytest.mark.parametrize("loss", list(PSI))
def test_losses_and_weights_equal_their_plain_formulas_and_do_not_overflow(loss):
    code = core.LOSSES[loss]
    for x in (-8.0, -1.0, -1e-3, 0.0, 0.5, 3.0, 9.0):
        assert general.loss_value(code, x) == pytest.approx(PSI[loss](x), rel=1e-9)
        assert general.loss_weight(code, x) == pytest.approx(WEIGHT[loss](x), rel=1e-9)
    for x in (600.0, 1e4):
        assert np.isfinite(general.loss_value(code, x)) and np.isfinite(general.loss_weight(code, x))


def test_logistic_golden_values():
    """w = .3, r = .7, δ = .9: the printed update gives .29576; and 7 against 3 of weight .1."""
    e = np.log(0.7 / 0.3)
    assert general.loss_weight(1, e + 0.9 * 0.7) == pytest.approx(0.18584, abs=1e-5)
    signs = np.r_[np.ones(7), -np.ones(3)]
    edges, state = one_column(signs, np.full(10, np.log(9.0)), 1.0, 1.0)
    got = general.solve_column(0, 1, core.edge_matrix(edges, True), state, np.ones(11), 0.0)
    assert got == pytest.approx(0.472, abs=1e-3)


# -- M4, M5 --------------------------------------------------------------------------------------------


def test_repeats_give_no_more_prototypes_than_rounds():
    edges = multiclass(31, m=90, weights="adaptive")
    rounds = core.boost(edges, chooser="boosting", n_rounds=200)
    members, alphas = rounds.coefficients()
    assert len(members) < len(rounds.chosen) <= 200 and np.diff(rounds.risks).max() <= 1e-12
    assert alphas.sum() == pytest.approx(rounds.steps.sum())
    assert len(core.boost(multiclass(31, m=20), chooser="boosting", n_rounds=300).chosen) == 300
    few = core.boost(edges, chooser="boosting", n_prototypes=10, n_rounds=200)
    assert len(few.coefficients()[0]) == 10


def test_class_vectors_of_label_sets():
    for C in (2, 5, 9):
        vectors = core.class_vectors(np.eye(C))
        np.testing.assert_allclose(vectors, np.where(np.eye(C) > 0, 1, -1 / (C - 1)), atol=1e-15)
    five = core.class_vectors([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0] * 5, [1] * 5])
    assert five[0] @ five[1] / 5 == pytest.approx(1 / 9)
    assert five[0] @ five[2] / 5 == pytest.approx(-1 / 6)
    assert five[0] @ five[0] / 5 == pytest.approx(2 / 3)
    assert (five[3:] == 0).all()
    np.testing.assert_allclose(five.sum(axis=1), 0, atol=1e-15)


def test_label_sets_boost_like_labels_where_each_is_one():
    graph, y, _ = problem(37, m=70)
    one = core.boost(core.multiclass_edges(graph.indices, y, 3))
    sets = core.boost(core.multilabel_edges(graph.indices, core.class_vectors(np.eye(3)[y])))
    np.testing.assert_array_equal(one.chosen, sets.chosen)
    np.testing.assert_allclose(one.steps, sets.steps, rtol=1e-9)
    both = np.maximum(np.eye(3)[y], np.eye(3)[np.roll(y, 1)])
    rounds = core.boost(core.multilabel_edges(graph.indices, core.class_vectors(both)))
    assert np.diff(rounds.risks).max() <= 1e-12 and rounds.risks[-1] < rounds.risks[0]


# -- whatever the data ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 40),
    st.integers(1, 50),
    st.sampled_from([2, 3, 20, 1000]),
    st.sampled_from(list(PSI)),
    st.sampled_from(core.CHOOSERS),
    st.sampled_from(list(core.SMOOTHINGS)),
    st.sampled_from([None, "gaussian", "adaptive"]),
)
def test_rounds_are_finite_and_fall_on_any_data(seed, m, k, C, loss, chooser, smoothing, kernel):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(m, 2)).astype(float)  # many duplicates
    y = rng.integers(0, min(C, m), m)
    graph = KNNGraph.build(X, n_neighbors=k)
    K = core.neighbour_weights(kernel, graph.distances) if kernel else None
    edges = core.multiclass_edges(graph.indices, y, C, K)
    weights = rng.random(m) * (rng.random(m) < 0.9) + 1e-9
    rounds = core.boost(
        edges, loss=loss, chooser=chooser, smoothing=smoothing, n_rounds=150, sample_weight=weights
    )
    assert np.isfinite(rounds.steps).all() and np.isfinite(rounds.risks).all()
    assert np.isfinite(rounds.state).all() and ((rounds.losses >= 0) | (loss == "squared")).all()
    assert (np.diff(rounds.risks) <= 1e-9 * max(1, rounds.risks[0])).all()
