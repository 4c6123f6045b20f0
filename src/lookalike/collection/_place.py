"""Where a collection is: a local folder, or an address in an object store."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from lookalike.errors import LookalikeError
from lookalike.features import cache_folder

NAME = ".lookalike"


@dataclass(frozen=True, slots=True)
class Place:
    """An address of tables, and the local folders that belong to it.

    Parameters
    ----------
    address : str
        What Lance opens.
    folder : Path or None
        The same as a local folder; None for an object store.
    """

    address: str
    folder: Path | None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Place:
        """The place of a folder of pictures, of its ``.lookalike``, or of an address with a scheme."""
        text = os.fspath(path)
        if "://" in text and not text.startswith("file://"):
            text = text.rstrip("/") if not text.endswith("://") else text
            if text.rpartition("/")[2] != NAME:
                text = f"{text}{NAME}" if text.endswith("/") else f"{text}/{NAME}"
            return cls(text, None)
        folder = Path(text.removeprefix("file://")).absolute()
        if folder.name != NAME:
            folder = folder / NAME
        return cls(str(folder), folder)

    @property
    def exists(self) -> bool | None:
        """Whether a collection is there; None where only opening it can tell."""
        return None if self.folder is None else (self.folder / "about.lance").is_dir()

    @property
    def local(self) -> Path:
        """A local folder for locks and caches: beside the tables, or among the user's cached files."""
        if self.folder is not None and os.access(self.folder, os.W_OK):
            return self.folder
        return cache_folder() / "collections" / hashlib.sha256(self.address.encode()).hexdigest()[:16]

    def check_writable(self) -> None:
        """One clear error where the collection may only be read."""
        if self.folder is not None and not os.access(self.folder, os.W_OK):
            raise LookalikeError(f"the collection in {self} may only be read: permission denied.")

    @property
    def root(self) -> Path | None:
        """The folder that the collection lies in."""
        return None if self.folder is None else self.folder.parent

    @property
    def to_index(self) -> str:
        """The command that makes a collection here."""
        if self.folder is None:
            return f"lookalike index FOLDER --collection {self}"
        return f"lookalike index {self}"

    def __str__(self) -> str:
        return self.address if self.folder is None else str(self.folder.parent)


def find_place(start: str | os.PathLike[str]) -> Place:
    """The nearest collection at ``start`` or above it, as git looks for its folder; an address is itself."""
    if "://" in os.fspath(start):
        return Place.of(start)
    here = Path(start).absolute()
    for folder in [here, *here.parents]:
        place = Place.of(folder)
        if place.exists:
            return place
    raise LookalikeError(f"there is no collection in {here} or above it: run 'lookalike index FOLDER' first.")
