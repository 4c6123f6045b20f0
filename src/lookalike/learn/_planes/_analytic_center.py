"""``AnalyticCenterClassifier``: the analytic centre of all hyperplanes that separate the classes."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.errors import LookalikeError
from lookalike.learn._distance._gram import KERNEL_CONSTRAINTS, Kernel, Map
from lookalike.learn._distance._labels import check_square, encode_two

Array = NDArray[Any]


def analytic_center(slacks: Array, start: Array, *, max_iter: int = 200, tol: float = 1e-10) -> Array:
    """Minimise ``-sum log(slacks @ w) + n / 2 |w|^2`` from a strictly feasible start, by damped Newton.

    ``slacks`` has a row ``y_i x_i`` for each observation. The length term makes the problem strictly
    convex and leaves the direction of the minimiser on the unit sphere unchanged ((5.8) of [1]).
    """
    n, d = slacks.shape
    w = start / np.linalg.norm(start)
    s = slacks @ w
    value = -np.log(s).sum() + 0.5 * n * (w @ w)
    for _ in range(max_iter):
        gradient = -slacks.T @ (1.0 / s) + n * w
        hessian = (slacks / (s * s)[:, None]).T @ slacks + n * np.eye(d)
        step = -np.linalg.solve(hessian, gradient)
        decrement = -gradient @ step
        if decrement <= tol * n:
            break
        size = 1.0 / (1.0 + np.sqrt(decrement))  # always feasible for a self-concordant barrier
        for trial in (1.0, size):
            t = slacks @ (w + trial * step)
            if (t > 0).all():
                new = -np.log(t).sum() + 0.5 * n * ((w + trial * step) @ (w + trial * step))
                if new < value - 1e-4 * trial * decrement:
                    size = trial
                    break
        w = w + size * step
        s = slacks @ w
        value = -np.log(s).sum() + 0.5 * n * (w @ w)
    return np.asarray(w / np.linalg.norm(w))


class AnalyticCenterClassifier(ClassifierMixin, BaseEstimator):
    """The analytic center machine: the hyperplane in the middle of all that separate the classes.

    The sum of logarithms of all slacks is made largest over the unit sphere ((5.4)-(5.8) of [1]_), where
    a support vector machine looks at the smallest slack alone. The hyperplane passes through the origin
    of the kernel's space, to whose coordinates a constant is added.

    Parameters
    ----------
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default="linear"
        The kernel.
    gamma, degree, coef0
        Of the kernel.
    ridge : float, default=0.0
        Added to the kernel's diagonal, as a share of its mean: with any above 0 every set of labels can
        be separated. With 0 a set that cannot be is refused.

    Attributes
    ----------
    classes_ : array
        The second is positive.
    dual_coef_ : array of shape (n,)
        The hyperplane over the training observations' kernel functions; ``intercept_`` is its constant.
    slacks_ : array of shape (n,)
        Signed values of the training observations (with the ridge), all positive.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 5.1.

    Examples
    --------
    >>> from lookalike.learn import AnalyticCenterClassifier
    >>> X, y = [[0.0, 1], [1, 1], [3, 0], [4, 0]], [0, 0, 1, 1]
    >>> AnalyticCenterClassifier().fit(X, y).predict([[0, 0], [4, 1]]).tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "ridge": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        ridge: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge

    @classmethod
    def _for_checks(cls) -> Self:
        return cls(ridge=0.1)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the centre for observations (or their kernel matrix) of two classes."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_two(y)
        check_square(X, self.kernel)
        sign = np.where(codes == 1, 1.0, -1.0)
        self._kernel = Kernel.of(self, X)
        self._landmarks = X
        gram = self._kernel(X, X)
        n = len(gram)
        scale = float(np.trace(gram)) / n
        if scale <= 0:
            scale = 1.0
        bare = gram + scale  # the added constant, of the size of an observation
        full = bare + self.ridge * scale * np.eye(n)
        mapping = Map.of(full)
        points = full @ mapping.weights
        slacks = sign[:, None] * points
        center = analytic_center(slacks, self._feasible(points, codes, slacks))
        alpha = mapping.weights @ center
        self.slacks_ = slacks @ center
        self.dual_coef_ = alpha
        self.intercept_ = float(scale * alpha.sum())
        return self

    def _feasible(self, points: Array, codes: Array, slacks: Array) -> Array:
        """A hyperplane through the origin that separates the classes: a hard-margin machine's."""
        doubled = np.concatenate([slacks, -slacks])  # symmetric, so the best offset is none
        labels = np.r_[np.ones(len(slacks)), np.zeros(len(slacks))]
        unit = np.sqrt((doubled * doubled).sum(axis=1).mean()) or 1.0
        for cost in (1e3, 1e6, 1e9):
            machine = SVC(kernel="linear", C=cost, tol=1e-6, max_iter=200_000)
            with warnings.catch_warnings():
                # Where no hyperplane separates, the machine cannot end; the check below finds out.
                warnings.simplefilter("ignore", ConvergenceWarning)
                w = machine.fit(doubled / unit, labels).coef_[0]
            if (slacks @ w > 0).all():
                return np.asarray(w)
        raise LookalikeError(
            "the classes cannot be separated by a hyperplane, so there is no centre: set ridge above 0."
        )

    def decision_function(self, X: Any) -> Array:
        """Signed values; positive for the second class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self._kernel(X, self._landmarks) @ self.dual_coef_ + self.intercept_)

    def predict(self, X: Any) -> Array:
        """The class."""
        check_is_fitted(self)
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
