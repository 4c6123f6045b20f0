"""Scores of a whole collection from a few marks: larger is more relevant.

Each function takes the vectors (n, d), the query (a vector), and the indices of relevant and irrelevant
pictures, and gives n scores. Work on the collection is done in blocks.

References
----------
.. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.2 and chapter 2.
.. [2] X. S. Zhou, T. S. Huang, "Small sample learning during multimedia retrieval using BiasMap",
   CVPR 2001.
.. [3] Z. Su, H. Zhang, S. Li, S. Ma, "Relevance feedback in content-based image retrieval: Bayesian
   framework, feature subspaces, and progressive learning", IEEE Trans. Image Processing 12, 2003.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from lookalike.arrays import row_blocks
from lookalike.learn._distance._comparators import BiasedDiscriminant
from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._nearest import class_distances, distances

Array = NDArray[Any]

PRIOR = 20  # pictures that the mean variance of the whole collection counts for
SAMPLE = 100  # unmarked pictures that stand for the irrelevant ones where few are marked


def negative_distances(vectors: Array, query: Array) -> Array:
    """Minus the Euclidean distance to one vector."""
    found = np.empty(len(vectors))
    for part in row_blocks(len(vectors), 8 * vectors.shape[1]):
        block = vectors[part].astype(np.float64) - query
        found[part] = -np.sqrt(np.einsum("ij,ij->i", block, block))
    return found


def move_query(
    query: Array,
    relevant: Array,
    irrelevant: Array,
    *,
    alpha: float = 1.0,
    beta: float = 0.75,
    gamma: float = 0.25,
) -> Array:
    """Rocchio's new query (1.1): towards the mean of the relevant ones, away from that of the others.

    The document prints unnormalised sums and a plus; means and a minus are meant. Weights are divided by
    ``alpha + beta`` (of what there is), so that distances keep their scale.
    """
    moved, weight = alpha * query, alpha
    if len(relevant):
        moved, weight = moved + beta * relevant.mean(axis=0), weight + beta
    if len(irrelevant):
        moved, weight = moved - gamma * irrelevant.mean(axis=0), weight - gamma
    return np.asarray(moved / weight) if weight > 0 else np.asarray(moved)


def rocchio(vectors: Array, query: Array, relevant: Array, irrelevant: Array, rng: Any) -> Array:
    """Distance to the moved query."""
    x = vectors.astype(np.float64, copy=False) if len(vectors) < 1000 else vectors
    return negative_distances(
        vectors, move_query(query, x[relevant].astype(float), x[irrelevant].astype(float))
    )


def _training(
    vectors: Array, query: Array, relevant: Array, irrelevant: Array, rng: Any
) -> tuple[Array, Array]:
    """Marked pictures and the query, with unmarked ones for the irrelevant: most of any collection is."""
    others = irrelevant
    if len(irrelevant) < SAMPLE:
        free = np.setdiff1d(np.arange(len(vectors)), np.concatenate([relevant, irrelevant]))
        drawn = rng.choice(free, min(SAMPLE - len(irrelevant), len(free)), replace=False)
        others = np.concatenate([irrelevant, drawn])
    rows = np.concatenate([relevant, others]).astype(np.intp)
    x = np.concatenate([query[None], vectors[rows].astype(np.float64)])
    y = np.zeros(len(x), bool)
    y[: 1 + len(relevant)] = True
    # A copy of the query, or of a relevant picture, is not irrelevant.
    same = (x[~y][:, None] == x[y]).all(axis=2).any(axis=1)
    keep = np.ones(len(x), bool)
    keep[~y] = ~same
    return x[keep], y[keep]


def _embedded(vectors: Array, components: Array, shift: Array) -> Array:
    found = np.empty((len(vectors), len(components)))
    for part in row_blocks(len(vectors), 8 * vectors.shape[1]):
        found[part] = (vectors[part].astype(np.float64) - shift) @ components.T
    return found


def _margin(z: Array, points: Array, y: Array) -> Array:
    """How much nearer the relevant ones are than the others, with the mean of the relevant as one of them."""
    centre = points[y].mean(axis=0)
    nearest = class_distances(z, np.concatenate([points, centre[None]]), np.append(y, True).astype(int), 2)
    spread = np.sqrt(((z - centre) ** 2).sum(axis=1))
    return np.asarray(nearest[:, 0] - nearest[:, 1] - spread)


def biasmap(vectors: Array, query: Array, relevant: Array, irrelevant: Array, rng: Any) -> Array:
    """Biased discriminant analysis of the marks [2]; distance to the relevant ones' mean there."""
    x, y = _training(vectors, query, relevant, irrelevant, rng)
    model = BiasedDiscriminant(max(2, min(16, len(x) - 1)), target=True, shrinkage=0.5).fit(x, y)
    centre = x[y].mean(axis=0)
    return -np.linalg.norm(_embedded(vectors, model.components_, centre), axis=1)


def discriminant(vectors: Array, query: Array, relevant: Array, irrelevant: Array, rng: Any) -> Array:
    """Distance-based discriminant analysis of the marks [1], the relevant ones as target."""
    x, y = _training(vectors, query, relevant, irrelevant, rng)
    model = DistanceDiscriminant(targets=True, huber=3.0, max_iter=1, threshold=1e-3).fit(x, y)
    centre = x[y].mean(axis=0)
    z = _embedded(vectors, model.components_, centre)
    return _margin(z, (x - centre) @ model.components_.T, y)


def gaussian(vectors: Array, query: Array, relevant: Array, irrelevant: Array, rng: Any) -> Array:
    """Relevant ones as a Gaussian, irrelevant ones as centres of penalties [3]."""
    positives = np.concatenate([query[None], vectors[relevant].astype(np.float64)])
    centre = positives.mean(axis=0)
    sample = vectors[:: max(1, len(vectors) // 1000)].astype(np.float64)
    # Few positives say little of a variance: they are weighed against one that is the same in every
    # direction, so that without marks the order is that of the plain search.
    whole = sample.var(axis=0).mean() + 1e-300
    n = len(positives)
    variance = (positives.var(axis=0) * n + PRIOR * whole) / (n + PRIOR)
    scale = np.sqrt(variance)
    centres = np.concatenate([centre[None], vectors[irrelevant].astype(np.float64)]) / scale
    scores = np.empty(len(vectors))
    for part in row_blocks(len(vectors), 8 * (vectors.shape[1] + len(centres))):
        squares = distances(vectors[part] / scale, centres) ** 2 / vectors.shape[1]
        penalty = np.exp(-squares[:, 1:]).sum(axis=1) / max(1, len(irrelevant)) ** 0.5
        scores[part] = -squares[:, 0] - penalty
    return scores


def machine(vectors: Array, query: Array, relevant: Array, irrelevant: Array, rng: Any) -> Array:
    """A linear support vector machine on the marks ("SVM active" when asked for the uncertain)."""
    x, y = _training(vectors, query, relevant, irrelevant, rng)
    scale = np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0
    model = SVC(kernel="linear", class_weight="balanced", C=10.0).fit(x / scale, y)
    return np.asarray(vectors @ (model.coef_[0] / scale) + model.intercept_[0])


STRATEGIES = {
    "rocchio": rocchio,
    "biasmap": biasmap,
    "discriminant": discriminant,
    "gaussian": gaussian,
    "svm": machine,
}
