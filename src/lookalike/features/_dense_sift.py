"""Dense SIFT: in which directions things change, in a grid of small patches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.features._grid import CELLS, Axis, GridFeature

ORIENTATIONS = 8
CLIP = 0.2
# What counts as nothing to see: a mean gradient of this many grey levels for each pixel of a cell.
FLAT = 0.01


def _window() -> NDArray[np.float32]:
    """Lowe's Gaussian (deviation: half a patch) at the middles of the cells."""
    middle = np.arange(CELLS) - (CELLS - 1) / 2
    line = np.exp(-(middle**2) / (2 * (CELLS / 2) ** 2))
    return np.outer(line, line).astype(np.float32)


WINDOW = _window()


class DenseSift(GridFeature):
    """A bag of upright SIFT descriptors, taken on a regular grid at several scales.

    Each patch of the grey image is cut into 4 x 4 cells; each cell has a histogram of the directions of the
    gradient in 8 bins, every gradient voting with its length for the two nearest directions and, by a
    triangular window, for the nearest cells [1]_. The 128 numbers are brought to length 1, cut at 0.2, and
    brought to length 1 again; a patch with nothing in it is a row of zeros, and stays in the bag. Lowe's
    Gaussian over the patch is a weight for each cell, so that cells are computed once and shared by all
    patches that contain them: that is what makes it fast.

    The default is the grid of [2]_ (there: ORH): patches of 32 pixels every 16 pixels, in the image and in
    four reductions of it, each by √2. The grid of [3]_ is
    ``DenseSift(cells=(2, 4, 6, 8), step=10, scales=1)``.

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
        Append x and y of the patch's middle, from 0 to 1, to each descriptor (for spatial pyramids):
        130 numbers.

    References
    ----------
    .. [1] D. Lowe, "Distinctive image features from scale-invariant keypoints", IJCV 60, 2004.
    .. [2] Y. Liu, "Representations and similarities of images for visual classification", 2010, chapter 4.
    .. [3] P. Piro, "Learning prototype-based classification rules in a boosting framework", 2010, chapter 5.

    Examples
    --------
    >>> image = np.zeros((64, 64, 3), np.uint8)
    >>> image[:, 32:] = 255
    >>> bags = DenseSift().extract([image])
    >>> bags
    Bags(1 bags, 11 descriptors of 128)
    >>> DenseSift().count(64, 64)
    11
    """

    name = "dense-sift"
    cell_numbers = ORIENTATIONS
    mode = "L"

    def _describe(
        self, level: NDArray[np.uint8], rows: Axis, columns: Axis, out: NDArray[np.float32]
    ) -> None:
        from lookalike.features._kernels import orientation_cells, sift_patches  # compiling costs a second

        cell = rows.cell
        before = cell // 2
        # The triangle that is two cells wide, at the middles of the pixels under it.
        distance = np.arange(-before, cell + before) + 0.5 - cell / 2
        taps = (1 - np.abs(distance) / cell).astype(np.float32)
        line = ORIENTATIONS * (columns.length + 2 * len(taps))
        strips = np.zeros((rows.under_way(len(taps)), line), np.float32)
        sums = np.empty((len(rows.starts), len(columns.starts), ORIENTATIONS), np.float32)
        orientation_cells(level, rows.starts, columns.starts, taps, before, strips, sums)
        floor = np.float32(FLAT * cell**2)
        sift_patches(sums, rows.index, columns.index, WINDOW, floor, np.float32(CLIP), out)
