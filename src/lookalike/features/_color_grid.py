"""Local colours: mean and spread of red, green and blue in a grid of small patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image
from lookalike.features._grid import CELLS, Axis, axis, checked_grid, positions


class ColorGrid(Feature):
    """A bag of local colour statistics, taken on the same grid as ``DenseSift``.

    Each patch is cut into 4 x 4 cells; each cell gives the mean and the standard deviation of red, green and
    blue, on a scale from 0 to 1: 96 numbers (the COL descriptor of [1]_).
    A grey image has three equal channels.

    Parameters
    ----------
    cells : int or sequence of int, default=8
        Width of a cell in pixels; a patch is four cells wide. Several sizes give a grid each.
    step : int, default=16
        Pixels from one patch to the next.
    scales : int, default=5
        How many sizes of the image are looked at; those smaller than a patch are left out.
    ratio : float, default=√2
        From one size of the image to the next.
    longest : int, default=512
        Larger images are first reduced to this length of the longer side.
    positions : bool, default=False
        Append x and y of the patch's middle, from 0 to 1, to each descriptor: 98 numbers.

    References
    ----------
    .. [1] Y. Liu, "Representations and similarities of images for visual classification", 2010, chapter 4.

    Examples
    --------
    >>> image = np.full((32, 32, 3), 255, np.uint8)
    >>> bag = ColorGrid().extract([image])[0]
    >>> bag.shape, float(bag[0, :3].mean()), float(bag[0, 3:6].max())
    ((1, 96), 1.0, 0.0)
    """

    name = "color-grid"
    kind = "bag"
    batch_size = 4

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
        self.storage_dtype = "float16" if self.positions else "uint8"
        self.storage_scale = 1.0 if self.positions else 255.0

    @property
    def dim(self) -> int:
        """16 cells, three channels, two statistics; and two for the position where asked."""
        return CELLS**2 * 6 + 2 * self.positions

    def count(self, height: int, width: int) -> int:
        """How many descriptors an image of this size gives."""
        return self.grid.count(height, width)

    def _extract(self, images: list[Image]) -> list[NDArray[Any]]:
        return [self._one(image) for image in images]

    def _one(self, image: Image) -> NDArray[np.float32]:
        parts = []
        for level in self.grid.levels(PIL.Image.fromarray(image)):
            for cell in self.grid.fitting(*level.shape[:2]):
                rows, columns = (axis(length, cell, self.step) for length in level.shape[:2])
                part = _describe(level, rows, columns)
                parts.append(np.hstack([part, positions(rows, columns)]) if self.positions else part)
        return np.concatenate(parts)


def _describe(level: NDArray[np.uint8], rows: Axis, columns: Axis) -> NDArray[np.float32]:
    """The descriptors of one grid, row by row: for each cell the three means, then the three deviations."""
    from lookalike.features._kernels import color_cells  # compiling costs a second

    sums = np.zeros((len(rows.starts), len(columns.starts), 6), np.int64)
    color_cells(level, rows.starts, columns.starts, rows.cell, sums)
    count = rows.cell**2
    # Sums are whole numbers, so that the variance of a flat cell is exactly zero.
    variance = count * sums[..., 3:] - sums[..., :3] ** 2
    cells = np.empty(sums.shape, np.float32)
    cells[..., :3] = sums[..., :3] / (count * 255.0)
    cells[..., 3:] = np.sqrt(variance) / (count * 255.0)
    patches = cells[rows.index[:, None, :, None], columns.index[None, :, None, :]]
    return patches.reshape(-1, CELLS**2 * 6)
