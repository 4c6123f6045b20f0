"""Removal of false positive projections: line tracing, and a second opinion with high recall.

After a projection in a kernel's space, regions far from any positive observation may fall on the positive
ones when positives are few. Two ways to refuse them (sections 3.4.1 and 3.4.2 of [1]_).

References
----------
.. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.arrays import row_blocks
from lookalike.learn._distance._kernel_discriminant import KernelDistanceDiscriminant
from lookalike.learn._distance._labels import encode_two
from lookalike.learn._distance._nearest import NearestMarginClassifier

Array = NDArray[Any]


def trace_lines(
    decide: Callable[[Array], Array], points: Array, positives: Array, *, step: float = 0.05
) -> Array:
    """Which points are positive and joined to a positive observation by a straight, positive line.

    For each point that ``decide`` calls positive the positive observations are tried from the nearest on;
    the line to it is looked at every ``step`` of its length. One clean line is enough.

    Parameters
    ----------
    decide : callable
        Takes observations of shape (n, d), gives booleans.
    points : array of shape (n, d)
        What is asked.
    positives : array of shape (p, d)
        The positive training observations.
    step : float, default=0.05
        Fraction of a line between two looks, in (0, 1]; both ends are always looked at.

    Returns
    -------
    accepted : array of bool of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> rings = lambda x: (np.abs(x[:, 0]) < 1) | (np.abs(x[:, 0]) > 3)
    >>> trace_lines(rings, np.array([[0.5], [2.0], [4.0]]), np.array([[0.0]])).tolist()
    [True, False, False]
    """
    if not 0 < step <= 1:
        raise ValueError(f"step must be in (0, 1], but is {step}.")
    points, positives = np.asarray(points, float), np.asarray(positives, float)
    accepted = np.zeros(len(points), bool)
    if not len(points) or not len(positives):
        return accepted
    open_rows = np.flatnonzero(np.asarray(decide(points), bool))
    nearest = np.argsort(cdist(points[open_rows], positives), axis=1, kind="stable")
    shares = np.append(np.arange(0.0, 1.0, step), 1.0)[:, None]
    for turn in range(len(positives)):
        clean = np.zeros(len(open_rows), bool)
        for part in row_blocks(len(open_rows), 8 * len(shares) * points.shape[1]):
            ends = positives[nearest[part, turn]]
            lines = shares * points[open_rows[part], None] + (1.0 - shares) * ends[:, None]
            answers = np.asarray(decide(lines.reshape(-1, points.shape[1])), bool)
            clean[part] = answers.reshape(len(ends), len(shares)).all(axis=1)
        accepted[open_rows[clean]] = True
        open_rows, nearest = open_rows[~clean], nearest[~clean]
        if not len(open_rows):
            break
    return accepted


def default_classifier() -> Any:
    """What is guarded where nothing else is named: kernel DDA and the nearest neighbour."""
    return make_pipeline(KernelDistanceDiscriminant(), NearestMarginClassifier())


class _Guarded(ClassifierMixin, BaseEstimator):
    """What both guards share: a binary classifier whose positive answers are looked at again."""

    estimator: Any
    positive: Any

    def _prepare(self, X: Any, y: Any) -> tuple[Array, Array]:
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_two(y)
        positive = self.classes_[1] if self.positive is None else self.positive
        if positive not in self.classes_:
            raise ValueError(f"positive must be a class of y, but is {positive!r}.")
        self._code = int(np.flatnonzero(self.classes_ == positive)[0])
        self.estimator_ = clone(self.estimator if self.estimator is not None else default_classifier())
        self.estimator_.fit(X, codes == self._code)
        return X, codes == self._code

    def _accept(self, X: Array) -> Array:
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Classes; positive only where the classifier and its guard both say so."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.classes_[np.where(self._accept(X), self._code, 1 - self._code)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LineTracedClassifier(_Guarded):
    """A binary classifier that takes back positive answers with no clear line to a positive observation.

    It only turns positives into negatives, so specificity never falls and recall never rises. Where the
    positive region is convex it changes nothing.

    Parameters
    ----------
    estimator : classifier, default=None
        What is guarded; None is kernel DDA with the nearest neighbour.
    positive : class, default=None
        The class whose answers are looked at; None is the second in order.
    step : float, default=0.05
        See :func:`trace_lines`.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to "is it the positive class".

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from lookalike.learn import LineTracedClassifier
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [1, 1, 0, 0]
    >>> LineTracedClassifier(KNeighborsClassifier(1)).fit(X, y).predict([[0.5], [4.5]]).tolist()
    [1, 0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "positive": "no_validation",  # type: ignore[dict-item]
        "step": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, estimator: Any = None, *, positive: Any = None, step: float = 0.05) -> None:
        self.estimator = estimator
        self.positive = positive
        self.step = step

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier and remember the positive observations."""
        X, mask = self._prepare(X, y)
        self._positives = X[mask]
        return self

    def _accept(self, X: Array) -> Array:
        return trace_lines(self.estimator_.predict, X, self._positives, step=self.step)


class FilteredClassifier(_Guarded):
    """A binary classifier whose positive answers a second classifier of high recall must share.

    Parameters
    ----------
    estimator : classifier, default=None
        What is guarded; None is kernel DDA with the nearest neighbour.
    filter : classifier with ``decision_function``, default=None
        The second opinion; None is :class:`MultipleHyperplaneClassifier`, drawn the same each time.
    positive : class, default=None
        The class whose answers are looked at; None is the second in order.
    recall : float, default=0.99
        The share of positives that the filter must let through, on its cross-validated scores: what its
        threshold is set by.

    Attributes
    ----------
    estimator_, filter_ : classifiers
        Fitted to "is it the positive class".
    threshold_ : float
        The filter's score from which it lets an observation through.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from lookalike.learn import FilteredClassifier
    >>> X = np.arange(12.0)[:, None]
    >>> model = FilteredClassifier(KNeighborsClassifier(1)).fit(X, X[:, 0] < 6)
    >>> model.predict([[1.0], [9.0]]).tolist()
    [True, False]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "filter": [HasMethods(["fit", "decision_function"]), None],
        "positive": "no_validation",  # type: ignore[dict-item]
        "recall": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self, estimator: Any = None, *, filter: Any = None, positive: Any = None, recall: float = 0.99
    ) -> None:
        self.estimator = estimator
        self.filter = filter
        self.positive = positive
        self.recall = recall

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit both, and set the filter's threshold on held-out scores."""
        from lookalike.learn._planes._multiple import MultipleHyperplaneClassifier

        X, mask = self._prepare(X, y)
        usual = MultipleHyperplaneClassifier(random_state=0)
        chosen = clone(self.filter) if self.filter is not None else usual
        folds = min(5, int(min(mask.sum(), (~mask).sum())))
        self.filter_ = clone(chosen).fit(X, mask)
        if folds >= 2:
            splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
            scores = cross_val_predict(chosen, X, mask, cv=splitter, method="decision_function")
        else:
            scores = self.filter_.decision_function(X)
        # The highest threshold that lets the wanted share through.
        order = np.sort(scores[mask])[::-1]
        self.threshold_ = float(order[int(np.ceil(self.recall * len(order))) - 1])
        return self

    def _accept(self, X: Array) -> Array:
        own = np.asarray(self.estimator_.predict(X), bool)
        return own & (self.filter_.decision_function(X) >= self.threshold_)
