"""The graph of nearest neighbours: who is near whom, computed once and shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from lookalike.neighbors._exact import Metric, exact_neighbors, smallest
from lookalike.progress import Progress, silent


@dataclass(frozen=True, slots=True, eq=False)
class KNNGraph:
    """The k nearest neighbours of each of m points among the others.

    A learner that is given a graph does not search again, so one graph with a large k serves every
    smaller k, every loss and every kernel. It takes memory linear in m·k.

    Parameters
    ----------
    indices : integer array of shape (m, k)
        Row i: the neighbours of point i, nearest first, without i itself. A row that has fewer ends
        in −1.
    distances : array of shape (m, k)
        Their distances, infinite where there is no neighbour.
    metric : str or callable
        The distance they are measured with.

    Examples
    --------
    >>> graph = KNNGraph.build([[0.0], [1.0], [3.0], [3.5]], n_neighbors=2)
    >>> graph.indices.tolist()
    [[1, 2], [0, 2], [3, 1], [2, 1]]
    >>> graph.truncate(1).to_sparse().toarray().tolist()
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.5, 0.0]]
    """

    indices: NDArray[np.int32]
    distances: NDArray[np.floating]
    metric: Metric = "euclidean"

    def __post_init__(self) -> None:
        if self.indices.ndim != 2 or self.indices.shape != self.distances.shape:
            raise ValueError(
                "a graph needs indices and distances of one shape (points, neighbours), "
                f"but has {self.indices.shape} and {self.distances.shape}."
            )
        if self.indices.size and not (self.indices.min() >= -1 and self.indices.max() < len(self.indices)):
            raise ValueError("a graph's indices must lie below its number of points; −1 is no neighbour.")

    @classmethod
    def build(
        cls,
        X: ArrayLike,
        *,
        n_neighbors: int = 11,
        metric: Metric = "euclidean",
        n_jobs: int | None = -1,
        progress: Progress = silent,
    ) -> Self:
        """Search the exact neighbours of every point; ``metric="precomputed"`` takes a square matrix."""
        if metric == "precomputed":
            matrix = np.asarray(X)
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise ValueError(f"precomputed distances must be square, but have shape {matrix.shape}.")
            distances, indices = smallest(matrix, n_neighbors, exclude_self=True)
        else:
            distances, indices = exact_neighbors(
                X, n_neighbors=n_neighbors, metric=metric, n_jobs=n_jobs, progress=progress
            )
        return cls(indices.astype(np.int32), distances, metric)

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def n_neighbors(self) -> int:
        """How many neighbours each point has."""
        return int(self.indices.shape[1])

    def truncate(self, n_neighbors: int) -> KNNGraph:
        """The graph of the nearest few of these neighbours; it shares their memory."""
        if n_neighbors >= self.n_neighbors:
            return self
        return KNNGraph(self.indices[:, :n_neighbors], self.distances[:, :n_neighbors], self.metric)

    def to_sparse(self, *, connectivity: bool = False) -> csr_array:
        """A scipy sparse array of distances, or of ones."""
        m = len(self)
        there = self.indices >= 0
        values = np.ones(there.sum(), np.float32) if connectivity else self.distances[there]
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return csr_array((values, self.indices[there], starts), shape=(m, m))

    def subset(self, points: NDArray[np.integer]) -> KNNGraph:
        """The graph of some of the points: of each row, those neighbours that are among them.

        No distance is computed; a row keeps fewer neighbours than it had, so ask for some more before.
        """
        new = np.full(len(self) + 1, -1, np.int32)  # the last place answers for −1
        new[points] = np.arange(len(points))
        indices = new[self.indices[points]]
        order = np.argsort(indices < 0, axis=1, kind="stable")
        distances = np.where(indices < 0, np.inf, self.distances[points])
        return KNNGraph(
            np.take_along_axis(indices, order, axis=1),
            np.take_along_axis(distances, order, axis=1),
            self.metric,
        )
