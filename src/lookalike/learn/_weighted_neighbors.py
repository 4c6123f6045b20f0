"""Plain and weighted nearest neighbours, from all or a random part of the examples: what to compare with."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn import _leverage as core
from lookalike.neighbors import ExactIndex


class WeightedNeighborsClassifier(ClassifierMixin, BaseEstimator):
    """Nearest neighbours that vote with a kernel of their distance; learned weights are judged by it.

    With the uniform kernel it is the k-NN rule ([1]_ (4.9)), with a Gaussian one the weighted rule of
    [2]_; with ``n_prototypes`` only a random part of the examples votes, which is what a learned choice
    of as many prototypes has to beat.

    Parameters
    ----------
    n_neighbors : int, default=11
        k.
    kernel : {"uniform", "gaussian", "adaptive", "intersection"} or callable, default="uniform"
        As in :class:`MLNNClassifier`.
    sigma : float, default=1.0
        Width of the fixed Gaussian.
    sigma_rule : {"sqrt2_rho", "rho", "sqrt_2rho"}, default="sqrt2_rho"
        Width of the adaptive one.
    n_prototypes : int or float, default=None
        How many examples are kept at random, or what part; None: all.
    metric : str or callable, default="euclidean"
        As in :class:`lookalike.neighbors.ExactIndex`.
    n_jobs : int, default=-1
        Threads of the search.
    random_state : int, RandomState or None
        For the random part.

    Attributes
    ----------
    prototypes_ : integer array
        The examples that vote, as indices into the training set, sorted.
    classes_ : array

    References
    ----------
    .. [1] P. Piro, "Learning prototype-based classification rules in a boosting framework: application
       to real-world and medical image categorization", PhD thesis, Université de Nice, 2010, ch. 4.
    .. [2] J. Philbin et al., "Lost in quantization: improving particular object retrieval in large scale
       image databases", CVPR 2008.

    Examples
    --------
    >>> model = WeightedNeighborsClassifier(n_neighbors=3).fit([[0.0], [0.2], [1.0], [1.1]], [0, 0, 1, 1])
    >>> model.predict_proba([[0.3]]).round(2).tolist()
    [[0.67, 0.33]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"uniform", "gaussian", "adaptive", "intersection"}), callable],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "sigma_rule": [StrOptions({"sqrt2_rho", "rho", "sqrt_2rho"})],
        "n_prototypes": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "metric": [str, callable],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 11,
        kernel: Any = "uniform",
        sigma: float = 1.0,
        sigma_rule: str = "sqrt2_rho",
        n_prototypes: float | None = None,
        metric: Any = "euclidean",
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_rule = sigma_rule
        self.n_prototypes = n_prototypes
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the examples, or a random part of them."""
        self._validate_params()
        points: NDArray[Any]
        points, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        m = len(codes)
        count = min(m, core.count_of(self.n_prototypes, m) or m)
        if count < m:
            self.prototypes_ = np.sort(check_random_state(self.random_state).permutation(m)[:count])
        else:
            self.prototypes_ = np.arange(m)
        self._codes = codes[self.prototypes_].astype(np.int64)
        self._points = points[self.prototypes_]
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The part of the votes that each class has; of equal ones that of the nearest is an ulp higher."""
        check_is_fitted(self, "prototypes_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        index = ExactIndex(
            self._points, metric="intersection" if self.kernel == "intersection" else self.metric
        )
        distances, found = index.query(X, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)
        votes = core.neighbour_weights(self.kernel, distances, sigma=self.sigma, sigma_rule=self.sigma_rule)
        votes = np.ones(distances.shape) if votes is None else votes
        votes[votes.sum(axis=1) <= 0] = 1.0  # all too far for the kernel: they count alike
        labels = self._codes[found]
        totals = core.class_totals(labels, votes, len(self.classes_))
        return core.break_ties(totals / totals.sum(axis=1, keepdims=True), labels, len(self.classes_))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with most votes; ties go to the class of the nearest."""
        winners = self.predict_proba(X).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[winners]
        return answers
