"""``KernelDistanceDiscriminant``: distance-based discriminant analysis in the space of a kernel."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance import _core, _krein
from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._gram import KERNEL_CONSTRAINTS, Kernel, Map
from lookalike.learn._distance._labels import (
    check_square,
    choose_targets,
    encode,
    stratified_sample,
    warn_of_duplicates,
)
from lookalike.learn._distance._piecewise import UnitCurve, minimise_curve

Array = NDArray[Any]


EXACT = 5000  # observations up to which the kernel matrix is used whole
INDEFINITE = -1e-8  # a more negative eigenvalue, as a share of the largest, is no rounding


class KernelDistanceDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel distance-based discriminant analysis (KDDA).

    The criterion of :class:`DistanceDiscriminant` for distances after a projection in the space of a
    kernel ((3.8)-(3.11) of [1]_). For a positive kernel this is the linear method on the coordinates in
    which the kernel is a dot product, and is solved so. A precomputed kernel may be indefinite: the
    distances stay real, each step's problem stays convex, and the norm is held in the kernel's own
    indefinite sense ((3.15)).

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the projection.
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        The kernel, with scikit-learn's definitions.
    gamma : float, default=None
        Of the kernel; None is 1 / (features * variance).
    degree, coef0 : int and float
        Of the kernel.
    expansion : {"adaptive", "unit"}, default="adaptive"
        "adaptive" expands the logarithm at the current distances, as the linear method does. "unit" does
        so at 1, as (3.12) is printed (with the sign of its third term corrected): between distances are
        drawn to 2, and ``criteria_`` is that stress.
    targets, huber, floor, length, max_iter, tol
        As in :class:`DistanceDiscriminant`; ``length`` is ``tr(P' K P)``. Under "unit" the length is
        free where it is None.
    n_landmarks : int, default=None
        Observations whose kernel functions span the projection (Nystroem); None takes all up to 5000 and
        2000 of more.
    random_state : int, RandomState or None, default=None
        For the landmarks.

    Attributes
    ----------
    dual_coef_ : array of shape (landmarks, n_components)
        ``P``: the projection is ``kernel(X, landmarks) @ dual_coef_``.
    landmarks_ : array
        Indices of the landmarks in the training set.
    trace_lost_ : float
        Share of the kernel's trace on the training set that the landmarks do not span.
    criteria_, classes_, targets_, n_iter_
        As in :class:`DistanceDiscriminant`.
    definite_ : bool
        Whether the kernel was positive on the training set.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, chapter 3 and appendix B.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import KernelDistanceDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.linalg.norm(X, axis=1) < 1
    >>> Z = KernelDistanceDiscriminant(targets=True, max_iter=20).fit_transform(X, y)
    >>> inside = np.linalg.norm(Z[y] - Z[y].mean(axis=0), axis=1)
    >>> outside = np.linalg.norm(Z[~y] - Z[y].mean(axis=0), axis=1)
    >>> bool(np.median(outside) > 2 * np.median(inside))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "expansion": [StrOptions({"adaptive", "unit"})],
        **{
            name: DistanceDiscriminant._parameter_constraints[name]
            for name in ("targets", "huber", "floor", "length", "max_iter", "tol", "random_state")
        },
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        expansion: str = "adaptive",
        targets: Any = "all",
        huber: float = 1.0,
        floor: float = 0.1,
        length: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-6,
        n_landmarks: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.expansion = expansion
        self.targets = targets
        self.huber = huber
        self.floor = floor
        self.length = length
        self.max_iter = max_iter
        self.tol = tol
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the projection from observations (or their square kernel matrix) and classes."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = encode(y)
        check_square(X, self.kernel)
        targets = choose_targets(X, codes, self.classes_, self.targets)
        self.targets_ = self.classes_[targets]
        if self.kernel != "precomputed":
            warn_of_duplicates(X, codes)
        self._kernel = Kernel.of(self, X)
        self.landmarks_ = self._choose_landmarks(codes)
        self._landmarks = X if self.kernel == "precomputed" else X[self.landmarks_]
        gram = X[:, self.landmarks_] if self.kernel == "precomputed" else self._kernel(X, self._landmarks)
        mapping = Map.of(gram[self.landmarks_])
        self.definite_ = mapping.negative >= INDEFINITE
        settings = _core.Settings(
            n_components=self.n_components,
            huber=self.huber,
            floor=self.floor,
            length=self.length,
            tol=self.tol,
        )
        if not self.definite_:
            fit = _krein.learn_projection(gram, codes, targets, settings, max_iter=self.max_iter)
            self.dual_coef_, self.criteria_, self.trace_lost_ = fit.transformation, fit.criteria, 0.0
        else:
            points = gram @ mapping.weights
            self.trace_lost_ = self._lost(X, points)
            solution, q = self._solve(points, codes, targets, settings)
            self.dual_coef_, self.criteria_ = mapping.weights @ q, solution.criteria
        self.n_iter_ = len(self.criteria_) - 1
        self._n_features_out = self.dual_coef_.shape[1]
        return self

    def _choose_landmarks(self, codes: Array) -> Array:
        n = len(codes)
        count = self.n_landmarks or (n if n <= EXACT else 2000)
        if count >= n:
            return np.arange(n)
        return stratified_sample(codes, count, check_random_state(self.random_state))

    def _lost(self, X: Array, points: Array) -> float:
        if self.kernel == "precomputed":
            total = np.trace(X)
        else:
            total = sum(float(self._kernel(x[None], x[None])[0, 0]) for x in X[:: max(1, len(X) // 2000)])
            points = points[:: max(1, len(X) // 2000)]
        return float(max(0.0, 1.0 - (points * points).sum() / total)) if total else 0.0

    def _solve(
        self, points: Array, codes: Array, targets: Array, settings: _core.Settings
    ) -> tuple[_core.Solution, Array]:
        """The transformation of the kernel's coordinates, padded to ``n_components`` columns."""
        if self.expansion == "adaptive":
            fit = _core.learn_transformation(points, codes, targets, settings, max_iter=self.max_iter)
            solution, t = fit.solution, fit.transformation
        else:
            solution, t = self._solve_unit(points, codes, targets, settings)
        vectors, values = _core.spectrum(t)
        width = min(self.n_components, points.shape[1])
        q = np.zeros((points.shape[1], width))
        keep = min(width, len(values))
        q[:, :keep] = vectors[:, :keep] * values[:keep]
        return solution, q

    def _solve_unit(
        self, points: Array, codes: Array, targets: Array, settings: _core.Settings
    ) -> tuple[_core.Solution, Array]:
        inner, basis = _core.span(points)
        if basis.shape[1] == 0:
            raise ValueError("all observations are equal: there is no distance to learn from.")
        # Distances between classes will be drawn to 2, so that is where the start puts them.
        length = self.length
        if length is None:
            sample = inner[:: max(1, len(inner) // 1000), : self.n_components]
            typical = _core.typical_distance(sample, np.array([0, len(sample)]), np.array([1]))
            length = (2.0 / typical) ** 2 * min(self.n_components, basis.shape[1])
        start = _core.starts(basis, settings, length, np.random.RandomState(0))[0]
        scale = float(np.sqrt(length / start.shape[1]))
        problem, _ = _core.pose(inner, codes, targets, settings, scale)
        solution = minimise_curve(
            problem, UnitCurve(), start, length=self.length, max_iter=self.max_iter, tol=self.tol
        )
        return solution, basis @ solution.transformation

    def transform(self, X: Any) -> Array:
        """The projection of observations (or of their kernel values to the training observations)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.landmarks_] @ self.dual_coef_)
        return np.asarray(self._kernel(X, self._landmarks) @ self.dual_coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
