"""``DistanceDiscriminant``: a linear map learned from distances between labelled observations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance import _core
from lookalike.learn._distance._labels import choose_targets, encode, stratified_sample, warn_of_duplicates
from lookalike.learn._distance._nearest import distances

Array = NDArray[Any]


class HeldOut:
    """Notes the errors of the nearest neighbour on held-out data while a transformation is learned."""

    patience = 5  # steps without a better result, after which a fold ends

    def __init__(
        self, points: Array, codes: Array, others: Array, wanted: Array, widths: Array, wrong: Array
    ) -> None:
        self.points, self.codes = points, codes
        self.others, self.wanted = others, wanted
        self.widths, self.wrong = widths, wrong
        self.best, self.since = np.inf, 0

    def __call__(self, step: int, transformation: Array) -> bool:
        """Note the errors of one step; True where the fold may end."""
        vectors, values = _core.spectrum(transformation)
        scaled = vectors * values
        a, b = self.others @ scaled, self.points @ scaled
        squares = np.zeros((len(a), len(b)))
        done = 0
        for i, width in enumerate(self.widths):
            if done < a.shape[1]:
                squares += distances(a[:, done:width], b[:, done:width]) ** 2
                done = int(width)
            # Where this fold ends, its last errors stand for all later steps.
            self.wrong[step:, i] = (self.codes[squares.argmin(axis=1)] != self.wanted).sum()
        lowest = self.wrong[step].min()
        self.since = 0 if lowest < self.best else self.since + 1
        self.best = min(self.best, lowest)
        return self.since >= self.patience


class DistanceDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Distance-based discriminant analysis (DDA): target classes compact, all others away from them.

    The linear map ``T`` minimises the logarithm of the ratio of two geometric means: of the Huberised
    distances within each target class, and of the distances from it to everything else ((2.5), (2.31) of
    [1]_). No mean and no scatter matrix enters, so classes need not be Gaussian, and the classes may play
    different parts. It is found by iterative majorization: each step solves a small eigenproblem, no step
    length is searched, and the criterion never increases. The number of steps is a regulariser: see
    ``early_stopping``.

    Parameters
    ----------
    n_components : int, default=None
        Columns of the transformation, at most. None starts from all and keeps as many as have a singular
        value above ``threshold`` times the largest.
    targets : {"all", "all but widest"} or a class or a list of classes, default="all"
        Which classes are made compact. "all but widest" leaves out the class of largest variance, as [1]_
        does; for two classes that is one target against the rest.
    class_weight : {"equal", "thesis"}, default="equal"
        Weight of the classes: equal as (2.31) is written, or by size as (2.32)-(2.33) are.
    within_weight : float, default=1.0
        Weight of the within part of the criterion.
    huber : float, default=1.0
        Within distances count as squares up to here and as distances beyond, in units of the median
        within distance at the start.
    floor : float, default=0.1
        Added to every distance (root of the sum of squares), in the same unit. Without it the criterion
        has no minimum. Larger values keep more dimensions.
    length : float, default=None
        The squared Frobenius norm of ``T``; None is the number of features, that of the identity.
    constrained : bool, default=True
        Whether that norm is held. Without it the criterion shrinks ``T`` for ever: for comparison only.
    init : {"pca", "random"} or array of shape (n_features, k), default="pca"
        The start: the identity (its first principal directions for fewer components), a random
        orthonormal matrix, or a given one.
    threshold : float, default=0.01
        See ``n_components``.
    max_iter : int, default=100
        Steps at most.
    tol : float, default=1e-6
        Stop when the criterion falls by less.
    early_stopping : int or None, default=None
        Folds of a cross-validation that chooses the number of steps (0 included) by the error of the
        nearest neighbour on held-out data, and with it, where ``n_components`` is None, the number of
        leading singular directions to keep. None goes on to ``tol``. The criterion is followed to its
        minimum much too far for new data, so this is what to use for a classifier.
    n_starts : int or None, default=None
        Starts, of which the lowest criterion is kept; all but the first are random. None is 1, but 10 for
        one component or up to five features, where the criterion has many local minima.
    max_points : int, default=10000
        Beyond so many observations the map is learned on a stratified sample of landmarks, and
        ``landmark_loss_`` says what that costs.
    random_state : int, RandomState or None, default=None
        For random starts, folds and landmarks.

    Attributes
    ----------
    components_ : array of shape (k, n_features)
        The transformation: ``transform(X) = X @ components_.T``. Its rows are orthogonal.
    singular_values_ : array
        The whole spectrum, also of what was cut.
    criteria_ : list of float
        The criterion at the start and after each step.
    classes_, targets_ : arrays
        All classes, and those made compact.
    n_iter_ : int
        Steps that were taken.
    n_evaluations_ : int
        How often the criterion was computed.
    held_out_errors_ : array of shape (max_iter + 1, widths)
        With ``early_stopping``: error on held-out data after 0, 1, 2... steps, for each dimension tried.
    landmarks_ : array or None
        Indices of the sample, where one was taken.
    landmark_loss_ : float
        The criterion on observations that were not in the sample minus that on the sample.
    huber_, floor_, length_ : float
        The settings in the units of the transformed space.

    References
    ----------
    .. [1] S. Kosinov, "Machine learning approach to semantic augmentation of multimedia documents for
       efficient access and retrieval", PhD thesis 3707, University of Geneva, 2005, chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import DistanceDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)) * [9, 1, 1, 1, 1]
    >>> y = (X[:, 1] > 0).astype(int)
    >>> dda = DistanceDiscriminant(max_iter=20).fit(X, y)
    >>> bool(np.all(np.diff(dda.criteria_) <= 1e-9))
    True
    >>> int(np.abs(dda.components_[0]).argmax())
    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "targets": [StrOptions({"all", "all but widest"}), "array-like", str, Real, Hidden(None)],
        "class_weight": [StrOptions({"equal", "thesis"})],
        "within_weight": [Interval(Real, 0, None, closed="left")],
        "huber": [Interval(Real, 0, None, closed="neither")],
        "floor": [Interval(Real, 0, None, closed="neither")],
        "length": [Interval(Real, 0, None, closed="neither"), None],
        "constrained": ["boolean"],
        "init": [StrOptions({"pca", "random"}), "array-like"],
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": [Interval(Integral, 2, None, closed="left"), None],
        "n_starts": [Interval(Integral, 1, None, closed="left"), None],
        "max_points": [Interval(Integral, 4, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        targets: Any = "all",
        class_weight: str = "equal",
        within_weight: float = 1.0,
        huber: float = 1.0,
        floor: float = 0.1,
        length: float | None = None,
        constrained: bool = True,
        init: Any = "pca",
        threshold: float = 0.01,
        max_iter: int = 100,
        tol: float = 1e-6,
        early_stopping: int | None = None,
        n_starts: int | None = None,
        max_points: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.targets = targets
        self.class_weight = class_weight
        self.within_weight = within_weight
        self.huber = huber
        self.floor = floor
        self.length = length
        self.constrained = constrained
        self.init = init
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.n_starts = n_starts
        self.max_points = max_points
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the transformation from observations ``X`` and their classes ``y``."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = encode(y)
        if (X[0] == X).all():
            raise ValueError("all observations are equal: there is no distance to learn from.")
        rng = check_random_state(self.random_state)
        targets = choose_targets(X, codes, self.classes_, self.targets)
        settings = self._settings(X)
        everything, all_codes = X, codes
        self.landmarks_ = None
        if len(X) > self.max_points:
            self.landmarks_ = stratified_sample(codes, self.max_points, rng)
            X, codes = X[self.landmarks_], codes[self.landmarks_]
        warn_of_duplicates(X, codes)
        max_iter, width = self.max_iter, self.n_components
        if self.early_stopping is not None:
            max_iter, width = self._choose_steps(X, codes, targets, settings, rng)
        fit = _core.learn_transformation(X, codes, targets, settings, max_iter=max_iter, rng=rng)
        self._keep(fit, X.shape[1], targets, width)
        if self.landmarks_ is not None:
            self.landmark_loss_ = self._loss(everything, all_codes, targets, settings, rng)
        return self

    def _settings(self, X: Array) -> _core.Settings:
        init = self.init
        if not isinstance(init, str):
            init = np.asarray(init, dtype=float)
            if init.ndim != 2 or len(init) != X.shape[1]:
                raise ValueError(
                    f"init must be a matrix with {X.shape[1]} rows, but has shape {np.shape(self.init)}."
                )
        return _core.Settings(
            n_components=self.n_components,
            class_weight=self.class_weight,
            within_weight=self.within_weight,
            huber=self.huber,
            floor=self.floor,
            length=self.length,
            constrained=self.constrained,
            init=init,
            n_starts=self.n_starts or (10 if self.n_components == 1 or X.shape[1] <= 5 else 1),
            tol=self.tol,
        )

    def _choose_steps(
        self, X: Array, codes: Array, targets: Array, settings: _core.Settings, rng: np.random.RandomState
    ) -> tuple[int, int]:
        folds = min(int(self.early_stopping or 2), int(np.bincount(codes).min()))
        if folds < 2:
            raise ValueError("early_stopping needs at least two observations of each class.")
        splitter = StratifiedKFold(folds, shuffle=True, random_state=rng)
        widths = self._widths(X)
        wrong = np.zeros((folds, self.max_iter + 1, len(widths)))
        for f, (train, test) in enumerate(splitter.split(X, codes)):
            seen = HeldOut(X[train], codes[train], X[test], codes[test], widths, wrong[f])
            _core.learn_transformation(
                X[train], codes[train], targets, settings, max_iter=self.max_iter, on_step=seen
            )
        self.held_out_errors_ = wrong.sum(axis=0) / len(X)
        # Of choices that are hardly worse than the best (by half its standard error) the one with the
        # fewest dimensions, at its best step.
        lowest = self.held_out_errors_.min(axis=0)
        slack = 0.5 * np.sqrt(lowest.min() * (1.0 - lowest.min()) / len(X))
        width = int((lowest <= lowest.min() + slack).argmax())
        step = self.held_out_errors_.argmin(axis=0)
        return int(step[width]), int(widths[width])

    def _widths(self, X: Array) -> Array:
        """The numbers of dimensions to choose from: a few in each octave."""
        if self.n_components is not None:
            return np.array([self.n_components])
        most = min(X.shape[1], len(X) - 1)
        found = [w for e in range(1, 20) for w in (2**e, 3 * 2 ** (e - 1)) if w < most]
        return np.array([1, *found, most] if most > 1 else [1])

    def _keep(self, fit: _core.Fit, n_features: int, targets: Array, width: int | None) -> None:
        vectors, values = _core.spectrum(fit.transformation)
        if width is None:
            width = _core.n_dimensions(values, self.threshold)
        width = min(width, fit.basis.shape[1])
        keep = min(width, len(values))
        self.components_ = np.zeros((width, n_features))
        self.components_[:keep] = (vectors[:, :keep] * values[:keep]).T
        self.singular_values_ = values
        self.criteria_ = fit.solution.criteria
        self.n_iter_ = len(self.criteria_) - 1
        self.n_evaluations_ = fit.solution.evaluations
        self.targets_ = self.classes_[targets]
        self.huber_, self.floor_ = fit.problem.huber, fit.problem.floor
        self.length_ = float((values**2).sum())
        self._n_features_out = width

    def _loss(
        self, X: Array, codes: Array, targets: Array, settings: _core.Settings, rng: np.random.RandomState
    ) -> float:
        """What the map of the landmarks loses on other observations."""
        assert self.landmarks_ is not None
        others = np.setdiff1d(np.arange(len(X)), self.landmarks_)
        if len(np.unique(codes[others])) < len(self.classes_):
            return float("nan")
        if len(others) > self.max_points:
            others = others[stratified_sample(codes[others], self.max_points, rng)]
        values = []
        for rows in (self.landmarks_, others):
            problem, _ = _core.pose(X[rows] @ self.components_.T, codes[rows], targets, settings, 1.0)
            problem = _core.Problem(problem.points, problem.bounds, problem.terms, self.huber_, self.floor_)
            values.append(_core.assess(problem, np.eye(len(self.components_))).criterion)
        return float(values[1] - values[0])

    def transform(self, X: Any) -> Array:
        """Observations in the learned space, where plain Euclidean distances are the learned ones."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return np.asarray(X @ self.components_.T.astype(X.dtype))

    @property
    def metric_(self) -> Array:
        """The metric ``T T'``: the squared learned distance is ``(x - y)' T T' (x - y)``."""
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
