"""ITML: a Mahalanobis metric from pairs that shall be near and pairs that shall be far."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn import _itml_kernels as kernels


class ITML(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Information-theoretic metric learning ([1]_): the metric nearest to the Euclidean that obeys pairs.

    It minimises ``tr A − log det A`` under ``(x−x')ᵀA(x−x') ≤ u`` for pairs of one class and ``≥ l`` for
    pairs of two, each bound with some slack, by cyclic Bregman projections. ``transform`` gives ``Lx``
    with ``A = LᵀL``, so that any learner on Euclidean distances uses the metric; a pipeline with
    :class:`MLNNClassifier` is the pair ITML + MLNN of [2]_.

    Parameters
    ----------
    gamma : float, default=1.0
        How strictly the bounds are kept: small values stay near the Euclidean metric.
    n_constraints : int, default=None
        Pairs; None: 40·C·(C−1), as the authors of [1]_ take.
    bounds : pair of floats, default=None
        u and l, squared distances; None: the 5th and 95th percentiles over random pairs.
    tol : float, default=1e-3
        Stop when a sweep moves the multipliers by less than this part of them.
    max_iter : int, default=100
        Sweeps over all pairs at most.
    random_state : int, RandomState or None
        For the pairs.

    Attributes
    ----------
    metric_ : array of shape (d, d)
        A.
    components_ : array of shape (d, d)
        L.
    bounds_ : pair of floats
    n_iter_ : int

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric learning",
       ICML 2007, Algorithm 1.
    .. [2] P. Piro, R. Nock, F. Nielsen, M. Barlaud, "Multi-class leveraged k-NN for image
       classification", ACCV 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from lookalike.learn import MLNNClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> pair = make_pipeline(StandardScaler(), ITML(random_state=0), MLNNClassifier(n_neighbors=5))
    >>> pair.fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_constraints": [Interval(Integral, 1, None, closed="left"), None],
        "bounds": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        n_constraints: int | None = None,
        bounds: Any = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_constraints = n_constraints
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the metric from labels: random pairs of one class shall be near, of two classes far."""
        self._validate_params()
        points: NDArray[Any]
        points, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        rng = check_random_state(self.random_state)
        m, d = points.shape
        n = self.n_constraints or max(1, 40 * len(classes) * (len(classes) - 1))
        low, high = self._bounds(points, rng)
        self.bounds_ = (low, high)
        left, right = rng.randint(m, size=n), rng.randint(m, size=n)
        same = codes[left] == codes[right]
        keep = (left != right) & (high > 0)  # where all points coincide there is no metric to learn
        left, right, same = left[keep], right[keep], same[keep]
        A = np.eye(d)
        targets = np.where(same, low, high)
        signs = np.where(same, 1.0, -1.0)
        self.n_iter_ = kernels.project(
            A, left, right, points, signs, targets, float(self.gamma), float(self.tol), self.max_iter
        )
        self.metric_ = (A + A.T) / 2
        values, vectors = np.linalg.eigh(self.metric_)
        # The symmetric root keeps every direction where it was; rounding may leave a value below 0.
        self.components_ = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        self._n_features_out = d
        return self

    def _bounds(self, points: NDArray[np.float64], rng: np.random.RandomState) -> tuple[float, float]:
        if self.bounds is not None:
            low, high = (float(b) for b in self.bounds)
            if not 0 < low <= high:
                raise ValueError(f"bounds must be two positive numbers in order, but are {self.bounds!r}.")
            return low, high
        a, b = rng.randint(len(points), size=(2, 10_000))
        gaps = ((points[a] - points[b])[a != b] ** 2).sum(axis=1)
        gaps = gaps[gaps > 0]
        if len(gaps) == 0:
            return 0.0, 0.0
        low, high = np.percentile(gaps, [5, 95])
        return float(low), float(high)

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The points where the metric is the Euclidean one."""
        check_is_fitted(self, "components_")
        points = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        mapped: NDArray[Any] = points @ self.components_.T.astype(points.dtype)
        return mapped
