"""What is known of each content: the size and format of its picture; and which images are gone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.collection._keys import WIDTH, hash_array, many, padded

Shape = tuple[int, int, str]


class Contents:
    """Width, height and format by content hash, in arrays that hold a million in about 50 MB.

    Parameters
    ----------
    images : table
        The images that are known already.
    """

    def __init__(self, images: pa.Table) -> None:
        self._formats: list[str] = []
        self._code: dict[str, int] = {}
        self._recent: dict[bytes, Shape] = {}
        codes = images["format"].combine_chunks().dictionary_encode()
        if isinstance(codes, pa.ChunkedArray):
            codes = codes.combine_chunks()
        table = np.array([self._of(name) for name in codes.dictionary.to_pylist()], np.int32)
        shapes = np.zeros((images.num_rows, 3), np.int32)
        if images.num_rows:
            shapes[:, 0] = images["width"].to_numpy()
            shapes[:, 1] = images["height"].to_numpy()
            shapes[:, 2] = table[codes.indices.to_numpy()]
        self._keys, first = np.unique(hash_array(images["hash"]), return_index=True)
        self._shapes = shapes[first]

    def _of(self, name: str) -> int:
        if name not in self._code:
            self._code[name] = len(self._formats)
            self._formats.append(name)
        return self._code[name]

    def get(self, key: bytes) -> Shape | None:
        """The shape of a content, or None."""
        if key in self._recent:
            return self._recent[key]
        wanted = np.array(key, f"S{WIDTH}")
        place = int(np.searchsorted(self._keys, wanted))
        if place == len(self._keys) or self._keys[place] != wanted:
            return None
        width, height, code = self._shapes[place].tolist()
        return width, height, self._formats[code]

    def add(self, key: bytes, shape: Shape) -> None:
        """Take in one more."""
        if self.get(key) == shape:
            return
        self._recent[key] = shape
        if many(len(self._recent), len(self._keys)):
            self._join_recent()

    def _join_recent(self) -> None:
        keys = np.array(list(self._recent), f"S{WIDTH}")
        rows = [(width, height, self._of(name)) for width, height, name in self._recent.values()]
        order = np.argsort(keys)
        place = np.searchsorted(self._keys, keys[order])
        self._keys = np.insert(self._keys, place, keys[order])
        self._shapes = np.insert(self._shapes, place, np.array(rows, np.int32)[order], axis=0)
        self._recent = {}


class Gone:
    """Images that are no longer where they were, by content: where a new file may have come from.

    Parameters
    ----------
    images : table
        The known images.
    rows : array of int
        Those that are gone.
    """

    def __init__(self, images: pa.Table, rows: NDArray[np.int64]) -> None:
        chosen = images.select(["uri", "hash"]).take(pa.array(rows))
        uris = chosen["uri"].combine_chunks()
        hashes = hash_array(chosen["hash"])
        by_uri = np.asarray(uris.to_numpy(zero_copy_only=False)).astype(object).argsort(kind="stable")
        order = by_uri[hashes[by_uri].argsort(kind="stable")] if len(rows) else np.zeros(0, np.int64)
        self._uris = uris.take(pa.array(order))
        self._hashes = hashes[order]
        self._taken = np.zeros(len(rows), np.int64)  # how many of a group are taken, at its first place
        self._came_back = np.zeros(len(rows), bool)

    def pop(self, key: bytes) -> str | None:
        """The first image with this content that nobody took, or None."""
        wanted = np.array(key, f"S{WIDTH}")
        start = int(np.searchsorted(self._hashes, wanted))
        if start == len(self._hashes):
            return None
        place = start + int(self._taken[start])
        if place == len(self._hashes) or self._hashes[place] != wanted:
            return None
        self._taken[start] += 1
        self._came_back[place] = True
        return str(self._uris[place].as_py())

    def rest(self) -> dict[str, bytes]:
        """The images that nobody took, with their contents: they are removed."""
        left = np.flatnonzero(~self._came_back)
        uris = self._uris.take(pa.array(left)).to_pylist()
        return {uri: padded(bytes(self._hashes[i])) for uri, i in zip(uris, left)}
