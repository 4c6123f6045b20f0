"""Logistic regression that keeps few of many features, one class against the others."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lookalike.learn._class_weights import class_weights
from lookalike.learn._evidence import Evidence
from lookalike.parallel import LocalEngine, n_workers

Array = NDArray[Any]
GRID = tuple(float(p) for p in 10.0 ** np.linspace(-0.5, -3, 6))


class SparseLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """One-versus-all logistic regression with an L1 penalty; few coefficients are not 0.

    Minimises mean log(1 + exp(-y f(x))) + lambda |alpha|_1 (equation 2.24 of [1]_); the bias is free. On
    similarity vectors a coefficient that is not 0 is a training image that was kept.

    Parameters
    ----------
    penalty : float or "cv", default=0.01
        lambda as a share of the smallest one at which every coefficient of every class is 0; so it does not
        depend on the scale of the features. "cv" takes the best of six shares by held-out accuracy.
    cv : int, splitter or iterable of splits, default=3
        For "cv"; a number of folds is stratified and shuffled with a fixed seed.
    class_weight : dict, "balanced" or None, default=None
    tol : float, default=1e-3
        The optimality conditions hold to this share of lambda.
    max_iter : int, default=100
        Quadratic models at most, each minimised by coordinate descent [2]_.
    images : bool, default=False
        The features are similarities to the training images, in their order. Then ``explain`` tells which of
        them decided, and ``prototypes_`` which were kept.
    n_jobs : int or None, default=None
        Threads, each with its own class.

    Attributes
    ----------
    classes_ : array
    coef_ : array of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : array of shape (n_classes,) or (1,)
    penalty_ : float
        The share in use.
    lambda_ : float
        The lambda in use.
    n_iter_ : int

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.
    .. [2] G.-X. Yuan, C.-H. Ho, C.-J. Lin, "An improved GLMNET for L1-regularized logistic regression",
       JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 20))
    >>> y = (X[:, 3] > 0).astype(int)
    >>> model = SparseLogisticRegression(penalty=0.5).fit(X, y)
    >>> np.flatnonzero(model.coef_[0]).tolist()
    [3]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "cv": ["cv_object"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "images": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        penalty: float | str = 0.01,
        cv: Any = 3,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        images: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.cv = cv
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.images = images
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the coefficients of all classes together."""
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, coded = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("a classifier needs at least two classes, but all labels are in one class.")
        if self.images and X.shape[0] != X.shape[1]:
            raise ValueError(f"images=True needs one feature for each training image, but X is {X.shape}.")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = class_weights(self.class_weight, coded, weight)
        if not weight.sum() > 0:
            raise ValueError("all sample weights are 0.")
        targets = indicators(coded, len(self.classes_))
        self.penalty_ = self._choose(X, coded, weight) if self.penalty == "cv" else float(self.penalty)
        design = Design(X, weight)
        self.lambda_ = self.penalty_ * largest_lambda(design, targets)
        solved = self._solve(design, targets, self.lambda_, self.tol)
        self.coef_, self.intercept_, self.n_iter_ = solved
        return self

    def _choose(self, X: Array, coded: Array, weight: Array) -> float:
        """The share with the best held-out accuracy; the larger, sparser one of equals."""
        from sklearn.model_selection import StratifiedKFold, check_cv

        smallest = int(np.bincount(coded).min())
        folds = self.cv
        if isinstance(folds, Integral):
            if smallest < 2:
                raise ValueError(
                    "penalty='cv' needs at least two images of each class: give a number instead."
                )
            folds = StratifiedKFold(min(int(folds), smallest), shuffle=True, random_state=0)
        folds = check_cv(folds, coded, classifier=True)
        right = np.zeros(len(GRID))
        n_classes = len(self.classes_)
        for train, test in folds.split(X, coded):
            design, targets = Design(X[train], weight[train]), indicators(coded[train], n_classes)
            top, start = largest_lambda(design, targets), None
            for k, share in enumerate(GRID):
                start = self._solve(design, targets, share * top, 5 * self.tol, start)
                scores = X[test] @ start.coef.T + start.intercept
                guess = (scores[:, 0] > 0).astype(int) if n_classes == 2 else scores.argmax(1)
                right[k] += weight[test][guess == coded[test]].sum()
        return GRID[int(right.argmax())]

    def _solve(
        self, design: Design, targets: Array, penalty: float, tol: float, start: Solution | None = None
    ) -> Solution:
        return sparse_logistic(
            design, targets, penalty, start=start, tol=tol, max_iter=self.max_iter, n_jobs=self.n_jobs
        )

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes; of the second one where there are two."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """The class with the largest score."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Array:
        """Logistic scores of each class, scaled to sum to 1."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        chances = np.maximum(expit(scores), 1e-12)
        return np.asarray(chances / chances.sum(1, keepdims=True))

    @property
    def prototypes_(self) -> NDArray[np.intp]:
        """Training images with a coefficient, where the features are similarities to them."""
        if not self.images:
            raise AttributeError("only similarities to images (images=True) have prototypes.")
        return np.flatnonzero(self.coef_.any(0))

    @property
    def alphas_(self) -> Array:
        """The largest coefficient of each prototype."""
        return np.asarray(np.abs(self.coef_[:, self.prototypes_]).max(0))

    @available_if(lambda self: self.images)
    def explain(self, X: Any) -> list[Evidence]:
        """For each row the training images that decided, with coefficient times similarity as their shares.

        The shares add up to the score of the class without its bias, which is the same for every image.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        chances = self.predict_proba(X)
        best = chances.argmax(1)
        out = []
        for row, k, chance in zip(X, best, chances.max(1)):
            # With two classes one row of coefficients speaks for the second class, and against the first.
            coef = self.coef_[k] if len(self.classes_) > 2 else self.coef_[0] * (2 * k - 1)
            kept = np.flatnonzero(coef)
            shares = coef[kept] * row[kept]
            order = np.argsort(-np.abs(shares), kind="stable")
            shares = shares[order]
            out.append(
                Evidence(self.classes_[k], float(shares.sum()), kept[order], shares, False, float(chance))
            )
        return out


class Solution(NamedTuple):
    """Coefficients (n_problems, n_features), intercepts, and iterations."""

    coef: Array
    intercept: Array
    n_iter: int


class Design:
    """Centred and scaled columns with sample weights that sum to 1.

    The bias is free, so columns may be centred; that takes the direction that all similarities share out
    of the problem. Scaled columns need a penalty divided by their scale, and the problem stays the same.
    """

    def __init__(self, X: Array, weight: Array) -> None:
        self.weight = np.asarray(weight, dtype=np.float64) / weight.sum()
        X = np.asarray(X, dtype=np.float64)
        self.mean = self.weight @ X
        self.X = X - self.mean
        scale = np.sqrt(self.weight @ self.X**2)
        self.constant = scale <= 1e-12 * np.maximum(np.abs(self.mean), 1e-300)
        self.scale = np.where(self.constant, 1.0, scale)
        self.X /= self.scale
        self.X[:, self.constant] = 0
        self.rows = np.ascontiguousarray(self.X.T)  # each feature in one piece, for coordinate descent


def indicators(coded: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """1 where an image is of the class; only the second class where there are two."""
    targets = (coded[:, None] == np.arange(n_classes)).astype(np.float64)
    return targets[:, 1:] if n_classes == 2 else targets


def largest_lambda(design: Design, targets: Array) -> float:
    """The smallest penalty at which every coefficient is 0.

    Examples
    --------
    >>> design = Design(np.array([[0.0], [2.0]]), np.ones(2))
    >>> largest_lambda(design, np.array([[0.0], [1.0]]))
    0.5
    """
    residual = design.weight[:, None] * (targets - design.weight @ targets)
    return float(np.abs((design.X.T @ residual) * design.scale[:, None]).max(initial=0.0)) or 1.0


def sparse_logistic(
    design: Design,
    targets: Array,
    penalty: float,
    *,
    start: Solution | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> Solution:
    """L1-penalised logistic regressions of several targets over one design, each on its own."""
    n_features, n_problems = design.X.shape[1], targets.shape[1]
    coef = np.zeros((n_problems, n_features))
    rate = np.clip(design.weight @ targets, 1e-12, 1 - 1e-12)
    bias = np.log(rate / (1 - rate))
    if start is not None:
        coef = start.coef * design.scale
        bias = start.intercept + start.coef @ design.mean
    # From a large penalty down, roughly at first: few features are active all along the way.
    top = largest_lambda(design, targets)
    path = (
        [] if start is not None else [p for p in (0.5 * top * 0.4**k for k in range(20)) if p > 1.5 * penalty]
    )
    stages = [(p, max(0.1, tol), 10) for p in path] + [(penalty, tol, max_iter)]

    def solve(k: int) -> int:
        total = 0
        for stage, accuracy, limit in stages:
            state = coef[k], float(bias[k])
            coef[k], bias[k], n_iter = _newton(
                design, targets[:, k], stage / design.scale, state, (accuracy, limit)
            )
            total += n_iter
        return total

    used = max(LocalEngine(n_workers(n_jobs)).map(solve, range(n_problems)))
    coef = coef / design.scale
    return Solution(coef, bias - coef @ design.mean, used)


def _newton(
    design: Design, target: Array, limits: Array, state: tuple[Array, float], stop: tuple[float, int]
) -> tuple[Array, float, int]:
    """Quadratic models minimised by coordinate descent over the active features, with a line search."""
    from lookalike.learn._coordinate_kernels import descend

    X, weight, (coef, bias), (tol, max_iter) = design.X, design.weight, state, stop
    scores = X @ coef + bias
    value = _loss(scores, target, weight) + float(limits @ np.abs(coef))
    for n_iter in range(max_iter):
        chance = expit(scores)
        residual = weight * (chance - target)
        gradient, slope = X.T @ residual, float(residual.sum())
        off = (
            np.where(coef != 0, np.abs(gradient + np.sign(coef) * limits), np.abs(gradient) - limits) / limits
        )
        worst = max(float(off.max(initial=0.0)), abs(slope) / float(limits.max(initial=1e-12)))
        if worst <= tol:
            return coef, bias, n_iter
        active = np.flatnonzero(((coef != 0) | (off > -0.05)) & ~design.constant)
        curvature = np.maximum(weight * chance * (1 - chance), 1e-9 * weight)
        step, moved = descend(
            design.rows[active],
            curvature,
            gradient[active],
            limits[active],
            coef[active],
            slope,
            max(0.05 * min(worst, 1.0), 0.2 * tol),
            200,
        )
        there = coef.copy()
        expected = gradient[active] @ step[:-1] + slope * step[-1]
        expected += limits[active] @ (np.abs(coef[active] + step[:-1]) - np.abs(coef[active]))
        share = 1.0
        while True:
            there[active] = coef[active] + share * step[:-1]
            new_scores = scores + share * moved
            new_value = _loss(new_scores, target, weight) + float(limits @ np.abs(there))
            if new_value <= value * (1 + 1e-14) + 1e-4 * share * expected or share < 1e-8:
                break
            share /= 2
        gained, value = value - new_value, new_value
        coef, bias, scores = there, bias + share * step[-1], new_scores
        if share < 1e-8 or gained <= 1e-13 * value:  # rounding is all that is left
            return coef, bias, n_iter + 1
    return coef, bias, max_iter


def _loss(scores: Array, target: Array, weight: Array) -> float:
    return float(-weight @ log_expit(np.where(target > 0.5, scores, -scores)))


def objective(X: Array, targets: Array, solution: Solution, penalty: float) -> Array:
    """The minimised sum for each target, with equal sample weights."""
    margin = (X @ solution.coef.T + solution.intercept) * (2 * targets - 1)
    return np.asarray(-log_expit(margin).mean(0) + penalty * np.abs(solution.coef).sum(1))
