"""``MultipleHyperplaneClassifier``: positive is what lies on the right side of every hyperplane."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.cluster import KMeans
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance._gram import KERNEL_CONSTRAINTS, Kernel, Map
from lookalike.learn._distance._labels import check_square, encode_two

Array = NDArray[Any]

TURNS = 50  # alternations at most


class Bound(NamedTuple):
    """A generalisation bound, and whether its conditions hold."""

    value: float
    valid: bool


def hyperplane_bound(
    n_samples: int, radius: float, margin: float, confidence: float = 0.05, *, base: float = np.e
) -> Bound:
    """The bound (5.21) of [1]_ on the error of a multiple-hyperplane classifier.

    It is that of one hyperplane: the number of hyperplanes does not enter. The document does not say
    which logarithm it means; natural is the default. For real problems the value is usually above 1.

    Parameters
    ----------
    n_samples : int
        Training observations ``l``, all classified with the margin.
    radius : float
        All observations lie within this distance of the origin.
    margin : float
        The margin of normalised hyperplanes.
    confidence : float, default=0.05
        The bound holds with probability ``1 - confidence``.
    base : float, default=e
        Base of the logarithms.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 5.2.2.

    Examples
    --------
    >>> from lookalike.learn import hyperplane_bound
    >>> bound = hyperplane_bound(10**6, 2.0, 1.0)
    >>> round(bound.value, 2), bound.valid
    (0.13, True)
    """
    ratio = (radius / margin) ** 2
    unit = np.log(base)
    first = np.log(np.e * n_samples * margin / (4 * radius)) / unit
    second = np.log(128 * n_samples * ratio) / unit
    value = 2.0 / n_samples * (64 * ratio * first * second + np.log(4 / confidence) / unit)
    valid = 64 * ratio < n_samples and value > 0 and n_samples > 2 / value
    return Bound(float(value), bool(valid))


def smooth_minimum(values: Array, softness: float) -> Array:
    """A differentiable minimum over the last axis, below the true one by at most a fold's error."""
    found = values[..., 0]
    for j in range(1, values.shape[-1]):
        other = values[..., j]
        found = 0.5 * (found + other - np.sqrt((found - other) ** 2 + softness))
    return np.asarray(found)


def smooth_minimum_gradient(values: Array, softness: float) -> tuple[Array, Array]:
    """The smooth minimum and its derivative with respect to each value."""
    found = values[..., 0]
    weights = np.ones_like(values)
    for j in range(1, values.shape[-1]):
        other = values[..., j]
        lean = 0.5 * (1.0 - (found - other) / np.sqrt((found - other) ** 2 + softness))
        weights[..., :j] *= lean[..., None]
        weights[..., j] = 1.0 - lean
        found = 0.5 * (found + other - np.sqrt((found - other) ** 2 + softness))
    return np.asarray(found), weights


class Planes(NamedTuple):
    """Hyperplanes in the kernel's coordinates: columns of weights, their offsets, and the objective."""

    weights: Array
    offsets: Array
    objective: float


def objective(values: Array, weights: Array, mask: Array, costs: tuple[float, float]) -> float:
    """Half the squared norms, the hinge of positives on all planes, that of negatives on the best one."""
    positive = np.maximum(0.0, 1.0 - values[mask]).sum()
    negative = np.maximum(0.0, 1.0 + values[~mask]).min(axis=1).sum()
    return float(0.5 * (weights * weights).sum() + costs[0] * positive + costs[1] * negative)


def alternate(
    points: Array, mask: Array, first: Array, costs: tuple[float, float]
) -> tuple[Planes, list[float]]:
    """Support vector machines for given shares of the negatives, and new shares, in turn.

    ``first`` assigns a hyperplane to each negative. Neither half of a turn can raise the objective, and
    there are finitely many assignments.
    """
    positives, negatives = points[mask], points[~mask]
    assigned = first
    best: Planes | None = None
    history: list[float] = []
    for _ in range(TURNS):
        weights, offsets = [], []
        for j in np.unique(assigned):  # a plane without negatives is dropped
            own = negatives[assigned == j]
            machine = SVC(kernel="linear", C=1.0, class_weight={True: costs[0], False: costs[1]}, tol=1e-5)
            machine.fit(
                np.concatenate([positives, own]), np.r_[np.ones(len(positives)), np.zeros(len(own))] > 0
            )
            weights.append(machine.coef_[0])
            offsets.append(machine.intercept_[0])
        w, b = np.stack(weights, axis=1), np.asarray(offsets)
        values = points @ w + b
        value = objective(values, w, mask, costs)
        if best is None or value < best.objective:
            best = Planes(w, b, value)
        history.append(value)
        chosen = values[~mask].argmin(axis=1)
        if np.array_equal(chosen, np.searchsorted(np.unique(assigned), assigned)):
            break
        assigned = chosen
    assert best is not None
    return best, history


def descend(points: Array, mask: Array, start: Planes, costs: tuple[float, float]) -> Planes:
    """The smoothed problem of [1]: squared hinges of a soft minimum, hardened by decades.

    A growing penalty holds the condition (5.19), that the planes' mean does no worse in sum than their
    minimum.
    """
    sign = np.where(mask, 1.0, -1.0)
    cost = np.where(mask, *costs)
    shape = start.weights.shape

    def value(v: Array, softness: float, penalty: float) -> tuple[float, Array]:
        w, b = v[: -shape[1]].reshape(shape), v[-shape[1] :]
        f = points @ w + b
        low, lean = smooth_minimum_gradient(f, softness)
        slack = np.maximum(0.0, 1.0 - sign * low)
        gap = float((sign * (f.mean(axis=1) - low)).sum())
        over = max(0.0, -gap)
        total = 0.5 * (w * w).sum() + (cost * slack**2).sum() + penalty * over**2
        per_low = -2.0 * cost * slack * sign + 2.0 * penalty * over * sign
        slope = per_low[:, None] * lean - 2.0 * penalty * over * sign[:, None] / shape[1]
        return float(total), np.concatenate([(points.T @ slope + w).ravel(), slope.sum(axis=0)])

    v = np.concatenate([start.weights.ravel(), start.offsets])
    penalty = 1e-4 * max(costs)
    # A softer beginning than this melts the planes of the start into one.
    for softness in 10.0 ** -np.arange(2.0, 7.0):
        v = minimize(value, v, (softness, penalty), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
        penalty *= 3.0
    w, b = v[: -shape[1]].reshape(shape), v[-shape[1] :]
    return Planes(w, b, objective(points @ w + b, w, mask, costs))


class MultipleHyperplaneClassifier(ClassifierMixin, BaseEstimator):
    """A maximum-margin classifier with several hyperplanes for one class against the rest.

    Positive is what all hyperplanes accept; one is enough to reject ((5.16)-(5.20) of [1]_), so the
    positive region is convex in the kernel's space. With one hyperplane it is a support vector machine.

    Parameters
    ----------
    n_hyperplanes : int, default=3
        Hyperplanes, at most.
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default="rbf"
        The kernel.
    gamma, degree, coef0
        Of the kernel; ``gamma=None`` is 1 / (features * variance).
    C : float, default=1.0
        Cost of margin violations.
    class_weight : {"balanced"}, dict or None, default=None
        Factors of the cost for each class; "balanced" makes both classes cost the same in sum.
    solver : {"alternating", "smooth"}, default="alternating"
        Support vector machines and assignments of negatives in turn; or, from there, descent on a
        smoothed minimum under the condition (5.19), as the document has it. The condition costs most of
        what several hyperplanes can do: where each rejects its own part of the negatives, it is broken.
    n_starts : int, default=3
        Clusterings of the negatives to start from; the lowest objective is kept.
    random_state : int, RandomState or None, default=None
        For the clusterings.

    Attributes
    ----------
    classes_ : array
        The second is positive.
    dual_coef_ : array of shape (n, hyperplanes)
        Hyperplanes over the training observations' kernel functions.
    intercept_ : array of shape (hyperplanes,)
    objectives_ : list of float
        The objective after each turn of the best start.
    margin_ : float
        The smallest signed distance of a training observation, with normalised hyperplanes.
    sum_condition_ : float
        (5.19): the sum over observations of label times (mean minus minimum); the bound asks that it is
        not negative.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import MultipleHyperplaneClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 2))
    >>> y = np.abs(X).max(axis=1) < 1.5
    >>> model = MultipleHyperplaneClassifier(4, kernel="linear", C=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_hyperplanes": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "solver": [StrOptions({"alternating", "smooth"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_hyperplanes: int = 3,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        C: float = 1.0,
        class_weight: Any = None,
        solver: str = "alternating",
        n_starts: int = 3,
        random_state: Any = None,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.class_weight = class_weight
        self.solver = solver
        self.n_starts = n_starts
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the hyperplanes to observations (or their kernel matrix) of two classes."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_two(y)
        check_square(X, self.kernel)
        mask = codes == 1
        self._kernel = Kernel.of(self, X)
        self._landmarks = X
        gram = self._kernel(X, X)
        mapping = Map.of(gram)
        points = gram @ mapping.weights
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        costs = (self.C * float(factors[1]), self.C * float(factors[0]))
        planes, self.objectives_ = self._search(points, mask, costs)
        if self.solver == "smooth":
            planes = descend(points, mask, planes, costs)
        self.dual_coef_, self.intercept_ = mapping.weights @ planes.weights, planes.offsets
        values = points @ planes.weights + planes.offsets
        sign = np.where(mask, 1.0, -1.0)
        norms = np.linalg.norm(planes.weights, axis=0)
        self.margin_ = float((sign * (values / np.where(norms > 0, norms, 1.0)).min(axis=1)).min())
        self.sum_condition_ = float((sign * (values.mean(axis=1) - values.min(axis=1))).sum())
        return self

    def _search(self, points: Array, mask: Array, costs: tuple[float, float]) -> tuple[Planes, list[float]]:
        rng = check_random_state(self.random_state)
        negatives = points[~mask]
        count = min(self.n_hyperplanes, len(np.unique(negatives, axis=0)))
        best: tuple[Planes, list[float]] | None = None
        for _ in range(1 if count == 1 else self.n_starts):
            if count == 1:
                first = np.zeros(len(negatives), int)
            else:
                first = KMeans(count, n_init=1, random_state=rng).fit_predict(negatives)
            found = alternate(points, mask, first, costs)
            if best is None or found[0].objective < best[0].objective:
                best = found
        assert best is not None
        return best

    def decision_function(self, X: Any) -> Array:
        """The smallest value of all hyperplanes; positive for the second class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray((self._kernel(X, self._landmarks) @ self.dual_coef_ + self.intercept_).min(axis=1))

    def predict(self, X: Any) -> Array:
        """The class: the second where every hyperplane accepts."""
        check_is_fitted(self)
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
