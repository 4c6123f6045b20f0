"""Local colours: mean and spread of red, green and blue in a grid of small patches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.features._grid import CELLS, Axis, GridFeature


class ColorGrid(GridFeature):
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
    cell_numbers = 6
    mode = "RGB"

    def _describe(
        self, level: NDArray[np.uint8], rows: Axis, columns: Axis, out: NDArray[np.float32]
    ) -> None:
        from lookalike.features._kernels import color_cells  # compiling costs a second

        cell = rows.cell
        sums = np.zeros((len(rows.starts), len(columns.starts), 6), np.int64)
        strips = np.zeros((rows.under_way(cell), 2, 3 * columns.length), np.int32)
        color_cells(level.reshape(rows.length, -1), rows.starts, columns.starts, cell, strips, sums)
        # Sums are whole numbers, so that the variance of a flat cell is exactly zero.
        variance = cell**2 * sums[..., 3:] - sums[..., :3] ** 2
        scale = 1 / (cell**2 * 255.0)
        cells = np.concatenate([sums[..., :3] * scale, np.sqrt(variance) * scale], axis=2, dtype=np.float32)
        patches = cells[rows.index[:, None, :, None], columns.index[None, :, None, :]]
        out[:, : CELLS**2 * 6] = patches.reshape(len(out), -1)
