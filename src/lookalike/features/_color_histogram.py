"""The oldest feature of all: which colours an image has, and how much of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image
from lookalike.features._pixels import shrink


class ColorHistogram(Feature):
    """A joint histogram of hue, saturation and value, as the square root of the share of each colour.

    The square root makes the Euclidean distance between two vectors the Hellinger distance between the
    histograms, so that common backgrounds do not drown everything else; each vector has length 1.
    It needs no weights and is the fastest feature there is.

    Parameters
    ----------
    bins : sequence of three int, default=(16, 4, 4)
        How finely hue, saturation and value are cut.
    grid : int, default=1
        Cut the image into grid x grid cells and give each its own histogram.

    References
    ----------
    .. [1] M. Swain and D. Ballard, "Color indexing", International Journal of Computer Vision 7, 1991.

    Examples
    --------
    >>> red = np.zeros((4, 4, 3), np.uint8)
    >>> red[:, :, 0] = 255
    >>> vector = ColorHistogram().extract([red])
    >>> vector.shape, int(np.count_nonzero(vector)), float(vector.max())
    ((1, 256), 1, 1.0)
    """

    name = "color-histogram"
    kind = "vector"
    shorter_side = 128

    def __init__(self, *, bins: Sequence[int] = (16, 4, 4), grid: int = 1) -> None:
        if len(bins) != 3 or min(bins) < 1 or max(bins) > 256:
            raise ValueError(f"bins must be three numbers from 1 to 256, but is {bins!r}.")
        if grid < 1:
            raise ValueError(f"grid must be at least 1, but is {grid!r}.")
        self.bins = tuple(int(b) for b in bins)
        self.grid = int(grid)

    @property
    def dim(self) -> int:
        """Bins of the joint histogram, times the cells of the grid."""
        return int(np.prod(self.bins)) * self.grid**2

    def _tables(self) -> list[NDArray[np.intp]]:
        """For each channel, the part that each of its 256 levels adds to the number of the bin."""
        _, saturations, values = self.bins
        level = np.arange(256)
        steps = (saturations * values, values, 1)
        return [level * count // 256 * step for count, step in zip(self.bins, steps, strict=True)]

    def _extract(self, images: list[Image]) -> NDArray[Any]:
        tables = self._tables()
        return np.stack([self._one(image, tables) for image in images])

    def _one(self, image: Image, tables: list[NDArray[np.intp]]) -> NDArray[np.float32]:
        small = shrink(image, self.shorter_side or 1)
        hsv = np.asarray(PIL.Image.fromarray(small).convert("HSV"))
        codes = tables[0][hsv[:, :, 0]]
        codes += tables[1][hsv[:, :, 1]]
        codes += tables[2][hsv[:, :, 2]]
        if self.grid > 1:
            height, width = codes.shape
            rows = np.arange(height) * self.grid // height
            columns = np.arange(width) * self.grid // width
            codes += (rows[:, None] * self.grid + columns) * int(np.prod(self.bins))
        counts = np.bincount(codes.ravel(), minlength=self.dim)
        return np.sqrt(counts / codes.size).astype(np.float32)
