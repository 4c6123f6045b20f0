"""The searches of the Bregman trees for a generator that is known only as Python functions.

The same steps as the compiled loops, in the same order; the tests hold the two against each other.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from lookalike.neighbors._bregman_kernels import HALVINGS, Balls, Points, Shells
from lookalike.neighbors._bregman_space import BregmanSpace, Rows


def ball_misses(space: BregmanSpace, c: Rows, radius: float, q: Rows, best: float) -> tuple[bool, int]:
    """Whether {x : D(x || c) <= radius} holds nothing within ``best`` of the query; and the work."""
    d = space.divergence_here
    if d(q, c) <= radius:
        return False, 1
    to_c, to_q = d.gradient(c), d.gradient(q)
    lo, hi = 0.0, 1.0
    for step in range(HALVINGS):
        cut = 0.5 * (lo + hi)
        x = d.inverse_gradient((1 - cut) * to_c + cut * to_q)
        in_c, in_q = float(d(x, c)), float(d(x, q))
        if in_q + (1 - cut) / cut * (in_c - radius) > best:
            return True, 2 * step + 3
        if in_c <= radius:
            if in_q <= best:
                return False, 2 * step + 3
            lo = cut
        else:
            hi = cut
    return False, 2 * HALVINGS + 1


def shell_misses(space: BregmanSpace, v: Rows, tau: float, q: Rows, best: float) -> tuple[bool, int]:
    """Whether {x : D(x || v) >= tau} holds nothing within ``best`` of the query; and the work."""
    d = space.divergence_here
    if d(q, v) >= tau:
        return False, 1
    to_v, to_q = d.gradient(v), d.gradient(q)
    lo, hi, s = 0.0, np.inf, 1.0
    for step in range(HALVINGS):
        with np.errstate(all="ignore"):
            x = d.inverse_gradient((1 + s) * to_q - s * to_v)
            in_v, in_q = float(d(x, v)), float(d(x, q))
        if np.isnan(in_q) or np.isnan(in_v):
            return False, 2 * step + 3  # outside the domain of a function we know nothing of: visit
        near, far = in_q <= best, in_v >= tau
        if near == far:
            return not near, 2 * step + 3
        lo, hi = (s, hi) if near else (lo, s)
        s = 2 * s if hi == np.inf else 0.5 * (lo + hi)
    return False, 2 * HALVINGS + 1


class _Best:
    """The k nearest so far of one query, and where they are written."""

    def __init__(self, space: BregmanSpace, points: Points, values: Any, ids: Any, work: Any) -> None:
        self.space, self.points, self.values, self.ids, self.work = space, points, values, ids, work

    def scan(self, start: int, stop: int, q: Rows) -> None:
        x, own = self.points.x[start:stop], self.points.ids[start:stop]
        if len(self.points.skip):
            x, own = x[self.points.skip[own] == 0], own[self.points.skip[own] == 0]
        d = np.concatenate([self.values, self.space.divergence_here(x, q)])
        every = np.concatenate([self.ids, own])
        order = np.lexsort((every, d))[: len(self.values)]
        self.values[:], self.ids[:] = d[order], every[order]
        self.work[0] += stop - start
        self.work[2] += 1

    @property
    def limit(self) -> float:
        return float(self.values[-1]) * (1 + 1e-9) + 1e-12


def search(
    space: BregmanSpace,
    points: Points,
    nodes: Balls | Shells,
    Q: Rows,
    max_leaves: float,
    answer: tuple[Any, Any, Any],
) -> None:
    """The k nearest of each query, written into ``answer``: values, ids and work."""
    walk = _walk_balls if isinstance(nodes, Balls) else _walk_shells
    for q, values, ids, work in zip(Q, *answer):
        walk(space, nodes, q, max_leaves, _Best(space, points, values, ids, work))


def _walk_balls(space: BregmanSpace, balls: Any, q: Rows, max_leaves: float, best: _Best) -> None:
    queue = [(0.0, 0)]
    while queue and best.work[2] < max_leaves:
        _, node = heapq.heappop(queue)
        while node >= 0:
            if np.isfinite(best.values[-1]):
                miss, cost = ball_misses(space, balls.right[node], balls.radius[node], q, best.limit)
                best.work[1] += cost
                if miss:
                    break
            if balls.count[node] == 0:
                best.scan(balls.start[node], balls.stop[node], q)
                break
            children = np.arange(balls.first[node], balls.first[node] + balls.count[node])
            keys = space.divergence_here(balls.right[children], q)
            best.work[1] += len(children)
            node = int(children[np.argmin(keys)])
            for key, child in zip(keys, children):
                if child != node:
                    heapq.heappush(queue, (float(key), int(child)))


def _walk_shells(space: BregmanSpace, shells: Any, q: Rows, max_leaves: float, best: _Best) -> None:
    queue = [(0.0, -1)]
    while queue and best.work[2] < max_leaves:
        behind, pending = heapq.heappop(queue)
        node = 0
        if pending >= 0:
            parent, far = divmod(pending, 2)
            if np.isfinite(best.values[-1]):
                miss, cost = child_misses(space, shells, parent, far, q, best.limit)
                best.work[1] += cost
                if miss:
                    continue
            node = shells.near[parent] + far
        while shells.near[node] >= 0:
            d = float(space.divergence_here(q, shells.centre[node]))
            best.work[1] += 1
            far = int(d >= shells.tau[node])
            heapq.heappush(queue, (max(behind, abs(d - shells.tau[node])), 2 * node + 1 - far))
            node = shells.near[node] + far
        best.scan(shells.start[node], shells.stop[node], q)


def child_misses(
    space: BregmanSpace, shells: Any, parent: int, far: int, q: Rows, limit: float
) -> tuple[bool, int]:
    """Whether a child of a vantage-point tree can be left out; and the work."""
    v, tau = shells.centre[parent], float(shells.tau[parent])
    if far:
        return shell_misses(space, v, tau * (1 - 1e-9), q, limit)
    return ball_misses(space, v, tau * (1 + 1e-9) + 1e-12, q, limit)
