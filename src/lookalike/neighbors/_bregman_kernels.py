"""Compiled loops of the Bregman trees: divergences, projections on balls, and searches with a queue.

A generator is a small number (`code`), and so is the form of the divergence (`form`). With a point `x` goes
`aux(x)`, what of it costs a logarithm or an exponential, so that a divergence of stored points costs none.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

SQUARED, KL, ITAKURA, EXPONENTIAL = 0, 1, 2, 3
RIGHT, JEFFREYS, JENSEN = 0, 1, 2
HALVINGS = 50  # of a bisection that decides nothing: then the node is visited, which is always safe


class Space(NamedTuple):
    """Which divergence: generator, form, and the tolerances that keep pruning safe against rounding."""

    code: int
    form: int
    simplex: float  # how far the points' sums are from 1; negative: not histograms
    slack: float


class Points(NamedTuple):
    """Points in the order of the leaves; ``skip`` marks those that a search must not return (or is empty)."""

    x: Any
    aux: Any
    ids: Any
    skip: Any


class Balls(NamedTuple):
    """Nodes of a ball tree; a leaf has no children. Left and right centres differ only in mixed balls."""

    first: Any
    count: Any
    start: Any
    stop: Any
    left: Any
    left_aux: Any
    right: Any
    right_aux: Any
    radius: Any


class Shells(NamedTuple):
    """Nodes of a vantage-point tree; a leaf has ``near`` = -1."""

    near: Any
    start: Any
    stop: Any
    centre: Any
    centre_aux: Any
    tau: Any


@njit(nogil=True, cache=True)
def _term(code, p, ap, q, aq):
    if code == 0:
        return (p - q) * (p - q)
    if code == 1:
        return p * (ap - aq) - p + q
    if code == 2:
        return p / q - (ap - aq) - 1.0
    return ap - aq - (p - q) * aq


@njit(nogil=True, cache=True)
def right_divergence(code, p, ap, q, aq):
    """``D(p || q)`` of the generator."""
    total = 0.0
    for j in range(len(p)):
        total += _term(code, p[j], ap[j], q[j], aq[j])
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def divergence(code, form, p, ap, q, aq):
    """The divergence of point ``p`` to query ``q`` in one of the three forms."""
    if form == 0:
        return right_divergence(code, p, ap, q, aq)
    total = 0.0
    if form == 1:
        for j in range(len(p)):
            if code == 1:
                total += (p[j] - q[j]) * (ap[j] - aq[j])
            else:
                total += (p[j] - q[j]) * (p[j] - q[j]) / (p[j] * q[j])
        return max(0.5 * total, 0.0)
    for j in range(len(p)):
        m = 0.5 * (p[j] + q[j])
        if code == 0:
            total += (p[j] - m) * (p[j] - m)
        elif code == 1:
            am = np.log(m)
            total += 0.5 * (p[j] * (ap[j] - am) + q[j] * (aq[j] - am))
        else:
            total += np.log(m) - 0.5 * (ap[j] + aq[j])
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def _gradient(code, x, ax):
    if code == 0:
        return x
    if code == 2:
        return -1.0 / x
    return ax


@njit(nogil=True, cache=True)
def _back(code, t):
    """From a gradient to the point and what goes with it; the point is NaN outside the domain."""
    if code == 0:
        return t, 0.0
    if code == 1:
        return np.exp(t), t
    if code == 2:
        if t >= 0.0:
            return np.nan, np.nan
        return -1.0 / t, -np.log(-t)
    if t <= 0.0:
        return np.nan, np.nan
    return np.log(t), t


@njit(nogil=True, cache=True)
def _on_geodesic(code, c, ac, q, aq, weight):
    """``D(x || c)`` and ``D(x || q)`` of the point whose gradient is (1 - weight) c + weight q."""
    to_c = 0.0
    to_q = 0.0
    for j in range(len(c)):
        t = (1.0 - weight) * _gradient(code, c[j], ac[j]) + weight * _gradient(code, q[j], aq[j])
        x, ax = _back(code, t)
        to_c += _term(code, x, ax, c[j], ac[j])
        to_q += _term(code, x, ax, q[j], aq[j])
    return to_c, to_q


@njit(nogil=True, cache=True)
def _on_simplex(c, ac, q, aq, weight):
    """The same for Kullback-Leibler with ``x`` normalised; and the logarithm of its normaliser."""
    z = 0.0
    to_c = 0.0
    to_q = 0.0
    sum_c = 0.0
    sum_q = 0.0
    for j in range(len(c)):
        t = (1.0 - weight) * ac[j] + weight * aq[j]
        x = np.exp(t)
        z += x
        to_c += x * (t - ac[j])
        to_q += x * (t - aq[j])
        sum_c += c[j]
        sum_q += q[j]
    log_z = np.log(z)
    return to_c / z - log_z - 1.0 + sum_c, to_q / z - log_z - 1.0 + sum_q, log_z


@njit(nogil=True, cache=True)
def _right_ball_misses(space, c, ac, radius, q, aq, best):
    """Whether every point of the ball is farther from the query than ``best``; and the work it took.

    Bisection on the geodesic from centre to query: the dual value of each point on it is a lower bound.
    """
    code = space.code
    if right_divergence(code, q, aq, c, ac) <= radius:
        return False, 1
    lo = 0.0
    hi = 1.0
    for step in range(HALVINGS):
        cut = 0.5 * (lo + hi)
        multiplier = (1.0 - cut) / cut
        if space.simplex >= 0.0:
            to_c, to_q, log_z = _on_simplex(c, ac, q, aq, cut)
            loss = (1.0 + multiplier) * abs(log_z) * space.simplex
        else:
            to_c, to_q = _on_geodesic(code, c, ac, q, aq, cut)
            loss = 0.0
        if to_q + multiplier * (to_c - radius) - loss > best:
            return True, 2 * step + 3
        if to_c <= radius:
            if to_q <= best:
                return False, 2 * step + 3
            lo = cut
        else:
            hi = cut
    return False, 2 * HALVINGS + 1


@njit(nogil=True, cache=True)
def _jeffreys_point(code, q, aq, left, right, right_aux, mu):
    """One coordinate of the minimiser of Jeffreys(x, q) + mu (D(left || x) + D(x || right)) / 2."""
    if code == 2:
        x = np.sqrt((q + mu * left) / (1.0 / q + mu / right))
        return x, np.log(x)
    a = (q + mu * left) / (1.0 + mu)
    y = 1.0 + np.log(a) - (aq + mu * right_aux) / (1.0 + mu)
    w = y - np.log(y) if y > 1.5 else np.exp(y) / (1.0 + np.exp(y)) * 1.3
    for _ in range(20):  # w + log w = y: Newton's steps stay on the left of the root after the first
        step = w * (1.0 + y - np.log(w)) / (1.0 + w)
        if abs(step - w) <= 1e-14 * step:
            w = step
            break
        w = step
    x = a / w
    return x, np.log(x)


@njit(nogil=True, cache=True)
def _jeffreys_ball_misses(space, left, al, right, ar, radius, q, aq, best):
    """The same for (D(left || x) + D(x || right)) / 2 <= radius and the Jeffreys divergence."""
    code = space.code
    d = right_divergence(code, left, al, q, aq) + right_divergence(code, q, aq, right, ar)
    if 0.5 * d <= radius:
        return False, 2
    lo = 0.0
    hi = 1.0
    for step in range(HALVINGS):
        cut = 0.5 * (lo + hi)
        mu = cut / (1.0 - cut)
        to_ball = 0.0
        to_q = 0.0
        for j in range(len(q)):
            x, ax = _jeffreys_point(code, q[j], aq[j], left[j], right[j], ar[j], mu)
            to_ball += _term(code, left[j], al[j], x, ax) + _term(code, x, ax, right[j], ar[j])
            to_q += _term(code, x, ax, q[j], aq[j]) + _term(code, q[j], aq[j], x, ax)
        to_ball *= 0.5
        to_q *= 0.5
        if to_q + mu * (to_ball - radius) > best:
            return True, 4 * step + 6
        if to_ball <= radius:
            if to_q <= best:
                return False, 4 * step + 6
            hi = cut
        else:
            lo = cut
    return False, 4 * HALVINGS + 2


@njit(nogil=True, cache=True)
def ball_misses(space, left, al, right, ar, radius, q, aq, best):
    """Whether a ball holds nothing within ``best`` of the query; and how many divergences that cost."""
    if space.form == 0:
        return _right_ball_misses(space, right, ar, radius, q, aq, best)
    if space.form == 1:
        return _jeffreys_ball_misses(space, left, al, right, ar, radius, q, aq, best)
    # The root of the Jensen form is a metric: the triangle inequality.
    gap = np.sqrt(divergence(space.code, 2, right, ar, q, aq)) - np.sqrt(radius) - 1e-7
    return gap > 0.0 and gap * gap > best, 1


@njit(nogil=True, cache=True)
def shell_misses(space, v, av, tau, q, aq, best):
    """Whether {x : D(x, v) >= tau} holds nothing within ``best`` of the query; and the work.

    D(x || v) - D(x || q) is affine, so the point of the query's ball that is farthest from v lies on the
    geodesic from v to q, continued beyond q.
    """
    code = space.code
    if space.form == 2:
        reach = np.sqrt(divergence(code, 2, q, aq, v, av)) + np.sqrt(best) + 1e-7
        return reach * reach < tau, 1
    if space.form == 1 or right_divergence(code, q, aq, v, av) >= tau:
        return False, 1  # no safe closed form is known for Jeffreys: always visited
    lo = 0.0
    hi = np.inf
    s = 1.0
    for step in range(HALVINGS):
        to_v, to_q = _on_geodesic(code, v, av, q, aq, 1.0 + s)
        # Outside the domain both divergences have grown without bound on the way: go back.
        near = to_q <= best
        far = not to_v < tau
        if near and far:
            return False, 2 * step + 3
        if not near and not far:
            return True, 2 * step + 3
        if near:
            lo = s
        else:
            hi = s
        s = 2.0 * s if hi == np.inf else 0.5 * (lo + hi)
    return False, 2 * HALVINGS + 1


@njit(nogil=True, cache=True)
def _offer(values, ids, value, identity):
    """Insert into the k best, sorted by divergence and then by position."""
    k = len(values)
    if value > values[k - 1] or (value == values[k - 1] and identity > ids[k - 1]):
        return
    j = k - 1
    while j > 0 and (values[j - 1] > value or (values[j - 1] == value and ids[j - 1] > identity)):
        values[j] = values[j - 1]
        ids[j] = ids[j - 1]
        j -= 1
    values[j] = value
    ids[j] = identity


@njit(nogil=True, cache=True)
def scan(space, points, start, stop, q, aq, values, ids):
    """Offer the points of a leaf, or of everything; how many were compared."""
    for i in range(start, stop):
        if len(points.skip) and points.skip[points.ids[i]]:
            continue
        d = divergence(space.code, space.form, points.x[i], points.aux[i], q, aq)
        _offer(values, ids, d, points.ids[i])
    return stop - start


@njit(nogil=True, cache=True)
def _push(keys, nodes, size, key, node):
    j = size
    while j > 0 and keys[(j - 1) // 2] > key:
        keys[j] = keys[(j - 1) // 2]
        nodes[j] = nodes[(j - 1) // 2]
        j = (j - 1) // 2
    keys[j] = key
    nodes[j] = node
    return size + 1


@njit(nogil=True, cache=True)
def _pop(keys, nodes, size):
    key = keys[0]
    node = nodes[0]
    size -= 1
    last_key = keys[size]
    last = nodes[size]
    j = 0
    while 2 * j + 1 < size:
        child = 2 * j + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= last_key:
            break
        keys[j] = keys[child]
        nodes[j] = nodes[child]
        j = child
    keys[j] = last_key
    nodes[j] = last
    return key, node, size


@njit(nogil=True, cache=True)
def _limit(space, values, q, aq):
    """What a lower bound must exceed: the k-th best, and a margin for rounding."""
    size = 0.0
    for j in range(len(q)):
        size += abs(q[j]) * (1.0 + abs(aq[j]))
    return values[len(values) - 1] * (1.0 + 1e-9) + space.slack + 1e-13 * size * (space.code > 0)


@njit(nogil=True, cache=True)
def search_balls(space, points, balls, Q, AQ, max_leaves, values, ids, work):
    """The k nearest of each query; ``work`` gets divergences in leaves, elsewhere, and leaves visited."""
    n_nodes = len(balls.first)
    keys = np.empty(n_nodes)
    nodes = np.empty(n_nodes, np.int64)
    for i in range(len(Q)):
        q = Q[i]
        aq = AQ[i]
        size = _push(keys, nodes, 0, 0.0, 0)
        while size > 0 and work[i, 2] < max_leaves:
            _, node, size = _pop(keys, nodes, size)
            while node >= 0:
                if values[i, -1] < np.inf:
                    miss, cost = ball_misses(
                        space,
                        balls.left[node],
                        balls.left_aux[node],
                        balls.right[node],
                        balls.right_aux[node],
                        balls.radius[node],
                        q,
                        aq,
                        _limit(space, values[i], q, aq),
                    )
                    work[i, 1] += cost
                    if miss:
                        break
                if balls.count[node] == 0:
                    work[i, 0] += scan(
                        space, points, balls.start[node], balls.stop[node], q, aq, values[i], ids[i]
                    )
                    work[i, 2] += 1
                    break
                # Go on with the nearest child; the others wait in the queue.
                nearest = -1
                nearest_key = np.inf
                work[i, 1] += balls.count[node]
                for child in range(balls.first[node], balls.first[node] + balls.count[node]):
                    key = divergence(
                        space.code, space.form, balls.right[child], balls.right_aux[child], q, aq
                    )
                    if nearest < 0 or key < nearest_key:
                        if nearest >= 0:
                            size = _push(keys, nodes, size, nearest_key, nearest)
                        nearest = child
                        nearest_key = key
                    else:
                        size = _push(keys, nodes, size, key, child)
                node = nearest


@njit(nogil=True, cache=True)
def _child_misses(space, shells, parent, far, q, aq, limit):
    v = shells.centre[parent]
    av = shells.centre_aux[parent]
    if far:
        return shell_misses(space, v, av, shells.tau[parent] * (1.0 - 1e-9) - space.slack, q, aq, limit)
    tau = shells.tau[parent] * (1.0 + 1e-9) + space.slack
    return ball_misses(space, v, av, v, av, tau, q, aq, limit)


@njit(nogil=True, cache=True)
def search_shells(space, points, shells, Q, AQ, max_leaves, values, ids, work):
    """The same with a vantage-point tree. A pending node is 2 * parent + (1 for the far child)."""
    n_nodes = len(shells.near)
    keys = np.empty(n_nodes + 1)
    nodes = np.empty(n_nodes + 1, np.int64)
    for i in range(len(Q)):
        q = Q[i]
        aq = AQ[i]
        size = _push(keys, nodes, 0, 0.0, -1)
        while size > 0 and work[i, 2] < max_leaves:
            behind, pending, size = _pop(keys, nodes, size)
            node = 0
            if pending >= 0:
                parent = pending // 2
                far = pending % 2
                if values[i, -1] < np.inf:
                    limit = _limit(space, values[i], q, aq)
                    miss, cost = _child_misses(space, shells, parent, far, q, aq, limit)
                    work[i, 1] += cost
                    if miss:
                        continue
                node = shells.near[parent] + far
            while shells.near[node] >= 0:
                d = divergence(space.code, space.form, q, aq, shells.centre[node], shells.centre_aux[node])
                work[i, 1] += 1
                key = max(behind, abs(d - shells.tau[node]))
                if d < shells.tau[node]:
                    size = _push(keys, nodes, size, key, 2 * node + 1)
                    node = shells.near[node]
                else:
                    size = _push(keys, nodes, size, key, 2 * node)
                    node = shells.near[node] + 1
            work[i, 0] += scan(space, points, shells.start[node], shells.stop[node], q, aq, values[i], ids[i])
            work[i, 2] += 1


@njit(nogil=True, cache=True)
def ball_leaves_within(space, balls, q, aq, limit, out):
    """Write the leaves that may hold something within ``limit``; how many there are."""
    pending = np.empty(len(balls.first), np.int64)
    pending[0] = 0
    size = 1
    found = 0
    while size > 0:
        size -= 1
        node = pending[size]
        miss, _ = ball_misses(
            space,
            balls.left[node],
            balls.left_aux[node],
            balls.right[node],
            balls.right_aux[node],
            balls.radius[node],
            q,
            aq,
            limit,
        )
        if miss:
            continue
        if balls.count[node] == 0:
            out[found] = node
            found += 1
        for child in range(balls.first[node], balls.first[node] + balls.count[node]):
            pending[size] = child
            size += 1
    return found


@njit(nogil=True, cache=True)
def shell_leaves_within(space, shells, q, aq, limit, out):
    """The same for a vantage-point tree."""
    pending = np.empty(len(shells.near), np.int64)
    pending[0] = 0
    size = 1
    found = 0
    while size > 0:
        size -= 1
        node = pending[size]
        if shells.near[node] < 0:
            out[found] = node
            found += 1
            continue
        for far in range(2):
            miss, _ = _child_misses(space, shells, node, far, q, aq, limit)
            if not miss:
                pending[size] = shells.near[node] + far
                size += 1
    return found


@njit(nogil=True, cache=True)
def select(space, points, keys, margin, Q, AQ, values, ids):
    """The k nearest of each query by approximate ``keys`` (m, n), which are wrong by at most ``margin``.

    Only candidates near the front are computed exactly, so the answer is that of a full exact scan.
    """
    k = values.shape[1]
    for i in range(len(Q)):
        best = np.full(k, np.inf)  # the k smallest keys so far
        none = np.zeros(k, np.int64)
        for j in range(keys.shape[1]):
            key = keys[i, j]
            if key <= best[k - 1] + margin[i]:
                if len(points.skip) and points.skip[points.ids[j]]:
                    continue
                _offer(best, none, key, 0)
                d = divergence(space.code, space.form, points.x[j], points.aux[j], Q[i], AQ[i])
                _offer(values[i], ids[i], d, points.ids[j])
