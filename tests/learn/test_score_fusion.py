import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lookalike.bags import BagOfWords, Bags
from lookalike.learn import ScoreFusion


def problem(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    good = rng.normal(size=(n, 3)) + 3 * np.eye(3)[y]
    noise = rng.normal(size=(n, 3))
    return {"good": good, "noise": noise}, y


def systems(X):
    return [(name, LogisticRegression()) for name in X]


def test_equal_weights_are_the_mean_of_the_probabilities():
    X, y = problem()
    fusion = ScoreFusion(systems(X)).fit(X, y)
    alone = [LogisticRegression().fit(X[name], y).predict_proba(X[name]) for name in X]
    assert np.allclose(fusion.predict_proba(X), np.mean(alone, axis=0))
    skewed = ScoreFusion(systems(X), weights=[3, 1]).fit(X, y)
    assert np.allclose(skewed.predict_proba(X), 0.75 * alone[0] + 0.25 * alone[1])


def test_learned_weights_leave_the_noise_out():
    X, y = problem(300)
    new, truth = problem(300, seed=1)
    learned = ScoreFusion(systems(X), weights="learned").fit(X, y)
    equal = ScoreFusion(systems(X)).fit(X, y)
    assert learned.weights_[0] > 5 * learned.weights_[1]
    rows = np.arange(len(truth))
    losses = [-np.log(m.predict_proba(new)[rows, truth]).mean() for m in (learned, equal)]
    assert losses[0] < losses[1]
    assert np.allclose(learned.predict_proba(new).sum(1), 1)


def test_takes_bags_beside_vectors():
    X, y = problem(60)
    rng = np.random.default_rng(2)
    X["bags"] = Bags.from_list([rng.normal(label, 1, (8, 2)) for label in y])
    words = make_pipeline(BagOfWords(n_words=5, random_state=0), LogisticRegression())
    fusion = ScoreFusion([("good", LogisticRegression()), ("bags", words)], weights="learned").fit(X, y)
    assert fusion.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("X", "settings", "says"),
    [
        (np.zeros((4, 2)), {}, "mapping"),
        ({"good": np.zeros((4, 2))}, {}, "no input for 'noise'"),
        ({"good": np.zeros((4, 2)), "noise": np.zeros((3, 2))}, {}, "same images"),
        ({"good": np.zeros((4, 2)), "noise": np.zeros((4, 2))}, {"weights": [1, -1]}, "non-negative"),
    ],
)
def test_refuses_what_does_not_fit(X, settings, says):
    with pytest.raises(ValueError, match=says):
        ScoreFusion(systems(["good", "noise"]), **settings).fit(X, [0, 1, 0, 1])
