"""Soft labels for all images from a few: a linear map and the graph of look-alikes teach each other.

Labels spread over the graph of look-alikes [1]_. A ridge regression learns these soft labels of all images,
which finds the directions that tell the classes apart; its answers are smoothed over the graph and are the
soft labels of the next round. Labelled images keep their labels and count more. Classes are pulled towards
equal sizes, by a square root, since a class that speaks early would otherwise take what is near to it.

References
----------
.. [1] D. Zhou et al., "Learning with local and global consistency", NIPS 2003.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import softmax

from lookalike.learn._collective._graph import FAR, NEAR, shares, spread

Floats = NDArray[np.floating]

ROUNDS = 10
RIDGE = 0.3  # of the mean square of the points along an axis, times their number
LABEL_WEIGHT = 10.0  # how many unlabelled images a labelled one counts for
BALANCE = 0.5  # 0 leaves the sizes of classes to the images, 1 makes them equal
UNHEARD = 0.25  # of the usual share of labels in what an image hears: half unfamiliar
SHARPNESS = 3.0  # of the map's answers, in units of their deviation


class SoftLabels(NamedTuple):
    """The linear maps ``(points - mean) @ components`` and what they and the graph say of all points.

    ``familiar`` has one component and the scores of a map from a point to whether labels reach it.
    """

    mean: NDArray[np.float64]
    components: NDArray[np.float64]
    scores: Floats
    labels: Floats
    familiar: NDArray[np.float64]
    familiarity: Floats
    reached: Floats


class Ridge:
    """Regression of all points on soft labels, for one set of labelled points; factored once."""

    def __init__(self, points: Floats, gram: NDArray[np.float64], labelled: NDArray[np.intp], extra: Floats):
        """``extra`` is the weight of each labelled point beyond the one that every point has."""
        self._points, self._labelled = points, labelled
        self._weights = np.ones(len(points), dtype=points.dtype)
        self._weights[labelled] += extra.astype(points.dtype)
        some = points[labelled].astype(np.float64)
        total = float(self._weights.sum(dtype=np.float64))
        self.mean = (self._weights @ points).astype(np.float64) / total
        moments = gram + some.T @ (extra[:, None] * some) - total * np.outer(self.mean, self.mean)
        level = max(float(np.trace(moments)) / len(moments), np.finfo(np.float64).tiny)
        moments[np.diag_indices_from(moments)] += RIDGE * level
        self._factor = cho_factor(moments, overwrite_a=True)
        self._total = total

    def fit(self, labels: Floats) -> tuple[NDArray[np.float64], Floats]:
        """Components and scores of all points."""
        centred = labels - (self._weights @ labels) / self._total
        cross = (self._points.T @ (self._weights[:, None] * centred)).astype(np.float64)
        components = cho_solve(self._factor, cross)
        narrow = components.astype(self._points.dtype)
        return components, self._points @ narrow - self.mean.astype(narrow.dtype) @ narrow


def soft_labels(
    points: Floats,
    graph: csr_array,
    labelled: NDArray[np.intp],
    truth: NDArray[np.intp],
    weights: NDArray[np.float64],
    n_classes: int,
    *,
    gram: NDArray[np.float64] | None = None,
    n_rounds: int = ROUNDS,
) -> SoftLabels:
    """Soft labels of all points from those of some.

    Parameters
    ----------
    points : array of shape (n, axes)
    graph : sparse array of shape (n, n)
        See `similarity_graph`.
    labelled, truth, weights : arrays of shape (m,)
        Which points are labelled, with what, and how much each counts (1 on average).
    gram : array of shape (axes, axes), default=None
        ``points.T @ points``, where it is known.
    """
    if gram is None:
        gram = (points.T @ points).astype(np.float64)
    ridge = Ridge(points, gram, labelled, LABEL_WEIGHT * weights - 1.0)
    given = np.eye(n_classes, dtype=np.float32)[truth]
    start = np.zeros((len(points), n_classes), dtype=np.float32)
    start[labelled] = given * weights[:, None]
    start /= np.maximum(start.sum(0), 1e-30) * (n_classes / len(labelled))
    heard = spread(graph, start, *FAR)
    labels = shares(heard)
    for i in range(n_rounds):
        labels = shares(labels * np.maximum(labels.mean(0), 1e-6) ** -BALANCE)
        labels[labelled] = given
        components, scores = ridge.fit(labels)
        answers = softmax(scores * (SHARPNESS / max(float(scores.std()), 1e-30)), axis=1)
        answers[labelled] = given
        smooth = shares(spread(graph, answers, *NEAR))
        # The first answers come from very few labels: let the graph keep its half of the say.
        labels = shares(np.sqrt(labels * smooth + 1e-12)) if i == 0 else smooth
    labels[labelled] = given
    reached = _reached(graph, heard)
    familiar, familiarity = ridge.fit(reached[:, None] / (reached[:, None] + UNHEARD))
    return SoftLabels(ridge.mean, components, scores, labels, familiar[:, 0], familiarity[:, 0], reached)


def _reached(graph: csr_array, heard: Floats) -> Floats:
    """How much of all that an image hears comes from labelled images; 1 is the mean of a collection.

    Classes that nobody labelled form clusters of their own, which labels hardly reach.
    """
    everything = spread(graph, np.ones((len(heard), 1), dtype=np.float32), *FAR)[:, 0]
    share = heard.sum(1) / everything
    mean = float(share.mean())
    return share / mean if mean > 0 else np.ones_like(share)
