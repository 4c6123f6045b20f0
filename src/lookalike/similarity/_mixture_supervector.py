"""A mixture as one vector whose distances are divergences."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from lookalike.bags._mixtures import check_mixtures


class MixtureSupervector(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Vectors whose squared Euclidean distance is the symmetric one-to-one divergence of mixtures.

    With weights and variances that all images share, the symmetric form of equation 4.24 of [1]_ is exactly
    sum_i w_i |(m_i - m'_i) / s_i|²: a distance of stacked means. The parts for variances and weights extend
    this to second order in their differences. So the Kullback-Leibler kernel becomes a Gaussian kernel of
    vectors: a linear classifier follows directly, or after `RandomFourierMap`.

    Parameters
    ----------
    variances : bool, default=True
        Also take sqrt(w_i / 2) log s_i² (as many numbers as the means).
    weights : bool, default=True
        Also take 2 sqrt(w_i).

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        Mean weights of the training images.
    means_, variances_ : arrays of shape (n_components, d)
        Mean means, and geometric mean variances.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010; the embedding answers the sixth question of its
       outlook.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Mixtures
    >>> m = Mixtures(np.ones((2, 1)), [[[0.0]], [[3.0]]], np.full((2, 1, 1), 4.0))
    >>> a, b = MixtureSupervector().fit_transform(m)
    >>> float(((a - b) ** 2).sum())  # KL(p, q) + KL(q, p) = 3² / 4
    2.25
    """

    _flat_input = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {"variances": ["boolean"], "weights": ["boolean"]}

    def __init__(self, *, variances: bool = True, weights: bool = True) -> None:
        self.variances = variances
        self.weights = weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure the weights and variances that scale the parts."""
        mixtures = check_mixtures(X)
        if len(mixtures) == 0:
            raise ValueError("there are no mixtures to learn from.")
        self.weights_ = mixtures.weights.mean(0, dtype=np.float64)
        self.means_ = mixtures.means.mean(0, dtype=np.float64)
        self.variances_ = np.exp(np.log(mixtures.variances).mean(0, dtype=np.float64))
        self.n_features_in_ = mixtures.n_components
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """One vector per mixture."""
        check_is_fitted(self)
        mixtures = check_mixtures(X)
        if mixtures.means.shape[1:] != self.means_.shape:
            raise ValueError(
                f"mixtures of shape {mixtures.means.shape[1:]} do not fit those of the training, "
                f"{self.means_.shape}."
            )
        root = np.sqrt(self.weights_)[:, None]
        parts = [(mixtures.means - self.means_) * (root / np.sqrt(self.variances_))]
        if self.variances:
            parts.append(np.log(mixtures.variances / self.variances_) * (root / np.sqrt(2)))
        if self.weights:
            parts.append(2 * (np.sqrt(mixtures.weights) - np.sqrt(self.weights_)))
        flat = [part.reshape(len(mixtures), -1) for part in parts]
        return np.concatenate(flat, axis=1).astype(mixtures.dtype, copy=False)
