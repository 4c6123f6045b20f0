"""Formats whose decoders are extras: HEIC (pi-heif), DICOM (pydicom), scientific TIFF (tifffile)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.images._pixels import to_uint8
from lookalike.images._unreadable import Unreadable

CheckSize = Callable[[int, int], None]  # raises Unreadable for what is too large, before decoding


def _need(module: str, kind: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Unreadable(
            f"is {kind}, which needs an extra package: run pip install 'lookalike[images]'"
        ) from None


def open_heic(file: BinaryIO, check_size: CheckSize) -> Image.Image:
    """The main picture of a HEIC file; its decoder turns it upright."""
    pi_heif = _need("pi_heif", "in the HEIC format")
    heif = pi_heif.open_heif(file, convert_hdr_to_8bit=True)
    check_size(*heif.size)
    image: Image.Image = heif.to_pillow()
    image.info.pop("exif", None)  # the decoder has applied the orientation
    return image


def open_dicom(file: BinaryIO, check_size: CheckSize) -> Image.Image:
    """The first frame of a DICOM file, with its own look-up tables and window applied."""
    _need("pydicom", "a DICOM file")
    import pydicom
    from pydicom.pixels import apply_modality_lut, apply_voi_lut, convert_color_space, pixel_array

    data = pydicom.dcmread(file, force=False)
    if "Rows" not in data or "Columns" not in data:
        raise Unreadable("is a DICOM file without a picture")
    check_size(int(data.Columns), int(data.Rows))
    array = pixel_array(data, index=0, raw=True)
    model = str(data.get("PhotometricInterpretation", "MONOCHROME2"))
    if array.ndim == 3:
        if model.startswith("YBR"):
            array = convert_color_space(array, model, "RGB")
        return Image.fromarray(to_uint8(array[..., :3]))
    if model == "PALETTE COLOR":
        from pydicom.pixels import apply_color_lut

        return Image.fromarray(_high_byte(apply_color_lut(array, data)))
    array = apply_voi_lut(apply_modality_lut(array, data), data)
    grey = _stretched(np.asarray(array, np.float64))
    return Image.fromarray(255 - grey if model == "MONOCHROME1" else grey)


def _high_byte(array: NDArray[Any]) -> NDArray[np.uint8]:
    return (array >> 8).astype(np.uint8) if array.dtype == np.uint16 else array.astype(np.uint8)


def _stretched(array: NDArray[np.float64]) -> NDArray[np.uint8]:
    """From the smallest to the largest value: a window has already been applied where there is one."""
    low, high = array.min(), array.max()
    span = high - low if high > low else 1.0
    return np.rint((array - low) * (255 / span)).astype(np.uint8)


def open_tiff(file: BinaryIO, check_size: CheckSize) -> Image.Image:
    """The first page of a TIFF that Pillow does not read: other depths, many channels, stacks."""
    tifffile = _need("tifffile", "a TIFF of a scientific kind")
    with tifffile.TiffFile(file) as tiff:
        page = tiff.pages[0]
        check_size(page.imagewidth, page.imagelength)
        axes, array, model = page.axes, page.asarray(), int(page.photometric)
    return Image.fromarray(_as_picture(array, axes, white_is_zero=model == 0))


def _as_picture(array: NDArray[Any], axes: str, *, white_is_zero: bool) -> NDArray[np.uint8]:
    """One plane, or three channels, of an array whose axes are named as tifffile names them."""
    if "Y" not in axes or "X" not in axes:
        raise Unreadable("is a TIFF without a plane of pixels")
    keep = "YXS" if "S" in axes else "YX"
    for axis, name in reversed(list(enumerate(axes))):
        if name not in keep:
            array = np.take(array, 0, axis=axis)  # the first of a stack, of times, of depths
    left = [name for name in axes if name in keep]
    array = np.transpose(array, [left.index(name) for name in keep])
    if array.ndim == 3:
        # One channel is grey, two are shown as the first; of more than three the first three.
        array = array[..., 0] if array.shape[2] < 3 else array[..., :3]
    pixels = to_uint8(array)
    return 255 - pixels if white_is_zero else pixels
