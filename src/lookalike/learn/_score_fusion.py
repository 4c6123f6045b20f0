"""Several complete systems on several features, and one answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

Array = NDArray[Any]
_LEAST = 1e-12  # a probability of 0 would forbid a class to all the other systems


class ScoreFusion(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Average the class probabilities of several systems, each with its own feature (late fusion).

    The thesis takes plain means of two systems, one on orientations and one on colours [1]_. Learned weights
    multiply the logarithms of the probabilities instead; they are fitted on held-out answers.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Classifiers with ``predict_proba``, or pipelines that end in one.
    weights : "equal", "learned" or list of float, default="equal"
    cv : int, splitter or iterable of splits, default=3
        For "learned".

    Attributes
    ----------
    classes_ : array
    estimators_ : list of (str, estimator)
    weights_ : array of shape (n_estimators,)

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 4.3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = {"shape": rng.normal(size=(40, 2)) + y[:, None], "colour": rng.normal(size=(40, 3)) + y[:, None]}
    >>> fusion = ScoreFusion([(name, LogisticRegression()) for name in X]).fit(X, y)
    >>> fusion.predict_proba(X).shape
    (40, 2)
    """

    _flat_input = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimators": [list],
        "weights": [StrOptions({"equal", "learned"}), "array-like"],
        "cv": ["cv_object"],
    }

    def __init__(self, estimators: Any, *, weights: Any = "equal", cv: Any = 3) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit every system on its input.

        Parameters
        ----------
        X : mapping of name to rows
            Arrays, `Bags` or `Mixtures`, one for each estimator under its name, with the same images.
        y : array of shape (n,)
        """
        names = [name for name, _ in self.estimators]
        if not names or len(set(names)) != len(names):
            raise ValueError("estimators must be one or more pairs of different names and classifiers.")
        y = np.asarray(y)
        check_classification_targets(y)
        inputs = self._inputs(X, len(y))
        self.classes_ = np.unique(y)
        if self.weights == "learned" if isinstance(self.weights, str) else False:
            self.weights_ = self._learn(inputs, y)
        elif isinstance(self.weights, str):
            self.weights_ = np.full(len(names), 1 / len(names))
        else:
            self.weights_ = np.asarray(self.weights, dtype=np.float64)
            if self.weights_.shape != (len(names),) or self.weights_.min() < 0 or not self.weights_.sum():
                raise ValueError(f"weights must be {len(names)} non-negative numbers, not all 0.")
            self.weights_ = self.weights_ / self.weights_.sum()
        self.estimators_ = [(name, clone(one).fit(inputs[name], y)) for name, one in self.estimators]
        return self

    def _inputs(self, X: Any, n: int | None = None) -> Mapping[str, Any]:
        if not isinstance(X, Mapping):
            raise ValueError("X must be a mapping from the names of the estimators to their inputs.")
        missing = [name for name, _ in self.estimators if name not in X]
        if missing:
            raise ValueError(f"X has no input for {', '.join(map(repr, missing))}.")
        sizes = {name: len(X[name]) for name, _ in self.estimators}
        if len(set(sizes.values())) != 1 or (n is not None and n not in sizes.values()):
            raise ValueError(f"all inputs must hold the same images, but have {sizes} rows.")
        return X

    def _learn(self, inputs: Mapping[str, Any], y: Array) -> Array:
        """Weights of the logarithms that make held-out answers most likely; a convex problem."""
        from sklearn.model_selection import check_cv

        n_systems = len(self.estimators)
        logs = np.zeros((n_systems, len(y), len(self.classes_)))
        seen = np.zeros(len(y), dtype=bool)
        for train, test in check_cv(self.cv, y, classifier=True).split(np.zeros(len(y)), y):
            seen[test] = True
            for s, (name, one) in enumerate(self.estimators):
                fitted = clone(one).fit(inputs[name][train], y[train])
                logs[s, test] = _logs(fitted, inputs[name][test], self.classes_)
        logs, truth = logs[:, seen], np.searchsorted(self.classes_, y[seen])
        rows = np.arange(len(truth))

        def loss(w: Array) -> tuple[float, Array]:
            scores = np.tensordot(w, logs, 1)
            wrong = softmax(scores, axis=1)
            wrong[rows, truth] -= 1
            value = -log_softmax(scores, axis=1)[rows, truth].mean()
            return float(value), np.tensordot(logs, wrong, 2) / len(rows)

        start = np.full(n_systems, 1 / n_systems)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * n_systems)
        return np.asarray(found.x if found.x.sum() > 0 else start)

    def predict_proba(self, X: Any) -> Array:
        """Fused probabilities of the classes."""
        check_is_fitted(self)
        inputs = self._inputs(X)
        logs = np.stack([_logs(one, inputs[name], self.classes_) for name, one in self.estimators_])
        if isinstance(self.weights, str) and self.weights == "learned":
            return np.asarray(softmax(np.tensordot(self.weights_, logs, 1), axis=1))
        return np.asarray(np.tensordot(self.weights_, np.exp(logs), 1))

    def predict(self, X: Any) -> Array:
        """The class with the largest fused probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])


def _logs(fitted: Any, X: Any, classes: Array) -> Array:
    """Logarithms of probabilities in the order of all classes; a class it never saw has next to none."""
    chances = np.full((len(X), len(classes)), _LEAST)
    chances[:, np.searchsorted(classes, fitted.classes_)] = np.maximum(fitted.predict_proba(X), _LEAST)
    return np.asarray(np.log(chances / chances.sum(1, keepdims=True)))
