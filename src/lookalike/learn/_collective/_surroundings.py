"""``Surroundings``: all images of a collection as points and who is like whom, whatever their labels are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lookalike.learn._collective._graph import similarity_graph
from lookalike.learn._collective._rows import CollectionSpace, Points


@dataclass(frozen=True)
class Surroundings:
    """All that learning takes from the images of a collection before it looks at a label.

    Made once, it serves one labelling after another, as in cross-validation: see
    `PrototypeClassifier.fit_among`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat(np.eye(3), 20, axis=0) + 0.05 * rng.normal(size=(60, 3))
    >>> surroundings = Surroundings.of(rows)
    >>> surroundings.points.shape, surroundings.graph.shape
    ((60, 3), (60, 60))
    """

    rows: NDArray[np.floating]
    space: CollectionSpace
    points: Points
    graph: csr_array
    gram: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.floating], scaling: str = "auto") -> Surroundings:
        """From the rows of all images; see `PrototypeClassifier` for the scaling."""
        narrow = np.asarray(rows, dtype=np.float32)
        space = CollectionSpace.fit(narrow, scaling)
        points = space.points(narrow)
        gram = (points.T @ points).astype(np.float64)
        return cls(rows, space, points, _mixed_graph(space, points), gram)

    def beginning_with(self, chosen: NDArray[np.intp]) -> Surroundings:
        """The same with some images first and the others after them."""
        rest = np.ones(len(self.rows), dtype=bool)
        rest[chosen] = False
        order = np.concatenate([chosen, np.flatnonzero(rest)])
        graph = self.graph[order][:, order]
        return Surroundings(self.rows[order], self.space, self.points[order], graph, self.gram)


def _mixed_graph(space: CollectionSpace, points: Points) -> csr_array:
    """Look-alikes as they are and after whitening, half each: the two err in different places."""
    return (0.5 * similarity_graph(points) + 0.5 * similarity_graph(space.whitened(points))).tocsr()
