"""The space in which prototypes vote: class scores beside the vectors themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Points = NDArray[np.floating]


class Space(NamedTuple):
    """How scores and centred vectors are joined, and how fast a vote fades with distance.

    A point is ``[soft(scores), closeness * vector / radius]``: two images are near when the classifier
    sees them alike and, less so, when they look alike. ``soft`` keeps the direction of the scores and
    bounds their length, so that no image is far from everything merely because its scores are large.
    """

    closeness: float
    bandwidth: float
    score_level: float
    radius: float


# What few labels use, and the first of what more labels choose from by held-out log loss.
DEFAULT = (0.5, 0.5)
CHOICES = (DEFAULT, (0.5, 0.25), (1.0, 0.5), (1.0, 0.25), (2.0, 0.25), (4.0, 0.5), (4.0, 0.1))


def soften(scores: Floats, level: float) -> Floats:
    """Bound the rows' lengths by √2: rows much longer than ``level`` keep their direction alone."""
    lengths = np.linalg.norm(scores, axis=1, keepdims=True)
    safe = np.sqrt(lengths**2 + level**2)
    return np.sqrt(2.0) * np.divide(scores, safe, out=np.zeros_like(scores), where=safe > 0)


def squared_distances(a: Points, b: Points) -> Points:
    """Between the rows of two matrices, as one product; never below zero."""
    block = a @ b.T
    block *= -2.0
    block += np.einsum("ij,ij->i", a, a)[:, None]
    block += np.einsum("ij,ij->i", b, b)
    nonnegative: Points = np.maximum(block, 0.0, out=block)
    return nonnegative


def points(space: Space, scores: Floats, vectors: NDArray[np.floating]) -> Points:
    """Rows of the joint space, in the precision of the vectors."""
    near = (space.closeness / space.radius) * vectors if space.radius > 0 else vectors
    return np.hstack([soften(scores, space.score_level), near]).astype(vectors.dtype)


def votes(space: Space, queries: Points, prototypes: Points) -> Floats:
    """How much each prototype counts for each query: the Gaussian kernel (thesis of Piro, (5.30))."""
    distances = squared_distances(queries, prototypes)
    return np.exp(distances * (-0.5 / space.bandwidth)).astype(np.float64)
