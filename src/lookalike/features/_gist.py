"""Gist: the layout of a scene, by the energy of a few directions and sizes in each part of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image
from lookalike.features._network import checked_view
from lookalike.features._pixels import fit, grey

SIDE = 256  # pixels of the square that is looked at
BLOCKS = 4
ORIENTATIONS = 8
SCALES = 4
BORDER = 32  # mirrored pixels around it, so that the filters do not wrap
LOCAL_BORDER = 5
CYCLES = 4.0  # of the high-pass filter, over the image


class Gist(Feature):
    """The layout of a scene: how much change of each size and direction there is in each of 4 x 4 parts.

    The grey image is brought to 256 x 256 pixels and to even local contrast, filtered by 32 Gabor filters
    (four sizes, eight directions), and the strength of each answer is averaged over 16 blocks: 512 numbers,
    filter by filter [1]_. The constants are those of the authors' published programme, as [2]_ used it.

    Parameters
    ----------
    view : {"whole", "balanced", "centre"}, default="whole"
        How an image that is not square becomes one: stretched, cut to its middle, or half of each.

    References
    ----------
    .. [1] A. Oliva and A. Torralba, "Modeling the shape of the scene: a holistic representation of the
           spatial envelope", International Journal of Computer Vision 42, 2001.
    .. [2] P. Piro, "Learning prototype-based classification rules in a boosting framework", 2010,
           section 4.3.

    Examples
    --------
    >>> stripes = np.zeros((256, 256, 3), np.uint8)
    >>> stripes[:, ::8] = 255
    >>> row = Gist().extract([stripes])[0].reshape(4, 8, 16)  # size, direction, block
    >>> int(row.sum((0, 2)).argmax())  # change from left to right
    0
    """

    name = "gist"
    kind = "vector"
    dim: ClassVar[int] = SCALES * ORIENTATIONS * BLOCKS**2
    shorter_side = SIDE
    batch_size = 4

    def __init__(self, *, view: Literal["whole", "balanced", "centre"] = "whole") -> None:
        self.view = checked_view(view)

    def _extract(self, images: list[Image]) -> NDArray[Any]:
        return np.stack([_gist(grey(fit(image, SIDE, self.view))) for image in images])


def _gist(image: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = float(image.min()), float(image.max())
    # A flat image has no layout; stretching would only show the rounding of its grey.
    if high <= low:
        return np.zeros(Gist.dim, np.float32)
    even = _even_contrast((image - low) * np.float32(255 / (high - low)))
    spectrum = scipy.fft.fft2(np.pad(even, BORDER, mode="symmetric"))
    energies = np.empty((SCALES * ORIENTATIONS, BLOCKS, BLOCKS), np.float32)
    for k, (response, step) in enumerate(_bank()):
        kept = len(response)
        cut = spectrum if step == 1 else _low_frequencies(spectrum, kept)
        # The factor undoes the normalisation by the smaller number of points.
        answer = np.abs(scipy.fft.ifft2(cut * response, overwrite_x=True)) / np.float32(step**2)
        inner = answer[BORDER // step : (BORDER + SIDE) // step, BORDER // step : (BORDER + SIDE) // step]
        width = SIDE // BLOCKS // step
        energies[k] = inner.reshape(BLOCKS, width, BLOCKS, width).mean(axis=(1, 3))
    return energies.ravel()


def _even_contrast(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logarithm without its slow changes, divided by its local deviation."""
    padded = np.pad(np.log1p(image), LOCAL_BORDER, mode="symmetric")
    low_pass = _low_pass(len(padded))
    high = padded - scipy.fft.irfft2(scipy.fft.rfft2(padded) * low_pass, s=padded.shape)
    local = scipy.fft.irfft2(scipy.fft.rfft2(high * high) * low_pass, s=padded.shape)
    high /= np.float32(0.2) + np.sqrt(np.abs(local))
    return high[LOCAL_BORDER:-LOCAL_BORDER, LOCAL_BORDER:-LOCAL_BORDER].astype(np.float32, copy=False)


@lru_cache(maxsize=2)
def _low_pass(n: int) -> NDArray[np.float32]:
    """exp(-(fx² + fy²) / s²) with s = 4 / √log 2, for a real transform."""
    fy, fx = np.fft.fftfreq(n, 1 / n)[:, None], np.fft.rfftfreq(n, 1 / n)
    return np.exp(-(fx**2 + fy**2) * np.log(2) / CYCLES**2).astype(np.float32)


@lru_cache(maxsize=1)
def _bank() -> list[tuple[NDArray[Any], int]]:
    """The 32 filters in the Fourier domain, each with the step at which its answer is sampled.

    The two coarse sizes pass only low frequencies, so that every second pixel of their answers says as much
    as all of them; a shift of phase puts these samples into the middle of the pixels they stand for.
    """
    n = SIDE + 2 * BORDER
    bank: list[tuple[NDArray[Any], int]] = []
    for i in range(SCALES):
        step = (1, 1, 2, 2)[i]
        kept = n // step
        f = np.fft.fftfreq(kept, 1 / kept)
        fy, fx = f[:, None], f[None, :]
        radius, angle = np.hypot(fx, fy), np.arctan2(fy, fx)
        middle = np.exp(1j * np.pi * (fx + fy) * (step - 1) / n) if step > 1 else 1.0
        for j in range(ORIENTATIONS):
            turned = np.mod(angle + np.pi * j / ORIENTATIONS + np.pi, 2 * np.pi) - np.pi
            size = (radius / (n * 0.3 / 1.85**i) - 1) ** 2
            response = np.exp(-3.5 * size - 2 * np.pi * (ORIENTATIONS / 8) ** 2 * turned**2) * middle
            bank.append((response.astype(np.float32 if step == 1 else np.complex64), step))
    return bank


def _low_frequencies(spectrum: NDArray[Any], kept: int) -> NDArray[Any]:
    """The ``kept`` lowest frequencies of both axes, in the order of a transform of that size."""
    half = kept // 2
    order = np.r_[0:half, len(spectrum) - half : len(spectrum)]
    return spectrum[np.ix_(order, order)]
