"""Which colours and which textures: a colour histogram and the energies of a bank of Gabor filters."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image

Array = NDArray[Any]

SIDE, BLOCK = 256, 16
HUES, SATURATIONS, VALUES, GREYS = 18, 3, 3, 4
FREQUENCIES = (0.375, 0.1875, 0.09375)  # cycles for each pixel; a bandwidth of one octave sets the widths
TAPS = (9, 17, 35)
ORIENTATIONS = 4  # 0, 45, 90 and 135 degrees
EDGES = np.arange(2.0, 11.0)  # of the ten bands of energy
BELOW_ONE = 0.99999999


def width_of(frequency: float) -> float:
    """The deviation of the Gaussian that gives a filter a bandwidth of one octave (2.36)."""
    return float(3.0 * np.sqrt(2.0 * np.log(2.0)) / (2.0 * np.pi * frequency))


def one_pass(values: Array) -> Array:
    """The matrix of a convolution along one axis with zeros outside: ``rows @ matrix``."""
    half = len(values) // 2
    matrix = np.zeros((SIDE, SIDE), np.float32)
    for shift, value in zip(range(-half, half + 1), values, strict=True):
        matrix += value * np.eye(SIDE, k=shift, dtype=np.float32)
    return matrix


@functools.cache
def bank() -> tuple[Array, Array]:
    """The passes along rows, side by side, and those along columns, for each scale.

    A filter is a Gaussian times a cosine of a sum, which is two products of one-dimensional passes; the
    two diagonal ones share both. In order: cosine and plain, plain and cosine, and the two of diagonals.
    """
    along, across = [], []
    for frequency, taps in zip(FREQUENCIES, TAPS, strict=True):
        x = np.arange(taps) - taps // 2
        sigma = width_of(frequency)
        bell = np.exp(-(x**2) / (2 * sigma**2)) / np.sqrt(2 * np.pi * sigma**2)
        wave = 2 * np.pi * frequency * x
        plain, straight = one_pass(bell), one_pass(bell * np.cos(wave))
        cosine = one_pass(bell * np.cos(wave * np.sqrt(0.5)))
        sine = one_pass(bell * np.sin(wave * np.sqrt(0.5)))
        along += [straight, plain, cosine, sine]
        across += [plain.T, straight.T, cosine.T, sine.T]
    return np.concatenate(along, axis=1), np.stack(across)


def responses(value: Array) -> Array:
    """The answers of all twelve filters, of shape (scales, orientations, SIDE, SIDE)."""
    along, across = bank()
    rows = (value.astype(np.float32) @ along).reshape(SIDE, len(across), SIDE)
    both = (across @ rows.transpose(1, 0, 2)).reshape(len(FREQUENCIES), 4, SIDE, SIDE)
    straight, upright, cosines, sines = (both[:, i] for i in range(4))
    return np.stack([straight, cosines - sines, upright, cosines + sines], axis=1)


def energies(value: Array) -> Array:
    """Root of the mean square of each filter's answer in each block, of shape (12, blocks)."""
    found = responses(value)
    count = SIDE // BLOCK
    blocks = found.reshape(len(FREQUENCIES) * ORIENTATIONS, count, BLOCK, count, BLOCK)
    return np.sqrt(np.einsum("fiajb,fiajb->fij", blocks, blocks) / BLOCK**2).reshape(len(found) * 4, -1)


class ColorTexture(Feature):
    """Colours in 166 bins and textures in 120: the whole picture as one vector of histograms.

    Colour: 18 hues, 3 saturations and 3 values, and 4 greys of their own. Texture: twelve Gabor filters,
    of three scales and four orientations; the energy of each in the blocks of a 16 x 16 grid falls into
    ten bands (section 2.4.2 of [1]_; sizes and bands as the program Viper has them, which it names). Each
    of the thirteen histograms sums to 1.

    References
    ----------
    .. [1] S. Kosinov, "Machine learning approach to semantic augmentation of multimedia documents for
       efficient access and retrieval", PhD thesis 3707, University of Geneva, 2005.

    Examples
    --------
    >>> grey = np.full((40, 60, 3), 128, np.uint8)
    >>> vector = ColorTexture().extract([grey])[0]
    >>> vector.shape, int(vector[:166].argmax()), round(float(vector.sum()), 3)
    ((286,), 164, 13.0)
    """

    name = "color-texture"
    kind = "vector"
    shorter_side = SIDE

    @property
    def dim(self) -> int:
        """166 colours and 120 texture bands."""
        return HUES * SATURATIONS * VALUES + GREYS + len(FREQUENCIES) * ORIENTATIONS * (len(EDGES) + 1)

    def _extract(self, images: list[Image]) -> Array:
        return np.stack([self._one(image) for image in images])

    def _one(self, image: Image) -> Array:
        # Blocks are of the picture's own proportions: it is made square, whatever it was.
        square = PIL.Image.fromarray(image).resize((SIDE, SIDE), PIL.Image.Resampling.BILINEAR)
        hsv = np.asarray(square.convert("HSV"))
        return np.concatenate([self._colors(hsv), self._textures(hsv[:, :, 2])]).astype(np.float32)

    def _colors(self, hsv: Array) -> Array:
        level = np.arange(256) / 255.0 * BELOW_ONE
        hue, saturation, value = (
            np.floor(level * count).astype(np.intp)[hsv[:, :, i]]
            for i, count in enumerate((HUES, SATURATIONS, VALUES))
        )
        codes = (hue * SATURATIONS + saturation) * VALUES + value
        grey = (hsv[:, :, 0] == 0) & (hsv[:, :, 1] == 0)
        codes[grey] = (
            HUES * SATURATIONS * VALUES + np.floor(level * GREYS).astype(np.intp)[hsv[:, :, 2]][grey]
        )
        counts = np.bincount(codes.ravel(), minlength=HUES * SATURATIONS * VALUES + GREYS)
        return counts / codes.size

    def _textures(self, value: Array) -> Array:
        bands = np.searchsorted(EDGES, energies(value), side="right")
        n_bands = len(EDGES) + 1
        codes = bands + n_bands * np.arange(len(bands))[:, None]
        return np.bincount(codes.ravel(), minlength=n_bands * len(bands)) / bands.shape[1]
