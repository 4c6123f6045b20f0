"""Two neighbours of the method, to compare with: biased discriminant analysis and kernel Fisher."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance._core import span
from lookalike.learn._distance._gram import KERNEL_CONSTRAINTS, Kernel, Map
from lookalike.learn._distance._labels import check_square, encode

Array = NDArray[Any]


class _OneTarget(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both share: a kernel (or none) and one class against the rest."""

    kernel: Any
    target: Any

    def _prepare(self, X: Any, y: Any) -> tuple[Array, Array]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = encode(y)
        self.target_ = self.classes_[np.bincount(codes).argmin()] if self.target is None else self.target
        if self.target_ not in self.classes_:
            raise ValueError(
                f"target must be a class of y ({self.classes_.tolist()}), but is {self.target_!r}."
            )
        check_square(X, self.kernel)
        return X, y == self.target_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class BiasedDiscriminant(_OneTarget):
    """Biased discriminant analysis (BDA), and with a kernel BiasMap: a target class against the rest.

    Scatter of the others about the target's mean is made large against the target's own scatter about it:
    the leading generalised eigenvectors, each scaled by the root of its eigenvalue [1]_.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map, at most.
    target : class, default=None
        The class that is made compact; None is the rarest.
    shrinkage : float, default=0.1
        Share of the target's scatter that is replaced by a multiple of the identity.
    kernel, gamma, degree, coef0
        None is the linear method; a name or a callable works on the kernel's own coordinates (BiasMap).

    Attributes
    ----------
    eigenvalues_ : array
        Ratio of the two scatters along each component.

    References
    ----------
    .. [1] X. S. Zhou, T. S. Huang, "Small sample learning during multimedia retrieval using BiasMap",
       CVPR 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import BiasedDiscriminant
    >>> X = np.array([[0, 1.0], [0, 2], [0, 3], [4, 1], [-4, 2], [5, 3]])
    >>> bda = BiasedDiscriminant(1, target=1).fit(X, [1, 1, 1, 0, 0, 0])
    >>> bool(abs(bda.components_[0, 0]) > abs(bda.components_[0, 1]))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "kernel": [*KERNEL_CONSTRAINTS["kernel"], None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "target": "no_validation",  # type: ignore[dict-item]
        "shrinkage": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        target: Any = None,
        shrinkage: float = 0.1,
        kernel: Any = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
    ) -> None:
        self.n_components = n_components
        self.target = target
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map from observations and their classes."""
        X, mask = self._prepare(X, y)
        points, weights = X, np.eye(X.shape[1])
        if self.kernel is not None:
            self._kernel = Kernel.of(self, X)
            self._landmarks = X
            gram = self._kernel(X, X)
            weights = Map.of(gram).weights
            points = gram @ weights
        inner, basis = span(points)
        if basis.shape[1] == 0:
            raise ValueError("all observations are equal: there is no scatter to compare.")
        centre = inner[mask].mean(axis=0)
        own, other = inner[mask] - centre, inner[~mask] - centre
        narrow, wide = own.T @ own, other.T @ other
        mean = np.trace(narrow) / len(narrow) or np.trace(wide) / len(wide)
        narrow = (1.0 - self.shrinkage) * narrow + self.shrinkage * mean * np.eye(len(narrow))
        k = min(self.n_components, len(narrow))
        values, vectors = eigh(wide, narrow, subset_by_index=[len(narrow) - k, len(narrow) - 1])
        self.eigenvalues_ = np.maximum(values[::-1], 0.0)
        directions = weights @ basis @ (vectors[:, ::-1] * np.sqrt(self.eigenvalues_))
        largest = np.abs(directions).argmax(axis=0)
        self.components_ = (directions * np.sign(directions[largest, np.arange(k)])).T
        self._n_features_out = k
        return self

    def transform(self, X: Any) -> Array:
        """Observations along the components."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.kernel is not None:
            X = self._kernel(X, self._landmarks)
        return np.asarray(X @ self.components_.T)


class KernelFisherDiscriminant(_OneTarget):
    """Fisher's discriminant in the space of a kernel, for a target class against the rest [1]_.

    Parameters
    ----------
    target : class, default=None
        The class on the positive side; None is the rarest.
    shrinkage : float, default=1e-3
        Added to the within matrix, as a share of its mean diagonal.
    kernel, gamma, degree, coef0
        The kernel.

    Attributes
    ----------
    dual_coef_ : array of shape (n,)
        The projection is ``kernel(X, training) @ dual_coef_``.

    References
    ----------
    .. [1] S. Mika, G. Raetsch, J. Weston, B. Schoelkopf, K.-R. Mueller, "Fisher discriminant analysis with
       kernels", Neural Networks for Signal Processing IX, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import KernelFisherDiscriminant
    >>> X = np.array([[0.0], [0.1], [3.0], [3.1]])
    >>> z = KernelFisherDiscriminant(target=1).fit_transform(X, [1, 1, 0, 0])
    >>> bool(z[:2].min() > z[2:].max())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "target": "no_validation",  # type: ignore[dict-item]
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        target: Any = None,
        shrinkage: float = 1e-3,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
    ) -> None:
        self.target = target
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the direction from observations and their classes."""
        X, mask = self._prepare(X, y)
        self._kernel = Kernel.of(self, X)
        self._landmarks = X
        gram = self._kernel(X, X)
        within = np.zeros_like(gram)
        for members in (gram[:, mask], gram[:, ~mask]):
            spread = members - members.mean(axis=1, keepdims=True)
            within += spread @ spread.T
        ridge = self.shrinkage * np.trace(within) / len(gram) or self.shrinkage
        difference = gram[:, mask].mean(axis=1) - gram[:, ~mask].mean(axis=1)
        self.dual_coef_ = np.linalg.solve(within + ridge * np.eye(len(gram)), difference)
        self._n_features_out = 1
        return self

    def transform(self, X: Any) -> Array:
        """The projection of observations, one column."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self._kernel(X, self._landmarks) @ self.dual_coef_)[:, None]
