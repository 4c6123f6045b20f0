"""What several commands do first: open the collection, and get the vectors of example pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    from lookalike.collection import Collection
    from lookalike.features import Feature


def open_collection(path: Path | None) -> Collection:
    """The collection that was named, or the nearest one at or above the present folder."""
    from lookalike.collection import Collection

    if path is None:
        return Collection.find()
    text = str(path)
    if "://" not in text and not path.exists():
        raise LookalikeError(f"{text} does not exist: name a folder that was indexed.")
    return Collection.find(path) if path.name != ".lookalike" else Collection.open(path)


def vector_feature(collection: Collection, name: str | None) -> Feature:
    """The feature of the collection that has this name, or its first that gives vectors."""
    from lookalike.features import get_feature

    column = collection.column(name, "vector")
    feature = get_feature(column.name, **column.settings)
    if feature.fingerprint != column.fingerprint:
        raise LookalikeError(
            f"{collection.where} was indexed with another version of {column.name!r}: "
            f"run 'lookalike index' there again."
        )
    return feature


def example_vectors(collection: Collection, images: Sequence[str], feature: Feature) -> tuple[Any, list[str]]:
    """Vectors of pictures inside the collection or not, and the uris of those inside."""
    import numpy as np

    from lookalike.images import open_image

    rows, inside = [], []
    for image in images:
        try:
            uri = collection.uri(image)
        except LookalikeError:
            picture = open_image(image, shorter_side=feature.shorter_side)
            rows.append(feature.extract([picture.pixels])[0])
        else:
            rows.append(collection.vectors(feature, uris=[uri])[1][0])
            inside.append(uri)
    return np.array(rows), inside
