"""Exact search: the images most similar to one or several examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from lookalike.arrays import BLOCK_BYTES
from lookalike.collection._matrix import Matrix

Metric = Literal["cosine", "euclidean"]
METRICS = ("cosine", "euclidean")
SPARE = 32  # so many more than asked for are compared again in double precision
AGAINST = 0.5  # what an example of what is not wanted counts beside one of what is


@dataclass(frozen=True, slots=True)
class Hit:
    """An image that was found.

    Parameters
    ----------
    uri : str
        The image.
    similarity : float
        The mean of its similarities to the examples: the cosine, at most 1; or ``1 / (1 + distance)``.
    score : float
        What the hits are sorted by: the same less half the mean similarity to what is not wanted.

    Examples
    --------
    >>> Hit("/cats/tom.jpg", 0.9, 0.9).similarity
    0.9
    """

    uri: str
    similarity: float
    score: float


@dataclass(slots=True, eq=False)
class View:
    """Which images have a feature, in the order of their uris, and where their vectors are.

    Parameters
    ----------
    uris : array of strings
        The images that have the feature.
    rows : array of int
        For each its row of the matrix.
    """

    uris: pa.Array
    rows: NDArray[np.int64]

    def rows_of(self, uris: list[str]) -> NDArray[np.int64]:
        """Where these images are in the view, or -1."""
        import pyarrow.compute as pc

        found = pc.index_in(pa.array(uris, pa.string()), value_set=self.uris)
        return pc.fill_null(found.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)


def as_queries(values: ArrayLike, dim: int, what: str) -> NDArray[np.float32]:
    """One or several examples as rows."""
    queries = np.asarray(values, np.float32)
    if queries.ndim == 1:
        queries = queries[None]
    if queries.ndim != 2 or queries.shape[1] != dim:
        raise ValueError(
            f"{what} has shape {np.shape(values)}, but vectors of this feature have {dim} numbers."
        )
    if not np.isfinite(queries).all():
        raise ValueError(f"{what} has numbers that are not finite.")
    return queries


def similarities(matrix: Matrix, queries: NDArray[np.float32], metric: Metric) -> NDArray[np.float32]:
    """For each row of the matrix the mean of its similarities to the queries.

    The cosine is linear in the query: several examples cost as much as one, one pass over the matrix.
    """
    if metric == "cosine":
        mean = _unit(queries.astype(np.float64)).mean(0).astype(np.float32)
        products = _products(matrix, mean[:, None])[:, 0]
        return np.divide(products, matrix.norms, out=products, where=matrix.norms > 0)
    total = np.zeros(len(matrix.norms), np.float32)
    squares = matrix.norms.astype(np.float64) ** 2
    for query in queries:  # one at a time, so that memory does not grow with the examples
        products = _products(matrix, query[:, None])[:, 0]
        distance = squares - 2.0 * products + float(query.astype(np.float64) @ query)
        total += (1.0 / (1.0 + np.sqrt(np.maximum(distance, 0)))).astype(np.float32)
    return total / np.float32(len(queries))


def _products(matrix: Matrix, columns: NDArray[np.float32]) -> NDArray[np.float32]:
    if matrix.values is not None:
        return matrix.values @ columns if columns.shape[1] > 1 else (matrix.values @ columns[:, 0])[:, None]
    products = np.empty((len(matrix.hashes), columns.shape[1]), np.float32)
    for cut, values in matrix.blocks(BLOCK_BYTES):
        products[cut] = values @ columns
    return products


def top(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The positions of the ``k`` largest scores, the largest first and ties in their order.

    Examples
    --------
    >>> top(np.array([1.0, 3.0, 1.0, 2.0, 1.0], np.float32), 3).tolist()
    [1, 3, 0]
    """
    k = min(k, len(scores))
    if k <= 0:
        return np.zeros(0, np.int64)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > least)
    ties = np.flatnonzero(scores == least)[: k - len(above)]
    chosen = np.concatenate([above, ties])
    return chosen[np.lexsort((chosen, -scores[chosen]))]


def search(
    matrix: Matrix,
    view: View,
    wanted: NDArray[np.float32],
    unwanted: NDArray[np.float32] | None,
    *,
    k: int,
    metric: Metric,
    without: NDArray[np.int64],
) -> list[Hit]:
    """The ``k`` best images of a view; ``without`` are positions that are left out."""
    similarity = similarities(matrix, wanted, metric)
    score = similarity
    if unwanted is not None and len(unwanted):
        score = similarity - np.float32(AGAINST) * similarities(matrix, unwanted, metric)
    score = score[view.rows]
    if len(without):
        score[without] = -np.inf
    chosen = top(score, min(k + SPARE, len(score) - len(without)))
    exact, total = _exact(matrix, view.rows[chosen], wanted, unwanted, metric)
    best = np.lexsort((chosen, -total))[:k]
    uris = view.uris.take(pa.array(chosen[best])).to_pylist()
    return [Hit(uri, float(exact[i]), float(total[i])) for uri, i in zip(uris, best)]


def _exact(
    matrix: Matrix,
    rows: NDArray[np.int64],
    wanted: NDArray[np.float32],
    unwanted: NDArray[np.float32] | None,
    metric: Metric,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Similarity and score of a few rows in double precision, with no difference of large numbers."""
    vectors = matrix.take(rows).astype(np.float64)

    def mean(queries: NDArray[np.float32]) -> NDArray[np.float64]:
        if metric == "cosine":
            products = _unit(vectors) @ _unit(queries.astype(np.float64)).mean(0)
            return np.clip(products, -1, 1)
        total = np.zeros(len(vectors))
        for query in queries.astype(np.float64):
            total += 1 / (1 + np.linalg.norm(vectors - query, axis=1))
        return total / len(queries)

    similarity = mean(wanted)
    if unwanted is None or not len(unwanted):
        return similarity, similarity
    return similarity, similarity - AGAINST * mean(unwanted)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    result: NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1)
    return result
