"""Compiled loops of leveraged neighbours: the reversed graph, the heap of columns, the rounds.

A column j of the edge matrix is a possible prototype; its entries are the points i that have j among
their neighbours. A neighbour below 0 is none (rows may be shorter than the graph is wide).
"""

import numpy as np
from numba import njit

LOG_LIMIT = 100.0  # |log ratio| of one step: coefficients stay finite where the optimum is not
SLACK = 1e-9  # what an upper bound of a key is raised by, against rounding of running sums
FAINT = 1e-260  # weights do not fall further, so that no ratio is 0/0
EXPONENTIAL, LOGISTIC, SQUARED, MATSUSHITA = 0, 1, 2, 3
LARGEST, DECREASE, IN_ORDER = 0, 1, 2  # choosers
NEEDED, ALWAYS, NORMALISED = 0, 1, 2  # smoothing
FOLLOW = 0.95  # the normalised smoothing follows the mean weight in steps of 5 %
RECOUNT = 256  # rounds after which the risk is summed afresh


@njit(nogil=True, cache=True)
def reverse_graph(indices):  # type: ignore[no-untyped-def]
    """For each point the places (row · k + column) where it is a neighbour, by ascending row."""
    m, k = indices.shape
    starts = np.zeros(m + 1, np.int64)
    for i in range(m):
        for t in range(k):
            if indices[i, t] >= 0:
                starts[indices[i, t] + 1] += 1
    for j in range(m):
        starts[j + 1] += starts[j]
    places = np.empty(starts[m], np.int64)
    ends = starts[:-1].copy()
    for i in range(m):
        for t in range(k):
            j = indices[i, t]
            if j >= 0:
                places[ends[j]] = i * k + t
                ends[j] += 1
    return starts, places


# -- a binary heap that knows where each column is ----------------------------------------------------


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _heapify(heap, where, keys, size):  # type: ignore[no-untyped-def]
    for at in range(size):
        where[heap[at]] = at
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(heap, where, keys, at, size)


@njit(nogil=True, cache=True)
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


# -- columns of two values, exponential loss: everything in closed form --------------------------------


@njit(nogil=True, cache=True)
def _log_ratio(plus, minus, n_plus, n_minus, up, down, smoothing, epsilon):  # type: ignore[no-untyped-def]
    """The logarithm whose (up + down)-th part is the step."""
    if n_plus + n_minus == 0:
        return -LOG_LIMIT
    extra = 0.0
    if smoothing != NEEDED or n_plus == 0 or n_minus == 0:
        extra = epsilon * min(up, down)
    ratio = np.log((up * plus + extra) / (down * minus + extra))
    return min(max(ratio, -LOG_LIMIT), LOG_LIMIT)


@njit(nogil=True, cache=True)
def _closed_key(chooser, ratio, plus, minus, up, down, scale, rate):  # type: ignore[no-untyped-def]
    if chooser == LARGEST:
        return ratio * scale / (up + down)
    if ratio <= 0.0:
        return -1.0
    step = rate * ratio / (up + down)
    return plus * (1.0 - np.exp(-step * up)) + minus * (1.0 - np.exp(step * down))


@njit(nogil=True, cache=True)
def _column_sums(j, starts, places, k, codes, w):  # type: ignore[no-untyped-def]
    plus = 0.0
    minus = 0.0
    for p in range(starts[j], starts[j + 1]):
        i = places[p] // k
        if codes[i] == codes[j]:
            plus += w[i]
        else:
            minus += w[i]
    return plus, minus


@njit(nogil=True, cache=True)
def boost_closed(  # type: ignore[no-untyped-def]
    indices,
    codes,
    starts,
    places,
    up,
    down,
    scale,
    start_weights,
    order,
    chooser,
    repeats,
    n_rounds,
    n_wanted,
    smoothing,
    epsilon,
    rate,
):
    """The rounds for edges +up[j] (same code) and −down[j] (another), exponential loss.

    The key of a column in the heap is an upper bound of its criterion, from running sums; a column that
    comes to the top is summed afresh, in the order of its rows, before it is believed. So the sequence
    is that of the naive chooser, digit for digit.
    """
    m, k = indices.shape
    w = start_weights.copy()
    total = w.sum()
    used_total = total
    plus, minus = np.empty(m), np.empty(m)
    n_plus, n_minus = np.zeros(m, np.int64), np.zeros(m, np.int64)
    keys = np.empty(m)
    for j in range(m):
        for p in range(starts[j], starts[j + 1]):
            if codes[places[p] // k] == codes[j]:
                n_plus[j] += 1
            else:
                n_minus[j] += 1
    base_epsilon = epsilon
    if smoothing == NORMALISED:
        epsilon = base_epsilon * total / m
    for j in range(m):
        plus[j], minus[j] = _column_sums(j, starts, places, k, codes, w)
        ratio = _log_ratio(plus[j], minus[j], n_plus[j], n_minus[j], up[j], down[j], smoothing, epsilon)
        keys[j] = _closed_key(chooser, ratio, plus[j], minus[j], up[j], down[j], scale[j], rate)
    top_plus, top_minus = plus.copy(), minus.copy()  # largest since the last fresh sum: bounds the rounding
    fresh = np.ones(m, np.bool_)
    heap = np.arange(m)
    where = np.arange(m)
    size = m
    if chooser != IN_ORDER:
        _heapify(heap, where, keys, size)

    chosen = np.empty(n_rounds, np.int64)
    steps, losses = np.empty(n_rounds), np.empty(n_rounds)
    risks = np.empty(n_rounds + 1)
    risks[0] = total / m
    seen = np.zeros(m, np.bool_)
    stamp = np.full(m, -1, np.int64)
    touched = np.empty(m, np.int64)
    distinct = 0
    t = 0
    turn = 0
    while t < n_rounds and distinct < n_wanted:
        # Choose.
        if chooser == IN_ORDER:
            if turn >= len(order):
                break
            j = order[turn]
            turn += 1
            if n_plus[j] + n_minus[j] == 0:
                continue
            plus[j], minus[j] = _column_sums(j, starts, places, k, codes, w)
        else:
            if size == 0:
                break
            j = heap[0]
            if not fresh[j]:
                plus[j], minus[j] = _column_sums(j, starts, places, k, codes, w)
                top_plus[j], top_minus[j] = plus[j], minus[j]
                ratio = _log_ratio(
                    plus[j], minus[j], n_plus[j], n_minus[j], up[j], down[j], smoothing, epsilon
                )
                keys[j] = _closed_key(chooser, ratio, plus[j], minus[j], up[j], down[j], scale[j], rate)
                fresh[j] = True
                _sift_down(heap, where, keys, 0, size)
                continue
            if keys[j] <= 0.0:
                break
        ratio = _log_ratio(plus[j], minus[j], n_plus[j], n_minus[j], up[j], down[j], smoothing, epsilon)
        step = rate * ratio / (up[j] + down[j])
        chosen[t] = j
        steps[t] = step
        losses[t] = min(plus[j], minus[j]) / (plus[j] + minus[j])
        if not seen[j]:
            seen[j] = True
            distinct += 1
        if not repeats and chooser != IN_ORDER:
            size = _take_out(heap, where, keys, j, size)
        # Reweigh the points that have j as a neighbour, and the columns of their neighbours.
        factor_plus, factor_minus = np.exp(-step * up[j]), np.exp(step * down[j])
        n_touched = 0
        for p in range(starts[j], starts[j + 1]):
            i = places[p] // k
            old = w[i]
            w[i] = max(old * (factor_plus if codes[i] == codes[j] else factor_minus), FAINT)
            change = w[i] - old
            total += change
            if chooser == IN_ORDER:
                continue
            for c in range(k):
                j2 = indices[i, c]
                if j2 < 0:
                    break
                if where[j2] < 0:
                    continue
                if codes[i] == codes[j2]:
                    plus[j2] += change
                    top_plus[j2] = max(top_plus[j2], plus[j2])
                else:
                    minus[j2] += change
                    top_minus[j2] = max(top_minus[j2], minus[j2])
                if stamp[j2] != t:
                    stamp[j2] = t
                    touched[n_touched] = j2
                    n_touched += 1
        t += 1
        if t % RECOUNT == 0:
            total = w.sum()
        risks[t] = total / m
        shrunk = smoothing == NORMALISED and total < FOLLOW * used_total
        if shrunk:
            used_total = total
            epsilon = base_epsilon * total / m
        if chooser == IN_ORDER:
            continue
        if shrunk:
            # Every key depends on the mean weight: value them all again.
            for at in range(size):
                j2 = heap[at]
                plus[j2], minus[j2] = _column_sums(j2, starts, places, k, codes, w)
                top_plus[j2], top_minus[j2] = plus[j2], minus[j2]
                ratio = _log_ratio(
                    plus[j2], minus[j2], n_plus[j2], n_minus[j2], up[j2], down[j2], smoothing, epsilon
                )
                keys[j2] = _closed_key(chooser, ratio, plus[j2], minus[j2], up[j2], down[j2], scale[j2], rate)
                fresh[j2] = True
            _heapify(heap, where, keys, size)
            continue
        for q in range(n_touched):
            j2 = touched[q]
            if plus[j2] < 0.5 * top_plus[j2] or minus[j2] < 0.5 * top_minus[j2]:
                plus[j2], minus[j2] = _column_sums(j2, starts, places, k, codes, w)
                top_plus[j2], top_minus[j2] = plus[j2], minus[j2]
            ratio = _log_ratio(
                plus[j2], minus[j2], n_plus[j2], n_minus[j2], up[j2], down[j2], smoothing, epsilon
            )
            bound = _closed_key(
                chooser, ratio + SLACK, plus[j2], minus[j2], up[j2], down[j2], scale[j2], rate
            )
            if chooser == DECREASE:
                bound += SLACK * (plus[j2] + minus[j2])
            fresh[j2] = False
            if bound > keys[j2]:
                keys[j2] = bound
                _sift_up(heap, where, keys, where[j2])
    return chosen[:t], steps[:t], losses[:t], risks[: t + 1], w


# -- any edges, any loss: each step is the root of a decreasing function --------------------------------


@njit(nogil=True, cache=True)
def loss_value(loss, x):  # type: ignore[no-untyped-def]
    """ψ(x)."""
    if loss == EXPONENTIAL:
        return np.exp(-x)
    if loss == LOGISTIC:
        return np.log1p(np.exp(-x)) if x > 0 else np.log1p(np.exp(x)) - x
    if loss == SQUARED:
        return (1.0 - x) ** 2
    # Matsushita: √(1+x²) − x, without cancellation.
    root = np.sqrt(1.0 + x * x)
    return 1.0 / (root + x) if x > 0 else root - x


@njit(nogil=True, cache=True)
def _log_weight(loss, x):  # type: ignore[no-untyped-def]
    """log(−ψ'(x)) and its derivative (not for the squared loss)."""
    if loss == EXPONENTIAL:
        return -x, -1.0
    if loss == LOGISTIC:
        if x > 0:
            small = np.exp(-x)
            return -x - np.log1p(small), -1.0 / (1.0 + small)
        small = np.exp(x)
        return -np.log1p(small), -small / (1.0 + small)
    root = np.sqrt(1.0 + x * x)
    if x > 0:
        return -np.log(root * (root + x)), -(root + x) / (root * root)
    return np.log((root - x) / root), -1.0 / (root * root * (root - x))


@njit(nogil=True, cache=True)
def loss_weight(loss, x):  # type: ignore[no-untyped-def]
    """−ψ'(x)."""
    if loss == SQUARED:
        return 2.0 * (1.0 - x)
    return np.exp(_log_weight(loss, x)[0])


@njit(nogil=True, cache=True)
def _balance(step, loss, j, starts, places, k, values, edges, weights, extra, up, down):  # type: ignore[no-untyped-def]
    """log S₊(δ) − log S₋(δ) of a column and its derivative; S± = Σ s|r|·(−ψ'(e + δr)) by sign of r."""
    top_plus, top_minus = -np.inf, -np.inf
    sum_plus, sum_minus, slope_plus, slope_minus = 0.0, 0.0, 0.0, 0.0
    zero = _log_weight(loss, 0.0)[0]
    # Sums relative to the largest term so far; a larger one rescales what is there.
    for p in range(starts[j] - (2 if extra > 0.0 else 0), starts[j + 1]):
        if p < starts[j]:  # the two pseudo-examples of the smoothing
            r = up if p == starts[j] - 1 else -down
            z, dz = _log_weight(loss, step * r)
            z -= zero
            mass = extra
        else:
            r = values[places[p]]
            i = places[p] // k
            mass = weights[i] * abs(r)
            if mass == 0.0:
                continue
            z, dz = _log_weight(loss, edges[i] + step * r)
        if r > 0:
            if z > top_plus:
                fall = np.exp(top_plus - z)
                sum_plus *= fall
                slope_plus *= fall
                top_plus = z
            term = mass * np.exp(z - top_plus)
            sum_plus += term
            slope_plus += term * dz * r
        else:
            if z > top_minus:
                fall = np.exp(top_minus - z)
                sum_minus *= fall
                slope_minus *= fall
                top_minus = z
            term = mass * np.exp(z - top_minus)
            sum_minus += term
            slope_minus += term * dz * r
    value = top_plus + np.log(sum_plus) - top_minus - np.log(sum_minus)
    return value, slope_plus / sum_plus - slope_minus / sum_minus


@njit(nogil=True, cache=True)
def solve_column(loss, j, starts, places, k, values, edges, weights, extra, up, down):  # type: ignore[no-untyped-def]
    """The step of column j, which has entries of both signs or ``extra`` > 0: Newton within a bracket.

    It always starts at 0, so the answer depends on the column alone.
    """
    limit = LOG_LIMIT / (up + down)
    if loss == SQUARED:
        over, under = 0.0, 0.0
        for p in range(starts[j], starts[j + 1]):
            i = places[p] // k
            r = values[places[p]]
            over += weights[i] * r * (1.0 - edges[i])
            under += weights[i] * r * r
        return min(max(over / under, -limit), limit) if under > 0.0 else 0.0
    low, high = -limit, limit
    step = 0.0
    for _ in range(100):
        value, slope = _balance(step, loss, j, starts, places, k, values, edges, weights, extra, up, down)
        if value == 0.0:
            break
        if value > 0.0:
            low = step
        else:
            high = step
        new = step - value / slope if slope < 0.0 else np.nan
        if not (low < new < high):
            if new >= limit or new <= -limit:
                # Straight to the end of the bracket: it may be the answer.
                end = limit if new > 0 else -limit
                at_end, _ = _balance(end, loss, j, starts, places, k, values, edges, weights, extra, up, down)
                if at_end * end >= 0.0:
                    return end
            new = 0.5 * (low + high)
        if abs(new - step) <= 4e-16 * abs(new):
            step = new
            break
        step = new
    return step


@njit(nogil=True, cache=True)
def _column_extra(n_plus, n_minus, up, down, smoothing, epsilon):  # type: ignore[no-untyped-def]
    if smoothing != NEEDED or n_plus == 0 or n_minus == 0:
        return epsilon * min(up, down)
    return 0.0


@njit(nogil=True, cache=True)
def _general_step(  # type: ignore[no-untyped-def]
    loss, j, starts, places, k, values, edges, weights, n_plus, n_minus, up, down, smoothing, epsilon
):
    if n_plus[j] + n_minus[j] == 0:
        return -LOG_LIMIT / (up[j] + down[j])
    extra = _column_extra(n_plus[j], n_minus[j], up[j], down[j], smoothing, epsilon)
    return solve_column(loss, j, starts, places, k, values, edges, weights, extra, up[j], down[j])


@njit(nogil=True, cache=True)
def _general_key(  # type: ignore[no-untyped-def]
    chooser, step, rate, loss, j, starts, places, k, values, edges, weights, scale
):
    if chooser == LARGEST:
        return step * scale
    if step <= 0.0:
        return -1.0
    drop = 0.0
    for p in range(starts[j], starts[j + 1]):
        i = places[p] // k
        old, new = edges[i], edges[i] + rate * step * values[places[p]]
        drop += weights[i] * (loss_value(loss, old) - loss_value(loss, new))
    return drop


@njit(nogil=True, cache=True)
def _risk(loss, edges, weights):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(edges)):
        total += weights[i] * loss_value(loss, edges[i])
    return total


@njit(nogil=True, cache=True)
def boost_general(  # type: ignore[no-untyped-def]
    indices,
    values,
    starts,
    places,
    up,
    down,
    scale,
    weights,
    loss,
    order,
    chooser,
    repeats,
    n_rounds,
    n_wanted,
    smoothing,
    epsilon,
    rate,
):
    """The rounds for any edges ``values`` (flat, in the places of ``indices``) and any loss.

    Keys are upper bounds as in ``boost_closed``: a column whose step can only have shrunk keeps its old
    one; another is kept where the old one still overshoots, which one evaluation tells, and solved else.
    """
    m, k = indices.shape
    edges = np.zeros(m)
    total = _risk(loss, edges, weights)
    unit = loss_weight(loss, 0.0)  # the weight of one example at the start
    mass = unit * weights.sum()
    used_mass = mass
    base_epsilon = epsilon
    epsilon = base_epsilon * (mass / m if smoothing == NORMALISED else unit)
    n_plus, n_minus = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for j in range(m):
        for p in range(starts[j], starts[j + 1]):
            r = values[places[p]]
            if weights[places[p] // k] > 0.0:
                n_plus[j] += r > 0.0
                n_minus[j] += r < 0.0
    keys, slack = np.empty(m), SLACK * scale / (up + down)
    fresh = np.ones(m, np.bool_)
    heap, where, size = np.arange(m), np.arange(m), m
    if chooser != IN_ORDER:
        for j in range(m):
            step = _general_step(
                loss,
                j,
                starts,
                places,
                k,
                values,
                edges,
                weights,
                n_plus,
                n_minus,
                up,
                down,
                smoothing,
                epsilon,
            )
            keys[j] = _general_key(
                chooser, step, rate, loss, j, starts, places, k, values, edges, weights, scale[j]
            )
        _heapify(heap, where, keys, size)

    chosen = np.empty(n_rounds, np.int64)
    steps, losses = np.empty(n_rounds), np.empty(n_rounds)
    risks = np.empty(n_rounds + 1)
    risks[0] = total / m
    seen = np.zeros(m, np.bool_)
    stamp = np.full(m, -1, np.int64)
    rising = np.zeros(m, np.bool_)
    touched = np.empty(m, np.int64)
    distinct = 0
    t = 0
    turn = 0
    while t < n_rounds and distinct < n_wanted:
        if chooser == IN_ORDER:
            if turn >= len(order):
                break
            j = order[turn]
            turn += 1
            if n_plus[j] + n_minus[j] == 0:
                continue
        else:
            if size == 0:
                break
            j = heap[0]
            if fresh[j] and keys[j] <= 0.0:
                break
        step = _general_step(
            loss, j, starts, places, k, values, edges, weights, n_plus, n_minus, up, down, smoothing, epsilon
        )
        if chooser != IN_ORDER and not fresh[j]:
            keys[j] = _general_key(
                chooser, step, rate, loss, j, starts, places, k, values, edges, weights, scale[j]
            )
            fresh[j] = True
            _sift_down(heap, where, keys, 0, size)
            continue
        step *= rate
        good, bad = 0.0, 0.0
        for p in range(starts[j], starts[j + 1]):
            i = places[p] // k
            weight = weights[i] * loss_weight(loss, edges[i])
            if values[places[p]] > 0.0:
                good += weight
            elif values[places[p]] < 0.0:
                bad += weight
        chosen[t] = j
        steps[t] = step
        losses[t] = min(good, bad) / (good + bad) if good + bad > 0.0 else 0.0
        if not seen[j]:
            seen[j] = True
            distinct += 1
        if not repeats and chooser != IN_ORDER:
            size = _take_out(heap, where, keys, j, size)
        n_touched = 0
        for p in range(starts[j], starts[j + 1]):
            i = places[p] // k
            move = step * values[places[p]]
            if move == 0.0:
                continue
            total -= weights[i] * loss_value(loss, edges[i])
            mass -= weights[i] * loss_weight(loss, edges[i])
            edges[i] += move
            total += weights[i] * loss_value(loss, edges[i])
            mass += weights[i] * loss_weight(loss, edges[i])
            if chooser == IN_ORDER:
                continue
            for c in range(k):
                j2 = indices[i, c]
                if j2 < 0:
                    break
                if where[j2] < 0:
                    continue
                if stamp[j2] != t:
                    stamp[j2] = t
                    rising[j2] = False
                    touched[n_touched] = j2
                    n_touched += 1
                # A heavier positive entry, or a lighter negative one, lengthens the step.
                rising[j2] |= values[i * k + c] * move < 0.0
        t += 1
        if t % RECOUNT == 0:
            total = _risk(loss, edges, weights)
        risks[t] = total / m
        shrunk = smoothing == NORMALISED and mass < FOLLOW * used_mass
        if shrunk:
            used_mass = mass
            epsilon = base_epsilon * max(mass, FAINT) / m
        if chooser == IN_ORDER:
            continue
        if shrunk:
            n_touched = size
            touched[:size] = heap[:size]
        for q in range(n_touched):
            j2 = touched[q]
            if chooser == LARGEST and not shrunk:
                if fresh[j2]:
                    fresh[j2] = False
                    keys[j2] += slack[j2]
                    _sift_up(heap, where, keys, where[j2])
                if not rising[j2]:
                    continue
                if loss != SQUARED:
                    bound = keys[j2] / scale[j2]
                    extra = _column_extra(n_plus[j2], n_minus[j2], up[j2], down[j2], smoothing, epsilon)
                    over, _ = _balance(
                        bound, loss, j2, starts, places, k, values, edges, weights, extra, up[j2], down[j2]
                    )
                    if over <= 0.0:
                        continue
            step = _general_step(
                loss,
                j2,
                starts,
                places,
                k,
                values,
                edges,
                weights,
                n_plus,
                n_minus,
                up,
                down,
                smoothing,
                epsilon,
            )
            key = _general_key(
                chooser, step, rate, loss, j2, starts, places, k, values, edges, weights, scale[j2]
            )
            fresh[j2] = True
            higher = key > keys[j2]
            keys[j2] = key
            if higher:
                _sift_up(heap, where, keys, where[j2])
            else:
                _sift_down(heap, where, keys, where[j2], size)
    return chosen[:t], steps[:t], losses[:t], risks[: t + 1], edges
