"""One file of pixels becomes one RGB array, within a number of megapixels and a time."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from lookalike.images import _extras
from lookalike.images._pixels import orientation, shrink, to_rgb, upright
from lookalike.images._sniff import HEAD, sniff, what_instead
from lookalike.images._unreadable import Unreadable

LONGEST = 200  # the longer side may be so many times the shorter: beyond it is a line, not a picture
SCANS = 64  # a progressive JPEG has about ten
LARGE = 40_000_000  # pixels from which a picture is decoded under guard, and one at a time

# Formats whose decoders read their file piece by piece, or whose time is bounded by the number of pixels:
# the clock of ``Watched`` bounds them. All others are decoded by a process that can be killed.
TAME = frozenset({"JPEG", "PNG", "GIF", "BMP", "WEBP", "PPM"})

_PLUGINS: dict[str, Callable[[BinaryIO], Image.Image]] = {
    "JPEG": JpegImagePlugin.JpegImageFile,
    "PNG": PngImagePlugin.PngImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "PPM": PpmImagePlugin.PpmImageFile,
}


class TooLong(Exception):
    """The time is over."""


class NeedsGuard(Exception):
    """This file should be decoded by a process that can be killed; ``heavy`` ones one at a time."""

    def __init__(self, *, heavy: bool = False) -> None:
        self.heavy = heavy


class Decoded(NamedTuple):
    """Pixels, and the upright size they had before they were reduced."""

    pixels: NDArray[np.uint8]
    width: int
    height: int
    format: str


class Watched:
    """A file that refuses to be read once the time is over."""

    def __init__(self, raw: BinaryIO, deadline: float | None) -> None:
        self.raw = raw
        self.deadline = deadline
        self.seek, self.tell, self.close = raw.seek, raw.tell, raw.close

    def read(self, n: int = -1) -> bytes:
        """Read, or raise ``TooLong``."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TooLong
        return self.raw.read(n)

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True


def decode(
    file: BinaryIO,
    *,
    shorter_side: int | None,
    max_megapixels: float,
    time_limit: float | None,
    guarded: bool,
) -> Decoded:
    """Decode an open file; whatever goes wrong is an ``Unreadable``.

    ``guarded`` says that this process may be killed: then nothing is too suspicious to be tried.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    file.seek(0)
    head = file.read(HEAD)
    kind = sniff(head)
    if kind is None:
        raise Unreadable("is empty" if not head else what_instead(head))
    if not guarded and (kind not in TAME or (kind == "JPEG" and _many_scans(file))):
        raise NeedsGuard
    file.seek(0)

    def check_size(width: int, height: int) -> None:
        _check_size(width, height, max_megapixels)

    try:
        image = _open(Watched(file, deadline), kind, check_size)
        return _finish(image, kind, shorter_side, largest=None if guarded else LARGE)
    except (Unreadable, NeedsGuard):
        raise
    except TooLong:
        raise Unreadable(too_long(time_limit)) from None
    except Image.DecompressionBombError:
        if not guarded:
            raise NeedsGuard(heavy=True) from None
        raise Unreadable("is larger than its decoder allows") from None
    except Exception as error:  # decoders of hostile bytes raise anything
        raise Unreadable(_sentence(kind, error)) from None


def too_long(time_limit: float | None) -> str:
    """The reason for a file whose time is over."""
    return f"took longer than {time_limit:.3g} s to decode"


def _finish(image: Image.Image, kind: str, shorter_side: int | None, largest: int | None) -> Decoded:
    width, height = image.size
    in_memory = width * height
    if kind == "JPEG" and shorter_side is not None:
        scale = min(width, height) // shorter_side
        if scale > 1:
            image.draft(None, (width // scale, height // scale))
        if "progressive" not in image.info:  # a progressive one is kept whole until its last scan
            in_memory = image.width * image.height
    if largest is not None and in_memory > largest:
        raise NeedsGuard(heavy=True)
    image.load()  # before the orientation, because asking a PNG for it would load and hide what is wrong
    turn = orientation(image)
    if kind != "JPEG":
        width, height = image.size  # a TIFF turns itself upright
    reduced = shrink(to_rgb(image), shorter_side)
    pixels = np.array(upright(reduced, turn), dtype=np.uint8, order="C")
    if turn >= 5:
        width, height = height, width
    return Decoded(pixels, width, height, kind)


def _open(file: Any, kind: str, check_size: _extras.CheckSize) -> Image.Image:
    if kind == "HEIC":
        return _extras.open_heic(file, check_size)
    if kind == "DICOM":
        return _extras.open_dicom(file, check_size)
    if kind == "TIFF":
        return _open_tiff(file, check_size)
    image = _PLUGINS[kind](file) if kind in _PLUGINS else _open_rare(file, kind)
    check_size(*image.size)
    return image


def _open_tiff(file: Any, check_size: _extras.CheckSize) -> Image.Image:
    """Pillow first; what it does not understand goes to tifffile."""
    try:
        image = TiffImagePlugin.TiffImageFile(file)
        check_size(*image.size)
        image.load()
        return image
    except (Unreadable, NeedsGuard, TooLong):
        raise
    except Exception as first:
        file.seek(0)
        understood = isinstance(first, OSError) and not isinstance(first, UnidentifiedImageError)
        try:
            return _extras.open_tiff(file, check_size)
        except Unreadable as second:
            raise Unreadable(_sentence("TIFF", first) if understood else second.reason) from None
        except TooLong:
            raise
        except Exception:
            raise Unreadable(_sentence("TIFF", first)) from None


def _open_rare(file: Any, kind: str) -> Image.Image:
    Image.init()
    if kind not in Image.OPEN:
        raise Unreadable(f"is in the {kind} format, which this Pillow does not read")
    return Image.open(file, formats=[kind])


def _check_size(width: int, height: int, max_megapixels: float) -> None:
    if width < 1 or height < 1:
        raise Unreadable(f"has no pixels ({width} × {height})")
    if width * height > max_megapixels * 1e6:
        size = f"{width} × {height} = {width * height / 1e6:.0f} megapixels"
        raise Unreadable(f"is too large ({size}; the limit is {max_megapixels:g})")
    if max(width, height) > LONGEST * min(width, height):
        raise Unreadable(f"is a line, not a picture ({width} × {height})")


def _many_scans(file: BinaryIO) -> bool:
    """Whether a JPEG has so many scans that a few bytes could cost minutes."""
    file.seek(0)
    count, tail = 0, b""
    while count <= SCANS and (block := file.read(1 << 24)):
        count += (tail + block).count(b"\xff\xda")
        tail = block[-1:]
    return count > SCANS


def _sentence(kind: str, error: Exception) -> str:
    """An exception of a decoder as the end of "the picture …"."""
    name = {"DICOM": "a DICOM file", "AVIF": "an AVIF"}.get(kind, f"a {kind}")
    if isinstance(error, MemoryError):
        return f"is {name} that needs more memory than it may take"
    words = " ".join(str(error).split()).rstrip(".")[:200]
    short = ("truncated", "unexpected end", "but only got", "requires a buffer")
    if isinstance(error, EOFError | struct.error) or any(word in words.lower() for word in short):
        return f"is {name} that is cut short"
    if "identif" in words or not words:
        return f"is {name} whose header is damaged"
    return f"is {name} that is damaged: {words}"
