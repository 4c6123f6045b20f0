"""An image as the vector of its similarities to reference images."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.bags._mixtures import check_mixtures
from lookalike.similarity._named_kernels import OF_HISTOGRAMS, OF_MIXTURES, OF_VECTORS, NamedKernel, bandwidth

# The references' side of the kernel, made at the first use. It is no part of what was learned, so it is kept
# beside the estimators: a saved or copied one makes its own.
_PREPARED: WeakKeyDictionary[Any, NamedKernel] = WeakKeyDictionary()


class SimilarityVectors(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Describe each image by its kernel values with the training images.

    A linear classifier on these vectors is the expansion of equation 2.22 of [1]_; the kernel need not be
    positive definite. The input are vectors or, for the kernels of mixtures, `Mixtures`.

    Parameters
    ----------
    kernel : str, default="rbf"
        For vectors "linear", "rbf", or a histogram kernel ("chi2", "bhattacharyya", "intersection", or one of
        these with "exp-" before it); for mixtures "kl", "probability-product" or "context".
    gamma : float or None, default=None
        Of the kernels exp(-gamma D); None is 1 / mean of D over pairs of training images.
    settings : dict or None, default=None
        Other arguments of `symmetric_kl`, `probability_product` or `contextual_similarity`.
    n_references : int or None, default=None
        Keep so many training images, drawn at random; None keeps all.
    n_bandwidth : int, default=500
        How many training images the mean divergence is measured on.
    own : {"kept", "largest"}, default="kept"
        In ``fit_transform``, the similarity of a reference to itself: kept, or the largest one that it has
        to another reference. A new image is never so near to a reference as that to itself; where
        the kernel falls off quickly ("kl", "context"), a classifier learns too much from that one number.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    references_ : array or Mixtures
    reference_indices_ : array of int
        Their places among the images given to ``fit``.
    gamma_ : float or None

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> SimilarityVectors(gamma=1.0).fit([[0.0], [2.0]]).transform([[1.0], [2.0]]).round(3)
    array([[0.368, 0.368],
           [0.018, 1.   ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({*OF_VECTORS, *OF_MIXTURES})],
        "gamma": [None, Interval(Real, 0, None, closed="neither")],
        "settings": [None, dict],
        "n_references": [None, Interval(Integral, 1, None, closed="left")],
        "n_bandwidth": [Interval(Integral, 2, None, closed="left")],
        "own": [StrOptions({"kept", "largest"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | None = None,
        settings: dict[str, Any] | None = None,
        n_references: int | None = None,
        n_bandwidth: int = 500,
        own: str = "kept",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.settings = settings
        self.n_references = n_references
        self.n_bandwidth = n_bandwidth
        self.own = own
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.kernel in OF_HISTOGRAMS
        tags.input_tags.two_d_array = self.kernel not in OF_MIXTURES
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Any:
        if self.kernel not in OF_MIXTURES:
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])
        if reset:
            X = check_mixtures(X)
            self.n_features_in_ = X.n_components
            return X
        return check_mixtures(X, like=self.references_)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the references and measure the bandwidth."""
        X = self._checked(X, reset=True)
        rng = check_random_state(self.random_state)
        n = X.shape[0]
        self.reference_indices_ = np.arange(n)
        if self.n_references is not None and self.n_references < n:
            self.reference_indices_ = np.sort(rng.permutation(n)[: self.n_references])
            X = X[self.reference_indices_]
        self.references_ = X
        self.gamma_ = self.gamma
        if self.gamma is None:
            few = X if X.shape[0] <= self.n_bandwidth else X[rng.permutation(X.shape[0])[: self.n_bandwidth]]
            self.gamma_ = bandwidth(self.kernel, few, self.settings or {}) if few.shape[0] > 1 else 1.0
        _PREPARED.pop(self, None)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Kernel values with the references, a row for each image."""
        check_is_fitted(self)
        return self._similarities(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit, and describe the same images."""
        K = self.fit(X, y)._similarities(X)
        n = len(self.reference_indices_)
        if self.own == "largest" and n > 1:
            itself = (self.reference_indices_, np.arange(n))
            K[itself] = -np.inf
            K[itself] = K[self.reference_indices_].max(1)
        return K

    def _similarities(self, X: Any) -> NDArray[Any]:
        X = self._checked(X, reset=False)
        if self not in _PREPARED:
            _PREPARED[self] = NamedKernel(self.kernel, self.references_, self.gamma_, self.settings or {})
        return _PREPARED[self](X)
