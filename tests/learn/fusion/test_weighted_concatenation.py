"""Weights of features are what held-out images ask for."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lookalike.learn import WeightedConcatenation
from lookalike.learn._calibration import fit_sharpness
from lookalike.learn._ridge_scores import ridge_scores
from lookalike.learn._weighted_concatenation import (
    SHRINKAGES,
    WEIGHTS,
    HeldOutJudge,
    agreements,
    boosted_weights,
    evenly_chosen,
    inverted,
)


@pytest.fixture(scope="module")
def views():
    X, y = load_digits(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(y), 40))
    order = np.random.default_rng(1).permutation(len(y))[:600]
    return [noise[order], X[order, :32], X[order, 32:]], y[order]


def test_held_out_scores_are_those_of_the_ridge_regression():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), [10, 15, 20])
    X = rng.normal(size=(45, 7)) + np.eye(3)[truth] @ rng.normal(size=(3, 7))
    judge = HeldOutJudge(truth)
    weights = judge.root**2
    fits = ridge_scores(X, judge.targets, weights, SHRINKAGES)
    centred = judge.centred(X @ X.T)
    for fit in fits:
        np.testing.assert_allclose(judge.scores(centred, fit.shrinkage)[0], fit.held_out, atol=1e-10)
    losses = [fit_sharpness(fit.held_out, truth, weights=weights)[1] for fit in fits]
    assert judge.tuned(X @ X.T).mean() == pytest.approx(min(losses), abs=1e-9)
    assert judge.losses(X @ X.T).mean() == pytest.approx(min(losses), abs=1e-9)


def test_the_descent_takes_what_gains_most():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 12)
    views = [rng.normal(size=(36, 4)) + s * np.eye(3)[truth] @ rng.normal(size=(3, 4)) for s in (1.0, 1.5, 0)]
    kernels = [v @ v.T / np.mean(np.sum(v**2, axis=1)) for v in views]
    judge = HeldOutJudge(truth)
    weights, alone = boosted_weights(kernels, judge, 0.0)
    assert weights[np.argmin(alone)] == 1 and set(weights) <= {0, *WEIGHTS}
    now = judge.tuned(sum(w * k for w, k in zip(weights, kernels))).mean()
    assert now <= alone.min()
    for b in range(3):  # no single change would still save a hundredth
        for w in WEIGHTS:
            if b != np.argmin(alone) and w != weights[b]:
                other = weights.copy()
                other[b] = w
                assert judge.losses(sum(v * k for v, k in zip(other, kernels))).mean() >= 0.99 * now
    assert np.count_nonzero(boosted_weights(kernels, judge, 1e9)[0]) == 1  # nothing is as sure as that


def test_noise_weighs_nothing_and_what_helps_does(views):
    blocks, y = views
    model = WeightedConcatenation().fit(blocks, y)
    assert model.feature_weights_[0] <= 0.03 and model.contributions_[0] < 0.02
    assert model.feature_weights_[1:].min() >= 0.3 and model.contributions_.sum() == pytest.approx(1)
    assert model.loss_ < 0.6 * model.losses_.min()
    joined = model.transform(blocks)
    assert joined.shape[1] == model._n_features_out == len(model.get_feature_names_out())
    # The blocks' products add up with their weights.
    sizes = [np.mean(np.sum(joined[:, cut] ** 2, axis=1)) for cut in (slice(-64, -32), slice(-32, None))]
    np.testing.assert_allclose(sizes, model.feature_weights_[1:], rtol=1e-9)
    assert model.transform([b.astype(np.float32) for b in blocks]).dtype == np.float32


def test_with_too_few_labels_the_first_feature_leads(views):
    blocks, y = views
    few = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    model = WeightedConcatenation().fit([b[few] for b in blocks], y[few])
    np.testing.assert_array_equal(model.feature_weights_, [1.0, 0.1, 0.1])
    assert np.isnan(model.losses_).all() and np.isfinite(model.transform(blocks)).all()


def test_rows_are_chosen_evenly():
    truth = np.repeat([0, 1, 2], [100, 3, 50])
    chosen = evenly_chosen(truth, 23)
    assert np.bincount(truth[chosen]).tolist() == [10, 3, 10] and np.all(np.diff(chosen) > 0)
    assert evenly_chosen(truth, 1000).tolist() == list(range(153))


def test_the_inverse_is_the_inverse():
    A = np.random.default_rng(0).normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    np.testing.assert_allclose(inverted(A), np.linalg.inv(A), atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        inverted(-A)


def test_agreement_is_the_share_of_common_look_alikes():
    rng = np.random.default_rng(0)
    first, noise = rng.normal(size=(80, 6)), rng.normal(size=(80, 6))
    turned = first @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    near = [first, turned, first + 0.7 * noise, noise]

    def look_alikes(points):
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.fill_diagonal(distances, np.inf)
        return [set(row[:10]) for row in np.argsort(distances, axis=1)]

    own = look_alikes(first)
    shared = [np.mean([len(a & b) / 10 for a, b in zip(own, look_alikes(p))]) for p in near]
    weights = agreements(near)
    beyond = np.maximum(np.array(shared) - 10 / 79, 0) / (1 - 10 / 79)
    np.testing.assert_allclose(weights, np.minimum(1, (2 * beyond) ** 2), atol=1e-9)
    assert weights[0] == weights[1] == 1 and weights[2] > 2 * weights[3]
    few = agreements([first[:20], noise[:20]])  # where half of all others are look-alikes of each
    assert few[0] == 1 and few[1] < 0.1
    assert agreements([first[:5], noise[:5]])[1] < 1 == agreements([first[:5], turned[:5]])[1]
    np.testing.assert_array_equal(agreements([first[:2], noise[:2]]), [1, 1])


def test_the_collection_decides_the_weights_whatever_the_labels_are(views):
    blocks, y = views
    blocks = [blocks[1], blocks[2], blocks[0]]
    first, rest = [b[:40] for b in blocks], [b[40:] for b in blocks]
    model = WeightedConcatenation().fit(first, y[:40], unlabelled=rest)
    other = WeightedConcatenation().fit(first, np.arange(40) % 2, unlabelled=rest)
    np.testing.assert_array_equal(model.feature_weights_, other.feature_weights_)
    assert model.feature_weights_[0] == 1 and 0 <= model.feature_weights_[2] < 0.01
    assert model.feature_weights_[1] > 3 * model.feature_weights_[2]
    joined = model.transform(rest)
    lengths = np.linalg.norm(joined[:, :32], axis=1), np.linalg.norm(joined[:, 32:64], axis=1)
    np.testing.assert_allclose(lengths[0], 1)
    np.testing.assert_allclose(lengths[1], np.sqrt(model.feature_weights_[1]))
    assert model.contributions_.sum() == pytest.approx(1)
