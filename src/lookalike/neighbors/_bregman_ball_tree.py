"""The Bregman ball tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike.neighbors import _bregman_kernels as kernels
from lookalike.neighbors import _bregman_own as own_search
from lookalike.neighbors._bregman_build import BallBuilder
from lookalike.neighbors._bregman_space import BregmanSpace, Rows
from lookalike.neighbors._bregman_tree import BregmanTree
from lookalike.similarity._bregman import BregmanDivergence


class BregmanBallTree(BregmanTree):
    r"""Nearest neighbours under a Bregman divergence by nested balls.

    The tree "BB-tree++" of [1]_, section 3.2.2: halves by 2-means++ seeding alone, an arity learned by a test
    of normality, and a queue that always goes on with the nearest pending ball. A ball is left out when a
    dual lower bound of the projection onto it, found by bisection along the geodesic, exceeds the best so
    far; for histograms under Kullback-Leibler the projection stays on the simplex, which prunes more. The
    symmetrised form uses the exact path by Lambert's function instead of the geodesic, so that it loses
    nothing, and the Jensen form the triangle inequality of its root.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    divergence : str or BregmanDivergence, default="kl"
        ``"sqeuclidean"``, ``"kl"``, ``"itakura_saito"``, ``"exponential"``, ``"multinomial"``, or an object
        (:func:`lookalike.similarity.mahalanobis`, or your own: right and left only, and not compiled).
    side : {"right", "left", "jeffreys", "jensen"}, default="right"
        ``right`` finds the smallest D(point || query), ``left`` the smallest D(query || point),
        ``jeffreys`` half their sum.
    leaf_size : int, default=50
        The most points that a leaf may keep if it can be split.
    branching : int, default=4
        The most children of a node.
    n_lloyd : int, default=0
        Rounds of 2-means after the seeding; 10 and ``branching=2`` make the older BB-tree.
    min_radius : float, default=0.0
        A ball of this radius or less is not split.
    centre : {"symmetrised", "mixed"}, default="symmetrised"
        For ``side="jeffreys"``: one symmetrised centre for each ball, or both sided means.
    smoothing : float or None, default=1e-6
        What rows with an empty bin get in each bin under a divergence that needs positive coordinates;
        None refuses such rows.
    held_out : int or "auto", default="auto"
        Points kept aside while the tree is built, then inserted: they say what recall a budget has.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    depth_ : int
        The longest way from the root to a leaf.
    n_nodes_, n_leaves_ : int
    build_cost_ : int
        Divergences computed to find the splits: two for each point and try.

    References
    ----------
    .. [1] P. Piro, *Learning prototype-based classification rules in a boosting framework*, PhD thesis,
       Université de Nice - Sophia Antipolis, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), 500)
    >>> tree = BregmanBallTree(X, divergence="kl", random_state=0)
    >>> divergences, indices = tree.query(X[:2], k=3)
    >>> indices[:, 0].tolist(), divergences[:, 0].tolist()
    ([0, 1], [0.0, 0.0])
    """

    _kind = "ball"

    def __init__(
        self,
        X: ArrayLike,
        divergence: str | BregmanDivergence = "kl",
        side: str = "right",
        *,
        leaf_size: int = 50,
        branching: int = 4,
        n_lloyd: int = 0,
        min_radius: float = 0.0,
        centre: str = "symmetrised",
        smoothing: float | None = 1e-6,
        held_out: int | str = "auto",
        random_state: Any = None,
    ) -> None:
        if centre not in ("symmetrised", "mixed"):
            raise ValueError(f"centre must be 'symmetrised' or 'mixed', but is {centre!r}.")
        if branching < 2 or leaf_size < 1:
            raise ValueError("branching must be at least 2 and leaf_size at least 1.")
        self.space = BregmanSpace(divergence, side, smoothing=smoothing, mixed=centre == "mixed")
        x, aux, rng, out = self._prepare(X, held_out, random_state)
        builder = BallBuilder(self.space, x, aux, rng, leaf_size, branching, min_radius, n_lloyd)
        nodes = builder.build(np.flatnonzero(out == 0))
        for row in np.flatnonzero(out):
            builder.insert(nodes, int(row))
        start, stop = self._finish(x, aux, out, nodes.rows)
        parts = [np.array(column) for column in zip(*nodes.balls)]
        self.nodes = kernels.Balls(np.array(nodes.first), np.array(nodes.count), start, stop, *parts)
        self.depth_ = max(nodes.depth)
        self.build_cost_ = builder.cost
        self.settings = {
            "divergence": self.space.divergence.name,
            "side": side,
            "leaf_size": leaf_size,
            "branching": branching,
            "centre": centre,
            "smoothing": smoothing,
            "n_features": np.shape(X)[1],
        }

    @property
    def n_nodes_(self) -> int:
        """Balls in the tree."""
        return len(self.nodes.first)

    @property
    def n_leaves_(self) -> int:
        """Balls that hold points."""
        return int((self.nodes.count == 0).sum())

    def _compiled(
        self, space: kernels.Space, points: kernels.Points, q: Rows, aq: Rows, limit: float, answer: Any
    ) -> None:
        kernels.search_balls(space, points, self.nodes, q, aq, limit, *answer)

    def _leaves_within(self, q: Rows, aq: Rows, radius: float) -> Any:
        limit = radius * (1 + 1e-9) + self.space.slack + 1e-13
        if self.space.own is None:
            out = np.empty(self.n_nodes_, np.int64)
            found = kernels.ball_leaves_within(self.space.kernel(), self.nodes, q, aq, limit, out)
            return out[:found]
        leaves: list[int] = []
        pending = [0]
        while pending:
            node = pending.pop()
            centre, around = self.nodes.right[node], self.nodes.radius[node]
            if own_search.ball_misses(self.space, centre, around, q, limit)[0]:
                continue
            if self.nodes.count[node] == 0:
                leaves.append(node)
            pending += range(self.nodes.first[node], self.nodes.first[node] + self.nodes.count[node])
        return leaves
