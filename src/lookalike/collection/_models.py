"""Where the models of a collection are: a folder for each, beside the tables or in the same store."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookalike.collection._place import Place
from lookalike.errors import LookalikeError

_NAME = re.compile(r"[\w][\w .\-]*")


class Models:
    """Named folders; each is written aside and put in its place as a whole.

    Parameters
    ----------
    place : Place
        Where the collection is.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._folder = place.local / "models"

    def names(self) -> list[str]:
        """The models there are, in order."""
        if self._place.folder is None:
            store, base = self._store()
            from pyarrow.fs import FileSelector, FileType

            found = store.get_file_info(FileSelector(base, allow_not_found=True))
            return sorted(info.base_name for info in found if info.type == FileType.Directory)
        if not self._folder.is_dir():
            return []
        return sorted(p.name for p in self._folder.iterdir() if p.is_dir() and not p.name.startswith("."))

    def folder(self, name: str) -> Path:
        """The folder of a model, to read from; fetched first where the collection is in an object store."""
        if name not in self.names():
            there = ", ".join(self.names()) or "none yet"
            raise LookalikeError(f"{self._place} has no model called {name!r} (there are: {there}).")
        folder = self._folder / name
        if self._place.folder is None:
            from pyarrow.fs import LocalFileSystem, copy_files

            store, base = self._store()
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            copy_files(
                f"{base}/{name}",
                str(folder),
                source_filesystem=store,
                destination_filesystem=LocalFileSystem(),
            )
        return folder

    @contextlib.contextmanager
    def new(self, name: str) -> Iterator[Path]:
        """An empty folder to write a model to; it takes the place of one of the same name at the end."""
        if not _NAME.fullmatch(name):
            raise LookalikeError(
                f"{name!r} is not a name for a model: use letters, digits, spaces, '.', '-' and '_'."
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._folder) as temporary:
            fresh = Path(temporary) / name
            fresh.mkdir()
            yield fresh
            if self._place.folder is None:
                from pyarrow.fs import LocalFileSystem, copy_files

                store, base = self._store()
                if name in self.names():
                    store.delete_dir(f"{base}/{name}")
                store.create_dir(f"{base}/{name}", recursive=True)
                copy_files(
                    str(fresh),
                    f"{base}/{name}",
                    source_filesystem=LocalFileSystem(),
                    destination_filesystem=store,
                )
                return
            place = self._folder / name
            if place.exists():
                os.replace(place, Path(temporary) / ".old")  # noqa: PTH105  goes with the temporary folder
            fresh.rename(place)

    def remove(self, name: str) -> None:
        """Delete a model."""
        folder = self.folder(name)
        shutil.rmtree(folder)
        if self._place.folder is None:
            store, base = self._store()
            store.delete_dir(f"{base}/{name}")

    def _store(self) -> tuple[Any, str]:
        """The object store and the path of the models in it."""
        from pyarrow.fs import FileSystem

        address = self._place.address.replace("file-object-store://", "file://")
        if address.startswith("memory://"):
            folder = self._place.local / "in-memory"
            folder.mkdir(parents=True, exist_ok=True)
            address = folder.as_uri()
        store, path = FileSystem.from_uri(address)
        return store, f"{path.rstrip('/')}/models"
