"""The square root, which makes the Bhattacharyya kernel a dot product."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.similarity._histogram_kernels import check_histograms


class SquareRootMap(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Take the square root of every number (section 7.3 of [1]_).

    Exact for the Bhattacharyya kernel, and near the chi-square kernel: for histograms that sum to 1,
    K_chi2 <= K_bha <= (1 + K_chi2) / 2.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> SquareRootMap().fit_transform([[0.25, 0.0], [1.0, 4.0]])
    array([[0.5, 0. ],
           [1. , 2. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Only note the number of columns."""
        check_histograms(validate_data(self, X, dtype=[np.float64, np.float32]))
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """The square roots."""
        check_is_fitted(self)
        X = check_histograms(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))
        return np.asarray(np.sqrt(X))
