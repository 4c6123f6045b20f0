"""Any kernel as a dot product, learned from a sample."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.arrays import row_blocks
from lookalike.bags._mixtures import check_mixtures
from lookalike.similarity._named_kernels import OF_HISTOGRAMS, OF_MIXTURES, OF_VECTORS, NamedKernel, bandwidth

_RANK = 1e-10  # eigenvalues below this share of the largest are rounding, and dividing by them is noise


class KernelPCAMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Main directions of a kernel matrix, extended to new images (kernel PCA with Nyström's method).

    Equations 7.2 to 7.5 of [1]_, without centring: dot products of the outputs approach the kernel, and
    equal it on the sample where no direction is dropped. The learning takes the cube of the sample's size.

    Parameters
    ----------
    kernel : str, default="rbf"
        As in `SimilarityVectors`.
    gamma : float or None, default=None
    settings : dict or None, default=None
    n_samples : int, default=512
        Size of the sample (M).
    n_components : int or None, default=None
        Outputs at most (E); None is as many as the sample has.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    samples_ : array or Mixtures
    projection_ : array of shape (n_samples, n_components)
        Eigenvectors divided by the square roots of their eigenvalues.
    eigenvalues_ : array of shape (n_components,)
    gamma_ : float or None

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 7.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(6, 2))
    >>> Z = KernelPCAMap(gamma=0.5).fit_transform(X)
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> bool(np.allclose(Z @ Z.T, rbf_kernel(X, gamma=0.5)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({*OF_VECTORS, *OF_MIXTURES})],
        "gamma": [None, Interval(Real, 0, None, closed="neither")],
        "settings": [None, dict],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | None = None,
        settings: dict[str, Any] | None = None,
        n_samples: int = 512,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.settings = settings
        self.n_samples = n_samples
        self.n_components = n_components
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.kernel in OF_HISTOGRAMS
        tags.input_tags.two_d_array = self.kernel not in OF_MIXTURES
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the sample and decompose its kernel matrix."""
        if self.kernel in OF_MIXTURES:
            X = check_mixtures(X)
            self.n_features_in_ = X.n_components
        else:
            X = validate_data(self, X, dtype=[np.float64, np.float32])
        n = X.shape[0]
        rng = check_random_state(self.random_state)
        sample = X if n <= self.n_samples else X[np.sort(rng.permutation(n)[: self.n_samples])]
        settings = self.settings or {}
        self.gamma_ = self.gamma
        if self.gamma is None:
            self.gamma_ = bandwidth(self.kernel, sample, settings) if sample.shape[0] > 1 else 1.0
        K = NamedKernel(self.kernel, sample, self.gamma_, settings)(sample).astype(np.float64, copy=False)
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        wanted = self.n_components or len(K)
        order = np.argsort(-values, kind="stable")[:wanted]
        # A kernel that is not definite also has negative ones: they have no place in a real map.
        order = order[values[order] > _RANK * max(float(values.max()), 1e-300)]
        if len(order) == 0:
            raise ValueError("the kernel is 0 for every pair of the sample: there is nothing to map.")
        vectors = vectors[:, order]
        vectors *= np.sign(vectors[np.abs(vectors).argmax(0), np.arange(len(order))])
        self.samples_ = sample
        self.eigenvalues_ = values[order]
        self.projection_ = vectors / np.sqrt(self.eigenvalues_)
        self._n_features_out = len(order)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Coordinates whose dot products approach the kernel."""
        check_is_fitted(self)
        if self.kernel in OF_MIXTURES:
            X = check_mixtures(X, like=self.samples_)
            dtype = X.dtype
        else:
            X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
            dtype = X.dtype
        projection = self.projection_.astype(dtype, copy=False)
        out = np.empty((X.shape[0], projection.shape[1]), dtype)
        kernel = NamedKernel(self.kernel, self.samples_, self.gamma_, self.settings or {})
        for block in row_blocks(len(out), 16 * len(projection)):
            out[block] = kernel(X[block]).astype(dtype, copy=False) @ projection
        return out
