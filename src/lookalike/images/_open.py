"""Open one picture: its pixels, upright and in RGB, and the hash of its content."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from lookalike.images._decode import Decoded, NeedsGuard, decode, too_long
from lookalike.images._guard import decode_guarded
from lookalike.images._pixels import encode
from lookalike.images._unreadable import Unreadable

MAX_MEGAPIXELS = 128.0
TIME_LIMIT = 20.0
IN_MEMORY = 32 * 2**20  # files up to this size are read once and kept while they are decoded

_large = threading.Lock()  # large pictures are decoded one at a time, so that memory stays bounded


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture that was read.

    Parameters
    ----------
    pixels : array of shape (H, W, 3) and type uint8
        Upright RGB; smaller than the file's picture where a ``shorter_side`` was asked for.
    sha256 : str
        The hash of the file's content, as 64 hexadecimal digits.
    width, height : int
        The upright size before any reduction.
    format : str
        What the content is, whatever the name says: "JPEG", "PNG", …

    Examples
    --------
    >>> picture = Picture(np.zeros((2, 3, 3), np.uint8), "0" * 64, 3, 2, "PNG")
    >>> picture.width, picture.height
    (3, 2)
    """

    pixels: NDArray[np.uint8]
    sha256: str
    width: int
    height: int
    format: str


def open_image(
    source: str | os.PathLike[str] | bytes,
    *,
    shorter_side: int | None = None,
    max_megapixels: float = MAX_MEGAPIXELS,
    time_limit: float | None = TIME_LIMIT,
) -> Picture:
    """Read a picture from a file or from bytes; whatever is wrong with it is an :class:`Unreadable`.

    The EXIF orientation is applied, alpha is laid over white, an animation gives its first frame.
    Profiles of colour are not applied.

    Parameters
    ----------
    source : path or bytes
        The file; only regular files are opened, never pipes or devices.
    shorter_side : int, default=None
        A hint that this many pixels on the shorter side are enough: a larger picture is then decoded
        faster and comes back with a shorter side of at least this and less than about twice this.
    max_megapixels : float, default=128
        Larger pictures are refused before they are decoded.
    time_limit : float or None, default=20
        Seconds for reading, and again for decoding; None for no limit, and then nothing protects this
        process from a decoder that hangs or crashes.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (640, 480), "red").save(file, "PNG")
    >>> picture = open_image(file.getvalue(), shorter_side=100)
    >>> picture.pixels.shape, picture.width, picture.height, picture.format
    ((120, 160, 3), 640, 480, 'PNG')
    >>> open_image(b"")
    Traceback (most recent call last):
        ...
    lookalike.images._unreadable.Unreadable: a picture cannot be read: the picture is empty.
    """
    if shorter_side is not None and shorter_side < 1:
        raise ValueError(f"shorter_side must be at least 1, but is {shorter_side}.")
    path = None if isinstance(source, bytes) else os.fspath(source)
    settings = {"shorter_side": shorter_side, "max_megapixels": max_megapixels}
    try:
        with _opened(source) as file:
            digest = _digest(file, time_limit)
            found = _decode_here_or_guarded(file, source, time_limit=time_limit, settings=settings)
    except Unreadable as error:
        raise Unreadable(error.reason, path) from None
    return Picture(found.pixels, digest, found.width, found.height, found.format)


def _decode_here_or_guarded(
    file: BinaryIO,
    source: str | os.PathLike[str] | bytes,
    *,
    time_limit: float | None,
    settings: dict[str, float | None],
) -> Decoded:
    if time_limit is None:
        return decode(file, guarded=True, time_limit=None, **settings)  # type: ignore[arg-type]
    try:
        return decode(file, guarded=False, time_limit=time_limit, **settings)  # type: ignore[arg-type]
    except NeedsGuard as reason:
        heavy = reason.heavy
    payload = file.getvalue() if isinstance(file, io.BytesIO) else os.fspath(source)
    with _large if heavy else contextlib.nullcontext():
        return decode_guarded(payload, time_limit=time_limit, **settings)


def content_hash(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's content as 64 hexadecimal digits; its memory is bounded.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "empty")
    ...     path.touch()
    ...     content_hash(path)[:8]
    'e3b0c442'
    """
    try:
        with _regular(os.fspath(path)) as file:
            return _digest(file, None)
    except Unreadable as error:
        raise Unreadable(error.reason, path) from None
    except OSError as error:
        raise Unreadable(_trouble(error), path) from None


def thumbnail(source: str | os.PathLike[str] | bytes, size: int = 160) -> bytes:
    """A small JPEG of a picture, its longer side at most ``size``: for sheets and reports.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (640, 480), "red").save(file, "PNG")
    >>> Image.open(io.BytesIO(thumbnail(file.getvalue(), 64))).size
    (64, 48)
    """
    return encode(open_image(source, shorter_side=size).pixels, size=size)


@contextlib.contextmanager
def _opened(source: str | os.PathLike[str] | bytes) -> Iterator[BinaryIO]:
    """Bytes in memory for what is small, else the file itself."""
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    try:
        with _regular(os.fspath(source)) as file:
            size = os.fstat(file.fileno()).st_size
            yield io.BytesIO(file.read()) if size <= IN_MEMORY else file
    except OSError as error:
        raise Unreadable(_trouble(error)) from None


def _regular(path: str) -> BinaryIO:
    """Open a regular file; a pipe or device is refused without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise Unreadable(what_kind(mode))


def what_kind(mode: int) -> str:
    """What a thing on disk that is no regular file is, as the end of "the picture …"."""
    for test, words in [
        (stat.S_ISDIR, "is a folder"),
        (stat.S_ISFIFO, "is a named pipe, not a file"),
        (stat.S_ISSOCK, "is a socket, not a file"),
        (stat.S_ISCHR, "is a device, not a file"),
        (stat.S_ISBLK, "is a device, not a file"),
    ]:
        if test(mode):
            return words
    return "is not a regular file"


def _trouble(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, PermissionError):
        return "may not be opened: permission denied"
    return f"cannot be opened: {(error.strerror or str(error)).lower()}"


def _digest(file: BinaryIO, time_limit: float | None) -> str:
    start = time.monotonic()
    if isinstance(file, io.BytesIO):
        return hashlib.sha256(file.getbuffer()).hexdigest()
    digest = hashlib.sha256()
    while block := file.read(1 << 22):
        digest.update(block)
        if time_limit is not None and time.monotonic() - start > time_limit:
            raise Unreadable(too_long(time_limit))
    return digest.hexdigest()
