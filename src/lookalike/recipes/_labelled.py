"""What a collection knows for learning: labelled images with their vectors, and some of the others."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from lookalike.arrays import even_steps
from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.images import path_of
from lookalike.recipes._others import Others, takes_others
from lookalike.recipes._reading import rows_of
from lookalike.recipes._recipe import Recipe

MOST_OTHERS = 8192  # unlabelled images that are learnt from; of more, as many evenly spaced ones


class Known(NamedTuple):
    """Labelled images with their labels and rows, and the unlabelled ones where the recipe looks at them.

    Examples
    --------
    >>> Known(["a.jpg"], ["cat"], [[0.1]], None).labels
    ['cat']
    """

    uris: list[str]
    labels: list[str]
    rows: Any
    others: Others | None


def known_rows(collection: Collection, recipe: Recipe) -> Known:
    """What the recipe can learn from in a collection; an error where there is nothing.

    Examples
    --------
    >>> known_rows.__name__
    'known_rows'
    """
    table = collection.labels()
    uris, labels = table["uri"].to_pylist(), table["label"].to_pylist()
    if not uris:
        raise LookalikeError(
            f"{collection.where} has no labels: give some with 'lookalike label from-folders' or 'label set'."
        )
    several = [uri for uri, n in Counter(uris).items() if n > 1]
    if several:
        raise LookalikeError(
            f"{path_of(several[0])} has several labels, but this model gives one answer: keep one of them."
        )
    feature = recipe.make_feature()
    have, known = rows_of(collection, feature)
    place = {uri: i for i, uri in enumerate(have)}
    kept = [i for i, uri in enumerate(uris) if uri in place]
    if not kept:
        raise LookalikeError(
            f"no labelled image has the feature {feature.name!r}: run 'lookalike index --feature "
            f"{feature.name}' first."
        )
    at = np.array([place[uris[i]] for i in kept])
    others = None
    if feature.kind == "vector" and takes_others(recipe.make()):
        rest = np.setdiff1d(np.arange(len(have)), at)
        rest = rest[even_steps(len(rest), MOST_OTHERS)]
        others = Others([str(uri) for uri in have[rest]], known[rest])
    return Known([uris[i] for i in kept], [labels[i] for i in kept], known[at], others)


def labelled_rows(collection: Collection, recipe: Recipe) -> tuple[list[str], list[str], Any]:
    """The labelled images that have the recipe's feature: uris, labels, and vectors or bags.

    Examples
    --------
    >>> labelled_rows.__name__
    'labelled_rows'
    """
    known = known_rows(collection, recipe)
    return known.uris, known.labels, known.rows
