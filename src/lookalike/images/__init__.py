"""Find, open, orient and scale pictures; set aside what cannot be read, with its reason."""

from lookalike.images._find import Found, SetAside, find_images, path_of, uri_of
from lookalike.images._open import Picture, content_hash, open_image, thumbnail
from lookalike.images._unreadable import Unreadable, printable

__all__ = [
    "Found",
    "Picture",
    "SetAside",
    "Unreadable",
    "content_hash",
    "find_images",
    "open_image",
    "path_of",
    "printable",
    "thumbnail",
    "uri_of",
]
