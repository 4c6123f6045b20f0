"""Images that are there twice: the same content, and contents that look nearly the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from lookalike.collection._matrix import Matrix
from lookalike.progress import Progress, Step

BLOCK = 2048
MOST_LINKS = 4_000_000  # beyond, only the links that hold the groups together are kept

# How the default threshold is derived.
SAMPLE, NEIGHBOUR, NEARER = 1000, 5, 6
FEWEST, NEAR = 20, 0.95  # with fewer contents there is nothing to derive it from
LEAST, MOST = 0.9, 0.9999

Link = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Images that hang together by being the same or nearly the same.

    Parameters
    ----------
    contents : list of list of str
        The images, those with the same content together; in the order of their uris.
    links : list of (int, int, float)
        Which contents look nearly the same, and their similarity.

    Examples
    --------
    >>> group = DuplicateGroup([["a.jpg", "copy of a.jpg"], ["a.png"]], [(0, 1, 0.99)])
    >>> group.uris
    ['a.jpg', 'copy of a.jpg', 'a.png']
    >>> group.similarity, group.same_content
    (0.99, False)
    """

    contents: list[list[str]]
    links: list[Link] = field(default_factory=list)

    @property
    def uris(self) -> list[str]:
        """All images of the group."""
        return [uri for content in self.contents for uri in content]

    @property
    def same_content(self) -> bool:
        """Whether all are the same, byte for byte."""
        return len(self.contents) == 1

    @property
    def similarity(self) -> float:
        """The least similarity among the links; 1 where all are the same."""
        return min((similarity for _, _, similarity in self.links), default=1.0)


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What ``Collection.duplicates`` found.

    Parameters
    ----------
    groups : list of DuplicateGroup
        In the order of their first uri.
    threshold : float or None
        The cosine from which on contents count as nearly the same; None where only contents were compared.
    feature : str or None
        What was compared.

    Examples
    --------
    >>> len(Duplicates([DuplicateGroup([["a", "b"]])], None, None))
    1
    """

    groups: list[DuplicateGroup]
    threshold: float | None
    feature: str | None

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[DuplicateGroup]:
        return iter(self.groups)


@dataclass(slots=True, eq=False)
class _Links:
    """Pairs of rows that are similar, thinned where there are too many."""

    n: int
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = field(
        default_factory=list
    )
    count: int = 0

    def add(self, i: NDArray[np.int64], j: NDArray[np.int64], similarity: NDArray[np.float32]) -> None:
        self.parts.append((i, j, similarity))
        self.count += len(i)
        if self.count > MOST_LINKS:
            self._thin()

    def joined(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        if not self.parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
        i, j, similarity = (np.concatenate(column) for column in zip(*self.parts))
        return i, j, similarity

    def _thin(self) -> None:
        """Keep the strongest links that hold the same groups together: a spanning forest."""
        i, j, similarity = self.joined()
        cost = coo_array((3.0 - similarity.astype(np.float64), (i, j)), shape=(self.n, self.n))
        forest = minimum_spanning_tree(cost.tocsr()).tocoo()
        self.parts = [
            (forest.row.astype(np.int64), forest.col.astype(np.int64), (3.0 - forest.data).astype(np.float32))
        ]
        self.count = len(forest.data)


def unit_rows(values: NDArray[np.float32], norms: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows at length 1; zero rows stay zero, similar to nothing."""
    result: NDArray[np.float32] = values / np.where(norms > 0, norms, 1).astype(np.float32)[:, None]
    return result


def similar_pairs(
    matrix: Matrix, rows: NDArray[np.int64], threshold: float, *, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Pairs of ``rows`` whose cosine is at least ``threshold``: the upper triangle, block by block.

    Two blocks and their products are in memory at a time, whatever the number of rows. The positions are
    those among ``rows``.
    """
    links = _Links(len(rows))
    starts = range(0, len(rows), BLOCK)
    total = len(starts) * (len(starts) + 1) // 2
    done = 0
    for a in starts:
        left = _unit_block(matrix, rows[a : a + BLOCK])
        for b in range(a, len(rows), BLOCK):
            right = left if a == b else _unit_block(matrix, rows[b : b + BLOCK])
            cosine = left @ right.T
            if a == b:
                cosine[np.tril_indices(len(cosine))] = -2
            i, j = np.nonzero(cosine >= threshold)
            links.add(i + a, j + b, np.minimum(cosine[i, j], 1))
            done += 1
            progress(Step("duplicates", done, total))
    return links.joined()


def _unit_block(matrix: Matrix, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    first, last = int(rows[0]), int(rows[-1]) + 1
    if matrix.values is None and last - first > 4 * len(rows):
        values = matrix.take(rows)
    else:
        values = matrix.block(first, last)
        values = values if last - first == len(rows) else values[rows - first]
    return unit_rows(values, matrix.norms[rows])


def groups_of(
    uris: pa.Array,
    contents: NDArray[np.int64],
    links: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]],
) -> list[DuplicateGroup]:
    """Connected components of at least two images.

    Parameters
    ----------
    uris : array of strings
        The images, in order.
    contents : array of int
        The content of each, as a number from 0 on.
    links : arrays
        Pairs of contents and their similarity.
    """
    n = int(contents.max()) + 1 if len(contents) else 0
    i, j, similarity = links
    graph = coo_array((np.ones(len(i), bool), (i, j)), shape=(n, n)).tocsr()
    count, component = connected_components(graph, directed=False) if n else (0, np.zeros(0, np.int32))
    of_image = component[contents] if n else component
    several = np.bincount(of_image, minlength=count) > 1
    chosen = np.flatnonzero(several[of_image]) if n else np.zeros(0, np.int64)
    names = uris.take(pa.array(chosen)).to_pylist()
    members: dict[int, dict[int, list[str]]] = {}
    for name, image in zip(names, chosen.tolist()):
        members.setdefault(int(of_image[image]), {}).setdefault(int(contents[image]), []).append(name)
    place = {content: p for group in members.values() for p, content in enumerate(group)}
    found: dict[int, list[Link]] = {}
    for a, b, s in zip(i.tolist(), j.tolist(), similarity.tolist()):
        p, q = sorted((place[a], place[b]))
        found.setdefault(int(component[a]), []).append((p, q, s))
    return [
        DuplicateGroup(list(group.values()), sorted(found.get(number, [])))
        for number, group in members.items()
    ]


def default_threshold(matrix: Matrix, rows: NDArray[np.int64]) -> float:
    """The cosine from which on two contents count as nearly the same, derived from the vectors themselves.

    In a sample of at most ``SAMPLE`` contents each has a fifth nearest neighbour: near, as images of one
    subject are, but hardly ever a copy. Near-duplicates are six times nearer than the median of these:
    ``1 - (1 - median) / 6``. With EfficientNet this comes to 0.95 on three very different sets, where what is
    above shows the same scene or a crop of it; a coarser feature, for which everything looks alike, gets a
    threshold nearer to 1. ``docs/how-it-works/collection.md`` shows the figures.
    """
    if len(rows) < FEWEST:
        return NEAR
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(np.int64)]
    unit = unit_rows(matrix.take(sample), matrix.norms[sample])
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    place = cosine.shape[1] - NEIGHBOUR
    near = float(np.median(np.partition(cosine, place, axis=1)[:, place]))
    return float(np.clip(1 - (1 - near) / NEARER, LEAST, MOST))
