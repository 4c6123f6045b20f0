"""``learn_together``: labelled and unlabelled images become one linear map, with held-out answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.model_selection import StratifiedKFold

from lookalike.learn._collective._kernel_scores import KernelScores, listened_to
from lookalike.learn._collective._rows import CollectionSpace, Points
from lookalike.learn._collective._soft_labels import UNHEARD, SoftLabels, soft_labels
from lookalike.learn._collective._surroundings import Surroundings

Floats = NDArray[np.float64]

FOLDS = 5
SOME = 0.01  # of the images not reached by any label, before they say what unfamiliar means
ENOUGH = 1 / 3  # of the way from images that labels reach to those they do not
RANGE = 0.25  # of familiarity, below its median: what is unfamiliar otherwise
FEW = 3  # images of the rarest class, from which labels are held out


@dataclass(frozen=True)
class CollectiveMap:
    """Class scores of a row: its point in the collection's space times learnt components."""

    space: CollectionSpace
    mean: Floats
    components: Floats
    alone: KernelScores  # what the labels say by themselves, where there are many
    familiar: Floats  # the component of familiarity: do labels reach images like this?
    usual: tuple[float, float]  # its median in the collection, and below what an image is unfamiliar

    def scale(self, X: NDArray[np.floating]) -> Points:
        """Rows as points around the mean that the map was learnt with."""
        points = self.space.points(X)
        centred: Points = points - self.mean.astype(points.dtype)
        return centred

    def scores(self, centred: NDArray[np.floating]) -> Floats:
        """Class scores of rows that `scale` gave."""
        linear = (centred @ self.components.astype(centred.dtype)).astype(np.float64)
        return linear + self.alone.of(centred)

    def familiarity(self, centred: NDArray[np.floating]) -> Floats:
        """Below 0 for images like those that no label reaches; the usual image has 1."""
        middle, least = self.usual
        known = (centred @ self.familiar.astype(centred.dtype)).astype(np.float64)
        return (known - least) / (middle - least)


class Together(NamedTuple):
    """What was learnt from all images; rows are the labelled ones first, then the others."""

    truth: NDArray[np.intp]
    map: CollectiveMap
    found: SoftLabels
    graph: csr_array
    held_out: Floats | None  # the scores of each labelled image from a run without its label

    @property
    def level(self) -> float:
        """How long the scores of unlabelled images usually are."""
        new = self.found.scores[len(self.truth) :]
        lengths = np.linalg.norm(new if len(new) else self.found.scores, axis=1)
        return float(np.median(lengths))


def learn_together(
    surroundings: Surroundings,
    truth: NDArray[np.intp],
    weights: Floats,
    *,
    n_folds: int = FOLDS,
) -> Together:
    """Learn from labelled images among unlabelled ones.

    Parameters
    ----------
    surroundings : Surroundings
        All images, the labelled ones first.
    truth, weights : arrays of shape (m,)
        The classes of the labelled images, counted from 0, and how much each counts.
    """
    n_classes = int(truth.max()) + 1
    points, graph, gram = surroundings.points, surroundings.graph, surroundings.gram
    weights = weights * (len(weights) / weights.sum())

    def run(labelled: NDArray[np.intp]) -> SoftLabels:
        part = weights[labelled] * (len(labelled) / weights[labelled].sum())
        return soft_labels(points, graph, labelled, truth[labelled], part, n_classes, gram=gram)

    found = run(np.arange(len(truth)))
    held_out = None
    if n_folds > 1 and np.bincount(truth).min() >= FEW:
        held_out = np.empty((len(truth), n_classes))
        n_folds = min(n_folds, int(np.bincount(truth).min()))
        for kept, asked in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(truth, truth):
            held_out[asked] = run(kept).scores[asked]
    usual = _usual_familiarity(found, len(truth))
    alone = KernelScores.none(points.shape[1], n_classes)
    if held_out is not None:
        places = points[: len(truth)] - found.mean.astype(points.dtype)
        alone, louder = listened_to(places, truth, weights, held_out)
        held_out = held_out + louder
    learnt = CollectiveMap(surroundings.space, found.mean, found.components, alone, found.familiar, usual)
    return Together(truth, learnt, found, graph, held_out)


def _usual_familiarity(found: SoftLabels, n_labelled: int) -> tuple[float, float]:
    """The median familiarity of the images that labels reach, and a third of the way to that of the others.

    Where there are hardly any such images, a quarter of its range takes that place.
    """
    rest = slice(n_labelled if n_labelled < len(found.reached) else 0, None)
    known, reached = found.familiarity[rest], found.reached[rest]
    heard = reached >= UNHEARD
    middle = float(np.median(known[heard])) if heard.any() else float(np.median(known))
    apart = RANGE
    if (~heard).mean() > SOME:
        apart = max(apart, ENOUGH * (middle - float(np.median(known[~heard]))))
    return middle, middle - apart
