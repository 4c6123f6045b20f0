"""Local binary patterns: which of its neighbours a pixel is darker than, counted over the image."""

from __future__ import annotations

from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image
from lookalike.features._pixels import shrink

NEIGHBOURS = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))


def _uniform_table() -> NDArray[np.intp]:
    """Number of each of the 256 patterns: those with at most two changes around the circle come first."""
    codes = np.arange(256)
    bits = codes[:, None] >> np.arange(8) & 1
    changes = (bits != np.roll(bits, 1, axis=1)).sum(axis=1)
    table = np.full(256, int((changes <= 2).sum()))
    table[changes <= 2] = np.arange((changes <= 2).sum())
    return table


TABLE = _uniform_table()
PATTERNS = int(TABLE.max()) + 1  # 58 uniform patterns, and one for all others


class LocalBinaryPatterns(Feature):
    """Histograms of uniform local binary patterns of a grey image at several sizes: its texture.

    Each pixel is compared with its eight neighbours; the patterns with at most two changes around the
    circle are counted apart, all others together [1]_. As in ``ColorHistogram`` the vector holds square
    roots of shares and has length 1.

    Parameters
    ----------
    scales : int, default=3
        The image, and its reductions by 2, 4, …: a histogram each.
    grid : int, default=1
        Cut the image into grid x grid cells and give each its own histograms.

    References
    ----------
    .. [1] T. Ojala, M. Pietikäinen, T. Mäenpää, "Multiresolution gray-scale and rotation invariant texture
       classification with local binary patterns", PAMI 24, 2002.

    Examples
    --------
    >>> vector = LocalBinaryPatterns().extract([np.zeros((32, 32, 3), np.uint8)])
    >>> vector.shape, int(np.count_nonzero(vector))  # nothing to see: one pattern at each of three scales
    ((1, 177), 3)
    """

    name = "local-binary-patterns"
    kind = "vector"
    shorter_side = 256

    def __init__(self, *, scales: int = 3, grid: int = 1) -> None:
        if not 1 <= scales <= 8 or grid < 1:
            raise ValueError(
                f"scales must be from 1 to 8 and grid at least 1, but are {scales!r} and {grid!r}."
            )
        self.scales, self.grid = int(scales), int(grid)

    @property
    def dim(self) -> int:
        """Patterns, times scales, times cells of the grid."""
        return PATTERNS * self.scales * self.grid**2

    def _extract(self, images: list[Image]) -> NDArray[Any]:
        return np.stack([self._one(image) for image in images])

    def _one(self, image: Image) -> NDArray[np.float32]:
        grey = PIL.Image.fromarray(shrink(image, self.shorter_side or 1)).convert("L")
        cells = self.grid**2
        counts = np.zeros((self.scales, cells, PATTERNS))
        for scale in range(self.scales):
            level = (
                np.asarray(grey.reduce(2**scale))
                if scale and min(grey.size) >= 2**scale
                else np.asarray(grey)
            )
            patterns = pattern_map(level)
            rows = np.arange(level.shape[0]) * self.grid // level.shape[0]
            columns = np.arange(level.shape[1]) * self.grid // level.shape[1]
            place = (rows[:, None] * self.grid + columns) * PATTERNS + patterns
            counts[scale] = np.bincount(place.ravel(), minlength=cells * PATTERNS).reshape(cells, PATTERNS)
            counts[scale] /= level.size
        return np.sqrt(counts / self.scales).ravel().astype(np.float32)


def pattern_map(grey: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The number of the uniform pattern around every pixel; beyond the border the image repeats its edge.

    >>> bool(pattern_map(np.array([[9, 9, 9], [9, 5, 9], [9, 9, 9]], np.uint8))[1, 1] == TABLE[255])
    True
    """
    height, width = grey.shape
    padded = np.pad(grey, 1, mode="edge")
    code = np.zeros(grey.shape, np.intp)
    for bit, (dy, dx) in enumerate(NEIGHBOURS):
        around = padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
        code |= (around >= grey).astype(np.intp) << bit
    found: NDArray[np.intp] = TABLE[code]
    return found
