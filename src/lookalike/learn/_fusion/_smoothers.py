"""Weak learners: what turns the columns of Q into base functions of a space.

Every weak learner here is fitted once per space on all columns of Q together; a round's function is a
combination of what it answers. Least squares needs moments only. The others see the samples, and are
judged on answers for samples that they did not see: their own leave-one-out answers, or answers from
cross-validation, since a learner that remembers its samples would seem perfect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors

from lookalike.arrays import row_blocks
from lookalike.learn._fusion._boost import Bank, bank_of_values
from lookalike.learn._fusion._inputs import Labels
from lookalike.learn._fusion._moments import BlockMoments
from lookalike.learn._fusion._spaces import Geometry, Space

Array = NDArray[Any]


class WeakLearner(Protocol):
    """A regressor with several outputs; ``held_out`` is asked for where it exists."""

    def fit(self, X: Array, y: Array) -> Self: ...
    def predict(self, X: Array) -> Array: ...


class NeighborMean:
    """k-NN regression that knows its own leave-one-out answers.

    >>> learner = NeighborMean(1).fit(np.array([[0.0], [1.0], [5.0]]), np.array([[1.0], [2.0], [3.0]]))
    >>> learner.predict(np.array([[0.1]])).tolist(), learner.held_out().ravel().tolist()
    ([[1.0]], [2.0, 1.0, 2.0])
    """

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Array, y: Array) -> Self:
        self.targets_ = np.asarray(y)
        k = min(self.n_neighbors, len(X) - 1)
        self.index_ = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
        return self

    def predict(self, X: Array) -> Array:
        return self._mean(self.index_.kneighbors(X, return_distance=False))

    def held_out(self) -> Array:
        """What every training sample is told by the others."""
        return self._mean(self.index_.kneighbors(None, return_distance=False))

    def _mean(self, neighbours: Array) -> Array:
        out: Array = self.targets_[neighbours].mean(axis=1)
        return out


@dataclass
class Fitted:
    """Learners fitted in every space, and where they live."""

    axes: list[Array]
    means: list[Array]
    spaces: list[Space]
    learners: list[Any]
    centres: Array  # (S, c): training means of the base functions

    def base(self, blocks: Sequence[Array], s: int) -> Array:
        """The centred base functions of space ``s``."""
        space = self.spaces[s]
        components = project(
            blocks[space.block], self.means[space.block], self.axes[space.block][:, : space.dim]
        )
        out: Array = np.asarray(self.learners[s].predict(components), dtype=np.float64) - self.centres[s]
        return out


def project(block: Array, mean: Array, axes: Array) -> Array:
    """``(block − mean) @ axes`` in float64, in blocks of bounded memory."""
    out = np.empty((len(block), axes.shape[1]))
    for rows in row_blocks(len(block), 8 * block.shape[1]):
        out[rows] = (block[rows] - mean) @ axes
    return out


def _held_out(make: Callable[[], Any], X: Array, Q: Array, seed: Any) -> tuple[Any, Array]:
    learner = make()
    if hasattr(learner, "held_out"):
        learner.fit(X, Q)
        return learner, np.asarray(learner.held_out(), dtype=np.float64)
    folds = KFold(min(5, len(X)), shuffle=True, random_state=seed)
    values = cross_val_predict(clone(learner), X, Q, cv=folds)
    return learner.fit(X, Q), np.asarray(values, dtype=np.float64).reshape(Q.shape)


def smoother_bank(
    geo: Geometry,
    moments: BlockMoments,
    blocks: Sequence[Array],
    labels: Labels,
    make: Callable[[], Any],
    *,
    weights: Array | None = None,
    seed: Any = None,
) -> tuple[Bank, Fitted]:
    """Fit a weak learner in every space; the bank holds its honest answers."""
    d = moments.n_features
    Q = (labels.indicators(slice(None)) - moments.mean[d:]) @ geo.root
    means = [moments.mean[cut] for cut in moments.slices()]
    answers, learners = [], []
    for space in geo.spaces:
        b = space.block
        components = project(blocks[b], means[b], geo.axes[b][:, : space.dim])
        learner, values = _held_out(make, components, Q, seed)
        learners.append(learner)
        answers.append(values)
    share = np.ones(len(Q)) if weights is None else weights
    centres = np.stack([share @ values / share.sum() for values in answers])
    joined = np.concatenate([*(v - m for v, m in zip(answers, centres)), Q], axis=1) * np.sqrt(share)[:, None]
    bank = bank_of_values(joined.T @ joined, len(geo.spaces))
    return bank, Fitted(geo.axes, means, geo.spaces, learners, centres)


def leave_one_out_bank(
    geo: Geometry,
    moments: BlockMoments,
    blocks: Sequence[Array],
    labels: Labels,
    learners: Sequence[Array],
    ridge: float,
    *,
    weights: Array | None = None,
) -> Bank:
    """The bank of what ridge regressions say of samples left out: ``(z − h q) / (1 − h)`` with leverage h.

    Exact for one sample left out of the regression (its mean and its axes stay); it needs a second pass
    over the data. Samples that a space cannot do without (h → 1) are told nothing by it.
    """
    d, n_spaces, c = moments.n_features, len(geo.spaces), geo.root.shape[1]
    width = (n_spaces + 1) * c
    means = [moments.mean[cut] for cut in moments.slices()]
    honest = BlockMoments([width], [])
    for rows in row_blocks(len(labels), 8 * (d + 2 * width)):
        share = np.ones(rows.stop - rows.start) if weights is None else weights[rows]
        Q = (labels.indicators(rows) - moments.mean[d:]) @ geo.root
        inside = [(block[rows] - mean) @ axes for block, mean, axes in zip(blocks, means, geo.axes)]
        answers = []
        for space, learner in zip(geo.spaces, learners):
            components = inside[space.block][:, : space.dim]
            spread = geo.variances[space.block][: space.dim]
            spread = spread + ridge * spread.mean()
            h = (share * (1 / moments.weight + (components**2 / spread).sum(axis=1)))[:, None]
            left = 1 - h
            value = (components @ learner - h * Q) / np.where(left > 1e-8, left, 1.0)
            answers.append(np.where(left > 1e-8, value, 0.0))
        honest.update([np.concatenate([*answers, Q], axis=1)], np.zeros((len(Q), 0)), share)
    return bank_of_values(honest.products, n_spaces)
