"""The Bregman vantage-point tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike.neighbors import _bregman_kernels as kernels
from lookalike.neighbors import _bregman_own as own_search
from lookalike.neighbors._bregman_build import ShellBuilder
from lookalike.neighbors._bregman_space import BregmanSpace, Rows
from lookalike.neighbors._bregman_tree import BregmanTree
from lookalike.similarity._bregman import BregmanDivergence


class BregmanVPTree(BregmanTree):
    r"""Nearest neighbours under a Bregman divergence by vantage points: balanced, and quick to build.

    Section 3.2.3 of [1]_. Every node halves its points at the median divergence to a random one of them. The
    near half lies in a ball, which is tested against the query's ball as in Algorithm 2 (by dual bounds,
    which decide at the same cut or an earlier one). For the far half, the complement of a ball, the thesis
    gives no rule: here the point of the query's ball that is farthest from the vantage point is sought on
    the geodesic from the vantage point through the query and beyond it, which is exact as well. For Jeffreys
    no closed form of that is known: the far half is always visited.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    divergence, side : see :class:`BregmanBallTree`.
    leaf_size : int, default=50
        The most points that a leaf may keep if it can be split.
    min_radius : float, default=0.0
        A node whose points all lie within this divergence of its vantage point is not split.
    smoothing : float or None, default=1e-6
    held_out : int or "auto", default="auto"
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    depth_, n_nodes_, n_leaves_ : int
    build_cost_ : int
        Divergences computed to build: one for each point and level.

    References
    ----------
    .. [1] P. Piro, *Learning prototype-based classification rules in a boosting framework*, PhD thesis,
       Université de Nice - Sophia Antipolis, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), 400)
    >>> tree = BregmanVPTree(X, divergence="kl", random_state=0)
    >>> tree.depth_, tree.n_leaves_, tree.build_cost_
    (3, 8, 1200)
    >>> tree.query(X[:2], k=1)[1].ravel().tolist()
    [0, 1]
    """

    _kind = "vantage"

    def __init__(
        self,
        X: ArrayLike,
        divergence: str | BregmanDivergence = "kl",
        side: str = "right",
        *,
        leaf_size: int = 50,
        min_radius: float = 0.0,
        smoothing: float | None = 1e-6,
        held_out: int | str = "auto",
        random_state: Any = None,
    ) -> None:
        if leaf_size < 1:
            raise ValueError("leaf_size must be at least 1.")
        self.space = BregmanSpace(divergence, side, smoothing=smoothing)
        x, aux, rng, out = self._prepare(X, held_out, random_state)
        builder = ShellBuilder(self.space, x, aux, rng, leaf_size, min_radius)
        nodes = builder.build(np.flatnonzero(out == 0))
        for row in np.flatnonzero(out):
            builder.insert(nodes, int(row))
        start, stop = self._finish(x, aux, out, nodes.rows)
        self.nodes = kernels.Shells(
            np.array(nodes.near), start, stop, x[nodes.vantage], aux[nodes.vantage], np.array(nodes.tau)
        )
        self.depth_ = max(nodes.depth)
        self.build_cost_ = nodes.cost
        self.settings = {
            "divergence": self.space.divergence.name,
            "side": side,
            "leaf_size": leaf_size,
            "smoothing": smoothing,
            "n_features": np.shape(X)[1],
        }

    @property
    def n_nodes_(self) -> int:
        """Nodes in the tree."""
        return len(self.nodes.near)

    @property
    def n_leaves_(self) -> int:
        """Nodes that hold points."""
        return int((self.nodes.near < 0).sum())

    def _compiled(
        self, space: kernels.Space, points: kernels.Points, q: Rows, aq: Rows, limit: float, answer: Any
    ) -> None:
        kernels.search_shells(space, points, self.nodes, q, aq, limit, *answer)

    def _leaves_within(self, q: Rows, aq: Rows, radius: float) -> Any:
        limit = radius * (1 + 1e-9) + self.space.slack + 1e-13
        if self.space.own is None:
            out = np.empty(self.n_nodes_, np.int64)
            found = kernels.shell_leaves_within(self.space.kernel(), self.nodes, q, aq, limit, out)
            return out[:found]
        leaves: list[int] = []
        pending = [0]
        while pending:
            node = pending.pop()
            if self.nodes.near[node] < 0:
                leaves.append(node)
                continue
            pending += [
                self.nodes.near[node] + far
                for far in (0, 1)
                if not own_search.child_misses(self.space, self.nodes, node, far, q, limit)[0]
            ]
        return leaves
