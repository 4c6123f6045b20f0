"""What many labels say beside the map that was learnt from the whole collection."""

import numpy as np
import pytest

from lookalike.learn._collective._kernel_scores import (
    MANY,
    RIDGE,
    KernelScores,
    fit_kernel_scores,
    gaussian,
    listened_to,
)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture
def rings():
    """Two classes that no plane divides: near a pole or its opposite, and the belt between them."""
    rng = np.random.default_rng(0)
    truth = np.arange(4 * MANY) % 2
    height = np.where(truth == 1, 0.0, rng.choice([-1.0, 1.0], len(truth)))
    points = unit(rng.normal(size=(len(truth), 2)) * (0.3 + 0.7 * truth[:, None]) @ np.eye(2, 3))
    points[:, 2] = 1.5 * height
    return unit(points + 0.1 * rng.normal(size=points.shape)), truth


def test_held_out_scores_are_those_of_learning_without_the_row(rings):
    points, truth = rings
    rng = np.random.default_rng(1)
    weights = 0.5 + rng.random(len(truth))
    scores, held_out = fit_kernel_scores(points, truth, weights, 2)
    targets = np.eye(2)[truth] - weights @ np.eye(2)[truth] / weights.sum()
    kernel = np.exp(-0.5 * ((points[:, None] - points[None]) ** 2).sum(2))
    np.testing.assert_allclose(gaussian(points, points), kernel, atol=1e-12)
    wanted = np.linalg.solve(kernel + np.diag(RIDGE / weights), targets)
    np.testing.assert_allclose(scores.coefficients, wanted, atol=1e-8)
    for i in (0, 7, 50):
        rest = np.arange(len(truth)) != i
        without = np.linalg.solve(kernel[np.ix_(rest, rest)] + np.diag(RIDGE / weights[rest]), targets[rest])
        np.testing.assert_allclose(held_out[i], kernel[i, rest] @ without, atol=1e-8)
    np.testing.assert_allclose(scores.of(points), kernel @ wanted, atol=1e-8)


def test_they_are_listened_to_where_the_map_cannot_tell(rings):
    points, truth = rings
    ones = np.ones(len(truth))
    deaf = np.random.default_rng(2).normal(size=(len(truth), 2))
    alone, louder = listened_to(points, truth, ones, deaf)
    assert len(alone.places) == len(truth)
    assert ((deaf + louder).argmax(1) == truth).mean() > (deaf.argmax(1) == truth).mean() + 0.2
    knows = 5.0 * np.eye(2)[truth]
    alone, louder = listened_to(points, truth, ones, knows)
    assert not len(alone.places) and not louder.any() and not alone.of(points).any()


def test_few_labels_are_not_listened_to(rings):
    points, truth = rings
    few = slice(0, 2 * MANY - 1)
    deaf = np.random.default_rng(2).normal(size=(2 * MANY - 1, 2))
    alone, louder = listened_to(points[few], truth[few], np.ones(2 * MANY - 1), deaf)
    assert isinstance(alone, KernelScores) and not len(alone.places) and not louder.any()
