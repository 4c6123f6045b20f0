"""Which images to label next (``suggest_labels``), and which labels to look at again (``suspect_labels``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from lookalike.learn._calibration import fit_sharpness, probabilities
from lookalike.learn._collective._graph import FAR, spread
from lookalike.learn._collective._soft_labels import UNHEARD
from lookalike.learn._collective._surroundings import Surroundings
from lookalike.learn._collective._together import FEW, learn_together

Floats = NDArray[np.floating]
Rows = NDArray[np.intp]

COVERED = 0.5  # of an even part of the collection is settled by one label
SETTLED = 0.5  # by a labelled image: images like it may still be worth a question


class Suggestions(NamedTuple):
    """Rows to label next, the most useful first, and why.

    ``stands_for`` is the share of the collection that each speaks for; ``unsure`` is how undecided its own
    answer is, or how little labels reach it, from 0 to 1 (1 where nothing is labelled yet).

    Examples
    --------
    >>> Suggestions(np.array([3]), np.array([0.2]), np.array([1.0])).rows.tolist()
    [3]
    """

    rows: Rows
    stands_for: NDArray[np.float64]
    unsure: NDArray[np.float64]


class Suspect(NamedTuple):
    """A label that the other labels speak against.

    Examples
    --------
    >>> Suspect(3, "cat", "dog", 0.9, 0.05).likely
    'dog'
    """

    row: int
    given: Any
    likely: Any
    probability: float  # of ``likely``, from a run without this label
    probability_given: float


def suggest_labels(X: ArrayLike, labelled: ArrayLike, y: ArrayLike, n: int = 10) -> Suggestions:
    """Choose the images whose labels would tell most about all others.

    Every image is unsure to some degree: its answer may be undecided, or labels may hardly reach it. An image
    is worth asking about when many unsure images hear it over the graph of look-alikes; after it is chosen,
    those are settled, so that the next one stands for others. Images labelled before settle what is like them
    by half only, so that questions also go where classes meet. Without any label this finds a typical image
    of one kind after the other ([1]_ is near to it).

    Parameters
    ----------
    X : array of shape (n_images, n_features)
        All images.
    labelled : array of int
        Rows that have a label already; may be empty.
    y : array
        Their labels.
    n : int
        How many to suggest.

    References
    ----------
    .. [1] G. Hacohen, A. Dekel, D. Weinshall, "Active learning on a budget", ICML 2022.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.05 * rng.normal(size=(60, 3))
    >>> found = suggest_labels(X, [], [], n=3)
    >>> sorted((found.rows // 20).tolist())
    [0, 1, 2]
    """
    points, order, classes, truth = _labelled_first(X, labelled, y)
    surroundings = Surroundings.of(points)
    unsure = np.ones(len(points))
    if len(classes) > 1:
        together = learn_together(surroundings, truth, np.ones(len(truth)), n_folds=0)
        best = np.sort(together.found.labels, axis=1)[:, -2:]
        reached = together.found.reached.astype(np.float64)
        unsure = 1.0 - (best[:, 1] - best[:, 0]) * reached / (reached + UNHEARD)
    free = len(points) - len(truth)
    chosen, reach = _choose(surroundings.graph, unsure, len(truth), min(n, free))
    return Suggestions(order[chosen], reach, unsure[chosen])


def _labelled_first(
    X: ArrayLike, labelled: ArrayLike, y: ArrayLike
) -> tuple[Floats, Rows, NDArray[Any], Rows]:
    """The rows with the labelled ones first, which they are; the classes, and those of the labelled ones."""
    points = check_array(X, dtype=[np.float32, np.float64])
    known = np.asarray(labelled, dtype=np.intp).reshape(-1)
    order = np.concatenate([known, np.setdiff1d(np.arange(len(points)), known)])
    classes, truth = np.unique(np.asarray(y), return_inverse=True)
    return points[order], order, classes, truth


def _choose(
    graph: Any, unsure: NDArray[np.float64], n_labelled: int, n: int
) -> tuple[Rows, NDArray[np.float64]]:
    size = len(unsure)
    part = max(1, round(COVERED * size / max(n_labelled + n, 1)))
    open_ = unsure.astype(np.float32).copy()

    def settle(heard: Floats, wholly: float = 1.0) -> None:
        # What is heard best, as many images as one label may settle, is settled whole; the others in part.
        enough = np.partition(heard, size - part)[size - part]
        open_[:] = open_ * (1.0 - wholly * np.minimum(heard / max(float(enough), 1e-30), 1.0))

    one = np.zeros((size, min(n_labelled, size)), dtype=np.float32)
    one[np.arange(n_labelled), np.arange(n_labelled)] = 1.0
    for heard in spread(graph, one, *FAR).T:
        settle(heard, SETTLED)
    free = np.arange(size) >= n_labelled
    chosen, reach = [], []
    for _ in range(n):
        worth = np.where(free, spread(graph, open_[:, None], *FAR)[:, 0], -1.0)
        best = int(worth.argmax())
        before = float(open_.sum())
        start = np.zeros((size, 1), dtype=np.float32)
        start[best] = 1.0
        settle(spread(graph, start, *FAR)[:, 0])
        free[best] = False
        chosen.append(best)
        reach.append((before - float(open_.sum())) / size)
    return np.array(chosen, dtype=np.intp), np.array(reach)


def suspect_labels(X: ArrayLike, labelled: ArrayLike, y: ArrayLike, most: int = 20) -> list[Suspect]:
    """Labels that look wrong when the image is asked about without them, the surest first.

    Needs three images of each class; gives none otherwise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.05 * rng.normal(size=(60, 3))
    >>> labelled = np.arange(0, 60, 2)
    >>> y = labelled // 20
    >>> y[4] = 2
    >>> suspect_labels(X, labelled, y)[0][:3]
    (8, 2, 0)
    """
    points, rows, classes, truth = _labelled_first(X, labelled, y)
    if len(classes) < 2 or np.bincount(truth).min() < FEW:
        return []
    together = learn_together(Surroundings.of(points), truth, np.ones(len(truth)))
    assert together.held_out is not None
    chances = probabilities(together.held_out, fit_sharpness(together.held_out, truth)[0])
    best, given = chances.argmax(1), chances[np.arange(len(truth)), truth]
    doubt = chances.max(1) - given
    order = np.argsort(-doubt, kind="stable")
    return [
        Suspect(
            int(rows[i]),
            classes[truth[i]].item(),
            classes[best[i]].item(),
            float(chances[i, best[i]]),
            float(given[i]),
        )
        for i in order[:most]
        if doubt[i] > 0
    ]
