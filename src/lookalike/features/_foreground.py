"""Which pixels belong to the thing in the middle: a colour model, learned from each image itself."""

from __future__ import annotations

import numpy as np
import PIL.Image
from numpy.typing import NDArray

SIDE = 96


def foreground(image: NDArray[np.uint8], *, rounds: int = 5) -> NDArray[np.float32]:
    """How likely each pixel belongs to the thing in the middle of the image, from 0 to 1.

    Two colour histograms, of thing and background, begin from the place alone (the middle and the rim);
    then every pixel is weighed by both and by its place, the weights are smoothed, and the histograms are
    counted again. It knows nothing of things: what differs from the rim in colour is taken for one.

    Parameters
    ----------
    image : array of shape (height, width, 3)
        An RGB image.
    rounds : int, default=5
        How often the histograms are counted again.

    Returns
    -------
    mask : array of shape (height, width)

    Examples
    --------
    >>> image = np.full((60, 80, 3), (20, 120, 30), np.uint8)
    >>> image[20:40, 25:55] = (230, 210, 40)
    >>> mask = foreground(image)
    >>> bool(mask[30, 40] > 0.9), bool(mask[5, 5] < 0.1)
    (True, True)
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, but is {rounds!r}.")
    picture = PIL.Image.fromarray(image)
    width, height = picture.size
    share = min(1.0, SIDE / max(width, height))
    small = picture.resize((max(1, round(width * share)), max(1, round(height * share))))
    lab = np.asarray(small.convert("LAB"))
    # L is cut coarsely: the same petal lies in light and shade. Pillow's a and b are signed bytes.
    chroma = lab[:, :, 1:].view(np.int8).astype(np.intp) + 128
    code = (lab[:, :, 0].astype(np.intp) * 6 // 256 * 32 + chroma[:, :, 0] // 8) * 32 + chroma[:, :, 1] // 8
    y = (np.arange(lab.shape[0]) + 0.5) / lab.shape[0] * 2 - 1
    x = (np.arange(lab.shape[1]) + 0.5) / lab.shape[1] * 2 - 1
    place = np.exp(-2.0 * (x**2 + y[:, None] ** 2)) * 0.9 + 0.02
    mask = place
    size = 6 * 32 * 32
    for _ in range(rounds):
        front = np.bincount(code.ravel(), mask.ravel(), minlength=size)
        back = np.bincount(code.ravel(), (1 - mask).ravel(), minlength=size)
        front = front / max(front.sum(), 1e-9) + 1e-6
        back = back / max(back.sum(), 1e-9) + 1e-6
        evidence = front[code] * place
        mask = _smooth(evidence / (evidence + back[code] * (1 - place)))
    full = PIL.Image.fromarray((mask * 255).round().astype(np.uint8)).resize((width, height))
    return np.asarray(full, dtype=np.float32) / np.float32(255)


def _smooth(mask: NDArray[np.float64]) -> NDArray[np.float64]:
    """A small binomial blur: neighbours mostly belong together."""
    for axis in (0, 1):
        for _ in range(3):
            padded = np.pad(mask, [(1, 1) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
            n = mask.shape[axis]
            first, middle, last = (np.take(padded, range(k, k + n), axis) for k in (0, 1, 2))
            mask = (first + 2 * middle + last) / 4
    return mask
