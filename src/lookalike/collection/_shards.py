"""The values of one feature on disk: a row of tables, each sealed when it is large.

Lance joins small files by rewriting a whole table, in memory that grows with it. So a feature has not one
table but several of at most ``SEAL_BYTES``: each is rewritten once, when it is full, and never touched again.
The work of keeping order is then proportional to what is added, and its memory does not grow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.arrays import Bags
from lookalike.collection._keys import hash_array, positions
from lookalike.collection._tables import SCHEMAS, Tables, bag_schema, now, vector_schema
from lookalike.features import Feature

SEAL_BYTES = 32 * 2**20
SEAL_FRAGMENTS = 256


@dataclass(frozen=True, slots=True)
class FeatureColumn:
    """A feature that a collection has, as it is written down there.

    Parameters
    ----------
    name, kind, dim, fingerprint, settings
        As in :class:`lookalike.features.Feature`.
    table : str
        How the names of its tables begin.
    dtype, scale
        How bags are packed: ``round(value * scale)`` for integers.

    Examples
    --------
    >>> column = FeatureColumn("gist", "vector", 512, "0a1b", {}, "feature-gist-0a1b", "float32", 1.0)
    >>> column.shard(3)
    'feature-gist-0a1b-00003'
    """

    name: str
    kind: str
    dim: int
    fingerprint: str
    settings: dict[str, Any]
    table: str
    dtype: str
    scale: float

    @classmethod
    def of(cls, feature: Feature) -> FeatureColumn:
        """What is written down of a feature."""
        letters = "".join(c if c.isalnum() else "_" for c in feature.name)
        table = f"feature-{letters}-{feature.fingerprint[:16]}"
        packed = feature.kind == "bag"
        return cls(
            feature.name,
            feature.kind,
            int(feature.dim),
            feature.fingerprint,
            feature.settings,
            table,
            feature.storage_dtype if packed else "float32",
            feature.storage_scale if packed else 1.0,
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns of its tables."""
        return vector_schema(self.dim) if self.kind == "vector" else bag_schema()

    def shard(self, number: int) -> str:
        """The name of one of its tables."""
        return f"{self.table}-{number:05d}"


def feature_columns(tables: Tables) -> list[FeatureColumn]:
    """The features of a collection, in the order in which they came."""
    rows = tables.read("features").to_pylist()
    rows.sort(key=lambda row: (row["added"], row["table"]))
    keys = ("name", "kind", "dim", "fingerprint", "table", "dtype", "scale")
    return [
        FeatureColumn(settings=json.loads(row["settings"]), **{key: row[key] for key in keys}) for row in rows
    ]


def add_feature(tables: Tables, column: FeatureColumn) -> None:
    """Write a feature down; nothing happens where it is known."""
    if any(known.fingerprint == column.fingerprint for known in feature_columns(tables)):
        return
    row = {
        "table": column.table,
        "name": column.name,
        "kind": column.kind,
        "dim": column.dim,
        "fingerprint": column.fingerprint,
        "settings": json.dumps(column.settings, sort_keys=True),
        "dtype": column.dtype,
        "scale": column.scale,
        "added": now(),
    }
    tables.append("features", pa.Table.from_pylist([row], schema=SCHEMAS["features"]))


class Shards:
    """The tables of one feature.

    Parameters
    ----------
    tables : Tables
        Where they are.
    column : FeatureColumn
        The feature.
    """

    def __init__(self, tables: Tables, column: FeatureColumn) -> None:
        self.tables, self.column = tables, column
        self._writing: str | None = None

    def names(self) -> list[str]:
        """The tables there are, in order."""
        return [name for name in self.tables.names() if name.startswith(self.column.table + "-")]

    def state(self) -> tuple[tuple[str, int], ...]:
        """Tables and versions: equal where nothing was written in between."""
        return tuple((name, self.tables.version(name)) for name in self.names())

    def hashes(self) -> NDArray[np.bytes_]:
        """The contents that have this feature, in the order of the tables."""
        parts = [hash_array(self.tables.read(name, ["hash"])["hash"]) for name in self.names()]
        return np.concatenate(parts) if parts else np.zeros(0, "S32")

    def batches(self, rows: int, *, offset: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
        """Hashes and values in the order of the tables, from the row ``offset`` to the row ``end``."""
        start = 0
        for name in self.names():
            count = self.tables.count(name)
            skip = max(0, offset - start)
            row = start + skip
            if skip < count:
                for batch in self.tables.batches(name, rows=rows, offset=skip):
                    left = batch.num_rows if end is None else min(batch.num_rows, end - row)
                    if left <= 0:
                        return
                    yield batch.slice(0, left)
                    row += batch.num_rows
            start += count

    def take(self, rows: NDArray[np.int64], hashes: NDArray[np.bytes_]) -> NDArray[np.float32]:
        """The vectors of a few rows, whose contents these are; reads no others."""
        result = np.empty((len(rows), self.column.dim), np.float32)
        start = 0
        for name in self.names():
            count = self.tables.count(name)
            inside = np.flatnonzero((rows >= start) & (rows < start + count))
            if len(inside):
                found = self.tables.take(name, np.unique(rows[inside] - start).tolist(), ["hash", "vector"])
                places = positions(hashes[inside], hash_array(found["hash"]))  # it may come in any order
                vectors = found["vector"].combine_chunks().flatten().to_numpy()
                result[inside] = vectors.reshape(-1, self.column.dim)[places]
            start += count
        return result

    def append(self, keys: Sequence[bytes], values: NDArray[Any] | Sequence[NDArray[Any]]) -> None:
        """Add rows in one commit, to a new table where the present one is full."""
        if not len(keys):
            return
        hashes = pa.array(keys, pa.binary(32))
        if self.column.kind == "vector":
            flat = np.ascontiguousarray(values, np.float32).reshape(-1)
            packed = pa.FixedSizeListArray.from_arrays(pa.array(flat), self.column.dim)
        else:
            packed = pa.array([np.ascontiguousarray(bag).tobytes() for bag in values], pa.large_binary())
        self.tables.append(self._room(), pa.table([hashes, packed], schema=self.column.schema))

    def _room(self) -> str:
        """The table to write to."""
        if self._writing is None:
            names = self.names()
            self._writing = names[-1] if names else self._new(0)
        state = self.tables.table(self._writing).stats()
        if state["total_bytes"] >= SEAL_BYTES:
            self.seal()
            self._writing = self._new(len(self.names()))
        elif state["fragment_stats"]["num_fragments"] >= SEAL_FRAGMENTS:
            self.seal()
        return self._writing

    def _new(self, number: int) -> str:
        name = self.column.shard(number)
        self.tables.create(name, self.column.schema)
        return name

    def seal(self, *, keep: timedelta = timedelta(minutes=10), only_writer: bool = True) -> None:
        """Join the small files of the last table."""
        names = self.names()
        if names:
            state = self.tables.table(names[-1]).stats()
            if state["fragment_stats"]["num_fragments"] > 1:
                self.tables.optimize(names[-1], keep=keep, only_writer=only_writer)

    def vectors_of(self, batch: pa.RecordBatch) -> NDArray[np.float32]:
        """The vectors of a batch, without a copy."""
        column = batch.column(batch.schema.get_field_index("vector"))
        return column.flatten().to_numpy(zero_copy_only=True).reshape(-1, self.column.dim)

    def bags_of(self, batch: pa.RecordBatch) -> Bags:
        """The bags of a batch, their numbers as they were before packing."""
        column = batch.column(batch.schema.get_field_index("bag"))
        dtype = np.dtype(self.column.dtype)
        ends = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, column.offset * 8)
        content = column.buffers()[2]
        size = int(ends[-1] - ends[0])
        flat = np.frombuffer(content, np.uint8, size, int(ends[0])) if size else np.zeros(0, np.uint8)
        width = dtype.itemsize * self.column.dim
        values = flat.view(dtype).reshape(-1, self.column.dim).astype(np.float32)
        if dtype.kind in "iu":
            values /= np.float32(self.column.scale)
        return Bags(values, (ends - ends[0]) // width)
