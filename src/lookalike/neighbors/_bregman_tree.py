"""The face that the Bregman trees share: queries, budgets with their recall, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from lookalike.errors import LookalikeError
from lookalike.neighbors import _bregman_kernels as kernels
from lookalike.neighbors import _bregman_own as own_search
from lookalike.neighbors._bregman_space import BregmanSpace, Rows
from lookalike.parallel import LocalEngine, n_workers
from lookalike.similarity._bregman import BregmanDivergence, mahalanobis

FORMAT = 1


class SearchCost(NamedTuple):
    """What a search cost on average per query, counted in divergences.

    ``leaf`` were computed to points, ``bounds`` to centres and on the way to prune; ``leaves`` were visited.
    ``speed_up`` is the number of points over all divergences.
    """

    leaf: float
    bounds: float
    leaves: float
    speed_up: float


class ExpectedRecall(NamedTuple):
    """The share of true neighbours that a budgeted search finds, measured on held-out points."""

    recall: float
    standard_error: float
    n_queries: int


class BregmanTree:
    """What :class:`BregmanBallTree` and :class:`BregmanVPTree` have in common; not used by itself."""

    _kind = "none"
    space: BregmanSpace
    points: kernels.Points
    nodes: Any
    settings: dict[str, Any]
    depth_: int
    build_cost_: int

    def _prepare(self, X: ArrayLike, held_out: int | str, random_state: Any) -> tuple[Rows, Rows, Any, Any]:
        x, aux = self.space.rows(X)
        self.space.fit(x, aux)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        if held_out == "auto":
            held_out = min(200, len(x) // 20) if len(x) >= 1000 else 0
        if not isinstance(held_out, int | np.integer) or not 0 <= held_out < len(x):
            raise ValueError("held_out must be 'auto' or a number below the number of points.")
        out = np.zeros(len(x), np.uint8)
        out[rng.choice(len(x), held_out, replace=False)] = 1
        return x, aux, rng, out

    def _finish(self, x: Rows, aux: Rows, out: NDArray[np.uint8], rows: list[Any]) -> tuple[Any, Any]:
        """Lay the points out leaf by leaf; where each leaf starts and stops."""
        sizes = np.array([0 if r is None else len(r) for r in rows])
        stop = np.cumsum(sizes)
        order = np.concatenate([r for r in rows if r is not None])
        self.points = kernels.Points(x[order], aux[order], order.astype(np.int64), np.zeros(0, np.uint8))
        self._held_out = out
        return stop - sizes, stop

    def __len__(self) -> int:
        return len(self.points.x)

    @property
    def n_features(self) -> int:
        """The number of coordinates a query must have."""
        return int(self.settings["n_features"])

    def query(
        self,
        Q: ArrayLike,
        k: int = 1,
        *,
        max_leaves: int | None = None,
        return_recall: bool = False,
        n_jobs: int | None = None,
    ) -> Any:
        """The ``k`` nearest points of each query, nearest first; equal ones by their position.

        Parameters
        ----------
        Q : array of shape (m, d)
        k : int, default=1
        max_leaves : int, optional
            A budget of leaves for each query: the answer may then miss some. Exact without it.
        return_recall : bool, default=False
            Whether the expected recall at this budget is returned as well.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        divergences, indices : arrays of shape (m, k)
            And an :class:`ExpectedRecall` where asked for. A budget of so few leaves that they hold less
            than ``k`` points leaves infinite divergences and indices of -1 at the end.
        """
        values, ids, _ = self._search(Q, k, max_leaves, n_jobs)
        if return_recall:
            return values, ids, self.expected_recall(k, max_leaves)
        return values, ids

    def cost(self, Q: ArrayLike, k: int = 1, *, max_leaves: int | None = None) -> SearchCost:
        """What a search for these queries costs, counted in divergences as the thesis counts them."""
        work = self._search(Q, k, max_leaves, None)[2]
        leaf, bounds, leaves = (float(w) for w in work.mean(axis=0))
        return SearchCost(leaf, bounds, leaves, len(self) / max(leaf + bounds, 1e-300))

    def expected_recall(self, k: int = 1, max_leaves: int | None = None) -> ExpectedRecall:
        """The expected share of the true ``k`` nearest that ``max_leaves`` leaves find.

        Measured on the points that were held out while the tree was built, none of which counts as an
        answer here. Where none was held out, a sample of the tree's points asks, each ignoring itself only
        through the exact answer's first place; such a figure is a little too good.
        """
        asked = np.flatnonzero(self._held_out)
        points, extra = self.points, 0
        if len(asked):
            points = points._replace(skip=self._held_out)
        else:
            asked = np.unique(np.linspace(0, len(self) - 1, min(len(self), 200)).astype(int))
            extra = 1
        k = min(k, len(self) - (len(asked) if not extra else 1))
        if k < 1:
            raise ValueError("a recall needs at least one point besides the one that asks.")
        place = np.empty(len(self), np.int64)
        place[self.points.ids] = np.arange(len(self))
        q, aq = self.points.x[place[asked]], self.points.aux[place[asked]]
        true = self._run(points, q, aq, k + extra, np.inf)[1]
        found = self._run(points, q, aq, k + extra, np.inf if max_leaves is None else max_leaves)[1]
        shares = np.empty(len(asked))
        for i, row in enumerate(asked):
            wanted = set(true[i]) - ({row} if extra else set())
            shares[i] = len(wanted & set(found[i])) / len(wanted)
        error = float(shares.std(ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else 0.0
        return ExpectedRecall(float(shares.mean()), error, len(shares))

    def query_radius(
        self, Q: ArrayLike, r: float | ArrayLike, *, return_divergence: bool = False
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Every point whose divergence to the query is at most ``r``, nearest first.

        Parameters
        ----------
        Q : array of shape (m, d)
        r : float or array of shape (m,)
        return_divergence : bool, default=False

        Returns
        -------
        indices : object array of m index arrays
            With ``return_divergence``, preceded by as many arrays of divergences.
        """
        q, aq = self.space.rows(Q, n_features=self.n_features)
        radii = np.broadcast_to(np.asarray(r, float), (len(q),))
        ids, values = np.empty(len(q), object), np.empty(len(q), object)
        for i in range(len(q)):
            chosen = self._leaves_within(q[i], aq[i], float(radii[i]))
            parts = [np.arange(self.nodes.start[n], self.nodes.stop[n]) for n in chosen]
            rows = np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)
            d = self.space.between(self.points.x[rows], self.points.aux[rows], q[i], aq[i])
            keep = np.flatnonzero(d <= radii[i])
            own = self.points.ids[rows[keep]]
            order = np.lexsort((own, d[keep]))
            ids[i], values[i] = own[order], d[keep][order]
        return (values, ids) if return_divergence else ids

    def _search(
        self, Q: ArrayLike, k: int, max_leaves: int | None, n_jobs: int | None
    ) -> tuple[Any, Any, Any]:
        if not 1 <= k <= len(self):
            raise ValueError(f"k must be between 1 and the {len(self)} points of the tree, but is {k}.")
        if max_leaves is not None and max_leaves < 1:
            raise ValueError("max_leaves must be at least 1.")
        q, aq = self.space.rows(Q, n_features=self.n_features)
        limit = np.inf if max_leaves is None else max_leaves
        parts = [p for p in np.array_split(np.arange(len(q)), n_workers(n_jobs)) if len(p)]

        def run(part: NDArray[np.int64]) -> tuple[Any, Any, Any]:
            return self._run(self.points, q[part], aq[part], k, limit)

        done = list(LocalEngine(n_workers(n_jobs)).map(run, parts))
        if not done:
            return np.zeros((0, k)), np.zeros((0, k), np.int64), np.zeros((0, 3), np.int64)
        values, ids, work = (np.concatenate(columns) for columns in zip(*done))
        ids[np.isinf(values)] = -1
        return values, ids, work

    def _run(self, points: kernels.Points, q: Rows, aq: Rows, k: int, limit: float) -> tuple[Any, Any, Any]:
        values = np.full((len(q), k), np.inf)
        ids = np.full((len(q), k), len(self), np.int64)
        work = np.zeros((len(q), 3), np.int64)
        if self.space.own is not None:
            own_search.search(self.space, points, self.nodes, q, limit, (values, ids, work))
        else:
            self._compiled(self.space.kernel(), points, q, aq, limit, (values, ids, work))
        return values, ids, work

    def _compiled(
        self, space: kernels.Space, points: kernels.Points, q: Rows, aq: Rows, limit: float, answer: Any
    ) -> None:
        raise NotImplementedError

    def _leaves_within(self, q: Rows, aq: Rows, radius: float) -> Any:
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the tree to a file in the safetensors format (no code is stored or run)."""
        from safetensors.numpy import save_file

        if self.space.own is not None:
            raise LookalikeError(
                f"the divergence {self.space.divergence.name!r} is Python code and cannot be written: "
                "build the tree again where it is needed."
            )
        arrays = {f"points.{n}": a for n, a in zip(self.points._fields, self.points) if n != "skip"}
        arrays |= {f"nodes.{n}": a for n, a in zip(self.nodes._fields, self.nodes)}
        arrays["held_out"] = self._held_out
        root = getattr(self.space.divergence, "covariance", None)
        if root is not None:
            arrays["covariance"] = root
        meta = {"kind": self._kind, "format": FORMAT, **self.settings}
        meta |= {"depth_": self.depth_, "build_cost_": self.build_cost_, "simplex": self.space.simplex}
        meta |= {"slack": self.space.slack}
        save_file({n: np.ascontiguousarray(a) for n, a in arrays.items()}, path, {"tree": json.dumps(meta)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                meta = json.loads((file.metadata() or {})["tree"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise LookalikeError(f"{path} is not a Bregman tree that can be read: save it again.") from error
        if meta.get("format") != FORMAT or meta.get("kind") != cls._kind:
            raise LookalikeError(
                f"{path} holds a tree of kind {meta.get('kind')!r}, format {meta.get('format')!r}, "
                f"not {cls._kind!r}, format {FORMAT}: load it with its own class and version."
            )
        return cls._restore(meta, arrays)

    @classmethod
    def _restore(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Self:
        tree = cls.__new__(cls)
        tree.depth_, tree.build_cost_ = meta.pop("depth_"), meta.pop("build_cost_")
        simplex, slack = meta.pop("simplex"), meta.pop("slack")
        meta.pop("kind")
        meta.pop("format")
        tree.settings = meta
        divergence: str | BregmanDivergence = meta["divergence"]
        if "covariance" in arrays:
            divergence = mahalanobis(arrays["covariance"])
        tree.space = BregmanSpace(
            divergence, meta["side"], smoothing=meta["smoothing"], mixed=meta.get("centre") == "mixed"
        )
        tree.space.simplex, tree.space.slack = simplex, slack
        tree.points = kernels.Points(
            arrays["points.x"], arrays["points.aux"], arrays["points.ids"], np.zeros(0, np.uint8)
        )
        fields = {name[6:]: a for name, a in arrays.items() if name.startswith("nodes.")}
        tree.nodes = (kernels.Balls if "radius" in fields else kernels.Shells)(**fields)
        tree._held_out = arrays["held_out"]
        return tree
