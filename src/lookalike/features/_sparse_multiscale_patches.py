"""Sparse multiscale patches. This module holds a method that is named in a patent: see docs/patents.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.arrays import Bags
from lookalike.features._feature import Feature, Image

BAND_DIMS = (18, 18, 18, 27)  # three high-frequency bands from fine to coarse, then the low-pass image
SCALE = 64.0  # steps of a grey level on disk: far finer than the noise of 8-bit images
TO_YUV = np.array(
    [
        [0.299, 0.587, 0.114],
        [-0.492 * 0.299, -0.492 * 0.587, 0.492 * (1 - 0.114)],
        [0.877 * (1 - 0.299), -0.877 * 0.587, -0.877 * 0.114],
    ],
    np.float32,
)
Planes = NDArray[np.float32]  # (3, height, width)


class SparseMultiscalePatches(Feature):
    """A bag of patches from each band of a colour Laplacian pyramid, of which the most energetic are kept.

    Section 2.2 of [1]_. A patch of a high-frequency band joins a coefficient, its four neighbours and its
    parent in the next coarser band, (2.1), in luminance and both chrominances, (2.2): 18 numbers. Of each
    band a fixed share with the largest energy (sum of squares) is kept. Every 3 x 3 neighbourhood of the
    low-pass image gives 27 numbers. All four bands of an image are one bag: the first number of a descriptor
    is its band, 0 to 3, and unused numbers are zero; :func:`patch_bands` takes the bands apart.

    Parameters
    ----------
    shares : sequence of float, default=(1/64, 1/32, 1/16)
        What is kept of each high-frequency band, from fine to coarse.
    longest : int or None, default=640
        Larger images are first reduced to this length of the longer side.
    border : {"mirror", "circular", "valid"}, default="mirror"
        How the image goes on beyond its border; ``valid`` mirrors, and leaves out patches that reach over.
    parent : {"band", "lowpass"}, default="band"
        The parent of the coarsest band: one more Laplacian level that serves for nothing else, or the
        low-pass image, whose mean then dominates the energy.

    References
    ----------
    .. [1] P. Piro, *Learning prototype-based classification rules in a boosting framework*, PhD thesis,
       Université de Nice - Sophia Antipolis, 2010.

    Examples
    --------
    >>> image = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    >>> bag = SparseMultiscalePatches().extract([image])[0]
    >>> [int((bag[:, 0] == band).sum()) for band in range(4)]
    [64, 32, 16, 64]
    """

    name = "sparse-multiscale-patches"
    kind = "bag"
    batch_size = 4
    storage_dtype = "int16"
    storage_scale = SCALE

    def __init__(
        self,
        *,
        shares: Sequence[float] = (1 / 64, 1 / 32, 1 / 16),
        longest: int | None = 640,
        border: str = "mirror",
        parent: str = "band",
    ) -> None:
        self.shares = tuple(float(share) for share in shares)
        if len(self.shares) != 3 or not all(0 < share <= 1 for share in self.shares):
            raise ValueError("shares must be three numbers above 0 and at most 1.")
        if border not in ("mirror", "circular", "valid"):
            raise ValueError(f"border must be 'mirror', 'circular' or 'valid', but is {border!r}.")
        if parent not in ("band", "lowpass"):
            raise ValueError(f"parent must be 'band' or 'lowpass', but is {parent!r}.")
        if longest is not None and longest < 16:
            raise ValueError("longest must be at least 16 pixels.")
        self.longest, self.border, self.parent = longest, border, parent
        self.shorter_side = longest

    @property
    def dim(self) -> int:
        """The band's number, and 27 numbers."""
        return 1 + BAND_DIMS[-1]

    def _extract(self, images: list[Image]) -> list[NDArray[Any]]:
        return [self._patches(image) for image in images]

    def _patches(self, image: Image) -> NDArray[np.float32]:
        if self.longest is not None and max(image.shape[:2]) > self.longest:
            picture = PIL.Image.fromarray(image)
            picture.thumbnail((self.longest, self.longest), PIL.Image.Resampling.BICUBIC)
            image = np.asarray(picture)
        wrap = self.border == "circular"
        bands, low, above = pyramid(to_yuv(image), wrap=wrap)
        parents = [bands[1], bands[2], above if self.parent == "band" else low]
        parts = [
            self._band_patches(band, parent, share, wrap)
            for band, parent, share in zip(bands, parents, self.shares)
        ]
        parts.append(self._low_patches(low, wrap))
        bag = np.zeros((sum(map(len, parts)), self.dim), np.float32)
        start = 0
        for number, part in enumerate(parts):
            bag[start : start + len(part), 0] = number
            bag[start : start + len(part), 1 : 1 + part.shape[1]] = part
            start += len(part)
        # What is kept on disk is what is compared; and the colours of a grey image are exactly zero.
        return np.rint(bag * np.float32(SCALE)) / np.float32(SCALE)

    def _band_patches(self, band: Planes, parent: Planes, share: float, wrap: bool) -> NDArray[np.float32]:
        height, width = band.shape[1:]
        square = np.einsum("chw,chw->hw", band, band)
        above = np.einsum("chw,chw->hw", parent, parent)
        framed = square[np.ix_(_around(height, 1, wrap), _around(width, 1, wrap))]
        energy = square + np.repeat(np.repeat(above, 2, 0)[:height], 2, 1)[:, :width]
        energy += framed[:-2, 1:-1] + framed[2:, 1:-1] + framed[1:-1, :-2] + framed[1:-1, 2:]
        if self.border == "valid":
            energy[[0, -1]] = energy[:, [0, -1]] = -1.0
        allowed = np.count_nonzero(energy >= 0)
        y, x = np.divmod(largest(energy.ravel(), min(allowed, max(1, round(share * energy.size)))), width)
        rows, columns = _around(height, 1, wrap), _around(width, 1, wrap)
        ends = [(y, x), (y, columns[x]), (y, columns[x + 2]), (rows[y], x), (rows[y + 2], x)]
        places = [band[:, i, j] for i, j in ends] + [parent[:, y // 2, x // 2]]
        # (6, 3, n) to n patches, channel by channel.
        return np.stack(places).transpose(2, 1, 0).reshape(len(y), 18)

    def _low_patches(self, low: Planes, wrap: bool) -> NDArray[np.float32]:
        height, width = low.shape[1:]
        framed = low[:, _around(height, 1, wrap)[:, None], _around(width, 1, wrap)]
        windows: Planes = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), axis=(1, 2))
        if self.border == "valid":
            windows = windows[:, 1:-1, 1:-1]
        return np.asarray(windows.transpose(1, 2, 0, 3, 4).reshape(-1, 27))


def patch_bands(bags: Bags) -> list[Bags]:
    """The four bands of bags of sparse multiscale patches, each as bags of its own dimension.

    Examples
    --------
    >>> image = np.zeros((32, 32, 3), np.uint8)
    >>> bags = SparseMultiscalePatches().extract([image, image])
    >>> [(band.dim, band.sizes.tolist()) for band in patch_bands(bags)]
    [(18, [16, 16]), (18, [8, 8]), (18, [4, 4]), (27, [16, 16])]
    """
    bags = bags.compact()
    if bags.dim != 1 + BAND_DIMS[-1]:
        raise ValueError(f"these bags have {bags.dim} numbers, not the 28 of sparse multiscale patches.")
    owners = bags.owners
    bands = []
    for number, dim in enumerate(BAND_DIMS):
        rows = np.flatnonzero(bags.values[:, 0] == number)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owners[rows], minlength=len(bags)))])
        bands.append(Bags(np.ascontiguousarray(bags.values[rows, 1 : 1 + dim], np.float32), offsets))
    return bands


def to_yuv(image: Image) -> Planes:
    """Luminance and two chrominances, 0 to 255, by the analogue formulas of ITU-R BT.601."""
    return np.ascontiguousarray(np.einsum("kc,hwc->khw", TO_YUV, image.astype(np.float32), optimize=True))


def pyramid(planes: Planes, *, levels: int = 3, wrap: bool = False) -> tuple[list[Planes], Planes, Planes]:
    """The Laplacian bands from fine to coarse, the low-pass image, and one more band above the coarsest."""
    bands = []
    for _ in range(levels):
        small = reduce(planes, wrap=wrap)
        bands.append(planes - expand(small, planes.shape[1:], wrap=wrap))
        planes = small
    above = planes - expand(reduce(planes, wrap=wrap), planes.shape[1:], wrap=wrap)
    return bands, planes, above


def reduce(planes: Planes, *, wrap: bool = False) -> Planes:
    """Smooth by (1, 4, 6, 4, 1) / 16 in both directions and keep every second pixel."""
    for axis in (1, 2):
        n = planes.shape[axis]
        framed = planes.take(_around(n, 2, wrap), axis=axis)
        a, b, c, d, e = (_every_second(framed, axis, start, n) for start in range(5))
        planes = np.asarray((a + e + 4 * (b + d) + 6 * c) / 16)
    return planes


def expand(planes: Planes, shape: Sequence[int], *, wrap: bool = False) -> Planes:
    """Twice the size, to ``shape``: zeros between the pixels, smoothed by the same filter times four."""
    for axis, n in ((1, shape[0]), (2, shape[1])):
        # The pixel before the first and after the last, where the finer grid is mirrored or goes round.
        m = planes.shape[axis]
        before = _around(n, 2, wrap)[0] // 2
        after = _around(n, 2, wrap)[2 + 2 * m] // 2
        framed = planes.take([min(before, m - 1), *range(m), min(after, m - 1)], axis=axis)
        a, b, c = (framed[(slice(None),) * axis + (slice(s, s + m),)] for s in range(3))
        out = np.empty((*planes.shape[:axis], n, *planes.shape[axis + 1 :]), planes.dtype)
        at = (slice(None),) * axis
        out[(*at, slice(0, None, 2))] = (a + 6 * b + c) / 8
        odd = n // 2
        out[(*at, slice(1, None, 2))] = ((b + c) / 2)[(*at, slice(0, odd))]
        planes = out
    return planes


def largest(values: NDArray[Any], n: int) -> NDArray[np.int64]:
    """The positions of the n largest in rising order; of equal ones the first."""
    if n <= 0:
        return np.zeros(0, np.int64)
    least = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > least)
    return np.sort(np.concatenate([above, np.flatnonzero(values == least)[: n - len(above)]]))


def _around(n: int, margin: int, wrap: bool) -> NDArray[np.int64]:
    """Indices from -margin to n + margin - 1, led back into 0 to n - 1."""
    i = np.arange(-margin, n + margin)
    if wrap or n == 1:
        return i % n
    i = np.abs(i) % (2 * n - 2)
    return np.minimum(i, 2 * n - 2 - i)


def _every_second(framed: Planes, axis: int, start: int, n: int) -> Planes:
    return framed[(slice(None),) * axis + (slice(start, start + n, 2),)]
