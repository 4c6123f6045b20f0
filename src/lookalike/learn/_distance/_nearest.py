"""The nearest neighbour's decision with a margin: how much nearer the own class is than the others."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.arrays import row_blocks
from lookalike.learn._distance._labels import encode

Array = NDArray[Any]


def distances(rows: Array, points: Array) -> Array:
    """Euclidean distances; from differences in few dimensions, from products in many."""
    if rows.shape[1] <= 32:
        return cdist(rows, points)
    return np.asarray(euclidean_distances(rows, points))


def nearest_codes(rows: Array, points: Array, codes: Array) -> Array:
    """The class number of the nearest point; the first of several that are equally near."""
    found = np.empty(len(rows), dtype=codes.dtype)
    for part in row_blocks(len(rows), 8 * len(points)):
        found[part] = codes[distances(rows[part], points).argmin(axis=1)]
    return found


def class_distances(rows: Array, points: Array, codes: Array, n_classes: int, *, own: bool = False) -> Array:
    """Distance of each row to the nearest point of each class; ``own`` leaves the row itself out."""
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(n_classes))
    nearest = np.empty((len(rows), n_classes))
    for part in row_blocks(len(rows), 8 * len(points)):
        d = distances(rows[part], points)
        if own:
            d[np.arange(len(d)), np.arange(part.start, part.stop)] = np.inf
        nearest[part] = np.minimum.reduceat(d[:, order], bounds, axis=1)
    return nearest


def margins(nearest: Array) -> Array:
    """For each class, the nearest distance to all others minus that to the class."""
    by = np.sort(nearest, axis=1)
    others = np.where(nearest == by[:, :1], by[:, 1:2], by[:, :1])
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(others - nearest, nan=0.0)


class NearestMarginClassifier(ClassifierMixin, BaseEstimator):
    """The nearest neighbour, with a score that says how clear the decision was.

    The score of a class is the distance to the nearest observation of any other class minus that to the
    nearest of its own: its sign is the nearest neighbour's decision and it grows with confidence, so that
    a sigmoid can be fitted to it ("signed nearest neighbour distance", section 4.3 of [1]_). It is what
    follows a discriminant in a pipeline.

    Parameters
    ----------
    margin : {"difference", "literal"}, default="difference"
        "literal" gives, for two classes, the distance to the single nearest neighbour with the sign of
        its class: the other reading of [1]_, which is near 0 also for the surest answers.

    Attributes
    ----------
    classes_ : array
        The classes.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, sections 2.4 and 4.3.

    Examples
    --------
    >>> from lookalike.learn import NearestMarginClassifier
    >>> model = NearestMarginClassifier().fit([[0.0], [1.0], [4.0]], ["a", "a", "b"])
    >>> model.predict([[2.0], [3.0]]).tolist()
    ['a', 'b']
    >>> model.decision_function([[2.0], [3.0]]).tolist()
    [-1.0, 1.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "margin": [StrOptions({"difference", "literal"})],
    }

    def __init__(self, *, margin: str = "difference") -> None:
        self.margin = margin

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Remember the observations and their classes."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, self._codes = encode(y, "a margin")
        self._points = X
        return self

    def _scores(self, nearest: Array) -> Array:
        if len(self.classes_) > 2:
            return margins(nearest)
        if self.margin == "literal":
            return np.where(nearest[:, 1] < nearest[:, 0], nearest[:, 1], -nearest[:, 0])
        return np.asarray(nearest[:, 0] - nearest[:, 1])

    def decision_function(self, X: Any) -> Array:
        """Margins of shape (n, classes); for two classes one column, positive for the second."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._scores(class_distances(X, self._points, self._codes, len(self.classes_)))

    def training_scores(self) -> Array:
        """The margins of the training observations, each without itself."""
        check_is_fitted(self)
        return self._scores(
            class_distances(self._points, self._points, self._codes, len(self.classes_), own=True)
        )

    def predict(self, X: Any) -> Array:
        """The class of the nearest observation, the first of several that are equally near."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.classes_[nearest_codes(X, self._points, self._codes)])
