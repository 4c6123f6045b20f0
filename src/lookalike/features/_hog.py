"""Histograms of oriented gradients: the outlines of a thing, cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image
from lookalike.features._pixels import resize

CLIP = 0.2


class Hog(Feature):
    """Directions of the gradient in a grid of cells over the whole image, each seen in its neighbourhood.

    The grey image is stretched to a square; every pixel votes with the length of its gradient for the two
    nearest directions (without sign) of its cell. Each square of 2 x 2 cells is brought to length 1, cut at
    0.2 and brought to length 1 again, so that a cell appears once for every square it belongs to [1]_. The
    whole vector has length 1.

    Parameters
    ----------
    size : int, default=128
        Side of the square that the image is stretched to.
    cells : int, default=8
        Cells along each side; ``size`` must be a multiple of it.
    orientations : int, default=9
        Directions, from 0 to 180 degrees.

    References
    ----------
    .. [1] N. Dalal and B. Triggs, "Histograms of oriented gradients for human detection", CVPR 2005.

    Examples
    --------
    >>> image = np.zeros((64, 64, 3), np.uint8)
    >>> image[:, 32:] = 255
    >>> vector = Hog(cells=2).extract([image])[0].reshape(1, 1, 4, 9)
    >>> sorted({int(i) for i in np.flatnonzero(vector[0, 0].sum(0))})  # an upright edge: a level gradient
    [0, 8]
    """

    name = "hog"
    kind = "vector"

    def __init__(self, *, size: int = 128, cells: int = 8, orientations: int = 9) -> None:
        if cells < 2 or orientations < 1 or size < 2 * cells or size % cells:
            raise ValueError(
                "size must be a multiple of cells with at least 2 x 2 pixels for each, and orientations "
                f"positive, but are {size!r}, {cells!r} and {orientations!r}."
            )
        self.size, self.cells, self.orientations = int(size), int(cells), int(orientations)
        self.shorter_side = self.size

    @property
    def dim(self) -> int:
        """Squares of 2 x 2 cells, times four cells, times directions."""
        return (self.cells - 1) ** 2 * 4 * self.orientations

    def _extract(self, images: list[Image]) -> NDArray[Any]:
        return np.stack([self._one(image) for image in images])

    def _one(self, image: Image) -> NDArray[np.float32]:
        square = resize(image, self.size, self.size)
        grey = np.asarray(PIL.Image.fromarray(square).convert("L"), dtype=np.float32)
        votes = orientation_votes(grey, self.orientations)
        side = self.size // self.cells
        sums = votes.reshape(self.cells, side, self.cells, side, self.orientations).sum(axis=(1, 3))
        n = self.cells - 1
        squares = [sums[a : a + n, b : b + n] for a in (0, 1) for b in (0, 1)]
        blocks = np.stack(squares, axis=2).reshape(n * n, -1)
        vector = _unit(np.minimum(_unit(blocks), CLIP)).ravel()
        length = float(np.linalg.norm(vector))
        return vector / length if length > 0 else vector


def orientation_votes(grey: NDArray[np.float32], orientations: int) -> NDArray[np.float32]:
    """For every pixel the length of its gradient, shared between the two nearest directions.

    Directions are the middles of equal parts of the half circle.
    """
    gy = np.empty_like(grey)
    gx = np.empty_like(grey)
    gy[1:-1], gy[0], gy[-1] = grey[2:] - grey[:-2], grey[1] - grey[0], grey[-1] - grey[-2]
    gx[:, 1:-1], gx[:, 0], gx[:, -1] = (
        grey[:, 2:] - grey[:, :-2],
        grey[:, 1] - grey[:, 0],
        grey[:, -1] - grey[:, -2],
    )
    length = np.hypot(gx, gy)
    place = np.arctan2(gy, gx) % np.pi * (orientations / np.pi) - 0.5
    low = np.floor(place)
    share = (place - low).astype(np.float32)
    first = low.astype(np.intp) % orientations
    votes = np.zeros((grey.size, orientations), np.float32)
    pixels = np.arange(grey.size)
    votes[pixels, first.ravel()] += (length * (1 - share)).ravel()
    votes[pixels, ((first + 1) % orientations).ravel()] += (length * share).ravel()
    return votes.reshape(*grey.shape, orientations)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    # One grey level of contrast along a cell's side is where noise ends.
    out: NDArray[np.float32] = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True) + 1e-3)
    return out
