"""Several hyperplanes, the analytic centre, and the inequalities that relate it to the distances."""

import numpy as np
import pytest
from sklearn.svm import SVC

from lookalike.errors import LookalikeError
from lookalike.learn import AnalyticCenterClassifier, MultipleHyperplaneClassifier, hyperplane_bound
from lookalike.learn._planes._analytic_center import analytic_center
from lookalike.learn._planes._multiple import smooth_minimum, smooth_minimum_gradient


def box(seed, n=200):
    X = np.random.default_rng(seed).uniform(-3, 3, size=(n, 2))
    return X, np.abs(X).max(axis=1) < 1.5


# --- T19: multiple hyperplanes ---


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_hyperplane_is_a_support_vector_machine(kernel):
    X, y = box(0)
    ours = MultipleHyperplaneClassifier(1, kernel=kernel, gamma=0.3, C=2.0).fit(X, y)
    theirs = SVC(kernel=kernel, gamma=0.3, C=2.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("cost", [0.5, 10.0])
def test_the_machine_meets_its_conditions(cost):
    """T18: Karush, Kuhn and Tucker's (C.8), (C.17), and no gap between the primal and the dual."""
    X, y = box(4)
    machine = SVC(kernel="rbf", gamma=0.3, C=cost, tol=1e-8).fit(X, y)
    sign = np.where(y, 1.0, -1.0)
    alpha = np.zeros(len(X))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    kernel = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(-1))
    f = kernel @ (alpha * sign) + machine.intercept_[0]
    slack = np.maximum(0, 1 - sign * f)  # (C.22)
    assert alpha.min() >= 0
    assert alpha.max() <= cost + 1e-9
    assert abs(alpha @ sign) < 1e-6
    assert np.abs(alpha * (1 - slack - sign * f)).max() < 1e-4 * cost
    assert np.abs((cost - alpha) * slack).max() < 1e-4 * cost
    assert (alpha == 0).any()
    norm = (alpha * sign) @ kernel @ (alpha * sign)
    assert alpha.sum() - 0.5 * norm == pytest.approx(0.5 * norm + cost * slack.sum(), rel=1e-4)
    ours = MultipleHyperplaneClassifier(1, kernel="rbf", gamma=0.3, C=cost).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), f, atol=5e-3)


def test_four_hyperplanes_make_a_box_that_one_cannot():
    X, y = box(1)
    Xt, yt = box(2, 1000)
    four, one = (
        MultipleHyperplaneClassifier(k, kernel="linear", C=100, random_state=0).fit(X, y) for k in (4, 1)
    )
    assert four.score(Xt, yt) > 0.93
    assert one.score(Xt, yt) < 0.8


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(seed):
    X, y = box(seed, 120)
    y ^= np.random.default_rng(seed).random(120) < 0.1
    model = MultipleHyperplaneClassifier(4, kernel="rbf", C=3.0, n_starts=2, random_state=seed).fit(X, y)
    steps = np.diff(model.objectives_)
    assert np.all(steps <= 1e-3 * np.abs(model.objectives_[:-1]))  # the machines stop at their tolerance


def test_the_positive_region_is_convex():
    X, y = box(3)
    model = MultipleHyperplaneClassifier(4, kernel="linear", C=100, random_state=0).fit(X, y)
    inside = X[model.predict(X)]
    middle = 0.5 * (inside[:-1] + inside[1:])
    assert model.predict(middle).all()


def test_the_smooth_solver_draws_towards_the_condition_of_the_bound():
    X, y = box(4)
    free, held = (
        MultipleHyperplaneClassifier(4, kernel="linear", C=100, solver=s, random_state=0).fit(X, y)
        for s in ("alternating", "smooth")
    )
    # A box rejects most negatives by one plane only, which is what (5.19) forbids.
    assert free.sum_condition_ < -500
    assert held.sum_condition_ > -100
    assert held.score(X, y) > max(y.mean(), 1 - y.mean()) - 0.05


def test_the_smooth_minimum_lies_just_below():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(500, 2))
    for softness in (1.0, 1e-2, 1e-4):
        error = values.min(axis=1) - smooth_minimum(values, softness)
        assert np.all(error > 0)
        assert np.all(error <= np.sqrt(softness) / 2 + 1e-12)


def test_the_smooth_minimum_has_the_gradient_it_says():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(1, 4))
    _, weights = smooth_minimum_gradient(values, 0.1)
    for j in range(4):
        step = np.zeros((1, 4))
        step[0, j] = 1e-6
        up, down = smooth_minimum(values + step, 0.1), smooth_minimum(values - step, 0.1)
        assert weights[0, j] == pytest.approx(float((up - down)[0] / 2e-6), abs=1e-7)
    assert weights.sum() == pytest.approx(1.0)


def test_margin_and_sum_condition_by_hand():
    X = np.array([[0.0], [2.0], [-2.0]])
    model = MultipleHyperplaneClassifier(2, kernel="linear", C=1e4, random_state=0).fit(X, [1, 0, 0])
    assert model.margin_ == pytest.approx(1.0, abs=1e-3)  # planes at -1 and 1
    f = np.stack([1 - X[:, 0], 1 + X[:, 0]], axis=1)
    by_hand = (np.array([1, -1, -1]) * (f.mean(axis=1) - f.min(axis=1))).sum()
    assert model.sum_condition_ == pytest.approx(by_hand, abs=1e-2)


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="binary"):
        MultipleHyperplaneClassifier().fit([[0.0], [1], [2]], [0, 1, 2])


# --- T20: the bound ---


def test_the_bound_is_the_general_one_with_its_dimension():
    samples, radius, margin, delta = 10**5, 3.0, 1.5, 0.05
    d = 64 * radius**2 / margin**2
    general = (
        2
        / samples
        * (
            d
            * np.log(16 * np.e * samples * radius / (d * margin))
            * np.log(128 * samples * radius**2 / margin**2)
            + np.log(4 / delta)
        )
    )
    assert hyperplane_bound(samples, radius, margin, delta).value == pytest.approx(general, rel=1e-12)


@pytest.mark.parametrize(("samples", "value"), [(10**3, 39), (10**5, 0.95), (10**6, 0.13)])
def test_the_bound_at_the_sizes_of_the_specification(samples, value):
    bound = hyperplane_bound(samples, 2.0, 1.0)
    assert bound.value == pytest.approx(value, rel=0.05)
    assert bound.valid == (samples > 256)
    assert not hyperplane_bound(100, 2.0, 1.0).valid


# --- T18: the analytic centre ---


def separable(seed, n=30, d=4):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    X = rng.normal(size=(n, d))
    y = np.where(X @ w > 0, 1.0, -1.0)
    return X, y, w


@pytest.mark.parametrize("seed", range(5))
def test_the_centre_is_stationary_on_the_sphere(seed):
    X, y, w = separable(seed)
    slacks = y[:, None] * X
    c = analytic_center(slacks, w)
    gradient = -slacks.T @ (1 / (slacks @ c))
    assert np.abs(gradient - (gradient @ c) * c).max() < 1e-4 * len(X)
    assert np.linalg.norm(c) == pytest.approx(1.0)


def test_rescaling_single_observations_moves_nothing():
    X, y, w = separable(7)
    t = np.random.default_rng(8).uniform(0.1, 10, size=len(X))
    slacks = y[:, None] * X
    np.testing.assert_allclose(analytic_center(slacks, w), analytic_center(t[:, None] * slacks, w), atol=1e-6)


def test_the_classifier_separates_and_its_decision_is_the_primal_one():
    X, y, _ = separable(9)
    X = X + 0.3 * y[:, None] * np.array([1, 0, 0, 0])
    model = AnalyticCenterClassifier(ridge=1e-6).fit(X, y)
    assert np.all(model.slacks_ > 0)
    primal = X @ (X.T @ model.dual_coef_) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), primal, atol=1e-8)


def test_what_cannot_be_separated_is_refused_or_bought_off():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    with pytest.raises(LookalikeError, match="cannot be separated"):
        AnalyticCenterClassifier().fit(X, y)
    assert np.all(AnalyticCenterClassifier(ridge=0.5).fit(X, y).slacks_ > 0)


def test_the_barrier_bounds_the_between_part():
    """(5.13)-(5.15) as printed, and the sharper two-term form."""
    rng = np.random.default_rng(10)
    for _ in range(20):
        a, b = rng.uniform(0.01, 5, size=12), rng.uniform(0.01, 5, size=9)
        d = a[:, None] + b
        single = -0.5 * (np.log(a)[:, None] + np.log(b) + np.log(2) / 3)
        assert np.all(single >= -np.log(d) - 1e-12)
        assert np.all(-0.5 * (np.log(a)[:, None] + np.log(b)) - np.log(2) >= -np.log(d) - 1e-12)
        total = 0.5 * (-np.log(a).mean() - np.log(b).mean() - np.log(2) / 3)
        assert total >= -np.log(d).mean()
