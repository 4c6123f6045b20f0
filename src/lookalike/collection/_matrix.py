"""The vectors of a feature as one matrix: a file beside the tables that is mapped into memory.

A content's vector never changes, so the matrix is right as long as its hashes are those of the tables: new
rows are appended to the file, and only another order makes it anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.arrays import row_blocks
from lookalike.collection._keys import WIDTH
from lookalike.collection._lock import Lock
from lookalike.collection._shards import Shards
from lookalike.errors import LookalikeError

MATRIX_BYTES = 32 * 2**30  # larger ones are not kept as a file, but read from the tables block by block
READ_ROWS = 4096
FEW_ROWS = 1000


@dataclass(slots=True, eq=False)
class Matrix:
    """The vectors of all contents that have a feature, in the order of the tables.

    Parameters
    ----------
    shards : Shards
        Where the vectors come from.
    hashes : array of S32
        The content of each row.
    norms : array of float32
        The euclidean length of each row.
    values : array of shape (n, dim) or None
        All rows, mapped from a file; None where they are too large for it.
    """

    shards: Shards
    hashes: NDArray[np.bytes_]
    norms: NDArray[np.float32]
    values: NDArray[np.float32] | None

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self.shards.column.dim

    def block(self, start: int, stop: int) -> NDArray[np.float32]:
        """Some rows; a view where the matrix is mapped."""
        if self.values is not None:
            return self.values[start:stop]
        parts = list(self.shards.batches(READ_ROWS, offset=start, end=stop))
        return np.concatenate([self.shards.vectors_of(part) for part in parts])

    def blocks(self, budget: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """All rows in blocks of at most ``budget`` bytes."""
        cuts = row_blocks(len(self.hashes), 4 * self.dim, budget=budget)
        if self.values is not None:
            for cut in cuts:
                yield cut, self.values[cut]
            return
        start = 0
        for batch in self.shards.batches(max(1, budget // (4 * self.dim)), end=len(self.hashes)):
            yield slice(start, start + batch.num_rows), self.shards.vectors_of(batch)
            start += batch.num_rows

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of some rows, a view where these are all rows in order."""
        if self.values is not None:
            if len(rows) == len(self.values) and np.array_equal(rows, np.arange(len(rows))):
                return self.values
            return self.values[rows]
        if len(rows) <= FEW_ROWS:
            return self.shards.take(rows, self.hashes[rows])
        result = np.empty((len(rows), self.dim), np.float32)
        order = np.argsort(rows, kind="stable")
        for cut, values in self.blocks(64 * 2**20):
            first, last = np.searchsorted(rows[order], [cut.start, cut.stop])
            chosen = order[first:last]
            result[chosen] = values[rows[chosen] - cut.start]
        return result


def row_norms(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The euclidean length of each row, summed in double precision."""
    norms = np.empty(len(values), np.float32)
    for cut in row_blocks(len(values), 16 * max(1, values.shape[1])):
        wide = values[cut].astype(np.float64)
        norms[cut] = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return norms


def load_matrix(shards: Shards, folder: Path, *, limit: int = MATRIX_BYTES) -> Matrix:
    """The matrix of a feature, its file brought up to date with the tables.

    Parameters
    ----------
    shards : Shards
        The tables of the feature.
    folder : Path
        Where the file is kept; what is in it can always be made again.
    limit : int
        Bytes above which there is no file.
    """
    hashes = shards.hashes()
    needed = len(hashes) * (4 * shards.column.dim + WIDTH + 4)
    if needed > limit or not _room(folder, needed):
        return Matrix(shards, hashes, _norms_of(shards, len(hashes)), None)
    name = shards.column.table
    with Lock(folder / f"{name}.lock", f"the cache in {folder}", wait=600.0):
        cache = _File(folder, name, shards.column.dim)
        cache.update(shards, hashes)
        return Matrix(shards, hashes, cache.norms(), cache.values())


def _room(folder: Path, needed: int) -> bool:
    """Whether the disk has room for a file, and leaves as much again to others."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(folder).free > 2 * needed
    except OSError:
        return False


def _norms_of(shards: Shards, n: int) -> NDArray[np.float32]:
    parts = [row_norms(shards.vectors_of(batch)) for batch in shards.batches(READ_ROWS, end=n)]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


class _File:
    """Three files of equal length: vectors, hashes, norms; and a note that says how long they are."""

    def __init__(self, folder: Path, name: str, dim: int) -> None:
        self._folder, self._name, self._dim = folder, name, dim
        self._note: dict[str, Any] = self._read_note()

    def _read_note(self) -> dict[str, Any]:
        try:
            note = json.loads((self._folder / f"{self._name}.json").read_text())
            rows, self_dim = int(note["rows"]), int(note["dim"])
            widths = {"vectors": 4 * self._dim, "hashes": WIDTH, "norms": 4}
            whole = all(
                (self._folder / f"{note['file']}.{kind}").stat().st_size >= rows * width
                for kind, width in widths.items()
            )
        except (OSError, ValueError, KeyError, TypeError):
            return {"rows": 0, "file": ""}
        return note if whole and self_dim == self._dim else {"rows": 0, "file": note["file"]}

    def _path(self, kind: str) -> Path:
        return self._folder / f"{self._note['file']}.{kind}"

    def _array(self, kind: str, dtype: str, width: int = 1) -> NDArray[Any]:
        rows = self._note["rows"]
        shape = (rows, width) if kind == "vectors" else (rows,)
        if not rows:
            return np.zeros(shape, dtype)
        return np.asarray(np.memmap(self._path(kind), dtype=dtype, mode="r", shape=shape))

    def values(self) -> NDArray[np.float32]:
        """The vectors, mapped."""
        return self._array("vectors", "float32", self._dim)

    def norms(self) -> NDArray[np.float32]:
        """Their lengths, mapped."""
        return self._array("norms", "float32")

    def update(self, shards: Shards, hashes: NDArray[np.bytes_]) -> None:
        """Append what is new; begin anew where the tables have another order."""
        known = self._array("hashes", f"S{WIDTH}")
        n = len(known)
        if n > len(hashes) or not np.array_equal(known, hashes[:n]):
            n = 0
        if n == len(hashes) and n:
            return
        old = self._note["file"]
        if not n:
            self._note = {"rows": 0, "file": f"{self._name}.{os.getpid()}-{os.urandom(4).hex()}"}
        self._append(shards, hashes, n)
        self._note = {"rows": len(hashes), "dim": self._dim, "file": self._note["file"]}
        temporary = self._folder / f"{self._name}.json.new"
        temporary.write_text(json.dumps(self._note))
        temporary.replace(self._folder / f"{self._name}.json")
        if old and old != self._note["file"]:
            for kind in ("vectors", "hashes", "norms"):
                try:  # readers keep what they mapped; Windows keeps the file until they let go
                    (self._folder / f"{old}.{kind}").unlink(missing_ok=True)
                except OSError:
                    continue

    def _append(self, shards: Shards, hashes: NDArray[np.bytes_], start: int) -> None:
        widths = {"vectors": 4 * self._dim, "hashes": WIDTH, "norms": 4}
        files = {}
        try:
            for kind, width in widths.items():
                path = self._path(kind)
                files[kind] = path.open("r+b" if start else "wb")
                files[kind].seek(start * width)
                files[kind].truncate()
            row = start
            for batch in shards.batches(READ_ROWS, offset=start, end=len(hashes)):
                vectors = shards.vectors_of(batch)
                files["vectors"].write(np.ascontiguousarray(vectors).data)
                files["norms"].write(row_norms(vectors).data)
                row += len(vectors)
            files["hashes"].write(np.ascontiguousarray(hashes[start:]).tobytes())
            if row != len(hashes):
                raise LookalikeError(f"the vectors of {self._name} changed while they were read: try again.")
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        finally:
            for file in files.values():
                file.close()
