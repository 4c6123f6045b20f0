"""From whatever a decoder gives to upright RGB pixels of 8 bits."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ORIENTATION = 0x0112
_WITH_ALPHA = {"RGBA", "RGBa", "LA", "La", "PA"}


def orientation(image: Image.Image) -> int:
    """The EXIF orientation, 1 where there is none; broken metadata does not spoil a good picture."""
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # EXIF blocks are broken in every possible way
        return 1
    return value if value in _TURNS else 1


def upright(image: Image.Image, turn: int) -> Image.Image:
    """Apply an EXIF orientation."""
    return image.transpose(_TURNS[turn]) if turn in _TURNS else image


def to_rgb(image: Image.Image) -> Image.Image:
    """RGB of 8 bits: alpha over white, deep greys scaled, other colour spaces converted."""
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        return _over_white(image)
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(to_uint8(np.asarray(image))).convert("RGB")
    if image.mode == "LAB":
        lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
        assert converted is not None  # it is None only for a conversion in place
        return converted
    return image.convert("RGB")


def _over_white(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I") or image.mode == "F":  # one grey level stands for "nothing here"
        array = np.asarray(image)
        grey = to_uint8(array)
        grey[array == image.info["transparency"]] = 255
        return Image.fromarray(grey).convert("RGB")
    if image.mode == "La":
        image = image.convert("LA")
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def shrink(image: Image.Image, shorter_side: int | None) -> Image.Image:
    """Shrink by whole numbers (box average) while the shorter side stays at least ``shorter_side``."""
    if shorter_side is None:
        return image
    factor = min(image.size) // shorter_side
    return image.reduce(factor) if factor > 1 else image


def to_uint8(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Deep grey levels (or channels) as 8 bits, by the number type and the largest value.

    Whole numbers that fit 8, 10, 12, 14 or 16 bits are scaled from the smallest of these ranges that holds
    them: a camera of 12 bits that writes 16 gives no black pictures, and its pictures keep one scale.
    Fractions within 0 … 1 are scaled from there; everything else from its smallest to its largest value.
    Values that are not finite count as the smallest.

    Examples
    --------
    >>> to_uint8(np.array([0, 1000, 4095], np.uint16)).tolist()
    [0, 62, 255]
    >>> to_uint8(np.array([0.0, 0.5, 1.0])).tolist()
    [0, 128, 255]
    """
    values = np.asarray(values)
    if values.dtype == np.uint8:
        return values.copy()
    if values.dtype == bool:
        return values.astype(np.uint8) * np.uint8(255)
    if np.iscomplexobj(values):
        values = np.abs(values)
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        if not finite.all():
            values = np.where(finite, values, values[finite].min() if finite.any() else 0)
    if values.size == 0:
        return np.zeros(values.shape, np.uint8)
    low, high = float(values.min()), float(values.max())
    low, high = _range(low, high, whole=values.dtype.kind in "iu")
    scaled: NDArray[Any] = values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)
    scaled = (scaled - low) * (255.0 / (high - low))
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def _range(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """The values that become black and white."""
    if whole and low >= 0:
        for bits in (8, 10, 12, 14, 16):
            if high < 2**bits:
                return 0.0, 2.0**bits - 1
    if not whole and low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1


def encode(pixels: NDArray[np.uint8], *, size: int, quality: int = 82) -> bytes:
    """A small JPEG whose longer side is at most ``size``."""
    image = Image.fromarray(pixels)
    image.thumbnail((size, size))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()
