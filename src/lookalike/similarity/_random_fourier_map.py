"""Random waves whose dot products approach a kernel of differences."""

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
from lookalike.similarity._histogram_kernels import check_histograms
from lookalike.similarity._named_kernels import bandwidth

KERNELS = ("exp-bhattacharyya", "exp-intersection", "rbf")


class RandomFourierMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Cosines and sines of random projections (equations 7.7 and 7.8 of [1]_, after [2]_).

    Nothing is learned but the bandwidth. The outputs have length 1 exactly, and the error falls with the
    square root of their number; histograms of thousands of words need several times as many outputs.

    Parameters
    ----------
    kernel : {"exp-bhattacharyya", "exp-intersection", "rbf"}, default="rbf"
        exp(-gamma/2 |sqrt x - sqrt z|²), exp(-gamma/2 |x - z|_1), or exp(-gamma |x - z|²).
    gamma : float or None, default=None
        None is 1 / mean divergence over pairs of at most 500 training images.
    n_frequencies : int, default=1000
        Random projections; each gives a cosine and a sine, scaled by sqrt(1 / n_frequencies).
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    frequencies_ : array of shape (n_features, n_frequencies)
    gamma_ : float

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 7.5.
    .. [2] A. Rahimi, B. Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> Z = RandomFourierMap(gamma=1.0, n_frequencies=10000, random_state=0).fit_transform([[0.0], [1.0]])
    >>> (Z @ Z.T).round(1)
    array([[1. , 0.4],
           [0.4, 1. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [None, Interval(Real, 0, None, closed="neither")],
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: float | None = None,
        n_frequencies: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_frequencies = n_frequencies
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.kernel != "rbf"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked(self, X: Any, *, reset: bool) -> NDArray[Any]:
        X = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32])
        return X if self.kernel == "rbf" else check_histograms(X)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure the bandwidth and draw the frequencies."""
        X = self._checked(X, reset=True)
        rng = check_random_state(self.random_state)
        gamma = self.gamma
        if gamma is None:
            few = X if len(X) <= 500 else X[rng.permutation(len(X))[:500]]
            gamma = bandwidth(self.kernel, few, {}) if len(few) > 1 else None
        gamma = 1.0 if gamma is None else float(gamma)
        shape = (X.shape[1], self.n_frequencies)
        if self.kernel == "exp-intersection":  # the transform of exp(-c |x|) is a Cauchy density
            frequencies = rng.standard_cauchy(shape) * (gamma / 2)
        else:
            spread = 2 * gamma if self.kernel == "rbf" else gamma
            frequencies = rng.standard_normal(shape) * np.sqrt(spread)
        self.gamma_ = gamma
        self.frequencies_ = frequencies.astype(X.dtype)
        self._n_features_out = 2 * self.n_frequencies
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """The waves at each image."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        frequencies = self.frequencies_.astype(X.dtype, copy=False)
        half = frequencies.shape[1]
        out = np.empty((len(X), 2 * half), X.dtype)
        scale = np.sqrt(1 / half)
        for block in row_blocks(len(X), 3 * X.dtype.itemsize * max(half, X.shape[1])):
            part = np.sqrt(X[block]) if self.kernel == "exp-bhattacharyya" else X[block]
            angle = part @ frequencies
            np.cos(angle, out=out[block, :half])
            np.sin(angle, out=out[block, half:])
            out[block] *= scale
        return out
