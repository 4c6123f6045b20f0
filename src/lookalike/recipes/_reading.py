"""What a collection knows of a feature, also of one that joins several of its features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.features import Feature, JoinedFeature


def parts_of(collection: Collection, feature: Feature) -> list[Feature]:
    """The features that a collection is asked for; an error where one of them has not been indexed.

    Examples
    --------
    >>> parts_of.__name__
    'parts_of'
    """
    if isinstance(feature, JoinedFeature):
        try:
            collection.column(feature, feature.kind)
        except LookalikeError:
            for part in feature.parts:
                collection.column(part, part.kind)
            return list(feature.parts)
    else:
        collection.column(feature, feature.kind)
    return [feature]


def missing_features(collection: Collection, feature: Feature) -> list[Feature]:
    """What a collection must still be indexed with before it can be asked for this feature.

    Examples
    --------
    >>> missing_features.__name__
    'missing_features'
    """
    known = {column.fingerprint for column in collection.features}
    if feature.fingerprint in known:
        return []
    parts = feature.parts if isinstance(feature, JoinedFeature) else [feature]
    return [part for part in parts if part.fingerprint not in known]


def rows_of(collection: Collection, feature: Feature) -> tuple[NDArray[np.object_], Any]:
    """The images that have a feature (or every part of a joined one), and its vectors or bags.

    Examples
    --------
    >>> rows_of.__name__
    'rows_of'
    """
    parts = parts_of(collection, feature)
    if len(parts) == 1:
        read = collection.vectors if feature.kind == "vector" else collection.bags
        return read(parts[0])
    known = [collection.vectors(part) for part in parts]
    uris = _common([found for found, _ in known])
    rows = np.empty((len(uris), feature.dim), np.float32)
    start = 0
    for found, values in known:
        place = {uri: i for i, uri in enumerate(found)}
        stop = start + values.shape[1]
        rows[:, start:stop] = values[np.array([place[uri] for uri in uris], dtype=np.intp)]
        start = stop
    return uris, rows


def row_blocks_of(
    collection: Collection, feature: Feature, block_rows: int = 4096
) -> Iterator[tuple[NDArray[np.object_], Any]]:
    """The same in blocks, in memory for one block.

    Examples
    --------
    >>> row_blocks_of.__name__
    'row_blocks_of'
    """
    parts = parts_of(collection, feature)
    if len(parts) == 1:
        if feature.kind == "vector":
            yield from collection.vector_blocks(parts[0])
        else:
            yield from collection.bag_blocks(parts[0])
        return
    uris = _common([collection.vectors(part)[0] for part in parts])
    for start in range(0, len(uris), block_rows):
        chosen = uris[start : start + block_rows]
        values = [collection.vectors(part, chosen.tolist())[1] for part in parts]
        yield chosen, np.concatenate(values, axis=1)


def _common(lists: list[NDArray[np.object_]]) -> NDArray[np.object_]:
    shared = set(lists[0].tolist()).intersection(*(found.tolist() for found in lists[1:]))
    return np.array([uri for uri in lists[0] if uri in shared], dtype=object)
