"""Classification by kernel densities: the rules that nearest neighbours are a case of."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.arrays import row_blocks
from lookalike.neighbors import exact_neighbors


class KernelDensityClassifier(ClassifierMixin, BaseEstimator):
    """The class whose kernel density is highest at a point ([1]_ §5.1.2).

    The joint density of a class is ``1/m Σ_{i∈c} h^−d K((x − x_i)/h)`` ([1]_ (5.1), (5.4)); its share of
    the sum over the classes is the posterior (5.5). The rules differ in the width h and the kernel K.

    Parameters
    ----------
    rule : {"parzen", "balloon", "sample-point", "knn", "reciprocal", "symmetric"}, default="balloon"
        Gaussian kernels with one width for all; with the distance of the query to its k-th neighbour;
        with that of each example to its own. Balls around the query that hold k examples (the posterior
        is exactly k_c/k, (5.6)); balls around each example that hold k others; or examples in either.
    n_neighbors : int, default=11
        k; ties at the k-th distance all count.
    bandwidth : float, default=1.0
        The one width of the first rule.

    Attributes
    ----------
    classes_ : array
    widths_ : array of shape (m,)
        The distance of each example to its k-th neighbour.

    References
    ----------
    .. [1] P. Piro, "Learning prototype-based classification rules in a boosting framework: application
       to real-world and medical image categorization", PhD thesis, Université de Nice, 2010, ch. 5.

    Examples
    --------
    >>> X, y = [[0.0], [0.2], [1.0], [1.1]], [0, 0, 1, 1]
    >>> model = KernelDensityClassifier(rule="knn", n_neighbors=3).fit(X, y)
    >>> model.predict_proba([[0.3]]).round(2).tolist()
    [[0.67, 0.33]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "rule": [StrOptions({"parzen", "balloon", "sample-point", "knn", "reciprocal", "symmetric"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, *, rule: str = "balloon", n_neighbors: int = 11, bandwidth: float = 1.0) -> None:
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the examples and measure their neighbourhoods."""
        self._validate_params()
        points: NDArray[Any]
        points, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._points = points
        self._members = [np.flatnonzero(codes == c) for c in range(len(self.classes_))]
        distances, _ = exact_neighbors(points, n_neighbors=self.n_neighbors)
        self.widths_ = distances[:, -1] if distances.shape[1] else np.ones(len(points))
        return self

    def _log_terms(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """log h^−d K of a block of queries and every example."""
        k = min(self.n_neighbors, distances.shape[1])
        own = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]  # ρ_k of the queries
        # Duplicates have no width of their own: they take the smallest there is.
        positive = self.widths_[self.widths_ > 0]
        tiny = positive.min() if len(positive) else 1.0
        theirs = np.maximum(self.widths_, tiny)[None]
        if self.rule == "parzen":
            return -0.5 * (distances / self.bandwidth) ** 2
        if self.rule == "balloon":
            return -0.5 * (distances / np.where(own > 0, own, tiny)) ** 2
        dimension = self._points.shape[1]
        if self.rule == "sample-point":
            return -0.5 * (distances / theirs) ** 2 - dimension * np.log(theirs)
        near, reciprocal = distances <= own, distances <= theirs
        if self.rule == "reciprocal":
            inside = np.where(reciprocal, -dimension * np.log(theirs), -np.inf)
            lonely = ~reciprocal.any(axis=1)  # in no ball at all: ask one's own neighbours
            inside[lonely] = np.where(near[lonely], 0.0, -np.inf)
            return inside
        return np.where(near | reciprocal if self.rule == "symmetric" else near, 0.0, -np.inf)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of the posteriors."""
        check_is_fitted(self, "widths_")
        queries: NDArray[Any] = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        joint = np.empty((len(queries), len(self.classes_)))
        for b in row_blocks(len(queries), 40 * len(self._points)):
            terms = self._log_terms(cdist(queries[b], self._points))
            for c, members in enumerate(self._members):
                joint[b, c] = logsumexp(terms[:, members], axis=1)
        posterior: NDArray[np.float64] = joint - logsumexp(joint, axis=1, keepdims=True)
        return posterior

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The posteriors."""
        log_posteriors = self.predict_log_proba(X)
        return np.exp(log_posteriors)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the highest posterior."""
        winners = self.predict_proba(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[winners]
        return answers
