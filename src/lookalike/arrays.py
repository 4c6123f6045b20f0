"""What every room shares about arrays: ``Bags`` and blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK_BYTES = 64 * 2**20  # what one temporary block may take


def even_steps(n_rows: int, most: int) -> NDArray[np.intp]:
    """At most so many positions among rows, evenly spaced.

    Rows that stand together often come from one place: even steps keep some of each.

    Examples
    --------
    >>> even_steps(9, 3).tolist(), even_steps(2, 5).tolist(), even_steps(0, 5).tolist()
    ([0, 4, 8], [0, 1], [])
    """
    return np.round(np.linspace(0, n_rows - 1, min(n_rows, most))).astype(np.intp)


def row_blocks(n_rows: int, bytes_per_row: int, *, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut ``n_rows`` into consecutive slices whose temporary arrays stay within ``budget`` bytes.

    Examples
    --------
    >>> list(row_blocks(5, 40, budget=80))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, budget // max(1, bytes_per_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class Bags(Sequence[NDArray[Any]]):
    """A list of bags, each a matrix of local descriptors, kept as one matrix and its offsets.

    It slices and fancy-indexes like a list of arrays, so scikit-learn's ``Pipeline``,
    ``cross_val_score`` and ``GridSearchCV`` work on it. A slice shares memory with its source.

    Parameters
    ----------
    values : array of shape (total, d)
        The descriptors of all bags, one bag after the other.
    offsets : array of shape (n + 1,)
        Bag ``i`` is ``values[offsets[i]:offsets[i + 1]]``; a bag may be empty.

    Examples
    --------
    >>> bags = Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])
    >>> len(bags), bags.sizes.tolist(), bags.dim
    (2, [1, 2], 2)
    >>> bags[1]
    array([[3., 4.],
           [5., 6.]], dtype=float32)
    >>> bags[[1, 0]].offsets.tolist()
    [0, 2, 3]
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: NDArray[Any], offsets: ArrayLike) -> None:
        values = np.asarray(values)
        offsets = np.asarray(offsets, dtype=np.int64)
        if values.ndim != 2:
            raise ValueError(f"values must be a matrix (total, d), but have {values.ndim} dimensions.")
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] < 0:
            raise ValueError("offsets must be a vector of n + 1 non-negative positions.")
        if np.any(np.diff(offsets) < 0) or offsets[-1] > len(values):
            raise ValueError("offsets must not decrease and must end within the values.")
        self.values = values
        self.offsets = offsets

    @classmethod
    def from_list(cls, bags: Iterable[ArrayLike], *, dim: int | None = None) -> Self:
        """Join a list of matrices; ``dim`` is only needed where every bag is empty."""
        arrays = [np.asarray(bag) for bag in bags]
        if dim is None:
            dim = next((a.shape[1] for a in arrays if a.ndim == 2 and a.shape[1]), 0)
        # An empty list is a bag without descriptors, whatever shape it came in.
        arrays = [np.zeros((0, dim), np.float32) if a.size == 0 else a for a in arrays]
        for i, a in enumerate(arrays):
            if a.ndim != 2 or a.shape[1] != dim:
                raise ValueError(f"bag {i} has shape {a.shape}, but the others have {dim} columns.")
        offsets = np.concatenate([[0], np.cumsum([len(a) for a in arrays])]).astype(np.int64)
        values = np.concatenate(arrays) if arrays else np.zeros((0, dim))
        return cls(values.astype(np.float32, copy=False), offsets)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many descriptors each bag holds."""
        return np.diff(self.offsets)

    @property
    def dim(self) -> int:
        """The dimension of the descriptors."""
        return int(self.values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bags and dimension: what scikit-learn asks of its input."""
        return len(self), self.dim

    @property
    def owners(self) -> NDArray[np.int64]:
        """For each descriptor, the bag it belongs to (use with ``compact().values``)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def compact(self) -> Bags:
        """The same bags with offsets from 0 and no values outside; itself where that holds already."""
        if self.offsets[0] == 0 and self.offsets[-1] == len(self.values):
            return self
        return Bags(self.values[self.offsets[0] : self.offsets[-1]], self.offsets - self.offsets[0])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> Bags: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # how scikit-learn takes rows of whatever has a shape
        if isinstance(index, int | np.integer):
            i = range(len(self))[index]  # IndexError and negative numbers as in a list
            return self.values[self.offsets[i] : self.offsets[i + 1]]
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return Bags(self.values, self.offsets[start : max(start, stop) + 1])
            index = np.arange(start, stop, step)
        index = np.asarray(index)
        if index.dtype == bool and len(index) != len(self):
            raise IndexError(f"a mask for {len(self)} bags has {len(index)} entries.")
        return self._take(np.arange(len(self))[index if index.size else index.astype(np.intp)])

    def _take(self, chosen: NDArray[np.int64]) -> Bags:
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        # Row numbers of all chosen descriptors, without a Python loop over bags.
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return Bags(self.values[rows], offsets)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for i in range(len(self)):
            yield self[i]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        a, b = self.compact(), other.compact()
        return np.array_equal(a.offsets, b.offsets) and np.array_equal(a.values, b.values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Bags({len(self)} bags, {int(self.sizes.sum())} descriptors of {self.dim})"
