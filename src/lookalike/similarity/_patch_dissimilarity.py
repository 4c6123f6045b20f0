"""Images compared by their multiscale patches. This method is named in a patent: see docs/patents.md."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import Bags
from lookalike.features import patch_bands
from lookalike.parallel import LocalEngine, n_workers
from lookalike.similarity import _knn_kernels as kernels
from lookalike.similarity._knn_divergence import (
    in_order,
    jensen_shannon,
    kth_distances,
    main_axis,
    padded,
)

Values = NDArray[np.float64]
LOWPASS = 3  # the number of the low-pass band
STRIDE = 8  # of the points that a first look takes


class PatchDissimilarity(BaseEstimator):
    r"""How differently the patches of two images are distributed, band by band; and search by it.

    Equation (2.4) of [1]_: the sum over bands of :math:`\alpha_jD(p_j(I_1)\|p_j(I_2))`, each estimated
    from distances to k-th neighbours by (2.13). Smaller is more similar. The estimates are for ranking: they
    may be negative, and of an image to itself the formula gives about :math:`-1/(k-1)` for each band; a
    search ranks an image with the very same patches first all the same.

    Parameters
    ----------
    n_neighbors : int, default=10
        k of the estimator.
    weights : sequence of 4 floats, default=None
        :math:`\alpha_j`, from the finest band to the low-pass image; ones by default.
    floor : float, default=0.5
        Smaller distances count as this one: half a grey level, the noise of 8-bit images.
    direction : {"query_first", "collection_first"}, default="query_first"
        Whose density stands first in the divergence. The thesis does not say.
    divergence : {"kl", "jensen_shannon"}, default="kl"
        The symmetric form does worse, and is slow.
    preselect : {None, "lowpass", "sample"}, default=None
        A first look that leaves ``n_candidates`` for the whole computation: the low-pass band alone, as in
        section 2.4.4 of [1]_, or all bands with every eighth patch of the first image, which costs a fifth of
        that and misses less. Without it everything is computed.
    n_candidates : int, default=100
        Images that the first look leaves.
    n_jobs : int, default=None
        Threads.

    Attributes
    ----------
    n_images_ : int

    References
    ----------
    .. [1] P. Piro, *Learning prototype-based classification rules in a boosting framework*, PhD thesis,
       Université de Nice - Sophia Antipolis, 2010.

    Examples
    --------
    >>> from lookalike.features import SparseMultiscalePatches
    >>> rng = np.random.default_rng(0)
    >>> images = [rng.integers(0, c, (48, 48, 3)).astype(np.uint8) for c in (50, 60, 250)]
    >>> patches = SparseMultiscalePatches().extract(images)
    >>> search = PatchDissimilarity(n_neighbors=5).fit(patches)
    >>> search.kneighbors(patches[:1], 3, return_distance=False).tolist()
    [[0, 1, 2]]
    """

    _flat_input = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": ["array-like", None],
        "floor": [Interval(Real, 0, None, closed="neither")],
        "direction": [StrOptions({"query_first", "collection_first"})],
        "divergence": [StrOptions({"kl", "jensen_shannon"})],
        "preselect": [StrOptions({"lowpass", "sample"}), None],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        weights: Sequence[float] | None = None,
        floor: float = 0.5,
        direction: str = "query_first",
        divergence: str = "kl",
        preselect: str | None = None,
        n_candidates: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.floor = floor
        self.direction = direction
        self.divergence = divergence
        self.preselect = preselect
        self.n_candidates = n_candidates
        self.n_jobs = n_jobs

    def fit(self, X: Bags, y: Any = None) -> Self:
        """Keep the bags of a collection's images, as :class:`SparseMultiscalePatches` gives them."""
        self._validate_params()
        self._weights = np.ones(4) if self.weights is None else np.asarray(self.weights, float)
        if self._weights.shape != (4,) or (self._weights < 0).any():
            raise ValueError("weights must be four numbers, none below zero.")
        bands = patch_bands(X)
        self._axes = [main_axis(band.values) for band in bands]
        self._bands = [
            Bags.from_list([in_order(bag, axis) for bag in band], dim=band.dim)
            for band, axis in zip(bands, self._axes)
        ]
        self._ranges = [_ranges(band) for band in self._bands]
        self._near: dict[tuple[int, int, int, int], float] = {}  # of an image to itself, once computed
        self.n_images_ = len(X)
        return self

    def pairwise(self, Q: Bags) -> Values:
        """The dissimilarity of each query to each image, in full and by the formula: (m, n)."""
        check_is_fitted(self)
        every = np.arange(self.n_images_)
        rows = [self._of(query, every, range(4), 1) for query in self._queries(Q)]
        return np.stack(rows) if rows else np.zeros((0, self.n_images_))

    def rank(self, Q: Bags) -> tuple[NDArray[np.int64], Values]:
        """All images for each query, the most similar first, with their dissimilarities.

        With preselection, those left out follow the candidates in the order of the first look; their
        dissimilarity was not computed and is NaN.
        """
        check_is_fitted(self)
        order = np.empty((len(Q), self.n_images_), np.int64)
        values = np.full((len(Q), self.n_images_), np.nan)
        for i, query in enumerate(self._queries(Q)):
            order[i] = self._first_look(query)
            n = min(self.n_candidates, self.n_images_) if self.preselect else self.n_images_
            chosen = np.sort(order[i, :n])
            full = self._of(query, chosen, range(4), 1)
            same = self._identical(query, chosen)
            if same.any():  # no image is farther from itself than from another
                full[same] = min(full.min(), full[same].min())
            best = np.lexsort((~same, full))
            order[i, :n], values[i, :n] = chosen[best], full[best]
        return order, values

    def kneighbors(self, Q: Bags, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The ``n_neighbors`` most similar images of each query: dissimilarities and positions."""
        order, values = self.rank(Q)
        n = min(self.n_images_, 10 if n_neighbors is None else n_neighbors)
        return (values[:, :n], order[:, :n]) if return_distance else order[:, :n]

    def _queries(self, Q: Bags) -> list[list[NDArray[Any]]]:
        """For each query its four bands, in the order that the kernel wants."""
        bands = list(zip(patch_bands(Q), self._axes))
        return [[in_order(band[i], axis) for band, axis in bands] for i in range(len(Q))]

    def first_look(self, Q: Bags) -> Values:
        """What preselection ranks by: a cheap estimate of :meth:`pairwise`, or all of it without one."""
        check_is_fitted(self)
        rows = [self._look(query) for query in self._queries(Q)]
        return np.stack(rows) if rows else np.zeros((0, self.n_images_))

    def _look(self, query: list[NDArray[Any]]) -> Values:
        every = np.arange(self.n_images_)
        if self.preselect == "lowpass":
            return self._of(query, every, (LOWPASS,), 1)
        return self._of(query, every, range(4), STRIDE if self.preselect else 1)

    def _first_look(self, query: list[NDArray[Any]]) -> NDArray[np.int64]:
        if self.preselect is None or self.n_candidates >= self.n_images_:
            return np.arange(self.n_images_)
        return np.argsort(self._look(query), kind="stable")

    def _identical(self, query: list[NDArray[Any]], images: NDArray[np.int64]) -> NDArray[np.bool_]:
        def same(i: int) -> bool:
            return all(np.array_equal(band[i], points) for band, points in zip(self._bands, query))

        return np.array([same(int(i)) for i in images], bool)

    def _of(
        self, query: list[NDArray[Any]], images: NDArray[np.int64], bands: Sequence[int], stride: int
    ) -> Values:
        """The sum over these bands for these images; ``stride`` thins the first argument's points."""
        total = np.zeros(len(images))
        least = 1 if self.direction == "query_first" else 2  # a smaller image has no density
        for number in bands:
            if self._weights[number] == 0:
                continue
            points, bags = query[number], self._bands[number]
            if len(points) < (2 if self.direction == "query_first" else 1):
                continue  # the query is too small to have this band
            bags = bags if len(images) == len(bags) else bags[images]
            if self.divergence == "jensen_shannon":
                terms = self._symmetric(points, bags, self._axes[number], stride)
            elif self.direction == "query_first":
                terms = self._query_first(points, bags, self._axes[number], stride)
                terms *= self._varying(number, points, images)
                with np.errstate(divide="ignore"):
                    terms += np.log(bags.sizes / max(len(points) - 1, 1))
            else:
                terms = self._collection_first(points, number, images, stride)
                terms *= self._varying(number, points, images)
                terms += np.log(max(len(points), 1) / np.maximum(bags.sizes - 1, 1))
            total += self._weights[number] * np.where(bags.sizes >= least, terms, np.inf)
        return total

    def _varying(self, number: int, points: NDArray[Any], images: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of coordinates that are not constant in a query and an image together."""
        low, high = (side[images] for side in self._ranges[number])
        if len(points):
            low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
        return np.count_nonzero(low < high, axis=1)

    def _query_first(
        self, points: NDArray[Any], bags: Bags, axis: NDArray[np.float64], stride: int
    ) -> Values:
        """The mean log ratio of distances, from the query's points: (2.13) less its first term, over d."""
        out = np.zeros(len(bags))
        k_of = np.minimum(min(self.n_neighbors, len(points) - 1), bags.sizes)
        thin = np.ascontiguousarray(points[::stride])
        for k in np.unique(k_of[k_of > 0]):
            chosen = np.flatnonzero(k_of == k)
            near = np.log(np.maximum(kth_distances(thin, points, k + 1, axis), self.floor)).mean()
            part = bags if len(chosen) == len(bags) else bags[chosen]
            out[chosen] = self._mean_logs(padded(thin), part, axis, int(k)) - near
        return out

    def _mean_logs(self, thin: NDArray[Any], bags: Bags, axis: NDArray[np.float64], k: int) -> Values:
        out = np.empty(len(bags))
        workers = n_workers(self.n_jobs)
        # More pieces than threads: bags differ in size.
        cuts = np.unique(np.linspace(0, len(bags), 4 * workers + 1 if workers > 1 else 2).astype(int))

        def run(piece: tuple[int, int]) -> None:
            a, b = piece
            offsets = bags.offsets[a : b + 1]
            kernels.mean_log_kth(thin, bags.values, offsets, axis, k, self.floor, out[a:b])

        list(LocalEngine(workers).map(run, itertools.pairwise(cuts)))
        return out

    def _collection_first(
        self, points: NDArray[Any], number: int, images: NDArray[np.int64], stride: int
    ) -> Values:
        """The same from each image's points; its distances to itself are computed once."""
        offsets, axis = np.array([0, len(points)]), self._axes[number]

        def ratio(i: int) -> float:
            own = self._bands[number][i]
            k = min(self.n_neighbors, len(own) - 1, len(points))
            if k < 1:
                return 0.0
            thin = np.ascontiguousarray(own[::stride])
            out = np.empty(1)
            kernels.mean_log_kth(padded(thin), points, offsets, axis, k, self.floor, out)
            key = (number, i, stride, k)
            if key not in self._near:
                near = np.maximum(kth_distances(thin, own, k + 1, axis), self.floor)
                self._near[key] = float(np.log(near).mean())
            return float(out[0] - self._near[key])

        return np.array(list(LocalEngine(n_workers(self.n_jobs)).map(ratio, images.tolist())))

    def _symmetric(self, points: NDArray[Any], bags: Bags, axis: NDArray[np.float64], stride: int) -> Values:
        """The larger set of two is thinned to the size of the smaller."""

        def pair(bag: NDArray[Any]) -> float:
            n = min(len(points), len(bag))
            if n < 2:
                return np.inf
            rng = np.random.RandomState(0)
            p, q = (x if len(x) == n else x[rng.choice(len(x), n, replace=False)] for x in (points, bag))
            return jensen_shannon(p, q, min(self.n_neighbors, n - 1), self.floor, axis, stride)

        return np.array(list(LocalEngine(n_workers(self.n_jobs)).map(pair, bags)))


def _ranges(bags: Bags) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and greatest of each coordinate in each bag; empty bags have none."""
    low = np.full((len(bags), bags.dim), np.inf, np.float32)
    high = -low
    for i, bag in enumerate(bags):
        if len(bag):
            low[i], high[i] = bag.min(axis=0), bag.max(axis=0)
    return low, high
