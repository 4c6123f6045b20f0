"""Sizes and greys: what several features do first with an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray


def shrink(image: NDArray[np.uint8], shorter_side: int) -> NDArray[np.uint8]:
    """The image reduced by a whole factor so that its shorter side keeps at least ``shorter_side`` pixels.

    Examples
    --------
    >>> shrink(np.zeros((100, 250, 3), np.uint8), 40).shape
    (50, 125, 3)
    """
    factor = min(image.shape[:2]) // shorter_side
    if factor < 2:
        return image
    return np.asarray(PIL.Image.fromarray(image).reduce(factor))


def resize(image: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """The whole image stretched to a size, with antialiasing (Pillow's bilinear filter).

    Examples
    --------
    >>> resize(np.full((3, 9, 3), 7, np.uint8), 2, 2)[0, 0].tolist()
    [7, 7, 7]
    """
    if image.shape[:2] == (height, width):
        return image
    filtered = PIL.Image.Resampling.BILINEAR
    return np.asarray(PIL.Image.fromarray(image).resize((width, height), filtered, reducing_gap=3.0))


def grey(image: NDArray[Any]) -> NDArray[np.float32]:
    """The mean of the three channels.

    Examples
    --------
    >>> grey(np.array([[[0, 3, 9]]], np.uint8))
    array([[4.]], dtype=float32)
    """
    # Two additions of whole planes are several times faster than a mean over the last axis.
    total = image[..., 0].astype(np.float32)
    total += image[..., 1]
    total += image[..., 2]
    total *= np.float32(1 / 3)
    return total


# The shape that is cut out before stretching: the power of the aspect ratio that it keeps.
VIEWS = {"whole": 1.0, "balanced": 0.5, "centre": 0.0}


def fit(image: NDArray[np.uint8], size: int, view: str) -> NDArray[np.uint8]:
    """A square of ``size`` pixels from the middle of an image, with antialiasing (bicubic).

    The ``"whole"`` image stretched, its ``"centre"`` square, or ``"balanced"``: half of each.

    Examples
    --------
    >>> image = np.zeros((40, 80, 3), np.uint8)
    >>> image[:, 40:] = 255
    >>> fit(image, 8, "whole")[0, [0, 7], 0].tolist()
    [0, 255]
    """
    height, width = image.shape[:2]
    if (height, width) == (size, size):
        return image
    short, long = min(height, width), max(height, width)
    longer = min(short * (long / short) ** VIEWS[view], long)  # rounding must not lead out of the image
    h, w = (height, longer) if width > height else (longer, width)
    box = ((width - w) / 2, (height - h) / 2, (width + w) / 2, (height + h) / 2)
    picture = PIL.Image.fromarray(image)
    return np.asarray(picture.resize((size, size), PIL.Image.Resampling.BICUBIC, box=box, reducing_gap=3.0))
