"""Weak learners: what turns the columns of Q into base functions of a space.

Every weak learner here is fitted once per space on all columns of Q together; a round's function is a
combination of what it answers. Least squares needs moments only. The others see the samples, and are
judged on answers for samples that they did not see: their own leave-one-out answers, or answers from
cross-validation, since a learner that remembers its samples would seem perfect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


# (spaces, coefficients) → what the functions say of training samples that they were learned without
HeldOut = Callable[[Array, Array], Array]


def smoother_bank(
    geo: Geometry,
    moments: BlockMoments,
    blocks: Sequence[Array],
    labels: Labels,
    make: Callable[[], Any],
    *,
    weights: Array | None = None,
    seed: Any = None,
) -> tuple[Bank, Fitted, HeldOut]:
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
    answers = [values - centre for values, centre in zip(answers, centres)]
    joined = np.concatenate([*answers, Q], axis=1) * np.sqrt(share)[:, None]
    bank = bank_of_values(joined.T @ joined, len(geo.spaces))

    def held_out(spaces: Array, G: Array) -> Array:
        return np.stack([answers[s] @ g for s, g in zip(spaces, G)], axis=1)

    return bank, Fitted(geo.axes, means, geo.spaces, learners, centres), held_out


@dataclass
class LeaveOneOut:
    """What ridge regressions say of samples left out: ``(z − h q) / (1 − h)`` with leverage ``h``.

    Exact for one sample left out of the regression (its mean and its axes stay); it needs another pass
    over the data. Samples that a space cannot do without (h → 1) are told nothing by it.
    """

    geo: Geometry
    moments: BlockMoments
    blocks: Sequence[Array]
    labels: Labels
    learners: Sequence[Array]
    weights: Array | None = None

    def bank(self) -> Bank:
        """The bank of these answers."""
        n_spaces, c = len(self.geo.spaces), self.geo.root.shape[1]
        honest = BlockMoments([(n_spaces + 1) * c], [])
        for _, answers, Q, share in self._passed(range(n_spaces)):
            honest.update([np.concatenate([*answers, Q], axis=1)], np.zeros((len(Q), 0)), share)
        return bank_of_values(honest.products, n_spaces)

    def held_out(self, spaces: Array, G: Array) -> Array:
        """The values of the functions ``Z_s g`` for the training samples."""
        out = np.empty((len(self.labels), len(spaces)))
        used = np.unique(spaces)
        for rows, answers, _, _ in self._passed(used):
            for s, values in zip(used, answers):
                mine = np.flatnonzero(spaces == s)
                out[rows, mine] = values @ G[mine].T
        return out

    def _passed(self, spaces: Any) -> Iterator[tuple[slice, list[Array], Array, Array]]:
        """Rows, the answers of every space, Q and the weights, in blocks of bounded memory."""
        geo, d = self.geo, self.moments.n_features
        means = [self.moments.mean[cut] for cut in self.moments.slices()]
        width = (len(spaces) + 1) * geo.root.shape[1]
        for rows in row_blocks(len(self.labels), 8 * (d + 2 * width)):
            share = np.ones(rows.stop - rows.start) if self.weights is None else self.weights[rows]
            Q = (self.labels.indicators(rows) - self.moments.mean[d:]) @ geo.root
            inside = [(block[rows] - mean) @ axes for block, mean, axes in zip(self.blocks, means, geo.axes)]
            yield rows, [self._answers(s, inside, Q, share) for s in spaces], Q, share

    def _answers(self, s: int, inside: list[Array], Q: Array, share: Array) -> Array:
        space = self.geo.spaces[s]
        components = inside[space.block][:, : space.dim]
        reach = (components**2 / self.geo.spread(space)).sum(axis=1)
        h = (share * (1 / self.moments.weight + reach))[:, None]
        left = 1 - h
        value = (components @ self.learners[s] - h * Q) / np.where(left > 1e-8, left, 1.0)
        return np.where(left > 1e-8, value, 0.0)
