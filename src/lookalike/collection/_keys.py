"""Sets of content hashes that stay small: 32 bytes for each of a million."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

WIDTH = 32
RECENT = 4096


def hash_column(values: Iterable[bytes]) -> pa.Array:
    """Hashes as a column of a table."""
    return pa.array(list(values), pa.binary(WIDTH))


def hash_array(column: pa.ChunkedArray | pa.Array) -> NDArray[np.bytes_]:
    """A column of hashes as an array without copies of single rows.

    Its type, ``S32``, compares as the 32 bytes do: numpy overlooks zeros at the end, but all have 32.

    Examples
    --------
    >>> hash_array(hash_column([b"a" * 32, b"b" * 32])).tolist() == [b"a" * 32, b"b" * 32]
    True
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [
        np.frombuffer(chunk.buffers()[1], f"S{WIDTH}", len(chunk), chunk.offset * WIDTH)
        for chunk in chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, f"S{WIDTH}")


def many(recent: int, kept: int) -> bool:
    """Whether so many recent keys should join those that are kept in order.

    Few are small in memory; a share of the others lets the work of joining stay in step with what is added.
    """
    return recent >= max(RECENT, kept // 64)


def padded(key: bytes) -> bytes:
    """A hash that numpy gave back, with the zeros at its end."""
    return key.ljust(WIDTH, b"\0")


class KeySet:
    """A set of hashes, most of them in one sorted array.

    Examples
    --------
    >>> keys = KeySet(np.array([b"b" * 32, b"a" * 32]))
    >>> keys.add(b"c" * 32)
    >>> b"c" * 32 in keys, b"a" * 32 in keys, b"d" * 32 in keys, len(keys)
    (True, True, False, 3)
    """

    def __init__(self, keys: NDArray[np.bytes_] | None = None) -> None:
        self._sorted = np.zeros(0, f"S{WIDTH}") if keys is None else np.unique(keys.astype(f"S{WIDTH}"))
        self._recent: set[bytes] = set()

    def add(self, key: bytes) -> None:
        """Take in one more."""
        if key in self:
            return
        self._recent.add(key)
        if many(len(self._recent), len(self._sorted)):
            more = np.array(sorted(self._recent), f"S{WIDTH}")
            self._sorted = np.insert(self._sorted, np.searchsorted(self._sorted, more), more)
            self._recent = set()

    def contains(self, keys: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        """For each key whether it is here."""
        found = np.zeros(len(keys), bool)
        if len(self._sorted):
            place = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
            found = self._sorted[place] == keys
        if self._recent:
            found |= np.array([padded(bytes(key)) in self._recent for key in keys], bool)
        return found

    def __contains__(self, key: bytes) -> bool:
        if key in self._recent:
            return True
        place = int(np.searchsorted(self._sorted, np.array(key, f"S{WIDTH}")))
        return place < len(self._sorted) and padded(bytes(self._sorted[place])) == key

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)


def positions(wanted: NDArray[np.bytes_], among: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """Where each wanted key first is among others, or -1.

    Examples
    --------
    >>> positions(np.array([b"b", b"x"]), np.array([b"a", b"b", b"b"])).tolist()
    [1, -1]
    """
    if not len(among):
        return np.full(len(wanted), -1, np.int64)
    if len(wanted) == len(among) and np.array_equal(wanted, among):
        first = np.arange(len(among))  # the usual case: a table in the order of the other
        unique = np.unique(among)
        if len(unique) == len(among):
            return first
    order = np.argsort(among, kind="stable")
    ranked = among[order]
    place = np.minimum(np.searchsorted(ranked, wanted), len(ranked) - 1)
    return np.where(ranked[place] == wanted, order[place], -1)
