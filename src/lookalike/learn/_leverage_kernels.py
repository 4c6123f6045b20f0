"""Compiled loops of leveraged neighbours: the reversed graph, the heap of columns, the rounds.

A column j of the edge matrix is a possible prototype; its entries are the points i that have j among
their neighbours. A neighbour below 0 is none (rows may be shorter than the graph is wide).

The key of a column in the heap is an upper bound of its criterion. A column that comes to the top is
valued afresh, in the order of its rows, before it is believed. So few columns are valued in a round, and
yet the sequence of choices is that of the naive chooser, digit for digit.
"""

from collections import namedtuple

import numpy as np
from numba import njit

LOG_LIMIT = 100.0  # |log ratio| of one step: coefficients stay finite where the optimum is not
SLACK = 1e-9  # what an upper bound of a key is raised by, against rounding of running sums
SPENT = 1e-3  # a running sum that fell to this part of its largest is summed afresh
FAINT = 1e-260  # weights do not fall further, so that no ratio is 0/0
EXPONENTIAL, LOGISTIC, SQUARED, MATSUSHITA = 0, 1, 2, 3
LARGEST, DECREASE, IN_ORDER = 0, 1, 2  # choosers
NEEDED, ALWAYS, NORMALISED = 0, 1, 2  # smoothing
RECOUNT = 1e-8  # a risk that fell to this part of what it was when it was summed is summed afresh
FOLLOW = 0.8  # the normalised smoothing follows the mean weight in steps of a fifth
# What is known of a column, in one line of memory: the sums of both signs, their largest since they were
# summed afresh, the step at which they are taken (0 in the closed form), the pseudo-examples there by ε, and
# the least edge of S₊ there (in the closed form: how many points have this neighbour).
PLUS, MINUS, MOST_PLUS, MOST_MINUS, AT, EXTRA_PLUS, EXTRA_MINUS, LOWEST = 0, 1, 2, 3, 4, 5, 6, 7
COUNT = LOWEST

# The edge matrix: rows as a graph with values, and for each column its rows and values (see `reverse_graph`).
Matrix = namedtuple("Matrix", "indices codes starts rows values across up down n_plus n_minus")
# What a round does; numbers only.
Rule = namedtuple("Rule", "loss chooser repeats n_rounds n_wanted smoothing epsilon rate")


@njit(nogil=True, cache=True, error_model="numpy")
def reverse_graph(indices, values):  # type: ignore[no-untyped-def]
    """For each point the rows where it is a neighbour, ascending, and the values there (if any are given)."""
    m, k = indices.shape
    starts = np.zeros(m + 1, np.int64)
    for i in range(m):
        for t in range(k):
            if indices[i, t] >= 0:
                starts[indices[i, t] + 1] += 1
    for j in range(m):
        starts[j + 1] += starts[j]
    rows = np.empty(starts[m], np.int32)
    across = np.empty(starts[m] if len(values) > 0 else 0)
    ends = np.empty(m, np.int64)
    for j in range(m):
        ends[j] = starts[j]
    for i in range(m):
        for t in range(k):
            j = indices[i, t]
            if j >= 0:
                rows[ends[j]] = i
                if len(values) > 0:
                    across[ends[j]] = values[i * k + t]
                ends[j] += 1
    return starts, rows, across


@njit(nogil=True, cache=True, error_model="numpy")
def count_signs(starts, rows, across, codes):  # type: ignore[no-untyped-def]
    """For each column the number of its positive and of its negative entries, by values or else by codes."""
    m = len(starts) - 1
    n_plus, n_minus = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for j in range(m):
        for p in range(starts[j], starts[j + 1]):
            r = across[p] if len(across) > 0 else (1.0 if codes[rows[p]] == codes[j] else -1.0)
            n_plus[j] += r > 0.0
            n_minus[j] += r < 0.0
    return n_plus, n_minus


@njit(nogil=True, cache=True, error_model="numpy")
def _add(high, low, x):  # type: ignore[no-untyped-def]
    """Add to a sum of two numbers, whose second is what rounding took from the first."""
    now = high + x
    part = now - high
    return now, low + ((high - (now - part)) + (x - part))


@njit(nogil=True, cache=True, error_model="numpy")
def _sum(values):  # type: ignore[no-untyped-def]
    """Their sum, in two numbers as for :func:`_add`."""
    high, low = 0.0, 0.0
    for i in range(len(values)):
        high, low = _add(high, low, values[i])
    return high, low


@njit(nogil=True, cache=True, error_model="numpy")
def _shares(matrix, smoothing):  # type: ignore[no-untyped-def]
    """The mass of each pseudo-example of a column, as a multiple of ε."""
    shares = np.zeros(len(matrix.up))
    for j in range(len(shares)):
        if smoothing != NEEDED or matrix.n_plus[j] == 0 or matrix.n_minus[j] == 0:
            shares[j] = min(matrix.up[j], matrix.down[j])
    return shares


# -- a binary heap that knows where each column is ----------------------------------------------------


@njit(nogil=True, cache=True, error_model="numpy")
def _sift_up(heap, where, keys, at):  # type: ignore[no-untyped-def]
    j = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        other = heap[parent]
        if keys[other] > keys[j] or (keys[other] == keys[j] and other < j):
            break
        heap[at] = other
        where[other] = at
        at = parent
    heap[at] = j
    where[j] = at


@njit(nogil=True, cache=True, error_model="numpy")
def _sift_down(heap, where, keys, at, size):  # type: ignore[no-untyped-def]
    j = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        a = heap[child]
        if child + 1 < size:
            b = heap[child + 1]
            if keys[b] > keys[a] or (keys[b] == keys[a] and b < a):
                child += 1
                a = b
        if keys[j] > keys[a] or (keys[j] == keys[a] and j < a):
            break
        heap[at] = a
        where[a] = at
        at = child
    heap[at] = j
    where[j] = at


@njit(nogil=True, cache=True, error_model="numpy")
def _heapify(heap, where, keys, size):  # type: ignore[no-untyped-def]
    for at in range(size):
        where[heap[at]] = at
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(heap, where, keys, at, size)


@njit(nogil=True, cache=True, error_model="numpy")
def _take_out(heap, where, keys, j, size):  # type: ignore[no-untyped-def]
    """Remove column j; the new size."""
    size -= 1
    at = where[j]
    where[j] = -1
    if at < size:
        moved = heap[size]
        heap[at] = moved
        where[moved] = at
        _sift_down(heap, where, keys, at, size)
        _sift_up(heap, where, keys, where[moved])
    return size


@njit(nogil=True, cache=True, error_model="numpy")
def _sift(heap, where, keys, at, size):  # type: ignore[no-untyped-def]
    """Move a column whose key changed to its place."""
    j = heap[at]
    _sift_up(heap, where, keys, at)
    if where[j] == at:
        _sift_down(heap, where, keys, at, size)


@njit(nogil=True, cache=True, error_model="numpy")
def _next_column(rule, matrix, order, turn, ready, fresh, heap, keys, size):  # type: ignore[no-untyped-def]
    """The column that may be next (−1: none lowers the risk), the place in the order of the points, and
    whether the column is settled: one whose key is an old bound is valued afresh first.
    """
    j = -1
    if rule.chooser == IN_ORDER:
        while turn < len(order) and matrix.n_plus[order[turn]] + matrix.n_minus[order[turn]] == 0:
            turn += 1
        if turn < len(order):
            j = order[turn]
    elif size > 0 and keys[heap[0]] > 0.0:
        j = heap[0]
    return j, turn, j >= 0 and fresh[j] and (rule.chooser != IN_ORDER or ready == j)


@njit(nogil=True, cache=True, error_model="numpy")
def _everyone(where, touched):  # type: ignore[no-untyped-def]
    """All columns that are still there, as touched; their number."""
    n_touched = 0
    for j in range(len(where)):
        if where[j] >= 0:
            touched[n_touched] = j
            n_touched += 1
    return n_touched


# -- columns of two values, exponential loss: everything in closed form --------------------------------


@njit(nogil=True, cache=True, error_model="numpy")
def _value_closed(touched, exact, anew, matrix, rule, epsilon, scale, w, columns, ratios, keys):  # type: ignore[no-untyped-def]
    """New keys of the touched columns: exact ones, or upper bounds (never lower than the last, but anew).

    The step of a column is the (up + down)-th part of its ratio, a logarithm. Gives the columns back in
    place: those whose key rose, and their number.
    """
    starts, rows, codes = matrix.starts, matrix.rows, matrix.codes
    rose = 0
    for q in range(len(touched)):
        j = touched[q]
        plus, minus = columns[j, PLUS], columns[j, MINUS]
        if exact or plus < SPENT * columns[j, MOST_PLUS] or minus < SPENT * columns[j, MOST_MINUS]:
            plus, minus = 0.0, 0.0
            for p in range(starts[j], starts[j + 1]):
                if codes[rows[p]] == codes[j]:
                    plus += w[rows[p]]
                else:
                    minus += w[rows[p]]
            columns[j, PLUS] = columns[j, MOST_PLUS] = plus
            columns[j, MINUS] = columns[j, MOST_MINUS] = minus
        up, down, extra = matrix.up[j], matrix.down[j], epsilon * columns[j, EXTRA_PLUS]
        ratio = -LOG_LIMIT
        if columns[j, COUNT] > 0.0:  # somebody has this neighbour
            ratio = np.log((up * plus + extra) / (down * minus + extra))
            ratio = min(max(ratio, -LOG_LIMIT), LOG_LIMIT)
        if exact:
            ratios[j] = ratio
        else:
            ratio += SLACK
        if rule.chooser != DECREASE:
            key = ratio * scale[j] / (up + down)
        elif ratio <= 0.0:
            key = -1.0
        else:
            step = rule.rate * ratio / (up + down)
            key = plus * (1.0 - np.exp(-step * up)) + minus * (1.0 - np.exp(step * down))
            key += 0.0 if exact else SLACK * (plus + minus)
        if exact or anew or key > keys[j]:
            keys[j] = key
            touched[rose] = j
            rose += 1
    return rose


@njit(nogil=True, cache=True, error_model="numpy")
def _reweigh_closed(j, step, matrix, w, columns, alive, stamp, t, touched, high, low):  # type: ignore[no-untyped-def]
    """Reweigh the points that have j as a neighbour, and add up the columns of their neighbours.

    Gives the sum of all weights (in two numbers) and how many columns were touched.
    """
    indices, rows, codes = matrix.indices, matrix.rows, matrix.codes
    k = indices.shape[1]
    with_plus, with_minus = np.exp(-step * matrix.up[j]), np.exp(step * matrix.down[j])
    n_touched = 0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i = rows[p]
        old = w[i]
        w[i] = max(old * (with_plus if codes[i] == codes[j] else with_minus), FAINT)
        gain = w[i] - old
        high, low = _add(high, low, -old)
        high, low = _add(high, low, w[i])
        for c in range(k):
            j2 = indices[i, c]
            if j2 < 0:
                break
            if alive[j2] < 0:
                continue
            side = PLUS if codes[i] == codes[j2] else MINUS
            columns[j2, side] += gain
            most = side + MOST_PLUS - PLUS
            columns[j2, most] = max(columns[j2, most], columns[j2, side])
            if stamp[j2] != t:
                stamp[j2] = t
                touched[n_touched] = j2
                n_touched += 1
    return high, low, n_touched


@njit(nogil=True, cache=True, error_model="numpy")
def boost_closed(matrix, rule, scale, weights, order):  # type: ignore[no-untyped-def]
    """The rounds for edges +up[j] (same code) and −down[j] (another), exponential loss.

    Gives the prototype, step and reject loss of each round, the risks, and the final weights.
    """
    m = len(weights)
    w = np.empty(m)
    for i in range(m):
        w[i] = weights[i]
    high, low = _sum(w)
    counted = followed = high + low
    epsilon = rule.epsilon * (followed / m if rule.smoothing == NORMALISED else 1.0)
    heap, where, size = np.arange(m), np.arange(m), m
    touched, n_touched = np.arange(m), m
    stamp = np.full(m, -1)
    columns, ratios, keys = np.zeros((m, 8)), np.empty(m), np.empty(m)
    shares = _shares(matrix, rule.smoothing)
    for j in range(m):
        columns[j, EXTRA_PLUS], columns[j, COUNT] = shares[j], matrix.n_plus[j] + matrix.n_minus[j]
    fresh, seen = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    chosen, steps = np.empty(rule.n_rounds, np.int64), np.empty(rule.n_rounds)
    losses, risks = np.empty(rule.n_rounds), np.empty(rule.n_rounds + 1)
    risks[0] = followed / m
    t, turn, ready, distinct = np.int64(0), 0, -1, 0
    exact, all_anew = t == 0, t == 0
    while t < rule.n_rounds and distinct < rule.n_wanted:
        for q in range(n_touched):
            fresh[touched[q]] = exact
        rose = _value_closed(
            touched[:n_touched], exact, all_anew, matrix, rule, epsilon, scale, w, columns, ratios, keys
        )
        if all_anew:
            _heapify(heap, where, keys, size)
        elif rule.chooser != IN_ORDER:
            for q in range(rose):
                _sift(heap, where, keys, where[touched[q]], size)
        all_anew = False
        j, turn, settled = _next_column(rule, matrix, order, turn, ready, fresh, heap, keys, size)
        if j < 0:
            break
        if not settled:
            ready, touched[0], n_touched, exact = j, j, 1, True
            continue
        turn, ready = turn + 1, -1
        step = rule.rate * ratios[j] / (matrix.up[j] + matrix.down[j])
        chosen[t], steps[t] = j, step
        plus, minus = columns[j, PLUS], columns[j, MINUS]
        losses[t] = min(plus, minus) / (plus + minus)
        distinct += not seen[j]
        seen[j] = True
        if not rule.repeats and rule.chooser != IN_ORDER:
            size = _take_out(heap, where, keys, j, size)
        high, low, n_touched = _reweigh_closed(
            j, step, matrix, w, columns, where, stamp, t, touched, high, low
        )
        total = high + low
        if total < RECOUNT * counted:
            high, low = _sum(w)
            counted = total = high + low
        t += 1
        risks[t] = total / m
        exact = False
        if rule.chooser == IN_ORDER:
            n_touched = 0
        if rule.smoothing == NORMALISED and total < FOLLOW * followed:
            # Every key depends on the mean weight: bound them all again.
            followed = total
            epsilon = rule.epsilon * total / m
            if rule.chooser != IN_ORDER:
                n_touched, all_anew = _everyone(where, touched), True
    return chosen[:t], steps[:t], losses[:t], risks[: t + 1], w
