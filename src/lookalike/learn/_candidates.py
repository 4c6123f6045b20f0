"""The labelled images that may become prototypes, and what they say of each other when held out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.learn._prototype_space import Space, soften, squared_distances

Floats = NDArray[np.float64]


class LinearScores(Protocol):
    """What learns the scores: rows become centred vectors, and these one score for each class."""

    def scale(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Centred vectors."""
        ...

    def scores(self, centred: NDArray[np.floating]) -> Floats:
        """Class scores of centred vectors."""
        ...


class Candidates:
    """Labelled images with their scores, as learnt and as held out.

    Distances are kept in their two parts, so that every choice of space costs one exponential each.
    """

    def __init__(
        self,
        learnt: LinearScores,
        X: NDArray[np.floating],
        held_out: Floats,
        truth: NDArray[np.intp],
        weights: Floats,
        level: float | None = None,
    ) -> None:
        """``level`` is how long the scores of new images are; the median of the held-out ones if None."""
        self.truth, self.weights = truth, weights
        self.vectors = learnt.scale(X)
        self.scores = learnt.scores(self.vectors)
        self.level = float(np.median(np.linalg.norm(held_out, axis=1))) if level is None else level
        self.radius = float(np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors).mean()))
        self._scores_apart = squared_distances(soften(held_out, self.level), soften(self.scores, self.level))
        self._looks_apart = squared_distances(self.vectors, self.vectors)

    def space(self, closeness: float, bandwidth: float) -> Space:
        """A space at the scale of these images."""
        return Space(closeness, bandwidth, self.level, self.radius)

    def held_out_votes(self, space: Space) -> Floats:
        """What every candidate (column) says of every other, from where that one would be if not learnt."""
        factor = (space.closeness / space.radius) ** 2 if space.radius > 0 else 1.0
        kernel: Floats = np.exp((self._scores_apart + factor * self._looks_apart) * (-0.5 / space.bandwidth))
        np.fill_diagonal(kernel, 0.0)
        return kernel
