"""A binary classifier with the sigmoid of its held-out scores: what each concept or word has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._nearest import NearestMarginClassifier
from lookalike.learn._words._sigmoid import fit_sigmoid, sigmoid

Array = NDArray[Any]


def default_estimator() -> Any:
    """The base classifier of [1]: DDA and the nearest neighbour's margin.

    Two steps of DDA: more fit the training set too well (see the page on discriminants).
    """
    return make_pipeline(DistanceDiscriminant(max_iter=2, huber=3.0), NearestMarginClassifier())


@dataclass(slots=True)
class Calibrated:
    """A classifier and its sigmoid; a constant where there was no problem to learn."""

    estimator: Any
    a: float
    b: float

    def probabilities(self, X: Array) -> Array:
        """The calibrated probability of the positive class."""
        scores = np.zeros(len(X)) if self.estimator is None else raw_scores(self.estimator, X)
        return sigmoid(scores, self.a, self.b)


def log_odds(probabilities: Array) -> Array:
    """Of the second class, finite."""
    p = np.clip(probabilities[:, 1], 1e-12, 1 - 1e-12)
    return np.asarray(np.log(p / (1 - p)))


def raw_scores(estimator: Any, X: Array) -> Array:
    """Decision values, or the log odds of a classifier that only gives probabilities."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    return log_odds(estimator.predict_proba(X))


def fit_calibrated(
    estimator: Any, X: Array, positive: Array, *, folds: int, smooth: bool, seed: int
) -> Calibrated:
    """Fit a classifier to all observations and a sigmoid to its scores on held-out ones (4.9)-(4.12)."""
    n, count = len(positive), min(int(positive.sum()), int((~positive).sum()))
    if count < 2:
        rate = float(np.clip(positive.mean() if n else 0.5, 1 / (n + 2), 1 - 1 / (n + 2)))
        return Calibrated(None, 0.0, float(np.log((1 - rate) / rate)))
    splitter = StratifiedKFold(min(folds, count), shuffle=True, random_state=seed)
    method = "decision_function" if hasattr(estimator, "decision_function") else "predict_proba"
    held_out = cross_val_predict(clone(estimator), X, positive, cv=splitter, method=method)
    scores = held_out if method == "decision_function" else log_odds(held_out)
    a, b, _ = fit_sigmoid(scores, positive, smooth=smooth)
    return Calibrated(clone(estimator).fit(X, positive), a, b)
