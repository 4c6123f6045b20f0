"""Reading what was extracted: which features there are, their matrices, and which image has which row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.arrays import Bags
from lookalike.collection._keys import hash_array, positions
from lookalike.collection._matrix import MATRIX_BYTES, Matrix, load_matrix
from lookalike.collection._place import Place
from lookalike.collection._search import View
from lookalike.collection._shards import FeatureColumn, Shards, feature_columns
from lookalike.collection._tables import Tables
from lookalike.errors import LookalikeError
from lookalike.features import Feature

Block = tuple[NDArray[np.object_], NDArray[np.int64], pa.RecordBatch]


class Reader:
    """Vectors and bags of a collection, kept open between calls as long as nothing was written.

    Parameters
    ----------
    place : Place
        Where the collection is, and its cache.
    tables : Tables
        Its tables.
    """

    def __init__(self, place: Place, tables: Tables) -> None:
        self._place, self._tables = place, tables
        self._matrices: dict[str, tuple[Any, Matrix]] = {}
        self._views: dict[str, tuple[Any, View]] = {}

    def column(self, feature: str | Feature | None = None, kind: str | None = None) -> FeatureColumn:
        """What is written down of a feature of this collection; an error where it has not been indexed."""
        columns = feature_columns(self._tables)
        if isinstance(feature, str) or feature is None:
            found = [c for c in columns if feature is None or c.name == feature]
            found = [c for c in found if kind in (None, c.kind)] if feature is None else found
            found = found[:1] if feature is None else found[-1:]  # of equal names the newest settings
        else:
            found = [c for c in columns if c.fingerprint == feature.fingerprint]
        if not found:
            shown = "" if feature is None else f" {feature if isinstance(feature, str) else feature.name!r}"
            there = ", ".join(dict.fromkeys(c.name for c in columns)) or "none"
            raise LookalikeError(
                f"{self._place} has no {kind or ''} feature{shown}".replace("  ", " ")
                + f" (it has: {there}): index it with this feature first."
            )
        if kind not in (None, found[0].kind):
            raise LookalikeError(
                f"the feature {found[0].name!r} gives {found[0].kind}s, not {kind}s: name another."
            )
        return found[0]

    def matrix(self, column: FeatureColumn) -> tuple[Matrix, View]:
        """The matrix of a feature and who is in it; from memory where nothing was written since."""
        shards = Shards(self._tables, column)
        state = shards.state()
        known = self._matrices.get(column.fingerprint)
        if known is None or known[0] != state:
            matrix = load_matrix(shards, self._place.local / "cache", limit=MATRIX_BYTES)
            self._matrices[column.fingerprint] = known = (state, matrix)
        return known[1], self.view(column, known[1].hashes, state)

    def view(self, column: FeatureColumn, hashes: NDArray[np.bytes_], state: Any = None) -> View:
        state = (state, self._tables.version("images"))
        known = self._views.get(column.fingerprint)
        if known is not None and known[0] == state and state[0] is not None:
            return known[1]
        images = self._tables.read("images", ["uri", "hash"]).sort_by("uri")
        rows = positions(hash_array(images["hash"]), hashes)
        uris = images["uri"].filter(pa.array(rows >= 0)).combine_chunks()
        view = View(uris, rows[rows >= 0])
        self._views[column.fingerprint] = (state, view)
        return view

    def positions(self, view: View, uris: list[str], name: str) -> NDArray[np.int64]:
        rows = view.rows_of(uris)
        if (rows < 0).any():
            uri = uris[int(np.flatnonzero(rows < 0)[0])]
            raise LookalikeError(f"{uri} has no {name!r} yet: index the collection with this feature.")
        return rows

    def blocks(self, shards: Shards, rows: int) -> Iterator[Block]:
        """Batches of a feature with the images of each, an image for each uri of a content."""
        images = self._tables.read("images", ["uri", "hash"]).sort_by("uri")
        keys = hash_array(images["hash"])
        first = positions(np.unique(keys), shards.hashes())
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        names = images["uri"].combine_chunks()
        valid = np.sort(first)
        start = 0
        for batch in shards.batches(rows):
            here = np.arange(start, start + batch.num_rows)
            here = here[np.isin(here, valid)] - start  # a content that was written twice counts once
            hashes = hash_array(batch.column(0))[here]
            low, high = np.searchsorted(ranked, hashes), np.searchsorted(ranked, hashes, side="right")
            images_of = [order[a:b] for a, b in zip(low, high)]
            contents = np.repeat(here, high - low)
            chosen = np.concatenate(images_of) if images_of else np.zeros(0, np.int64)
            if len(chosen):
                uris = np.asarray(names.take(pa.array(chosen)).to_numpy(zero_copy_only=False), object)
                yield uris, contents, batch
            start += batch.num_rows

    def bags(self, shards: Shards, view: View, where: NDArray[np.int64]) -> Bags:
        """The bags of some images of a view, in their order."""
        wanted = view.rows[where]
        parts: list[tuple[NDArray[np.int64], Bags]] = []
        start = 0
        for batch in shards.batches(256):
            inside = np.flatnonzero((wanted >= start) & (wanted < start + batch.num_rows))
            if len(inside):
                parts.append((inside, shards.bags_of(batch)[wanted[inside] - start]))
            start += batch.num_rows
        return _joined(parts, shards.column.dim)


def _joined(parts: list[tuple[NDArray[np.int64], Bags]], dim: int) -> Bags:
    """Bags of several batches in one, each at its place."""
    if not parts:
        return Bags.from_list([], dim=dim)
    places = np.concatenate([places for places, _ in parts])
    compact = [bags.compact() for _, bags in parts]
    sizes = np.concatenate([bags.sizes for bags in compact])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    bags = Bags(np.concatenate([bags.values for bags in compact]), offsets)
    order = np.argsort(places, kind="stable")
    return bags if np.array_equal(order, np.arange(len(order))) else bags[order]
