"""The functional core of leveraged neighbours against literal transcriptions of its equations."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from lookalike.learn import _leverage as core
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


def naive(edges, loss, chooser, *, T, epsilon=1.0, smoothing="needed", rate=1.0, scale=None):
    """Algorithms 3–6 with a root finder, recomputing every column in every round."""
    R = dense(edges)
    m = len(R)
    e, alive = np.zeros(m), np.ones(m, bool)
    chosen, steps, risks = [], [], [PSI[loss](e).mean()]
    scale = np.ones(m) if scale is None else scale
    for t in range(T):
        delta, drop = np.zeros(m), np.zeros(m)
        for j in range(m):
            rows = np.flatnonzero(R[:, j])
            if len(rows) == 0:
                continue
            r = R[rows, j]
            if loss == "squared":
                delta[j] = (r * WEIGHT[loss](e[rows])).sum() / (2 * (r * r).sum())
            else:
                one_sign = (r > 0).all() or (r < 0).all()
                mean = WEIGHT[loss](e).mean() if smoothing == "normalised" else WEIGHT[loss](0.0)
                tau = 0.0
                if smoothing != "needed" or one_sign:
                    tau = epsilon * mean * min(edges.up[j], edges.down[j])
                args = (loss, r, e[rows], edges.up[j], edges.down[j], tau)
                limit = 100 / (edges.up[j] + edges.down[j])
                if gap(-limit, *args) <= 0:
                    delta[j] = -limit
                elif gap(limit, *args) >= 0:
                    delta[j] = limit
                else:
                    delta[j] = brentq(gap, -limit, limit, args, xtol=1e-15, rtol=1e-15)
            drop[j] = (PSI[loss](e[rows]) - PSI[loss](e[rows] + rate * delta[j] * r)).sum()
        if chooser == "lazy":
            j = t
        else:
            key = delta * scale if chooser != "decrease" else np.where(delta > 0, drop, -1)
            key = np.where(alive, key, -np.inf)
            j = int(np.argmax(key))
            if delta[j] <= 0:
                break
            alive[j] = chooser == "boosting"
        if not R[:, j].any():
            continue
        e = e + rate * delta[j] * R[:, j]
        chosen.append(j)
        steps.append(rate * delta[j])
        risks.append(PSI[loss](e).mean())
    return np.array(chosen), np.array(steps), np.array(risks), e


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
    got = core.boost(edges, loss=loss, chooser=chooser, smoothing=smoothing, n_rounds=30)
    chosen, steps, risks, _ = naive(edges, loss, chooser, T=30, smoothing=smoothing)
    same = min(len(chosen), len(got.chosen))
    # Repeats and ties end in rounding noise: a sequence must agree as long as its steps are real.
    real = np.flatnonzero(np.abs(steps[:same]) > 1e-9)
    np.testing.assert_array_equal(got.chosen[real], chosen[real])
    np.testing.assert_allclose(got.steps[:same], steps[:same], atol=1e-9)
    np.testing.assert_allclose(got.risks[: same + 1], risks[: same + 1], atol=1e-12)
    assert abs(len(chosen) - len(got.chosen)) == 0 or chooser == "boosting"
