import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import Ridge

from lookalike.learn import ShrinkageDiscriminant
from lookalike.learn._calibration import fit_sharpness, log_loss, probabilities
from lookalike.learn._ridge_scores import ridge_scores
from lookalike.learn._row_scaling import column_scale, scale_rows


def problem(n, d, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(classes, d))[y]
    return X, np.eye(classes)[y], rng.uniform(0.2, 2, n), y


@pytest.mark.parametrize(("n", "d"), [(12, 40), (40, 12), (5, 5), (2, 1)])
@pytest.mark.parametrize("shrinkage", [0.03, 1.0, 30.0])
def test_scores_and_held_out_scores_equal_refits(n, d, shrinkage):
    X, targets, weights, _ = problem(n, d)
    (fit,) = ridge_scores(X, targets, weights, [shrinkage])

    def literal(rows, ridge):
        return Ridge(alpha=ridge).fit(X[rows], targets[rows], sample_weight=weights[rows])

    mean = np.average(X, axis=0, weights=weights)
    ridge = shrinkage * np.average(((X - mean) ** 2).sum(1), weights=weights)
    level = np.average(targets, axis=0, weights=weights)
    assert fit.mean == pytest.approx(mean)
    whole = literal(np.arange(n), ridge).predict(X) - level
    assert (X - fit.mean) @ fit.components == pytest.approx(whole, abs=1e-8)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        without = literal(rest, ridge).predict(X[[i]])[0] - level
        assert fit.held_out[i] == pytest.approx(without, abs=1e-7)


@given(st.integers(0, 10_000))
def test_the_sharpness_is_the_best_one(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 30)
    scores = rng.normal(size=(30, 4)) * 10.0 ** rng.integers(-3, 4) + np.eye(4)[truth] * rng.uniform(0, 3)
    factor, loss = fit_sharpness(scores, truth)
    assert loss == pytest.approx(log_loss(scores, truth, factor))
    for other in (factor * 0.9, factor * 1.1):
        assert loss <= log_loss(scores, truth, other) + 1e-6
    assert probabilities(scores, factor).sum(1) == pytest.approx(1)


def test_a_prior_carries_where_there_are_no_images():
    assert fit_sharpness(np.zeros((0, 3)), np.zeros(0, int), prior=2.5)[0] == 2.5
    scores, truth = np.array([[1.0, 0.0]]), np.array([0])
    near = fit_sharpness(scores, truth, prior=2.5, prior_strength=1e6)[0]
    assert near == pytest.approx(2.5, rel=1e-2)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_chooses_the_settings_of_the_least_held_out_loss(load):
    X, y = load(return_X_y=True)
    chosen = ShrinkageDiscriminant().fit(X, y)
    loss = fit_sharpness(chosen.held_out_scores_, y)[1]
    for scaling in ("unit", "root", "standard"):
        for shrinkage in (0.01, 1.0, 100.0):
            other = ShrinkageDiscriminant(scaling=scaling, shrinkage=shrinkage).fit(X, y)
            assert loss <= fit_sharpness(other.held_out_scores_, y)[1] + 1e-9


def test_one_image_for_each_class_is_enough():
    X, y = load_iris(return_X_y=True)
    few = [0, 60, 120]
    discriminant = ShrinkageDiscriminant().fit(X[few], y[few])
    assert (discriminant.transform(X).argmax(1) == y).mean() > 0.7


def test_weights_are_repetitions():
    X, _, _, y = problem(20, 4)
    twice = np.r_[0:20, 0:5]
    weights = np.ones(20)
    weights[:5] = 2
    settings = {"shrinkage": 0.5, "scaling": "none", "class_weight": None}
    a = ShrinkageDiscriminant(**settings).fit(X, y, weights)
    b = ShrinkageDiscriminant(**settings).fit(X[twice], y[twice])
    assert a.transform(X) == pytest.approx(b.transform(X))
    assert a.mean_ == pytest.approx(b.mean_)


@pytest.mark.parametrize("scaling", ["none", "standard", "unit", "root"])
def test_scaling_stands_constants_zeros_and_huge_numbers(scaling):
    X = np.array([[0.0, 0, 0], [1e300, -1e300, 5], [1e-300, 0, 5], [3.0, 4, 5]])
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = scale_rows(X, scaling, column_scale(X, scaling))
    if scaling in ("unit", "root"):
        assert np.linalg.norm(scaled, axis=1) == pytest.approx([0, 1, 1, 1])
    if scaling == "root":
        assert scaled[3] == pytest.approx(np.sqrt([3, 4, 5]) / np.sqrt(12))
