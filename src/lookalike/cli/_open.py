"""What several commands do first: open the collection, and get the vectors of example pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    from lookalike.collection import Collection
    from lookalike.features import Feature
    from lookalike.recipes import Model


def open_collection(path: str | None) -> Collection:
    """The collection that was named, or the nearest one at or above the present folder."""
    from lookalike.collection import Collection

    if path is None:
        return Collection.find()
    if "://" not in path and not Path(path).exists():
        raise LookalikeError(f"{path} does not exist: name a folder that was indexed.")
    return Collection.open(path) if Path(path).name == ".lookalike" else Collection.find(path)


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


def model_folder(name: str, path: str | None) -> Path:
    """The folder of a model that is named, or is itself a folder."""
    if (Path(name) / "model.json").is_file():
        return Path(name)
    return open_collection(path).models.folder(name)


def open_model(
    name: str | None, path: str | None, *, need_collection: bool = False
) -> tuple[Model, Collection | None]:
    """A model by the name it has in a collection, by its folder, or the newest; and the collection."""
    from lookalike.recipes import Model

    if name is not None and (Path(name) / "model.json").is_file():
        opened = open_collection(path) if need_collection or path is not None else None
        return Model.load(name), opened
    opened = open_collection(path)
    names = [name] if name is not None else opened.models.names()
    if not names:
        raise LookalikeError(f"{opened.where} has no model yet: label pictures, then run 'lookalike learn'.")
    models = [Model.load(opened.models.folder(one)) for one in names]
    return max(models, key=lambda model: model.created), opened


def sheet_file(collection: Collection | None, file: Path | None, open_it: bool, name: str) -> Path | None:
    """Where a page goes: what was named, or a place of the collection's own for one to look at."""
    if file is not None or not open_it:
        return file
    if collection is not None and collection.root is not None:
        own = collection.root / ".lookalike"
        if os.access(own, os.W_OK):
            return own / "sheets" / name
    from lookalike.features import cache_folder

    return cache_folder() / "sheets" / name
