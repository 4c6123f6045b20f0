"""Unlabelled images that speak for a class which has few labelled ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.learn._collective._graph import FAR, spread
from lookalike.learn._collective._together import Together
from lookalike.learn._even_choice import herd
from lookalike.learn._prototype_space import Space, points, votes

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

SURE = 0.6  # the least share of its class in the soft label of an image that may speak for it
SUREST = 300  # of each class are looked at
BEHIND = 3  # labelled images shown behind each


class Borrowed(NamedTuple):
    """Unlabelled images that became prototypes."""

    rows: Rows  # among the unlabelled
    classes: Rows
    sureness: Floats
    places: NDArray[np.floating]  # their points in the space of votes
    behind: Rows  # (number, BEHIND): labelled images that each hears most from, -1 for none


def borrow(together: Together, space: Space, X: NDArray[np.floating], wanted: Rows) -> Borrowed:
    """Up to ``wanted[c]`` typical unlabelled images for each class c; ``X`` are the unlabelled rows."""
    n = len(together.truth)
    labels = together.found.labels[n:]
    classes, sureness = labels.argmax(1), labels.max(1)
    chosen: list[Rows] = []
    for c, count in enumerate(wanted):
        mine = np.flatnonzero((classes == c) & (sureness >= SURE))
        mine = mine[np.argsort(-sureness[mine], kind="stable")[:SUREST]]
        if count < 1 or not len(mine):
            continue
        own = _places(together, space, X[mine])
        chosen.append(mine[herd(votes(space, own, own), int(count))])
    rows = np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.intp)
    behind = spokesmen(together, rows + n, classes[rows])
    heard = behind[:, 0] >= 0  # who hears no labelled image of its class has nothing to show
    rows, behind = rows[heard], behind[heard]
    sure = sureness[rows].astype(np.float64)
    return Borrowed(rows, classes[rows], sure, _places(together, space, X[rows]), behind)


def _places(together: Together, space: Space, X: NDArray[np.floating]) -> NDArray[np.floating]:
    vectors = together.map.scale(X)
    return points(space, together.map.scores(vectors), vectors)


def spokesmen(together: Together, images: Rows, classes: Rows) -> Rows:
    """The labelled images of its class that each of some images hears most from; -1 where there are fewer."""
    n = len(together.truth)
    start = np.zeros((together.graph.shape[0], len(images)), dtype=np.float32)
    start[images, np.arange(len(images))] = 1.0
    # The graph is symmetric: what an image says to the labelled ones is what they say to it.
    heard = spread(together.graph, start, *FAR)[:n].T
    heard = np.where(together.truth[None, :] == classes[:, None], heard, 0.0)
    found = np.full((len(images), BEHIND), -1, dtype=np.intp)
    order = np.argsort(-heard, axis=1, kind="stable")[:, :BEHIND]
    loud = np.take_along_axis(heard, order, axis=1) > 0
    found[:, : order.shape[1]] = np.where(loud, order, -1)
    return found
