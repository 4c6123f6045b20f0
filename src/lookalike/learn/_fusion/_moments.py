"""First and second moments of labelled feature blocks: all that a fusion learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.arrays import row_blocks

Array = NDArray[Any]


def _scatter(parts: Sequence[Array], weights: Array | None) -> tuple[float, Array, Array]:
    """Weight, mean and centred scatter of the joined columns of ``parts``, in blocks of bounded memory.

    Rows are shifted by the mean of the first block before they are multiplied, so that a large common
    offset costs no digits.
    """
    n, width = len(parts[0]), sum(part.shape[1] for part in parts)
    shift: Array | None = None
    total, sums, products = 0.0, np.zeros(width), np.zeros((width, width))
    for rows in row_blocks(n, 8 * width):
        joined = np.empty((rows.stop - rows.start, width))
        np.concatenate([part[rows] for part in parts], axis=1, out=joined)
        if shift is None:
            shift = joined.mean(axis=0)
        joined -= shift
        if weights is None:
            total += len(joined)
            sums += joined.sum(axis=0)
        else:
            share = weights[rows]
            total += float(share.sum())
            sums += share @ joined
            joined *= np.sqrt(share)[:, None]
        products += joined.T @ joined  # numpy calls the symmetric product: half of the work
    if shift is None or total <= 0:
        return 0.0, np.zeros(width), np.zeros((width, width))
    offset = sums / total
    products -= np.outer(sums, offset)
    return total, shift + offset, products


@dataclass(eq=False)
class BlockMoments:
    """Count, means and centred products of several feature blocks and their labels.

    All that :class:`BoostedKernel` learns is in these moments (specification of [1]_, moment form), so
    rows may be read in any batches, on any machines, and thrown away: the moments of two batches
    :meth:`merge` to those of both, and samples can be taken out again with :meth:`remove`.

    Parameters
    ----------
    dims : sequence of int
        The number of columns of every block.
    classes : sequence
        What the label columns stand for.

    Attributes
    ----------
    weight : float
        How many samples were seen (the sum of their weights).
    mean : array of shape (sum(dims) + len(classes),)
        Means of all feature columns, then of the label columns.
    products : square array of the same width
        Sums of products of the centred columns.

    References
    ----------
    .. [1] A. Lechervy, P.-H. Gosselin, F. Precioso, "Boosted kernel for image categorization",
       Multimedia Tools and Applications, 2013.
    .. [2] T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for
       computing sample variances", 1979.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    >>> whole = BlockMoments([2], [0, 1]).update([X], np.eye(2)[y])
    >>> half = BlockMoments([2], [0, 1]).update([X[:2]], np.eye(2)[y[:2]])
    >>> rest = BlockMoments([2], [0, 1]).update([X[2:]], np.eye(2)[y[2:]])
    >>> np.allclose(half.merge(rest).products, whole.products)
    True
    >>> whole.remove([X[:2]], np.eye(2)[y[:2]]).weight
    4.0
    """

    dims: Sequence[int]
    classes: Sequence[Any]
    weight: float = 0.0
    mean: Array = field(default_factory=lambda: np.zeros(0))
    products: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        self.dims = [int(d) for d in self.dims]
        self.classes = list(self.classes)
        width = sum(self.dims) + len(self.classes)
        if self.mean.size == 0:
            self.mean, self.products = np.zeros(width), np.zeros((width, width))
        if self.mean.shape != (width,) or self.products.shape != (width, width):
            raise ValueError(f"mean and products must have {width} columns: the features and the labels.")

    @property
    def n_features(self) -> int:
        """The number of feature columns of all blocks."""
        return sum(self.dims)

    def slices(self) -> list[slice]:
        """Where each block lies among the feature columns."""
        ends = np.cumsum(self.dims)
        return [slice(int(end) - d, int(end)) for d, end in zip(self.dims, ends)]

    def _batch(
        self, blocks: Sequence[ArrayLike], labels: ArrayLike, weights: ArrayLike | None
    ) -> tuple[float, Array, Array]:
        arrays = [np.asarray(block) for block in blocks]
        marks = np.asarray(labels, dtype=np.float64)
        shapes = [a.shape[1] if a.ndim == 2 else -1 for a in arrays]
        if shapes != list(self.dims):
            raise ValueError(f"the blocks have {shapes} columns, but these moments are of {self.dims}.")
        if marks.ndim != 2 or marks.shape[1] != len(self.classes):
            raise ValueError(f"labels must have one column for each of the {len(self.classes)} classes.")
        lengths = {len(a) for a in arrays} | {len(marks)}
        if len(lengths) != 1:
            raise ValueError(f"blocks and labels must have as many rows as each other, but have {lengths}.")
        share = None if weights is None else np.asarray(weights, dtype=np.float64)
        return _scatter([*arrays, marks], share)

    def update(
        self, blocks: Sequence[ArrayLike], labels: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add samples: one matrix per block and the indicator matrix of their labels."""
        self._add(*self._batch(blocks, labels, sample_weight))
        return self

    def remove(
        self, blocks: Sequence[ArrayLike], labels: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take samples out again that were added before: the result is as if they had never come."""
        weight, mean, products = self._batch(blocks, labels, sample_weight)
        if weight > self.weight * (1 + 1e-12):
            raise ValueError(f"cannot remove {weight:g} samples from moments of {self.weight:g}.")
        self._add(-weight, mean, -products)
        return self

    def _add(self, weight: float, mean: Array, products: Array) -> None:
        total = self.weight + weight
        if abs(total) <= 1e-12 * max(abs(weight), 1e-300):  # nothing is left
            self.weight, self.mean, self.products = 0.0, self.mean * 0, self.products * 0
            return
        if weight == 0:
            return
        step = mean - self.mean
        self.products += products + (self.weight * weight / total) * np.outer(step, step)
        self.mean = self.mean + step * (weight / total)
        self.weight = total

    def merge(self, other: BlockMoments) -> Self:
        """Add the moments of other samples, which may have other classes."""
        if list(other.dims) != list(self.dims):
            raise ValueError(f"moments of blocks {other.dims} do not fit those of {self.dims}.")
        known = set(self.classes)
        self.extend([*self.classes, *[c for c in other.classes if c not in known]])
        fitted = other.copy().extend(self.classes)
        self._add(fitted.weight, fitted.mean, fitted.products)
        return self

    def extend(self, classes: Sequence[Any]) -> Self:
        """Give the labels new columns: classes that no sample so far belongs to."""
        missing = [c for c in self.classes if c not in set(classes)]
        if missing:
            raise ValueError(f"classes may be added but not left out: {missing} would be lost.")
        place = {c: i for i, c in enumerate(classes)}
        d = self.n_features
        old = np.concatenate([np.arange(d), [d + place[c] for c in self.classes]]).astype(np.intp)
        mean, products = np.zeros(d + len(classes)), np.zeros((d + len(classes),) * 2)
        mean[old] = self.mean
        products[np.ix_(old, old)] = self.products
        self.classes, self.mean, self.products = list(classes), mean, products
        return self

    def copy(self) -> BlockMoments:
        """The same moments in memory of their own."""
        return BlockMoments(self.dims, self.classes, self.weight, self.mean.copy(), self.products.copy())
