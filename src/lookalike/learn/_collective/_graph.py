"""Who is like whom among all images, and labels that spread along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from lookalike.neighbors import exact_neighbors

Floats = NDArray[np.floating]

NEIGHBOURS = 10
FADING = 3  # the power of the cosine: what is half as like counts an eighth
FAR = (0.9, 30)  # how much is kept at each step, and the steps: labels that reach whole clusters
NEAR = (0.8, 12)  # answers smoothed among look-alikes


def similarity_graph(points: Floats, n_neighbors: int = NEIGHBOURS) -> csr_array:
    """The symmetric k-NN graph of unit rows, its weights cosines to a power, normalised by its degrees.

    That is the matrix S of [1]_; weights follow [2]_.

    .. [1] D. Zhou et al., "Learning with local and global consistency", NIPS 2003.
    .. [2] A. Iscen et al., "Label propagation for deep semi-supervised learning", CVPR 2019, section 4.
    """
    n = len(points)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return csr_array((n, n), dtype=points.dtype)
    distances, indices = exact_neighbors(points, n_neighbors=k, metric="euclidean")
    cosines = np.clip(1.0 - 0.5 * distances.astype(np.float64) ** 2, 0.0, 1.0)
    rows = np.repeat(np.arange(n), k)
    graph = csr_array((cosines.ravel() ** FADING, (rows, indices.ravel())), shape=(n, n))
    graph = graph + graph.T
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    roots = diags_array(1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
    return (roots @ graph @ roots).astype(np.float32).tocsr()


def spread(graph: csr_array, start: Floats, keep: float, n_steps: int) -> Floats:
    """``(I - keep * graph)^-1 start`` by so many steps of its series: what each image hears from all."""
    heard = start
    for _ in range(n_steps):
        heard = keep * (graph @ heard) + start
    return heard


def shares(heard: Floats) -> Floats:
    """Rows that add up to one; a row that heard nothing is undecided."""
    total = heard.sum(axis=-1, keepdims=True)
    even = np.full_like(heard, 1.0 / heard.shape[-1])
    return np.divide(heard, total, out=even, where=total > 1e-30)
