"""What to label next in a collection, and which of its labels to look at again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.arrays import even_steps
from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.learn import Suspect, suggest_labels, suspect_labels

MOST_ROWS = 16_384  # images that are looked at; of more, as many evenly spaced ones


@dataclass(frozen=True)
class Suggestion:
    """An image to label next.

    ``stands_for`` is the share of the collection that its label would settle; ``unsure`` how undecided the
    answer for itself is, from 0 to 1.

    Examples
    --------
    >>> Suggestion("file:///cats/tom.jpg", 0.1, 1.0).stands_for
    0.1
    """

    uri: str
    stands_for: float
    unsure: float


@dataclass(frozen=True)
class Doubt:
    """A label that the other labels speak against.

    Examples
    --------
    >>> Doubt("file:///cats/rex.jpg", "cat", "dog", 0.9, 0.05).likely
    'dog'
    """

    uri: str
    given: str
    likely: str
    probability: float
    probability_given: float


def suggest_images(collection: Collection, n: int = 10, feature: str | None = None) -> list[Suggestion]:
    """The images whose labels would tell most about the others, the most useful first.

    They are compared by ``feature``; the first of the collection that gives vectors by default.

    Examples
    --------
    >>> suggest_images.__name__
    'suggest_images'
    """
    uris, rows, labelled, labels = _all_rows(collection, feature)
    if len(labelled) == len(uris):
        raise LookalikeError(f"every image of {collection.where} has a label: there is none to ask for.")
    found = suggest_labels(rows, labelled, labels, n)
    return [
        Suggestion(uris[row], float(share), float(unsure))
        for row, share, unsure in zip(found.rows, found.stands_for, found.unsure)
    ]


def doubtful_labels(collection: Collection, most: int = 20, feature: str | None = None) -> list[Doubt]:
    """Labels that look wrong when an image is asked about without its own; the surest first.

    Examples
    --------
    >>> doubtful_labels.__name__
    'doubtful_labels'
    """
    uris, rows, labelled, labels = _all_rows(collection, feature)
    if len(set(labels)) < 2:
        raise LookalikeError("labels can be doubted where there are two classes or more: label some images.")
    found: list[Suspect] = suspect_labels(rows, labelled, labels, most)
    return [Doubt(uris[s.row], s.given, s.likely, s.probability, s.probability_given) for s in found]


def _all_rows(
    collection: Collection, feature: str | None
) -> tuple[list[str], NDArray[Any], NDArray[np.intp], list[str]]:
    """Images with their rows; which of these have a label, and the labels."""
    uris, rows = collection.vectors(feature)
    if not len(uris):
        raise LookalikeError(f"{collection.where} has no image yet: run 'lookalike index' first.")
    table = collection.labels()
    given = dict(zip(table["uri"].to_pylist(), table["label"].to_pylist()))
    mine = np.array([uri in given for uri in uris], dtype=bool)
    rest = np.flatnonzero(~mine)
    looked = np.concatenate([np.flatnonzero(mine), rest[even_steps(len(rest), MOST_ROWS)]])
    labelled = np.arange(int(mine.sum()))
    names = [str(uri) for uri in uris[looked]]
    return names, np.asarray(rows[looked]), labelled, [str(given[names[i]]) for i in labelled]
