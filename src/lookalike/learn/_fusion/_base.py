"""What every estimator over feature blocks does with its input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from lookalike.arrays import row_blocks
from lookalike.learn._fusion._inputs import Labels, checked_blocks, cut_blocks, is_blocks
from lookalike.learn._fusion._moments import BlockMoments

Array = NDArray[Any]


class BlockEstimator(BaseEstimator):
    """Reads a list or a dict of matrices, or one matrix that the parameter ``blocks`` cuts."""

    blocks: list[tuple[str, Any]] | None
    n_features_in_: int
    block_names_: list[str]
    block_dims_: list[int]

    def _read(self, X: Any, *, reset: bool, least: int = 1) -> list[Array]:
        """The blocks of ``X`` as float matrices, checked against those of fit."""
        if is_blocks(X):
            names, blocks = checked_blocks(X, least=least)
            dims = [b.shape[1] for b in blocks]
            if not reset and dims != self.block_dims_:
                raise ValueError(
                    f"X has blocks with {dims} features, but {type(self).__name__} was fitted with "
                    f"blocks with {self.block_dims_} features."
                )
            if reset:
                self.n_features_in_ = sum(dims)
        else:
            dtypes = [np.float64, np.float32]
            flat = validate_data(self, X, reset=reset, dtype=dtypes, ensure_min_samples=least)
            columns = getattr(self, "feature_names_in_", None)
            chosen = self.blocks or [("block0", slice(None))]
            names, blocks = [n for n, _ in chosen], cut_blocks(flat, chosen, columns)
        if reset:
            self.block_names_, self.block_dims_ = names, [b.shape[1] for b in blocks]
        return blocks

    def _labelled(self, X: Any, y: Any) -> tuple[list[Array], Labels]:
        """The blocks of ``X`` and one class for each row; at least two classes, which are kept."""
        blocks = self._read(X, reset=True, least=2)
        labels = Labels(column_or_1d(y, warn=True))
        check_consistent_length(blocks[0], labels)
        self.classes_ = labels.classes
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, "
                f"but y has {len(self.classes_)} class."
            )
        return blocks, labels

    def _share(self, sample_weight: Any, blocks: list[Array]) -> Array | None:
        return None if sample_weight is None else _check_sample_weight(sample_weight, blocks[0])

    def _gather(self, blocks: list[Array], labels: Labels, weight: Array | None) -> BlockMoments:
        """Moments of the samples, in blocks of bounded memory."""
        dims = [b.shape[1] for b in blocks]
        moments = BlockMoments(dims, labels.classes.tolist())
        for rows in row_blocks(len(labels), 8 * (sum(dims) + len(labels.classes)), budget=2**28):
            share = None if weight is None else weight[rows]
            moments.update([b[rows] for b in blocks], labels.indicators(rows), share)
        return moments


def similarities(blocks: list[Array], scales: list[float]) -> list[Array]:
    """``exp(−D / scale)``: distances to the training samples become similarities to them."""
    return [np.exp(-block / scale) for block, scale in zip(blocks, scales)]


def mean_distances(blocks: list[Array]) -> list[float]:
    """The scale of each block of distances."""
    return [max(float(b.mean()), float(np.finfo(float).tiny)) for b in blocks]


def affine(blocks: list[Array], means: list[Array], weights: list[Array]) -> Array:
    """``Σ (X_b − mean_b) @ weights_b``, in the precision of the blocks and in bounded memory."""
    dtype = np.result_type(*blocks)
    out = np.zeros((len(blocks[0]), weights[0].shape[1]), dtype=dtype)
    for block, mean, matrix in zip(blocks, means, weights):
        mean, matrix = mean.astype(dtype), matrix.astype(dtype)
        for rows in row_blocks(len(block), 8 * block.shape[1]):
            out[rows] += (block[rows] - mean) @ matrix
    return out


class Thinned:
    """Wide blocks of few samples in the few axes that the samples span; the others as they are.

    The principal components of a block lie in its rows: nothing that is learned from them changes.
    """

    def __init__(self, blocks: list[Array], weight: Array | None) -> None:
        share = np.ones(len(blocks[0])) if weight is None else weight
        self.means: list[Array] = []
        self.axes: list[Array | None] = []
        self.blocks: list[Array] = []
        for block in blocks:
            if block.shape[1] <= len(block):
                self.means.append(np.zeros(block.shape[1]))
                self.axes.append(None)
                self.blocks.append(block)
                continue
            mean = share @ block / share.sum()
            centred = block - mean
            _, size, across = np.linalg.svd(np.sqrt(share)[:, None] * centred, full_matrices=False)
            axes = across[size > 1e-7 * max(float(size[0]), 1e-300)].T
            self.means.append(mean)
            self.axes.append(axes)
            self.blocks.append(centred @ axes)

    def whole(self, means: list[Array], weights: list[Array]) -> tuple[list[Array], list[Array]]:
        """Means and weights for the blocks as they came."""
        out = zip(self.means, self.axes, means, weights)
        pairs = [(m, w) if a is None else (mean + a @ m, a @ w) for mean, a, m, w in out]
        return [m for m, _ in pairs], [w for _, w in pairs]
