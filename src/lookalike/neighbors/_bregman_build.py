"""Building Bregman trees: careful seeding, learned arity, and median shells."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from lookalike.neighbors._bregman_space import Ball, BregmanSpace, Rows

Ids = NDArray[np.int64]
CRITICAL = 1.8692  # of the corrected Anderson-Darling statistic, at a confidence of 0.9999


def is_gaussian(values: Rows) -> bool:
    """The Anderson-Darling test with estimated mean and variance; too few or constant values pass."""
    n = len(values)
    spread = values.std(ddof=1) if n > 1 else 0.0
    if n < 8 or spread <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return True
    z = np.sort((values - values.mean()) / spread)
    ranks = 2 * np.arange(1, n + 1) - 1
    statistic = -n - np.mean(ranks * (log_ndtr(z) + log_ndtr(-z[::-1])))
    return bool(statistic * (1 + 4 / n - 25 / n**2) <= CRITICAL)


def two_seeds(
    space: BregmanSpace, x: Rows, aux: Rows, rng: np.random.Generator, *, n_lloyd: int = 0
) -> tuple[NDArray[np.bool_], float] | None:
    """Split by 2-means++ (3.7), then ``n_lloyd`` rounds of 2-means; None where no split was found.

    Returns the mask of the second half and the potential, the sum of the divergences to the nearer seed.
    """
    for _ in range(3):  # an unlucky first seed may leave one side empty
        one = rng.integers(len(x))
        to_one = space.between(x, aux, x[one], aux[one])
        total = to_one.sum()
        if not total > 0:
            return None
        two = rng.choice(len(x), p=to_one / total)
        to_two = space.between(x, aux, x[two], aux[two])
        second = to_two < to_one
        potential = float(np.minimum(to_one, to_two).sum())
        for _ in range(n_lloyd):
            if not second.any() or second.all():
                break
            balls = [space.ball(x[side], aux[side]) for side in (~second, second)]
            to_one, to_two = (space.to_ball(x, aux, ball) for ball in balls)
            moved = to_two < to_one
            potential = float(np.minimum(to_one, to_two).sum())
            if np.array_equal(moved, second):
                break
            second = moved
        if second.any() and not second.all():
            return second, potential
    return None


@dataclass
class BallNodes:
    """A ball tree under construction: parallel lists, and the rows of each leaf."""

    first: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    balls: list[Ball] = field(default_factory=list)
    rows: list[Ids | None] = field(default_factory=list)

    def add(self, ball: Ball, rows: Ids, depth: int) -> int:
        """A leaf, for now; its number."""
        self.first.append(0)
        self.count.append(0)
        self.depth.append(depth)
        self.balls.append(ball)
        self.rows.append(rows)
        return len(self.first) - 1


@dataclass
class BallBuilder:
    """Algorithm 1: split by careful seeding alone while a half does not look like one Gaussian.

    With ``n_lloyd`` above zero the halves are refined by 2-means, as in the ball tree the thesis improves.
    """

    space: BregmanSpace
    x: Rows
    aux: Rows
    rng: np.random.Generator
    leaf_size: int
    arity: int
    min_radius: float
    n_lloyd: int
    cost: int = 0

    def build(self, rows: Ids) -> BallNodes:
        """The tree over these rows."""
        nodes = BallNodes()
        pending = [nodes.add(self._ball(rows), rows, 0)]
        while pending:
            node = pending.pop()
            here = nodes.rows[node]
            assert here is not None
            if not self._may_split(here, nodes.balls[node]):
                continue
            children = self._partition(here)
            if len(children) < 2:
                continue
            nodes.rows[node] = None
            nodes.first[node] = len(nodes.first)
            nodes.count[node] = len(children)
            for rows_of_child, ball in children:
                pending.append(nodes.add(ball, rows_of_child, nodes.depth[node] + 1))
        return nodes

    def insert(self, nodes: BallNodes, row: int) -> None:
        """Put one more point into its leaf and let the balls on the way grow around it."""
        p, ap = self.x[row : row + 1], self.aux[row : row + 1]
        node = 0
        while True:
            ball = nodes.balls[node]
            reach = float(self.space.to_ball(p, ap, ball)[0])
            wide = max(ball.radius, self.space._wider(reach))
            nodes.balls[node] = ball._replace(radius=wide)
            if nodes.count[node] == 0:
                break
            children = range(nodes.first[node], nodes.first[node] + nodes.count[node])
            node = min(children, key=lambda c: float(self.space.to_ball(p, ap, nodes.balls[c])[0]))
        rows = nodes.rows[node]
        assert rows is not None
        nodes.rows[node] = np.append(rows, row)

    def _ball(self, rows: Ids) -> Ball:
        return self.space.ball(self.x[rows], self.aux[rows])

    def _may_split(self, rows: Ids, ball: Ball) -> bool:
        return len(rows) > self.leaf_size and ball.radius > self.min_radius

    def _halves(self, rows: Ids) -> list[tuple[Ids, Ball]]:
        self.cost += 2 * len(rows) * (1 + self.n_lloyd)
        split = two_seeds(self.space, self.x[rows], self.aux[rows], self.rng, n_lloyd=self.n_lloyd)
        if split is None:
            return []
        halves = [(part, self._ball(part)) for part in (rows[~split[0]], rows[split[0]])]
        return sorted(halves, key=lambda half: -half[1].radius)

    def _partition(self, rows: Ids) -> list[tuple[Ids, Ball]]:
        queue = deque(self._halves(rows))
        children: list[tuple[Ids, Ball]] = []
        while queue:
            part, ball = queue.popleft()
            if len(queue) + len(children) + 2 <= self.arity and self._may_split(part, ball):
                halves = self._halves(part)
                if halves:
                    along = halves[0][1].right - halves[1][1].right
                    if not is_gaussian(self.x[part] @ along):
                        queue.extend(halves)
                        continue
            children.append((part, ball))
        return children


@dataclass
class ShellNodes:
    """A vantage-point tree under construction; ``near`` is -1 in a leaf, and the far child is the next."""

    near: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    vantage: list[int] = field(default_factory=list)
    tau: list[float] = field(default_factory=list)
    rows: list[Ids | None] = field(default_factory=list)
    cost: int = 0

    def add(self, rows: Ids, depth: int) -> int:
        """A leaf, for now; its number."""
        self.near.append(-1)
        self.depth.append(depth)
        self.vantage.append(int(rows[0]) if len(rows) else 0)
        self.tau.append(0.0)
        self.rows.append(rows)
        return len(self.near) - 1


@dataclass
class ShellBuilder:
    """Section 3.2.3: a random vantage point and the median of the divergences to it."""

    space: BregmanSpace
    x: Rows
    aux: Rows
    rng: np.random.Generator
    leaf_size: int
    min_radius: float

    def build(self, rows: Ids) -> ShellNodes:
        """The tree over these rows."""
        nodes = ShellNodes()
        pending = [nodes.add(rows, 0)]
        while pending:
            node = pending.pop()
            here = nodes.rows[node]
            assert here is not None
            if len(here) <= self.leaf_size:
                continue
            v = int(self.rng.choice(here))
            d = self.space.between(self.x[here], self.aux[here], self.x[v], self.aux[v])
            nodes.cost += len(here)
            tau = float(np.median(d))
            near = d < tau
            if d.max() <= self.min_radius or not near.any():
                continue
            nodes.vantage[node], nodes.tau[node], nodes.rows[node] = v, tau, None
            nodes.near[node] = nodes.add(here[near], nodes.depth[node] + 1)
            nodes.add(here[~near], nodes.depth[node] + 1)
            pending += [nodes.near[node], nodes.near[node] + 1]
        return nodes

    def insert(self, nodes: ShellNodes, row: int) -> None:
        """Put one more point where it belongs."""
        p, ap = self.x[row : row + 1], self.aux[row : row + 1]
        node = 0
        while nodes.near[node] >= 0:
            v = nodes.vantage[node]
            d = float(self.space.between(p, ap, self.x[v], self.aux[v])[0])
            nodes.cost += 1
            node = nodes.near[node] + (d >= nodes.tau[node])
        rows = nodes.rows[node]
        assert rows is not None
        nodes.rows[node] = np.append(rows, row)
