"""The plain rival of boosted kernels: one regression of the target on all features together."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from lookalike.learn._fusion._base import BlockEstimator, affine
from lookalike.learn._fusion._inputs import Labels
from lookalike.learn._fusion._targets import label_root

Array = NDArray[Any]


class OneShotKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BlockEstimator):
    """The ridge regression of the orthonormalised labels on all blocks, as an embedding.

    Without a ridge it is the kernel of highest centred alignment that any linear map of the joined blocks
    can make, products between blocks included: ``F = P Q`` with the projector ``P`` on the features. It
    has one column less than there are classes. Every fusion should be compared with it.

    Parameters
    ----------
    ridge : float, default=0.1
        Relative to the mean variance of the features that vary; every block first gets unit mean square.
    blocks : list of (name, columns), default=None
        Cut one matrix into blocks. Not needed where ``fit`` is given a list or a dict of matrices.
    rescale : bool, default=True
        Make the mean squared distance of two training samples 1.

    Attributes
    ----------
    classes_ : array
    alignment_ : float
        Centred alignment with the labels.
    contributions_ : array of shape (n_blocks,)
        The share of each block in the products of the embedding with its target.
    means_, weights_ : list of arrays

    References
    ----------
    .. [1] A. Lechervy, P.-H. Gosselin, F. Precioso, "Boosted kernel for image categorization",
       Multimedia Tools and Applications, 2013: the target of its section 2.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> OneShotKernel().fit_transform([X[:, :6], X[:, 6:]], y).shape
    (178, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ridge": [Interval(Real, 0, None, closed="left")],
        "blocks": [None, list],
        "rescale": ["boolean"],
    }

    def __init__(
        self,
        *,
        ridge: float = 0.1,
        blocks: list[tuple[str, Any]] | None = None,
        rescale: bool = True,
    ) -> None:
        self.ridge = ridge
        self.blocks = blocks
        self.rescale = rescale

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the regression for one matrix or several, and labels or an indicator matrix."""
        blocks = self._read(X, reset=True, least=2)
        labels = Labels(y)
        check_consistent_length(blocks[0], labels)
        moments = self._gather(blocks, labels, self._share(sample_weight, blocks))
        d, cuts = moments.n_features, moments.slices()
        self.classes_ = labels.classes
        spread = np.array([max(np.trace(moments.products[c, c]), 0.0) for c in cuts])
        size = np.where(spread > 0, np.sqrt(spread / moments.weight), 1.0)
        scale = np.repeat(1 / size, moments.dims)
        scatter = moments.products[:d, :d] * scale * scale[:, None]
        root = label_root(moments.products[d:, d:])
        hits = scale[:, None] * (moments.products[:d, d:] @ root)
        alive = scatter.diagonal() > 0
        if not alive.any():
            raise ValueError("No feature varies over the samples: there is nothing to learn from.")
        matrix = _solve(scatter, hits, self.ridge * float(scatter.diagonal()[alive].mean()))
        gram = matrix.T @ scatter @ matrix
        self.alignment_ = float(
            np.sum((hits.T @ matrix) ** 2) / np.sqrt(root.shape[1]) / np.linalg.norm(gram)
        )
        brought = np.array([np.sum(hits[c] * matrix[c]) for c in cuts])
        self.contributions_ = brought / brought.sum()
        self.scale_ = float(np.sqrt(moments.weight / (2 * np.trace(gram)))) if self.rescale else 1.0
        matrix = matrix * scale[:, None] * self.scale_
        self.means_ = [moments.mean[c] for c in cuts]
        self.weights_ = [matrix[c] for c in cuts]
        self._n_features_out = root.shape[1]
        return self

    def transform(self, X: Any) -> Array:
        """Place samples in the learned space."""
        check_is_fitted(self, "weights_")
        return affine(self._read(X, reset=False), self.means_, self.weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _solve(scatter: Array, hits: Array, ridge: float) -> Array:
    """``(scatter + ridge)⁻¹ hits``; without a ridge in the span of the features alone."""
    if ridge > 0:
        raised = scatter.copy()
        raised[np.diag_indices_from(raised)] += ridge
        out: Array = scipy.linalg.solve(raised, hits, assume_a="pos", overwrite_a=True)
        return out
    values, axes = np.linalg.eigh(scatter)
    keep = values > 1e-12 * values[-1]
    values, axes = values[keep], axes[:, keep]
    return axes @ ((axes.T @ hits) / values[:, None])


class BlockConcatenation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BlockEstimator):
    """All blocks beside each other, each with the same weight: the simplest fusion.

    Parameters
    ----------
    standardize : bool, default=True
        Divide every feature by its standard deviation; else every block by that of all its features.
    blocks : list of (name, columns), default=None
        Cut one matrix into blocks. Not needed where ``fit`` is given a list or a dict of matrices.

    Attributes
    ----------
    means_, scales_ : list of arrays
        What is subtracted from every feature, and what it is divided by.

    Examples
    --------
    >>> import numpy as np
    >>> X = [np.arange(4.0)[:, None], np.eye(4)]
    >>> joined = BlockConcatenation().fit_transform(X)
    >>> joined.shape, (joined**2).sum(axis=1).mean().round(9).item()
    ((4, 5), 2.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "standardize": ["boolean"],
        "blocks": [None, list],
    }

    def __init__(self, *, standardize: bool = True, blocks: list[tuple[str, Any]] | None = None) -> None:
        self.standardize = standardize
        self.blocks = blocks

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure the mean and spread of every block; ``y`` is not used."""
        blocks = self._read(X, reset=True)
        self.means_ = [b.mean(axis=0, dtype=np.float64) for b in blocks]
        self.scales_ = []
        for block in blocks:
            variance = block.var(axis=0, dtype=np.float64)
            alive = variance > 1e-24 * max(float(variance.max()), 1e-300)
            if self.standardize:
                scale = np.sqrt(np.where(alive, variance, 1.0) * max(int(alive.sum()), 1))
            else:
                scale = np.full(len(variance), np.sqrt(variance.sum()) or 1.0)
            self.scales_.append(scale)
        self._n_features_out = self.n_features_in_ if self.blocks is None else sum(self.block_dims_)
        return self

    def transform(self, X: Any) -> Array:
        """Join the blocks; each has a mean square of 1 over the training samples."""
        check_is_fitted(self, "scales_")
        blocks = self._read(X, reset=False)
        dtype = np.result_type(*blocks)
        parts = [
            (b - m.astype(dtype)) / s.astype(dtype) for b, m, s in zip(blocks, self.means_, self.scales_)
        ]
        return np.concatenate(parts, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
