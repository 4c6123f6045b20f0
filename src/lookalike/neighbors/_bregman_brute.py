"""Every point compared: the exact answer by matrix products, and on a random sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from lookalike.arrays import row_blocks
from lookalike.neighbors import _bregman_kernels as kernels
from lookalike.neighbors._bregman_space import BregmanSpace, Rows
from lookalike.similarity._bregman import BregmanDivergence


class BregmanBruteForce:
    r"""Exact nearest neighbours under a Bregman divergence without a tree.

    Up to a term of the query alone, :math:`D(p\|q)=F(p)-\langle p,\nabla F(q)\rangle` is linear in the
    query's gradient, so that all queries against all points are one matrix product; candidates near the front
    are then computed again without cancellation. In more than a dozen dimensions this beats the trees.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    divergence, side, smoothing : see :class:`BregmanBallTree`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), 100)
    >>> search = BregmanBruteForce(X, divergence="kl", side="left")
    >>> search.query(X[:3], k=1)[1].ravel().tolist()
    [0, 1, 2]
    """

    def __init__(
        self,
        X: ArrayLike,
        divergence: str | BregmanDivergence = "kl",
        side: str = "right",
        *,
        smoothing: float | None = 1e-6,
    ) -> None:
        self.space = BregmanSpace(divergence, side, smoothing=smoothing)
        x, aux = self.space.rows(X)
        self.space.fit(x, aux)
        self.n_features = np.shape(X)[1]
        self._lay_out(x, aux, np.arange(len(x)))

    def _lay_out(self, x: Rows, aux: Rows, ids: NDArray[np.int64]) -> None:
        self.points = kernels.Points(x, aux, ids, np.zeros(0, np.uint8))
        self._columns, self._constant = _linear_form(self.space, x, aux)

    def __len__(self) -> int:
        return len(self.points.x)

    def query(self, Q: ArrayLike, k: int = 1) -> tuple[Rows, NDArray[np.int64]]:
        """The ``k`` nearest points of each query, nearest first; equal ones by their position.

        Parameters
        ----------
        Q : array of shape (m, d)
        k : int, default=1

        Returns
        -------
        divergences, indices : arrays of shape (m, k)
        """
        if not 1 <= k <= len(self):
            raise ValueError(f"k must be between 1 and the {len(self)} points, but is {k}.")
        q, aq = self.space.rows(Q, n_features=self.n_features)
        values = np.full((len(q), k), np.inf)
        ids = np.full((len(q), k), np.iinfo(np.int64).max)
        for part in row_blocks(len(q), 8 * len(self)):
            if self._columns is None:
                self._slowly(q[part], aq[part], values[part], ids[part])
                continue
            rows = _query_form(self.space, q[part], aq[part])
            keys = self._constant - rows @ self._columns.T
            # Twice what rounding may add: once for a candidate, once for the k-th of all.
            size = np.abs(rows) @ np.abs(self._columns).max(axis=0) + np.abs(self._constant).max()
            margin = 4e-16 * (rows.shape[1] + 4) * size
            kernels.select(
                self.space.kernel(), self.points, keys, margin, q[part], aq[part], values[part], ids[part]
            )
        return values, ids

    def _slowly(self, q: Rows, aq: Rows, values: Rows, ids: NDArray[np.int64]) -> None:
        for i in range(len(q)):
            if self.space.own is None:
                kernels.scan(self.space.kernel(), self.points, 0, len(self), q[i], aq[i], values[i], ids[i])
                continue
            d = self.space.own(self.points.x, q[i])
            order = np.lexsort((self.points.ids, d))[: values.shape[1]]
            values[i], ids[i] = d[order], self.points.ids[order]


def _linear_form(space: BregmanSpace, x: Rows, aux: Rows) -> tuple[Rows | None, Rows]:
    """Columns a and constants c with: divergence = c - <a, query form> + something of the query alone."""
    if space.own is not None or space.form == kernels.JENSEN:
        return None, np.zeros(len(x))
    if space.form == kernels.JEFFREYS:
        gradient = aux if space.code == kernels.KL else -1 / x
        return np.hstack([x, gradient]), 0.5 * np.sum(x * gradient, axis=1)
    if space.code == kernels.SQUARED:
        return x, np.sum(x * x, axis=1)
    if space.code == kernels.KL:
        return x, np.sum(x * aux - x, axis=1)
    if space.code == kernels.ITAKURA:
        return x, -aux.sum(axis=1)
    return x, aux.sum(axis=1)


def _query_form(space: BregmanSpace, q: Rows, aq: Rows) -> Rows:
    if space.form == kernels.JEFFREYS:
        gradient = aq if space.code == kernels.KL else -1 / q
        return 0.5 * np.hstack([gradient, q])
    if space.code == kernels.SQUARED:
        return 2 * q
    return -1 / q if space.code == kernels.ITAKURA else aq


class RandomSampleSearch(BregmanBruteForce):
    r"""Approximate nearest neighbours on a random sample: the reference that an approximate tree must beat.

    Section 3.2.1 of [1]_: each point is kept with probability ``rate`` and the sample is searched exactly.
    The work falls to ``rate`` of the whole; the expected rank of the answer is about ``1 / rate``.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    divergence, side, smoothing : see :class:`BregmanBallTree`.
    rate : float, default=0.1
        At least one point is kept.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    sample_ : array
        The positions of the points that are searched.

    References
    ----------
    .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> search = RandomSampleSearch(X, divergence="sqeuclidean", rate=0.1, random_state=0)
    >>> round(search.expected_rank(), 2)
    10.0
    """

    def __init__(
        self,
        X: ArrayLike,
        divergence: str | BregmanDivergence = "kl",
        side: str = "right",
        *,
        rate: float = 0.1,
        smoothing: float | None = 1e-6,
        random_state: Any = None,
    ) -> None:
        if not 0 < rate <= 1:
            raise ValueError(f"rate must be above 0 and at most 1, but is {rate}.")
        super().__init__(X, divergence, side, smoothing=smoothing)
        random = check_random_state(random_state)
        self.n_points, self.rate = len(self), rate
        chosen = np.flatnonzero(random.random_sample(len(self)) < rate)
        self.sample_ = chosen if len(chosen) else random.randint(len(self), size=1)
        self._lay_out(self.points.x[self.sample_], self.points.aux[self.sample_], self.sample_)

    def expected_rank(self) -> float:
        """The expected rank of the answer among all points, given that the sample is not empty.

        The exact form of the thesis's (3.5), whose printed one does not hold for few points.
        """
        n, rate = self.n_points, self.rate
        empty = (1 - rate) ** n
        return float((1 - empty * (1 + n * rate)) / (rate * (1 - empty)))
