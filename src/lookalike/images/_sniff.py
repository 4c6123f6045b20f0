"""What a file is, told by its first bytes: names and suffixes lie."""

from __future__ import annotations

HEAD = 512  # bytes that are enough to tell

# Suffixes that a walk through a folder takes for pictures.
_NAMES = """jpg jpeg jpe jfif mpo png apng webp gif bmp dib tif tiff pbm pgm ppm pnm
jp2 j2k jpx jpf avif heic heif hif dcm dicom"""
SUFFIXES = frozenset("." + name for name in _NAMES.split())

# Pictures too, but of kinds that are not read: a walk says so rather than pass them over in silence.
_FOREIGN_NAMES = """svg psd psb xcf ai eps jxl ico tga exr hdr pcx
cr2 cr3 crw nef nrw arw srf sr2 dng orf rw2 raf pef srw x3f"""
FOREIGN = frozenset("." + name for name in _FOREIGN_NAMES.split())

_PICTURES = [
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
]

_OTHERS = [
    (b"%PDF", "is a PDF document"),
    (b"%!PS", "is a PostScript document"),
    (b"8BPS", "is a Photoshop document"),
    (b"\xff\x0a", "is in the JPEG XL format, which is not read yet"),
    (b"\0\0\0\x0cJXL ", "is in the JPEG XL format, which is not read yet"),
    (b"\0\x05\x16\x07", "is a macOS resource file"),
    (b"PK\x03\x04", "is a zip archive or an office document"),
    (b"\x1f\x8b", "is compressed with gzip"),
    (b"\x7fELF", "is a program"),
    (b"MZ", "is a program"),
    (b"ID3", "is a sound"),
    (b"OggS", "is a sound or a film"),
    (b"\x1aE\xdf\xa3", "is a film"),
    (b"version https://git-lfs", "is a pointer of Git LFS: run 'git lfs pull' to fetch the picture"),
]


def sniff(head: bytes) -> str | None:
    """The picture format that these first bytes belong to, or None.

    Examples
    --------
    >>> sniff(b"GIF89a..."), sniff(b"hello")
    ('GIF', None)
    """
    for magic, name in _PICTURES:
        if head.startswith(magic):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[:2] == b"BM" and head[14:18] in _BITMAP_HEADERS:
        return "BMP"
    if head[128:132] == b"DICM":
        return "DICOM"
    if head[4:8] == b"ftyp":
        return _boxed(head)
    if len(head) > 2 and head[:1] == b"P" and head[1] in b"123456" and head[2:3].isspace():
        return "PPM"
    return None


_BITMAP_HEADERS = {n.to_bytes(4, "little") for n in (12, 16, 40, 52, 56, 64, 108, 124)}


def _boxed(head: bytes) -> str | None:
    """The format of a file of boxes (HEIC, AVIF, films), by its main brand and the compatible ones."""
    end = min(len(head), int.from_bytes(head[:4], "big"))
    brands = {head[8:12]} | {head[i : i + 4] for i in range(16, end - 3, 4)}
    if brands & {b"avif", b"avis"}:
        return "AVIF"
    if brands & {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}:
        return "HEIC"
    return None


def what_instead(head: bytes) -> str:
    """Say what a file that is no picture seems to be, as the end of "the picture …".

    Examples
    --------
    >>> what_instead(b"<!DOCTYPE html><html>")
    'is a web page'
    """
    for magic, words in _OTHERS:
        if head.startswith(magic):
            return words
    if head[4:8] == b"ftyp":
        return "is a film"
    if head[:4] == b"RIFF":
        return "is a sound or a film"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:256].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        return "is a web page"
    if b"<svg" in start:
        return "is an SVG drawing, which is not read"
    if not head.strip(b"\0"):
        return "holds only zeros"
    if _is_text(head):
        return "is text"
    return "is in no format that is known here"


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < max(1, len(head) - 3):  # the last character may be cut
            return False
        text = head[: error.start].decode()
    return all(c.isprintable() or c.isspace() for c in text)
