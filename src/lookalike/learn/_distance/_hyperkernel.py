"""``HyperkernelDiscriminant``: the projection and the kernel, possibly indefinite, learned together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance import _core, _krein
from lookalike.learn._distance._labels import choose_targets, encode, warn_of_duplicates

Array = NDArray[Any]

MOST = 3000  # observations: square matrices of this size are decomposed in every step


@dataclass(frozen=True, slots=True)
class HarmonicHyperkernel:
    """The harmonic hyperkernel over Gaussians (3.19)-(3.20), as the mixture it is.

    It depends on pairs only through their squared distances ``s``, and
    ``k(s, s') = sum_t psi_t(s) psi_t(s')`` with ``psi_t(s) = sqrt((1 - h) h^t) exp(-t g s)``. So a kernel
    it can express is a signed mixture of Gaussians of widths ``t g`` with as many weights as terms, where
    the general form has one unknown for each pair of observations. Cutting the series costs at most
    ``h^terms``.
    """

    gamma: float
    harmonic: float = 0.6
    n_terms: int = 30

    @property
    def scales(self) -> Array:
        """The factors ``sqrt((1 - h) h^t)``."""
        return np.asarray(np.sqrt((1.0 - self.harmonic) * self.harmonic ** np.arange(self.n_terms)))

    def features(self, squares: Array) -> Array:
        """``psi_t`` of squared distances, the terms last."""
        return np.asarray(
            self.scales * np.exp(-self.gamma * np.asarray(squares)[..., None] * np.arange(self.n_terms))
        )

    def exact(self, a: Array, b: Array) -> Array:
        """The hyperkernel between squared distances, by its closed form (3.20)."""
        return np.asarray((1.0 - self.harmonic) / (1.0 - self.harmonic * np.exp(-self.gamma * (a + b))))

    def mix(self, squares: Array, weights: Array) -> Array:
        """The kernel of some mixture weights at squared distances (Horner's rule in the Gaussian)."""
        base = np.exp(-self.gamma * squares)
        kernel = np.zeros_like(base)
        for w in (weights * self.scales)[::-1]:
            kernel = kernel * base + w
        return kernel

    def project(self, squares: Array, p: Array) -> Array:
        """``P' K_t`` for every term, of shape (terms, components, observations)."""
        base = np.exp(-self.gamma * squares)
        power = np.ones_like(base)
        found = np.empty((self.n_terms, p.shape[1], squares.shape[1]))
        for t, scale in enumerate(self.scales):
            found[t] = scale * (p.T @ power)
            power *= base
        return found


def pair_weights_full(problem: _core.Problem, projected: Array) -> tuple[Array, Array, float]:
    """Both matrices of pair weights, whole, with the criterion, at projected observations."""
    owner = np.repeat(np.arange(len(problem.bounds) - 1), np.diff(problem.bounds))
    d = np.sqrt(cdist(projected, projected, "sqeuclidean") + problem.floor**2)
    same = owner[:, None] == owner
    alpha = np.where(same, problem.terms[0][owner][:, None], 0.0)
    np.fill_diagonal(alpha, 0.0)
    beta = np.where(same, 0.0, problem.terms[1][owner][:, None] + problem.terms[1][owner])
    value = np.where(d <= problem.huber, 0.5 * d * d, problem.huber * d - 0.5 * problem.huber**2)
    criterion = 0.5 * float((alpha * np.log(value)).sum() - (beta * np.log(d)).sum())
    return alpha * np.minimum(1.0, problem.huber / d) / value, beta / (d * d), criterion


def quadratic_form(features: Array, weights: Array) -> Array:
    """Sum over pairs of ``weights`` times products of the terms' differences: a terms x terms matrix."""
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(np.einsum("tdn,udn->tu", features, features @ laplacian))


def mixture_step(
    problem: _core.Problem,
    features: Array,
    weights: Array,
    trace: Array,
    *,
    penalty: float,
    length: float,
) -> tuple[Array, float]:
    """The kernel stage of (3.21): new mixture weights for a fixed projection, and the criterion there.

    Distances are linear in the weights, so it is a small quadratic problem with one linear constraint.
    Like every step it is repeated with more curvature until the penalised criterion does not rise.
    """
    a, g, start = pair_weights_full(problem, np.tensordot(weights, features, 1).T)
    within, between = quadratic_form(features, a), quadratic_form(features, g)
    before = start + penalty * float(weights @ weights)
    curvature = 1.0
    while curvature <= 1e8:
        matrix = within + curvature * between + 2.0 * penalty * np.eye(len(weights))
        solved = np.linalg.solve(
            matrix + 1e-13 * np.trace(matrix) * np.eye(len(weights)),
            np.stack([(1.0 + curvature) * (between @ weights), trace], axis=1),
        )
        free, along = solved.T
        new = free - (trace @ free - length) / (trace @ along) * along
        after = pair_weights_full(problem, np.tensordot(new, features, 1).T)[2]
        if after + penalty * float(new @ new) <= before + _core.SAME * max(1.0, abs(before)):
            return new, after
        curvature *= 2.0
    return weights, start


class HyperkernelDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel discriminant analysis with a learned, possibly indefinite kernel (indefinite KDDA).

    Two stages in turn lower one penalised criterion ((3.21) of [1]_): the projection for the present
    kernel, and the kernel for the present projection. The kernel is a signed mixture of Gaussians, the
    exact low-dimensional form of the harmonic hyperkernel, and nothing forces it to be positive.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the projection.
    gamma : float, default=None
        Width of the base Gaussian, ``exp(-gamma d^2)``; None is 1 / (features * variance).
    harmonic : float, default=0.6
        The harmonic parameter: small favours wide kernels, near 1 treats all widths alike.
    penalty : float, default=1.0
        Weight of the kernel's squared norm.
    length : float, default=1.0
        ``tr(P' K P)``, which is held.
    n_terms : int, default=30
        Terms of the mixture.
    reg : {"krein", "abs", "l2"}, default="krein"
        The norm that is held: the kernel's own, indefinite one as the document has it; that of its
        absolute value; or ``tr(P' P)``. With another than the first the kernel stage holds it too.
    targets, huber, floor, max_iter, tol
        As in :class:`DistanceDiscriminant`.

    Attributes
    ----------
    mixture_ : array of shape (n_terms,)
        The kernel's weights.
    spectrum_ : array
        Eigenvalues of the learned kernel on the training set: negative ones show that it is indefinite.
    dual_coef_ : array
        ``P``.
    criteria_ : list of float
        The penalised criterion at the start and after each pair of stages.
    classes_, targets_, n_iter_
        As in :class:`DistanceDiscriminant`.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import HyperkernelDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2))
    >>> y = np.linalg.norm(X, axis=1) < 1
    >>> model = HyperkernelDiscriminant(targets=True, max_iter=10).fit(X, y)
    >>> bool(model.criteria_[-1] < model.criteria_[0])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "harmonic": [Interval(Real, 0, 1, closed="neither")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "length": [Interval(Real, 0, None, closed="neither")],
        "n_terms": [Interval(Integral, 2, None, closed="left")],
        "reg": [StrOptions({"krein", "abs", "l2"})],
        "targets": [StrOptions({"all", "all but widest"}), "array-like", str, Real],
        "huber": [Interval(Real, 0, None, closed="neither")],
        "floor": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        gamma: float | None = None,
        harmonic: float = 0.6,
        penalty: float = 1.0,
        length: float = 1.0,
        n_terms: int = 30,
        reg: str = "krein",
        targets: Any = "all",
        huber: float = 1.0,
        floor: float = 0.1,
        max_iter: int = 50,
        tol: float = 1e-5,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.harmonic = harmonic
        self.penalty = penalty
        self.length = length
        self.n_terms = n_terms
        self.reg = reg
        self.targets = targets
        self.huber = huber
        self.floor = floor
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the kernel and the projection from observations and their classes."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = encode(y)
        if len(X) > MOST:
            raise ValueError(f"X has {len(X)} rows; a learned kernel is for at most {MOST}: take a sample.")
        if (X[0] == X).all():
            raise ValueError("all observations are equal: there is no distance to learn from.")
        targets = choose_targets(X, codes, self.classes_, self.targets)
        self.targets_ = self.classes_[targets]
        warn_of_duplicates(X, codes)
        gamma = self.gamma if self.gamma is not None else 1.0 / (X.shape[1] * X.var())
        self._hyper = HarmonicHyperkernel(gamma, self.harmonic, self.n_terms)
        order = np.argsort(codes, kind="stable")
        self._points = X[order]
        self._alternate(codes[order], targets)
        self._n_features_out = self.dual_coef_.shape[1]
        return self

    def _alternate(self, codes: Array, targets: Array) -> None:
        squares = cdist(self._points, self._points, "sqeuclidean")
        weights = self._hyper.scales  # psi at distance zero: a positive kernel to start from
        kernel = self._hyper.mix(squares, weights)
        p = _krein.first_projection(kernel, self.n_components, self.length)
        if self.reg == "l2":
            p *= np.sqrt(self.length / (p * p).sum())
        sizes = np.bincount(codes, minlength=len(targets))
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        unit = _core.typical_distance(kernel @ p, bounds, targets)
        terms = _core.coefficients(sizes, targets)
        problem = _core.Problem(kernel, bounds, terms, self.huber * unit, self.floor * unit)
        state = _core.assess(problem, p)
        self.criteria_ = [state.criterion + self.penalty * float(weights @ weights)]
        for _ in range(self.max_iter):
            state, _ = _krein.projection_step(problem, state, kernel, self.length, self.reg)
            p = state.transformation
            features = self._hyper.project(squares, p)
            weights, _ = mixture_step(
                problem,
                features,
                weights,
                self._constraint(features, p, weights),
                penalty=self.penalty,
                length=self.length,
            )
            kernel = self._hyper.mix(squares, weights)
            problem = _core.Problem(kernel, bounds, terms, problem.huber, problem.floor)
            state = _core.assess(problem, p)
            self.criteria_.append(state.criterion + self.penalty * float(weights @ weights))
            if self.criteria_[-2] - self.criteria_[-1] < self.tol:
                break
        self.n_iter_ = len(self.criteria_) - 1
        self.mixture_, self.dual_coef_ = weights, p
        self.spectrum_ = np.linalg.eigvalsh(kernel)

    def _constraint(self, features: Array, p: Array, weights: Array) -> Array:
        """``tr(P' K_t P)`` of each term: what the weights may not change in sum.

        Under the other norms the weights keep their present scale instead.
        """
        if self.reg == "krein":
            return np.asarray(np.einsum("tdn,nd->t", features, p))
        return np.asarray(weights * self.length / (weights @ weights))

    def transform(self, X: Any) -> Array:
        """The projection of observations."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        kernel = self._hyper.mix(cdist(X, self._points, "sqeuclidean"), self.mixture_)
        return np.asarray(kernel @ self.dual_coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
