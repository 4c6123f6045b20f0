"""The functional core of leveraged neighbours against literal transcriptions of its equations."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from lookalike.learn import _leverage as core
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
    unit = kernels.loss_weight(code, 0.0)
    alive, followed, epsilon = np.ones(m, bool), None, unit
    chosen, steps = [], []
    for _ in range(T):
        weight = w if closed else np.array([kernels.loss_weight(code, x) for x in e])
        if smoothing == "normalised" and (followed is None or weight.sum() < kernels.FOLLOW * followed):
            followed = weight.sum()
            epsilon = followed / m
        sums, step, keys = np.empty((m, 4)), np.empty(m), np.empty(m)
        everyone, flags = np.arange(m), np.ones(m, bool)
        if closed:
            kernels._value_closed(everyone, True, matrix, rule, epsilon, scale, w, sums, step, keys)
            step = step / (edges.up + edges.down)
        else:
            state = kernels.State(e, np.ones(m), keys, step, flags, flags, everyone, everyone)
            kernels._value_general(everyone, True, matrix, rule, epsilon, scale, state, 0)
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
    "loss,kernel", [("exponential", None), ("exponential", "adaptive"), ("logistic", None)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_heap_chooses_as_the_naive_chooser_does(chooser, smoothing, loss, kernel, seed):
    edges = multiclass(seed, m=60, weights=kernel)
    rounds = core.boost(edges, loss=loss, chooser=chooser, smoothing=smoothing)
    chosen, steps = naive_rounds(edges, loss, chooser, smoothing, 60)
    assert rounds.chosen.tolist() == chosen
    np.testing.assert_allclose(rounds.steps, steps, rtol=1e-10, atol=1e-13)
