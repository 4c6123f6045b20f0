"""What index runs look through: folders, files and lists that a collection remembers, and forgets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike.collection._plan import any_start, starts
from lookalike.collection._tables import SCHEMAS, Tables, now, quoted
from lookalike.errors import LookalikeError, LookalikeWarning
from lookalike.images import path_of, uri_of

PathLike = str | os.PathLike[str]


class Sources:
    """The table of sources. Those inside the folder of the collection are written from there and move along.

    Parameters
    ----------
    tables : Tables
        Where it is.
    root : Path or None
        The folder of the collection; None in an object store.
    """

    def __init__(self, tables: Tables, root: Path | None) -> None:
        self._tables, self._root = tables, root

    def known(self) -> list[str]:
        """The uris of all."""
        stored = self._tables.read("sources", ["source"])["source"].to_pylist()
        return [s if "://" in s or self._root is None else uri_of(self._root / s) for s in stored]

    def of_run(self, given: Iterable[PathLike] | None) -> list[str]:
        """The uris to look through: what is given, or what is known, or the folder of the collection."""
        if given is not None:
            return [uri_of(path_of(os.fspath(source))) for source in given]
        known = self.known()
        if not known and self._root is None:
            raise LookalikeError("name the folders to index: the collection has none of its own.")
        there = [uri for uri in known if Path(path_of(uri)).exists()]
        if not there:
            return known or [uri_of(self._root or "")]
        for uri in known:
            if uri not in there:
                warnings.warn(
                    f"{path_of(uri)} does not exist: what is known of it stays as it is "
                    f"('lookalike index --forget {path_of(uri)}' removes it).",
                    LookalikeWarning,
                    stacklevel=4,
                )
        return there

    def remember(self, uris: Iterable[str]) -> None:
        """Write down those that are not known yet."""
        known = self.known()
        fresh = list(dict.fromkeys(uri for uri in uris if uri not in known))
        if fresh:
            rows = {"source": [self._from_home(uri) for uri in fresh], "added": [now()] * len(fresh)}
            self._tables.append("sources", pa.table(rows, schema=SCHEMAS["sources"]))

    def _from_home(self, uri: str) -> str:
        home = None if self._root is None else uri_of(self._root)
        if home is None or "://" in uri or not f"{uri}/".startswith(home.rstrip("/") + "/"):
            return uri
        return Path(uri).relative_to(home).as_posix()

    def only_of(self, source: PathLike, uris: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Which of some uris come from this source, and would not be found in any other folder or file."""
        wanted = uri_of(path_of(os.fspath(source)))
        known = self.known()
        if wanted not in known:
            there = ", ".join(path_of(uri) for uri in known) or "none"
            raise LookalikeError(f"{path_of(wanted)} is no source of the collection (there are: {there}).")
        others = [uri for uri in known if uri != wanted]
        return _from(uris, [wanted]) & ~_from(uris, others)

    def drop(self, source: PathLike) -> None:
        """Strike one out."""
        uri = uri_of(path_of(os.fspath(source)))
        self._tables.delete("sources", f"source IN {quoted([uri, self._from_home(uri)])}")


def _from(uris: pa.ChunkedArray, sources: list[str]) -> NDArray[np.bool_]:
    """Which uris lie in these folders, or are these files."""
    same = pc.is_in(uris, value_set=pa.array(sources, pa.string())).to_numpy(zero_copy_only=False)
    inside = any_start(uris, [start for source in sources for start in starts(source)])
    return same | inside
