"""Exact nearest neighbours: rounded products find candidates, differences decide among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_array
from threadpoolctl import ThreadpoolController

from lookalike.arrays import row_blocks
from lookalike.neighbors import _exact_kernels as kernels
from lookalike.parallel import LocalEngine, n_workers
from lookalike.progress import Progress, Step, silent

QUERY_ROWS, BASE_ROWS = 256, 2048  # one block of products takes 2 MB and stays in the cache
SPARE = 8  # candidates beyond k, so that rounding almost never hides a neighbour
UNIT = 2.0**-24  # rounding of float32
SMALL_WORK = 2e8  # multiplications under which threads cost more than they give

_DIRECT = {"manhattan": 0, "intersection": 1, "chi2": 2, "canberra": 3, "lorentzian": 4}
_ALIAS = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}

Metric = str | Callable[..., float]


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()


def _one_blas_thread(n_jobs: int) -> AbstractContextManager[Any]:
    """With several workers each multiplies alone; otherwise BLAS keeps its own threads."""
    return _threadpools().limit(limits=1, user_api="blas") if n_jobs > 1 else nullcontext()


class ExactIndex:
    """Exact search among fixed points, by brute force phrased as matrix products.

    For the Euclidean and the cosine distance, products in float32 (of centred vectors, so that no
    digits cancel) choose a few candidates more than asked; these are valued by differences in float64,
    and a bound of the rounding error tells whether a neighbour may have been missed. Where it may (many
    equal distances) the whole row is valued again. So the answer is that of exact arithmetic up to
    float64, and equal distances go to the lower index.

    Parameters
    ----------
    base : array of shape (n, d)
        The points to search among.
    metric : str or callable, default="euclidean"
        ``"euclidean"``, ``"cosine"``, ``"manhattan"``, ``"intersection"`` (one minus the histogram
        intersection of unit histograms, which is half the Manhattan distance), ``"chi2"``
        (Σ(x−y)²/(x+y)), ``"canberra"``, ``"lorentzian"`` (Σ log(1+|x−y|)), any other name that
        :func:`scipy.spatial.distance.cdist` knows, or a function of two vectors.

    Examples
    --------
    >>> index = ExactIndex([[0.0], [1.0], [3.0]])
    >>> distances, indices = index.query([[0.9]], n_neighbors=2)
    >>> indices.tolist(), distances.round(1).tolist()
    ([[1, 0]], [[0.1, 0.9]])
    """

    def __init__(self, base: ArrayLike, *, metric: Metric = "euclidean") -> None:
        self.base: NDArray[Any] = check_array(base, dtype=[np.float64, np.float32], order="C")
        self.metric = _ALIAS.get(metric, metric) if isinstance(metric, str) else metric
        if self.metric == "chi2" and self.base.size and self.base.min() < 0:
            raise ValueError("metric 'chi2' compares histograms, but the points have negative entries.")
        if self.metric in ("euclidean", "cosine"):
            self._prepare()

    def __len__(self) -> int:
        return len(self.base)

    # -- the two distances that are products -------------------------------------------------------

    def _prepare(self) -> None:
        base = self.base
        if self.metric == "euclidean":
            self._centre = base.mean(axis=0, dtype=np.float64)
            widest = max((float(np.abs(base[b] - self._centre).max()) for b in _rows(base)), default=0.0)
            # A power of two near the largest entry: nothing overflows and no digit is lost.
            self._scale = 2.0 ** -np.ceil(np.log2(widest)) if widest > 0 else 1.0
        self._vectors, self._lengths, self._factors = self._reduce(base)
        constants = self._lengths**2 if self.metric == "euclidean" else np.ones(len(base))
        self._constants = constants.astype(np.float32)

    def _reduce(
        self, X: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        """Centred and scaled (or unit) float32 vectors, their lengths, and each row's exact factor."""
        out = np.empty(X.shape, np.float32)
        lengths, factors = np.empty(len(X)), np.empty(len(X))
        for b in _rows(X):
            rows = X[b].astype(np.float64)
            if self.metric == "euclidean":
                rows -= self._centre
                rows *= self._scale
                factors[b] = self._scale
            else:
                # Twice, so that the squares of tiny or huge entries neither vanish nor overflow.
                largest = np.abs(rows).max(axis=1, keepdims=True)
                safe = np.where(largest > 0, largest, 1.0)
                norms = safe[:, 0] * np.sqrt(((rows / safe) ** 2).sum(axis=1))
                factors[b] = np.divide(1.0, norms, out=np.zeros_like(norms), where=largest[:, 0] > 0)
                rows *= factors[b][:, None]
            lengths[b] = np.sqrt((rows**2).sum(axis=1))
            out[b] = rows
        return out, lengths, factors

    def _products(
        self, X: NDArray[Any], k: int, skip: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The k nearest of a block of queries, exactly."""
        cosine = self.metric == "cosine"
        n = len(self.base)
        vectors, lengths, factors = self._reduce(X)
        if not cosine:
            vectors *= 2.0
        width = min(k + SPARE, n)
        near = np.full((len(X), width), np.inf, np.float32)
        candidates = np.full((len(X), width), n, np.int64)
        for first, block in self._blocks(vectors):
            kernels.fold_products(
                block, self._constants[first : first + block.shape[1]], first, skip, near, candidates
            )
        values = np.full((len(X), k), np.inf)
        indices = np.full((len(X), k), n, np.int64)
        kernels.refine(X, self.base, factors, self._factors, cosine, candidates, values, indices)
        if width < n:  # otherwise every point was a candidate
            self._certify(X, vectors, lengths, factors, skip, near[:, -1], values, indices)
        return values, indices

    def _blocks(self, vectors: NDArray[np.float32]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        n = len(self.base)
        room = np.empty(len(vectors) * min(BASE_ROWS, n), np.float32)
        for first in range(0, n, BASE_ROWS):
            part = self._vectors[first : first + BASE_ROWS]
            block = room[: len(vectors) * len(part)].reshape(len(vectors), len(part))
            yield first, np.matmul(vectors, part.T, out=block)

    def _certify(
        self,
        X: NDArray[Any],
        vectors: NDArray[np.float32],
        lengths: NDArray[np.float64],
        factors: NDArray[np.float64],
        skip: NDArray[np.int64],
        edge: NDArray[np.float32],
        values: NDArray[np.float64],
        indices: NDArray[np.int64],
    ) -> None:
        """Value again the rows where a neighbour may have been hidden by rounding."""
        cosine = self.metric == "cosine"
        n, dim = self.base.shape
        own = 0.0 if cosine else lengths**2
        # A point that is nearer than the k-th is at most this long (triangle inequality), and then its
        # product is wrong by at most `error` (inner products in any order of summation, and conversion).
        kth = values[:, -1]
        longest = np.ones(len(X)) if cosine else lengths + np.sqrt(kth)
        error = UNIT * (2 * (dim + 8) * np.maximum(lengths, UNIT) * longest + 4 * longest**2 + 4 * lengths**2)
        error = np.where(longest > 0, error + 1e-30, 0.0)
        outside = edge.astype(np.float64) + own - error
        doubtful = np.flatnonzero((outside <= kth) & (error > 0) & np.isfinite(edge))
        if len(doubtful) == 0:
            return
        bounds = (kth - own + error)[doubtful] if not cosine else (kth + error)[doubtful]
        bounds = np.nextafter(bounds.astype(np.float32), np.float32(np.inf))
        again = np.full((len(doubtful), values.shape[1]), np.inf)
        chosen = np.full((len(doubtful), values.shape[1]), n, np.int64)
        for first, block in self._blocks(vectors[doubtful]):
            kernels.fold_uncertain(
                block,
                self._constants[first : first + block.shape[1]],
                first,
                skip[doubtful],
                bounds,
                X[doubtful],
                self.base,
                factors[doubtful],
                self._factors,
                cosine,
                again,
                chosen,
            )
        values[doubtful], indices[doubtful] = again, chosen

    # -- every other distance ----------------------------------------------------------------------

    def _distances(
        self, X: NDArray[Any], k: int, skip: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        values = np.full((len(X), k), np.inf)
        indices = np.full((len(X), k), len(self.base), np.int64)
        if self.metric in _DIRECT:
            kernels.fold_direct(_DIRECT[self.metric], X, self.base, 0, skip, values, indices)
            return values, indices
        for b in row_blocks(len(self.base), 8 * len(X)):
            block = cdist(X, self.base[b], metric=self.metric)
            if np.isnan(block).any():
                raise ValueError(f"metric {self.metric!r} is not defined for some pairs of these points.")
            kernels.fold_distances(block, b.start, skip, values, indices)
        return values, indices

    # -- the door ----------------------------------------------------------------------------------

    def query(
        self,
        queries: ArrayLike | None = None,
        *,
        n_neighbors: int = 5,
        n_jobs: int | None = -1,
        progress: Progress = silent,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The nearest points of each query, nearest first; equal distances by index.

        Parameters
        ----------
        queries : array of shape (q, d), optional
            Without them the points themselves ask, and none is its own neighbour (told by its index:
            a duplicate is a neighbour like any other).
        n_neighbors : int, default=5
            How many; fewer where there are fewer points.
        n_jobs : int or None, default=-1
            Threads.
        progress : callable, optional
            Receives a :class:`lookalike.progress.Step` as blocks of queries are answered.

        Returns
        -------
        distances : array of shape (q, k), in the type of the points
        indices : integer array of shape (q, k)
        """
        if n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, but is {n_neighbors}.")
        alone = queries is None
        X = self.base if queries is None else self._checked(queries)
        k = min(n_neighbors, len(self.base) - alone)
        distances = np.empty((len(X), k), self.base.dtype)
        indices = np.empty((len(X), k), np.int64)
        if k == 0:
            return distances, indices
        search = self._products if self.metric in ("euclidean", "cosine") else self._distances

        def answer(b: slice) -> int:
            rows = np.arange(b.start, b.stop)
            values, indices[b] = search(X[b], k, rows if alone else np.full(len(rows), -1))
            if self.metric == "euclidean":
                np.sqrt(values, out=values)
                values /= self._scale
            distances[b] = values
            return int(b.stop)

        small = len(X) * self.base.size < SMALL_WORK
        workers = 1 if small else n_workers(n_jobs)
        blocks = [slice(i, min(i + QUERY_ROWS, len(X))) for i in range(0, len(X), QUERY_ROWS)]
        with _one_blas_thread(workers):
            for done in LocalEngine(workers).map(answer, blocks):
                progress(Step("neighbours", done, len(X)))
        return distances, indices

    def _checked(self, queries: ArrayLike) -> NDArray[Any]:
        X: NDArray[Any] = check_array(queries, dtype=self.base.dtype, order="C")
        if X.shape[1] != self.base.shape[1]:
            raise ValueError(
                f"the queries have {X.shape[1]} columns, but the points have {self.base.shape[1]}."
            )
        if self.metric == "chi2" and X.min() < 0:
            raise ValueError("metric 'chi2' compares histograms, but the queries have negative entries.")
        return X


def _rows(X: NDArray[Any]) -> Iterator[slice]:
    return row_blocks(len(X), 8 * max(1, X.shape[1]))


def exact_neighbors(
    queries: ArrayLike,
    base: ArrayLike | None = None,
    *,
    n_neighbors: int = 5,
    metric: Metric = "euclidean",
    n_jobs: int | None = -1,
    progress: Progress = silent,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The nearest points of each query, exactly, nearest first; equal distances by index.

    Parameters
    ----------
    queries : array of shape (q, d)
        Who asks.
    base : array of shape (n, d), optional
        Whom they search among. Without it they search among themselves, and none is its own neighbour.
    n_neighbors : int, default=5
        How many; fewer where there are fewer points.
    metric : str or callable, default="euclidean"
        As in :class:`ExactIndex`.
    n_jobs : int or None, default=-1
        Threads.
    progress : callable, optional
        Receives a :class:`lookalike.progress.Step`.

    Returns
    -------
    distances, indices : arrays of shape (q, k)

    Examples
    --------
    >>> distances, indices = exact_neighbors([[0.0], [1.0], [3.0]], n_neighbors=1)
    >>> indices.ravel().tolist()
    [1, 0, 1]
    """
    index = ExactIndex(queries if base is None else base, metric=metric)
    return index.query(
        None if base is None else queries, n_neighbors=n_neighbors, n_jobs=n_jobs, progress=progress
    )


def smallest(
    block: NDArray[Any], n_neighbors: int, *, exclude_self: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The smallest entries of each row of a ready matrix of distances, by (value, index).

    Examples
    --------
    >>> values, indices = smallest(np.array([[3.0, 1.0, 1.0]]), 2)
    >>> indices.tolist()
    [[1, 2]]
    """
    block = np.ascontiguousarray(block, dtype=np.float64)
    k = min(n_neighbors, block.shape[1] - exclude_self)
    skip = np.arange(len(block)) if exclude_self else np.full(len(block), -1)
    values = np.full((len(block), k), np.inf)
    indices = np.full((len(block), k), block.shape[1], np.int64)
    if k:
        kernels.fold_distances(block, 0, skip, values, indices)
    return values, indices
