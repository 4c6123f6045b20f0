"""Regular grids of square patches at several scales: where local descriptors are taken."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image

CELLS = 4  # a patch is 4 × 4 cells, in every descriptor here


@dataclass(frozen=True)
class Axis:
    """One axis of a grid: where its cells begin, without repeating those that patches share.

    ``starts`` are the first pixels of all different cells; patch ``i`` has its cells at
    ``starts[index[i]]``; ``centres`` are the middles of the patches.
    """

    cell: int
    length: int
    starts: NDArray[np.int64]
    index: NDArray[np.int64]
    centres: NDArray[np.float64]

    def under_way(self, reach: int) -> int:
        """How many cells, at most, begin within ``reach`` pixels: rows of sums to be kept at once."""
        ends = np.searchsorted(self.starts, self.starts + reach)
        return int((ends - np.arange(len(self.starts))).max())


def axis(length: int, cell: int, step: int) -> Axis:
    """All patches of ``4 * cell`` pixels, ``step`` apart, that fit into ``length`` pixels, centred there.

    Examples
    --------
    >>> grid = axis(10, 2, 1)
    >>> grid.starts.tolist(), grid.index[0].tolist(), grid.centres.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 2, 4, 6], [4.0, 5.0, 6.0])
    """
    width = CELLS * cell
    rest = max(0, length - width)
    first = np.arange(rest // step + 1) * step + rest % step // 2
    starts, index = np.unique(first[:, None] + cell * np.arange(CELLS), return_inverse=True)
    return Axis(cell, length, starts, index.reshape(-1, CELLS), (first + width / 2).astype(np.float64))


@dataclass(frozen=True)
class Grid:
    """How an image is cut into patches.

    The image is first reduced so that its longer side has at most ``longest`` pixels. Level ``s`` sees it
    reduced once more by ``ratio ** s``; on each level there is a grid for each size of cell.
    """

    cells: tuple[int, ...]
    step: int
    scales: int
    ratio: float
    longest: int

    def sizes(self, height: int, width: int) -> list[tuple[int, int]]:
        """Height and width of each level; the first is stretched where it is smaller than a patch."""
        patch = CELLS * min(self.cells)
        reduce = min(1.0, self.longest / max(height, width))
        sizes = []
        for s in range(self.scales):
            factor = reduce / self.ratio**s
            h, w = round(height * factor), round(width * factor)
            if s == 0:
                h, w = max(h, patch), max(w, patch)
            if min(h, w) < patch:
                break
            sizes.append((h, w))
        return sizes

    def fitting(self, height: int, width: int) -> list[int]:
        """The sizes of cells whose patches fit into a level."""
        return [cell for cell in self.cells if CELLS * cell <= min(height, width)]

    def count(self, height: int, width: int) -> int:
        """How many patches an image of this size gives."""
        total = 0
        for h, w in self.sizes(height, width):
            for cell in self.fitting(h, w):
                total += ((h - CELLS * cell) // self.step + 1) * ((w - CELLS * cell) // self.step + 1)
        return total

    def levels(self, picture: PIL.Image.Image) -> Iterator[NDArray[np.uint8]]:
        """The pixels of each level, reduced with antialiasing."""
        filtered = PIL.Image.Resampling.BILINEAR
        for h, w in self.sizes(picture.height, picture.width):
            if (w, h) != picture.size:
                yield np.asarray(picture.resize((w, h), filtered))
            else:
                yield np.asarray(picture)


def checked_grid(cells: Sequence[int] | int, step: int, scales: int, ratio: float, longest: int) -> Grid:
    """A grid from settings that somebody typed."""
    cells = (cells,) if isinstance(cells, int | np.integer) else tuple(cells)
    if not cells or min(cells) < 1 or max(cells) > 256:
        raise ValueError(f"cells must be one or more sizes from 1 to 256 pixels, but is {cells!r}.")
    if step < 1 or scales < 1 or not ratio > 1:
        raise ValueError(
            f"step and scales must be at least 1 and ratio above 1, but are {step!r}, "
            f"{scales!r} and {ratio!r}."
        )
    if longest < CELLS * min(cells):
        raise ValueError(f"longest must hold a patch of {CELLS * min(cells)} pixels, but is {longest!r}.")
    return Grid(tuple(int(c) for c in cells), int(step), int(scales), float(ratio), int(longest))


def positions(rows: Axis, columns: Axis) -> NDArray[np.float32]:
    """For each patch, row by row: x and y of its middle, as shares of the width and the height."""
    y, x = np.meshgrid(rows.centres / rows.length, columns.centres / columns.length, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32)


class GridFeature(Feature):
    """A bag of descriptors of the patches of a grid.

    A subclass says how many numbers a cell has, how the picture is opened, and writes ``_describe``.
    """

    kind = "bag"
    batch_size = 4
    cell_numbers: ClassVar[int]
    mode: ClassVar[str]

    def __init__(
        self,
        *,
        cells: Sequence[int] | int = 8,
        step: int = 16,
        scales: int = 5,
        ratio: float = 2**0.5,
        longest: int = 512,
        positions: bool = False,
    ) -> None:
        self.grid = checked_grid(cells, step, scales, ratio, longest)
        self.cells, self.step, self.scales = self.grid.cells, self.grid.step, self.grid.scales
        self.ratio, self.longest = self.grid.ratio, self.grid.longest
        self.positions = bool(positions)
        self.shorter_side = self.longest
        # Positions need more digits than bytes have.
        self.storage_dtype = "float16" if self.positions else "uint8"
        self.storage_scale = 1.0 if self.positions else 255.0

    @property
    def dim(self) -> int:
        """The numbers of 16 cells, and two for the position where asked."""
        return CELLS**2 * self.cell_numbers + 2 * self.positions

    def count(self, height: int, width: int) -> int:
        """How many descriptors an image of this size gives."""
        return self.grid.count(height, width)

    @abstractmethod
    def _describe(
        self, level: NDArray[np.uint8], rows: Axis, columns: Axis, out: NDArray[np.float32]
    ) -> None:
        """Fill the first columns of ``out`` with the descriptors of one grid, row by row."""

    def _extract(self, images: list[Image]) -> list[NDArray[Any]]:
        return [self._one(image) for image in images]

    def _one(self, image: Image) -> NDArray[np.float32]:
        bag = np.empty((self.count(*image.shape[:2]), self.dim), np.float32)
        filled = 0
        for level in self.grid.levels(PIL.Image.fromarray(image).convert(self.mode)):
            for cell in self.grid.fitting(*level.shape[:2]):
                rows, columns = (axis(length, cell, self.step) for length in level.shape[:2])
                part = bag[filled : filled + len(rows.centres) * len(columns.centres)]
                self._describe(level, rows, columns, part)
                if self.positions:
                    part[:, -2:] = positions(rows, columns)
                filled += len(part)
        return bag
