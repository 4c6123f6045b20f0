"""``Judgement``: what held-out answers say about a classifier."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import confusion_matrix

from lookalike.evaluate._draws import folds
from lookalike.evaluate._measures import (
    Reliability,
    RiskCoverage,
    accuracy_at_coverage,
    calibration_error,
    reliability,
    risk_coverage,
)
from lookalike.progress import Progress, Step, silent


@dataclass(frozen=True)
class Judgement:
    """Held-out answers and their measures.

    Parameters
    ----------
    classes : array of shape (C,)
        The labels, in the order of the columns of ``probabilities``.
    truth : array of shape (n,)
        The right class of each answer, as a position in ``classes``.
    probabilities : array of shape (n, C)
        The answers.
    declined : array of bool of shape (n,)
        Where the classifier said "none of these".
    rows : array of shape (n,)
        Which rows of the data were asked about.
    seconds : float
        How long fitting and answering took.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> j = Judgement(np.array(["cat", "dog"]), np.array([0, 1, 1]), p, np.zeros(3, bool), np.arange(3))
    >>> round(j.balanced_accuracy, 3), j.confusion.tolist()
    (0.75, [[1, 0], [1, 1]])
    """

    classes: NDArray[Any]
    truth: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    declined: NDArray[np.bool_]
    rows: NDArray[np.intp]
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def answers(self) -> NDArray[np.intp]:
        """The most probable class of each, whether it was declined or not."""
        return self.probabilities.argmax(1)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Where the most probable class is the right one."""
        result: NDArray[np.bool_] = self.answers == self.truth
        return result

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of the most probable class."""
        result: NDArray[np.float64] = self.probabilities.max(1)
        return result

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(self.correct.mean())

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Rows are right classes, columns are answers."""
        table: NDArray[np.int64] = confusion_matrix(
            self.truth, self.answers, labels=np.arange(len(self.classes))
        )
        return table

    @property
    def per_class(self) -> NDArray[np.float64]:
        """The accuracy of each class; NaN for one that was never asked about."""
        table = self.confusion
        with np.errstate(invalid="ignore"):
            rates: NDArray[np.float64] = np.diag(table) / table.sum(1)
        return rates

    @property
    def balanced_accuracy(self) -> float:
        """The mean over classes of their accuracy."""
        return float(np.nanmean(self.per_class))

    @property
    def calibration_error(self) -> float:
        """The expected calibration error in 15 bins."""
        return calibration_error(self.correct, self.confidence)

    @property
    def reliability(self) -> Reliability:
        """How sure against how right, in bins."""
        return reliability(self.correct, self.confidence)

    @property
    def risk_coverage(self) -> RiskCoverage:
        """The error among the surest answers."""
        return risk_coverage(self.correct, self.confidence)

    def confused(self, most: int = 12) -> NDArray[np.intp]:
        """The wrong answers that were the surest, as positions here, surest first."""
        wrong = np.flatnonzero(~self.correct)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")][:most]

    def summary(self) -> dict[str, Any]:
        """The figures as plain data, for JSON."""
        accepted = ~self.declined
        return {
            "images": len(self.truth),
            "classes": len(self.classes),
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "per_class": {
                str(c): None if np.isnan(a) else float(a) for c, a in zip(self.classes, self.per_class)
            },
            "calibration_error": self.calibration_error,
            "risk_coverage_area": self.risk_coverage.area,
            "accuracy_of_surest_80_percent": accuracy_at_coverage(self.correct, self.confidence, 0.8),
            "declined": float(self.declined.mean()),
            "accuracy_where_not_declined": float(self.correct[accepted].mean()) if accepted.any() else None,
            "seconds": self.seconds,
        }


Rows = NDArray[np.intp]
Fit = Callable[[Any, Any, NDArray[Any], Rows, Rows], Any]


def _fit(classifier: Any, X: Any, y: NDArray[Any], learn: Rows, ask: Rows) -> Any:
    return classifier.fit(X[learn], y[learn])


def cross_validate(
    classifier: BaseEstimator,
    X: Any,
    y: ArrayLike,
    *,
    n_folds: int = 5,
    random_state: int | None = 0,
    fit: Fit = _fit,
    progress: Progress = silent,
) -> Judgement:
    """Judge a classifier by answers for images that it did not learn from.

    A classifier that can decline says so by a method ``declines(X)``, one truth value for each row.
    ``fit(classifier, X, y, learn, ask)`` fits a clone to the rows ``learn``; a learner that looks at
    unlabelled images may look at the rows ``ask`` too, but not at their labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_validate(LogisticRegression(max_iter=1000), X, y).accuracy > 0.9
    True
    """
    labels = np.asarray(y)
    classes, coded = np.unique(labels, return_inverse=True)
    splits = folds(labels, n_folds, random_state=random_state)
    start = time.perf_counter()
    rows, answers, declined = [], [], []
    for i, (learn, ask) in enumerate(splits):
        progress(Step("judge", i, len(splits)))
        model = fit(clone(classifier), X, labels, learn, ask)
        # A class may be missing from a fold only if it has one image; then its column is zero.
        full = np.zeros((len(ask), len(classes)))
        full[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X[ask])
        rows.append(ask)
        answers.append(full)
        declined.append(
            np.asarray(model.declines(X[ask])) if hasattr(model, "declines") else np.zeros(len(ask), bool)
        )
    progress(Step("judge", len(splits), len(splits)))
    where = np.concatenate(rows)
    order = np.argsort(where, kind="stable")
    single = classes[np.bincount(coded) == 1]
    notes = [f"{c!s} has one image only, so it was never asked about." for c in single]
    return Judgement(
        classes,
        coded[where][order],
        np.concatenate(answers)[order],
        np.concatenate(declined)[order],
        where[order],
        time.perf_counter() - start,
        notes,
    )
