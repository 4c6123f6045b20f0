"""Kernel discriminants, learned kernels, and the removal of false positive projections."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsClassifier

from lookalike.learn import (
    BiasedDiscriminant,
    DistanceDiscriminant,
    FilteredClassifier,
    HyperkernelDiscriminant,
    KernelDistanceDiscriminant,
    KernelFisherDiscriminant,
    LineTracedClassifier,
    trace_lines,
)
from lookalike.learn._distance import _core, _krein
from lookalike.learn._distance._hyperkernel import (
    HarmonicHyperkernel,
    mixture_step,
    pair_weights_full,
    quadratic_form,
)
from lookalike.learn._distance._piecewise import UnitCurve, assess_curve


def ring(seed=0, n=60, m=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    return X, np.linalg.norm(X[:, :2], axis=1) < 1.0


def spread(z):
    return cdist(z, z)


# --- KDDA (T11) ---


@pytest.mark.parametrize("targets", ["all", True])
def test_a_linear_kernel_is_the_linear_method(targets):
    X, y = ring()
    ours = KernelDistanceDiscriminant(3, kernel="linear", targets=targets, max_iter=15).fit(X, y)
    plain = DistanceDiscriminant(3, targets=targets, max_iter=15).fit(X, y)
    assert ours.criteria_ == pytest.approx(plain.criteria_, abs=1e-9)
    np.testing.assert_allclose(spread(ours.transform(X)), spread(plain.transform(X)), atol=1e-7)


def test_distances_equal_the_trace_form_and_the_norm_is_held():
    X, y = ring(1)
    model = KernelDistanceDiscriminant(targets=True, gamma=0.5, length=7.0, max_iter=10).fit(X, y)
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    P = model.dual_coef_
    assert np.trace(P.T @ K @ P) == pytest.approx(7.0, rel=1e-6)
    k = K[:, 3] - K[:, 9]
    z = model.transform(X)
    assert np.trace(P.T @ np.outer(k, k) @ P) == pytest.approx(((z[3] - z[9]) ** 2).sum())
    assert np.all(np.diff(model.criteria_) <= 1e-9)


def test_order_of_the_observations_does_not_matter():
    X, y = ring(2)
    order = np.random.default_rng(0).permutation(len(X))
    a = KernelDistanceDiscriminant(targets=True, max_iter=8).fit(X, y)
    b = KernelDistanceDiscriminant(targets=True, max_iter=8).fit(X[order], y[order])
    np.testing.assert_allclose(spread(a.transform(X)), spread(b.transform(X)), rtol=1e-5, atol=1e-7)


def test_it_separates_what_no_linear_map_can():
    X, y = ring(3, 120)
    Xt, yt = ring(4, 300)
    model = KernelDistanceDiscriminant(targets=True, max_iter=10).fit(X, y)
    near = KNeighborsClassifier(3).fit(model.transform(X), y)
    assert near.score(model.transform(Xt), yt) > KNeighborsClassifier(3).fit(X, y).score(Xt, yt)


def test_the_unit_expansion_lowers_its_stress_and_draws_between_distances_to_two():
    X, y = ring(5, 80)
    model = KernelDistanceDiscriminant(5, expansion="unit", targets=True, max_iter=300).fit(X, y)
    assert np.all(np.diff(model.criteria_) <= 1e-9)
    z = model.transform(X)
    assert np.median(cdist(z[y], z[~y])) == pytest.approx(2.0, abs=0.25)
    held = KernelDistanceDiscriminant(2, expansion="unit", length=3.0, targets=True, max_iter=20).fit(X, y)
    assert np.all(np.diff(held.criteria_) <= 1e-9)
    K = pairwise_kernels(X, metric="rbf", gamma=held._kernel.gamma)
    assert np.trace(held.dual_coef_.T @ K @ held.dual_coef_) == pytest.approx(3.0, rel=1e-6)


def test_the_unit_curve_is_the_stress_of_the_thesis():
    rng = np.random.default_rng(6)
    z = rng.normal(size=(9, 2))
    problem = _core.Problem(z, np.array([0, 4, 9]), _core.coefficients([4, 5], [1, 0]), 1.0, 1e-9)
    value = assess_curve(problem, UnitCurve(), np.eye(2))[0]
    d = cdist(z[:4], z[4:])
    own = cdist(z[:4], z[:4])[np.triu_indices(4, 1)]
    psi = np.where(own <= 1, own**2 / 2, own - 0.5)
    expected = np.log(psi).mean() + (0.5 * (d - 2) ** 2).mean() - 0.5
    assert value == pytest.approx(expected, rel=1e-9)


def test_landmarks_span_a_part_and_say_how_much():
    X, y = ring(7, 200)
    few, all_ = (
        KernelDistanceDiscriminant(targets=True, max_iter=8, n_landmarks=k, random_state=0).fit(X, y)
        for k in (40, None)
    )
    assert len(few.landmarks_) == 40
    assert all_.trace_lost_ == pytest.approx(0.0, abs=1e-6)
    assert 0.0 < few.trace_lost_ < 0.3
    assert few.criteria_[-1] >= all_.criteria_[-1] - 0.2


def test_precomputed_definite_kernels_are_the_named_ones():
    X, y = ring(8)
    K = pairwise_kernels(X, metric="rbf", gamma=0.4)
    a = KernelDistanceDiscriminant(kernel="precomputed", targets=True, max_iter=6).fit(K, y)
    b = KernelDistanceDiscriminant(gamma=0.4, targets=True, max_iter=6).fit(X, y)
    assert a.definite_
    np.testing.assert_allclose(spread(a.transform(K)), spread(b.transform(X)), rtol=1e-6, atol=1e-8)


def test_an_indefinite_kernel_keeps_its_norm_and_falls():
    X, y = ring(9, 40)
    K = pairwise_kernels(X, metric="sigmoid", gamma=0.8, coef0=-1.0)
    assert np.linalg.eigvalsh(K)[0] < -0.01
    model = KernelDistanceDiscriminant(kernel="precomputed", targets=True, length=2.0, max_iter=12).fit(K, y)
    assert not model.definite_
    assert np.all(np.diff(model.criteria_) <= 1e-9)
    assert np.trace(model.dual_coef_.T @ K @ model.dual_coef_) == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("bad", ["shape", "constant", "one class"])
def test_wrong_kernels_are_refused(bad):
    X, y = ring(10, 20)
    with pytest.raises(
        ValueError, match={"shape": "square", "constant": "equal", "one class": "one class"}[bad]
    ):
        if bad == "shape":
            KernelDistanceDiscriminant(kernel="precomputed").fit(X, y)
        elif bad == "constant":
            KernelDistanceDiscriminant(kernel="precomputed").fit(np.ones((20, 20)), y)
        else:
            KernelDistanceDiscriminant().fit(X, np.zeros(20))


# --- the indefinite norm (T13) ---


@given(st.integers(0, 10**6))
def test_the_indefinite_norm_falls_on_the_admissible_interval(seed):
    rng = np.random.default_rng(seed)
    nu, q = rng.normal(size=8), rng.uniform(0.1, 1, size=8)
    if nu.max() <= 0.05 or nu.min() >= -0.05:
        return
    low, high = _krein.admissible(nu)
    s = np.linspace(low, high, 202)[1:-1]
    values = np.array([_krein.norm_at(v, nu, q) for v in s])
    assert np.all(np.diff(values) < 0)
    near = 1e-6 * (high - low)
    assert _krein.norm_at(low + near, nu, q) > 1e6
    assert _krein.norm_at(high - near, nu, q) < -1e6


@pytest.mark.parametrize("definite", [True, False])
def test_the_held_norm_is_met_and_the_point_is_stationary(definite):
    rng = np.random.default_rng(11)
    b = rng.normal(size=(7, 7))
    matrix = b @ b.T + 0.1 * np.eye(7)
    kernel = np.diag([3, 2, 1, 0.5, 0.3, 0.2, 0.1]) if definite else np.diag([3.0, 2, 1, 0, -0.5, -1, -2])
    linear = rng.normal(size=(7, 2))
    for length in (0.1, 5.0):
        p, s = _krein.solve_norm(matrix, linear, kernel, length)
        assert np.trace(p.T @ kernel @ p) == pytest.approx(length, rel=1e-8)
        np.testing.assert_allclose((matrix + s * kernel) @ p, linear, atol=1e-6)
        assert np.linalg.eigvalsh(matrix + s * kernel)[0] > 0


# --- hyperkernels (T12) ---


def test_the_series_is_the_closed_form():
    for terms, error in ((20, 3.7e-5), (30, 2.2e-7), (40, 1.4e-9)):
        hyper = HarmonicHyperkernel(0.7, 0.6, terms)
        s = np.random.default_rng(12).uniform(0, 4, size=30)
        f = hyper.features(s)
        gap = np.abs(f @ f.T - hyper.exact(s[:, None], s)).max()
        assert gap <= error
        assert np.linalg.eigvalsh(f @ f.T)[0] > -1e-9


def test_mixture_weights_and_pair_weights_give_one_kernel():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(6, 2))
    squares = cdist(X, X, "sqeuclidean")
    beta = rng.normal(size=(6, 6))
    beta += beta.T
    hyper = HarmonicHyperkernel(0.5, 0.6, 60)
    gamma = hyper.features(squares.ravel()).T @ beta.ravel()
    exact = hyper.exact(squares.ravel()[:, None], squares.ravel())
    np.testing.assert_allclose(
        hyper.mix(squares, gamma), (exact @ beta.ravel()).reshape(6, 6), atol=1e-9 * np.abs(beta).sum()
    )
    assert gamma @ gamma == pytest.approx(beta.ravel() @ exact @ beta.ravel(), rel=1e-8)


def test_the_kernel_stage_falls_and_keeps_the_constraint():
    X, y = ring(14, 30)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    squares = cdist(X, X, "sqeuclidean")
    hyper = HarmonicHyperkernel(0.3)
    weights = hyper.scales
    kernel = hyper.mix(squares, weights)
    p = _krein.first_projection(kernel, 2, 1.0)
    n = int((~y).sum())
    problem = _core.Problem(kernel, np.array([0, n, 30]), _core.coefficients([n, 30 - n], [0, 1]), 0.5, 0.05)
    features = hyper.project(squares, p)
    np.testing.assert_allclose(np.tensordot(weights, features, 1).T, kernel @ p, atol=1e-10)
    trace = np.einsum("tdn,nd->t", features, p)
    assert weights @ trace == pytest.approx(1.0)
    before = pair_weights_full(problem, kernel @ p)[2]
    assert before == pytest.approx(_core.assess(problem, p).criterion, rel=1e-9)
    new, after = mixture_step(problem, features, weights, trace, penalty=1.0, length=1.0)
    assert new @ trace == pytest.approx(1.0)
    assert after + new @ new <= before + weights @ weights
    a = np.abs(np.random.default_rng(0).normal(size=(30, 30)))
    a = a + a.T
    f = features[3] - features[3][:, :1] * 0
    direct = 0.5 * sum(a[i, j] * ((f[:, i] - f[:, j]) ** 2).sum() for i in range(30) for j in range(30))
    assert quadratic_form(features, a)[3, 3] == pytest.approx(direct)


@pytest.mark.parametrize("reg", ["krein", "abs", "l2"])
def test_learning_the_kernel_falls_and_keeps_its_norm(reg):
    X, y = ring(15, 50)
    model = HyperkernelDiscriminant(targets=True, reg=reg, max_iter=15).fit(X, y)
    assert np.all(np.diff(model.criteria_) <= 1e-8)
    assert model.criteria_[-1] < model.criteria_[0] - 0.1
    assert np.isfinite(model.transform(X)).all()
    if reg == "krein":
        K = model._hyper.mix(cdist(model._points, model._points, "sqeuclidean"), model.mixture_)
        p = model.dual_coef_
        assert np.trace(p.T @ K @ p) == pytest.approx(1.0, rel=1e-6)
        np.testing.assert_allclose(model.spectrum_, np.linalg.eigvalsh(K))


# --- false positives (T14) ---


def stripes(x):
    return np.sin(3 * x[:, 0]) > 0


def test_tracing_only_takes_positives_back_and_finer_steps_take_more():
    rng = np.random.default_rng(16)
    points = rng.uniform(-4, 4, size=(200, 2))
    positives = np.array([[0.5, 0.0], [0.6, 1.0]])
    before = stripes(points)
    kept = [trace_lines(stripes, points, positives, step=s) for s in (0.5, 0.25, 0.125, 0.0625)]
    assert all(np.all(before | ~k) for k in kept)
    assert all(np.all(a | ~b) for a, b in pairwise(kept))
    assert kept[-1].sum() < before.sum()
    assert trace_lines(stripes, positives, positives).all()


def test_a_convex_region_is_left_as_it_is():
    rng = np.random.default_rng(17)
    points = rng.normal(size=(100, 3))

    def ball(x):
        return np.linalg.norm(x, axis=1) < 1.5

    np.testing.assert_array_equal(trace_lines(ball, points, np.zeros((1, 3))), ball(points))


def test_the_far_end_is_looked_at_when_the_step_does_not_divide_the_line():
    looked = []

    def decide(x):
        looked.append(x.copy())
        return np.ones(len(x), bool)

    trace_lines(decide, np.array([[1.0]]), np.array([[0.0]]), step=0.3)
    assert np.allclose(np.sort(looked[1].ravel()), [0, 0.3, 0.6, 0.9, 1.0])


def test_nothing_to_trace():
    assert trace_lines(stripes, np.zeros((0, 2)), np.zeros((1, 2))).shape == (0,)
    assert not trace_lines(stripes, np.ones((2, 2)), np.zeros((0, 2))).any()
    with pytest.raises(ValueError, match="step"):
        trace_lines(stripes, np.ones((2, 2)), np.ones((2, 2)), step=0)


def test_guards_never_add_positives():
    X, y = ring(18, 150)
    Xt, _ = ring(19, 300)
    base = KNeighborsClassifier(1).fit(X, y).predict(Xt)
    traced = LineTracedClassifier(KNeighborsClassifier(1)).fit(X, y).predict(Xt)
    filtered = FilteredClassifier(KNeighborsClassifier(1)).fit(X, y)
    answers = filtered.predict(Xt)
    assert np.all(base | ~traced)
    np.testing.assert_array_equal(
        answers, base & (filtered.filter_.decision_function(Xt) >= filtered.threshold_)
    )
    assert answers.sum() > 0


def test_guards_work_for_either_class():
    X, y = ring(20, 80)
    names = np.where(y, "in", "out")
    a = LineTracedClassifier(KNeighborsClassifier(1), positive="in").fit(X, names).predict(X)
    np.testing.assert_array_equal(a, names)  # a training observation is its own clean line
    with pytest.raises(ValueError, match="positive must be"):
        LineTracedClassifier(positive="up").fit(X, names)


# --- comparators ---


def test_bda_is_the_generalised_eigenproblem():
    rng = np.random.default_rng(21)
    X, y = rng.normal(size=(40, 4)), np.arange(40) < 12
    model = BiasedDiscriminant(4, target=True, shrinkage=0.2).fit(X, y)
    centre = X[y].mean(axis=0)
    sx, sy = (X[y] - centre).T @ (X[y] - centre), (X[~y] - centre).T @ (X[~y] - centre)
    sx = 0.8 * sx + 0.2 * np.trace(sx) / 4 * np.eye(4)
    for w, value in zip(model.components_, model.eigenvalues_):
        np.testing.assert_allclose(sy @ w, value * (sx @ w), atol=1e-8 * value * np.abs(sx @ w).max() + 1e-7)
        assert w @ sx @ w == pytest.approx(value)
    linear = BiasedDiscriminant(4, target=True, shrinkage=0.2, kernel="linear").fit(X, y)
    np.testing.assert_allclose(spread(linear.transform(X)), spread(model.transform(X)), rtol=1e-6)


def test_bda_takes_the_rarest_class_as_target():
    X, y = ring(22)
    assert BiasedDiscriminant().fit(X, np.where(y, "few", "many")).target_ in ("few", "many")
    assert BiasedDiscriminant().fit(X[:10], [0] * 3 + [1] * 7).target_ == 0
    with pytest.raises(ValueError, match="target must be"):
        BiasedDiscriminant(target="none").fit(X, y)


def test_kernel_fisher_with_a_linear_kernel_is_fishers_direction():
    rng = np.random.default_rng(23)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    y = np.arange(60) % 2
    X[y == 1] += [1, 0.5, 0]
    model = KernelFisherDiscriminant(target=1, kernel="linear", shrinkage=1e-9).fit(X, y)
    w = X.T @ model.dual_coef_
    within = sum(np.cov(X[y == c].T) * ((y == c).sum() - 1) for c in (0, 1))
    fisher = np.linalg.solve(within, X[y == 1].mean(0) - X[y == 0].mean(0))
    assert abs(w @ fisher) / np.linalg.norm(w) / np.linalg.norm(fisher) > 0.999
