"""The labelled images that may become prototypes, and what they say of each other when held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.learn._prototype_space import Space, soften, squared_distances
from lookalike.learn._shrinkage_discriminant import ShrinkageDiscriminant

Floats = NDArray[np.float64]


class Candidates:
    """Labelled images with their scores, as learnt and as held out.

    Distances are kept in their two parts, so that every choice of space costs one exponential each.
    """

    def __init__(
        self,
        discriminant: ShrinkageDiscriminant,
        X: NDArray[np.floating],
        held_out: Floats,
        truth: NDArray[np.intp],
        weights: Floats,
    ) -> None:
        self.truth, self.weights = truth, weights
        self.vectors = discriminant.scale(X)
        self.scores = (self.vectors @ discriminant.components_.astype(X.dtype)).astype(np.float64)
        self.level = float(np.median(np.linalg.norm(held_out, axis=1)))
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
