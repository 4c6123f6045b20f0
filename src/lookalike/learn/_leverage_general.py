"""Compiled rounds of leveraged neighbours for any edges and any loss: each step is the root of a decreasing
function. The heap of columns is that of :mod:`lookalike.learn._leverage_kernels`.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from lookalike.learn._leverage_kernels import (
    DECREASE,
    EXPONENTIAL,
    FAINT,
    FOLLOW,
    IN_ORDER,
    LARGEST,
    LOG_LIMIT,
    LOGISTIC,
    NEEDED,
    NORMALISED,
    RECOUNT,
    SLACK,
    SPENT,
    SQUARED,
    _heapify,
    _sift,
    _take_out,
)

# What is known of points and columns while the rounds go on.
State = namedtuple("State", "edges weights keys solved fresh rising heap where sums spans")


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
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


@njit(nogil=True, cache=True, error_model="numpy")
def loss_weight(loss, x):  # type: ignore[no-untyped-def]
    """−ψ'(x)."""
    if loss == SQUARED:
        return 2.0 * (1.0 - x)
    return np.exp(_log_weight(loss, x)[0])


@njit(nogil=True, cache=True, error_model="numpy")
def _balance(step, column, up, down, k, loss, values, edges, weights, extra):  # type: ignore[no-untyped-def]
    """log S₊(δ) − log S₋(δ) of a column and its derivative; S± = Σ s|r|·(−ψ'(e + δr)) by sign of r."""
    zero = _log_weight(loss, 0.0)[0]
    # For each sign: the largest logarithm so far, the sum relative to it, and the sum of the slopes.
    top = (-np.inf, -np.inf)
    total = (0.0, 0.0)
    slope = (0.0, 0.0)
    for q in range(-2 if extra > 0.0 else 0, len(column)):
        if q < 0:  # the two pseudo-examples of the smoothing
            r = up if q == -1 else -down
            z, dz = _log_weight(loss, step * r)
            z -= zero
            mass = extra
        else:
            r = values[column[q]]
            i = column[q] // k
            mass = weights[i] * abs(r)
            if mass == 0.0:
                continue
            z, dz = _log_weight(loss, edges[i] + step * r)
        side = 0 if r > 0 else 1
        highest = max(top[side], z)
        fall = np.exp(top[side] - highest)
        term = mass * np.exp(z - highest)
        now = total[side] * fall + term
        change = slope[side] * fall + term * dz * r
        if side == 0:
            top, total, slope = (highest, top[1]), (now, total[1]), (change, slope[1])
        else:
            top, total, slope = (top[0], highest), (total[0], now), (slope[0], change)
    value = top[0] + np.log(total[0]) - top[1] - np.log(total[1])
    return value, slope[0] / total[0] - slope[1] / total[1]


@njit(nogil=True, cache=True, error_model="numpy")
def _squared_step(j, matrix, edges, weights):  # type: ignore[no-untyped-def]
    """Least squares along one column."""
    k = matrix.indices.shape[1]
    over, under = 0.0, 0.0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i = matrix.places[p] // k
        r = matrix.values[matrix.places[p]]
        over += weights[i] * r * (1.0 - edges[i])
        under += weights[i] * r * r
    return over / under if under > 0.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _extra(j, matrix, smoothing, epsilon):  # type: ignore[no-untyped-def]
    """The mass of each pseudo-example of a column."""
    if smoothing != NEEDED or matrix.n_plus[j] == 0 or matrix.n_minus[j] == 0:
        return epsilon * min(matrix.up[j], matrix.down[j])
    return 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def solve_column(j, loss, matrix, edges, weights, extra):  # type: ignore[no-untyped-def]
    """The step of column j: Newton within a bracket. It starts at 0: the column alone decides it."""
    limit = LOG_LIMIT / (matrix.up[j] + matrix.down[j])
    if matrix.n_plus[j] + matrix.n_minus[j] == 0:
        return -limit
    if loss == SQUARED:
        return min(max(_squared_step(j, matrix, edges, weights), -limit), limit)
    low, high = -np.inf, np.inf
    step = 0.0
    column, k = matrix.places[matrix.starts[j] : matrix.starts[j + 1]], matrix.indices.shape[1]
    up, down, values = matrix.up[j], matrix.down[j], matrix.values
    for _ in range(100):
        value, slope = _balance(step, column, up, down, k, loss, values, edges, weights, extra)
        if value == 0.0 or (step == limit and value > 0.0) or (step == -limit and value < 0.0):
            break
        if value > 0.0:
            low = step
        else:
            high = step
        new = step - value / slope
        if not (low < new < high):  # also where the slope vanished
            new = 0.5 * (max(low, -limit) + min(high, limit))
        new = min(max(new, -limit), limit)
        done = abs(new - step) <= 4e-16 * abs(new)
        step = new
        if done:
            break
    return step


@njit(nogil=True, cache=True, error_model="numpy")
def _risk(loss, edges, weights):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(edges)):
        total += weights[i] * loss_value(loss, edges[i])
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _drop(j, step, loss, matrix, edges, weights):  # type: ignore[no-untyped-def]
    """By how much a step lowers the risk."""
    k = matrix.indices.shape[1]
    drop = 0.0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i = matrix.places[p] // k
        new = edges[i] + step * matrix.values[matrix.places[p]]
        drop += weights[i] * (loss_value(loss, edges[i]) - loss_value(loss, new))
    return drop


@njit(nogil=True, cache=True, error_model="numpy")
def _spans(matrix):  # type: ignore[no-untyped-def]
    """For each column the least and the largest |r| of both signs added, those of the smoothing included."""
    m = len(matrix.up)
    spans = np.empty((m, 2))
    for j in range(m):
        least, most = (matrix.up[j], matrix.down[j]), (matrix.up[j], matrix.down[j])
        for p in range(matrix.starts[j], matrix.starts[j + 1]):
            r = matrix.values[matrix.places[p]]
            if r > 0.0:
                least, most = (min(least[0], r), least[1]), (max(most[0], r), most[1])
            elif r < 0.0:
                least, most = (least[0], min(least[1], -r)), (most[0], max(most[1], -r))
        spans[j, 0] = least[0] + least[1]
        spans[j, 1] = most[0] + most[1]
    return spans


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_at_step(j, matrix, state):  # type: ignore[no-untyped-def]
    """S₊ and S₋ of the exponential loss at the last solved step, and their largest since then."""
    k = matrix.indices.shape[1]
    step, plus, minus = state.solved[j], 0.0, 0.0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        r = matrix.values[matrix.places[p]]
        i = matrix.places[p] // k
        term = state.weights[i] * abs(r) * np.exp(-state.edges[i] - step * r)
        if r > 0.0:
            plus += term
        else:
            minus += term
    state.sums[j, 0] = state.sums[j, 2] = plus
    state.sums[j, 1] = state.sums[j, 3] = minus


@njit(nogil=True, cache=True, error_model="numpy")
def _step_bound(step, up, down, plus, minus, spans, extra):  # type: ignore[no-untyped-def]
    """What the step of a column cannot exceed, by the exponential loss and S₊, S₋ at the last solved step.

    Beyond that step log S₊ − log S₋ falls at least as fast as the least |r| say, before it at most as fast as
    the largest. Infinity where the sums say nothing. (Numbers, not the whole matrix, for that costs more.)
    """
    plus += extra * np.exp(-step * up)
    minus += extra * np.exp(step * down)
    if not (1e-200 < plus < 1e200 and 1e-200 < minus < 1e200):
        return np.inf
    ratio = np.log(plus / minus)
    limit = LOG_LIMIT / (up + down)
    bound = step + ratio / spans[0 if ratio > 0.0 else 1] + SLACK / spans[0]
    return min(max(bound, -limit), limit)


@njit(nogil=True, cache=True, error_model="numpy")
def _value_general(touched, exact, matrix, rule, epsilon, scale, state, size):  # type: ignore[no-untyped-def]
    """New keys of the touched columns, which move to their places in the heap (of ``size`` columns).

    With the exponential loss running sums bound a step. With others a column whose step can only have shrunk
    keeps its old key; another keeps it where the old one still overshoots, which one evaluation tells, and
    is solved else.
    """
    edges, weights, keys, solved, fresh, rising, heap, where, sums, spans = state
    quick = rule.loss == EXPONENTIAL and rule.chooser == LARGEST
    for q in range(len(touched)):
        j = touched[q]
        key = keys[j]
        extra = _extra(j, matrix, rule.smoothing, epsilon)
        keep = not exact and rule.chooser == LARGEST
        bound = np.inf
        if keep and quick:
            if sums[j, 0] < SPENT * sums[j, 2] or sums[j, 1] < SPENT * sums[j, 3]:
                _sum_at_step(j, matrix, state)
            bound = solved[j]
            if matrix.n_plus[j] + matrix.n_minus[j] > 0:
                up, down, span = matrix.up[j], matrix.down[j], (spans[j, 0], spans[j, 1])
                bound = _step_bound(bound, up, down, sums[j, 0], sums[j, 1], span, extra)
        if bound < np.inf:
            fresh[j] = False
            key = max(key, bound * scale[j]) if size > 0 else bound * scale[j]
        elif keep:
            if fresh[j]:
                fresh[j] = False
                key += SLACK * scale[j] / (matrix.up[j] + matrix.down[j])
            keep = not rising[j]
            if not keep and rule.loss != SQUARED:
                column, k = matrix.places[matrix.starts[j] : matrix.starts[j + 1]], matrix.indices.shape[1]
                up, down, bound = matrix.up[j], matrix.down[j], key / scale[j]
                found = _balance(bound, column, up, down, k, rule.loss, matrix.values, edges, weights, extra)
                keep = found[0] <= 0.0
        if not keep:
            fresh[j] = True
            solved[j] = solve_column(j, rule.loss, matrix, edges, weights, extra)
            if quick:
                _sum_at_step(j, matrix, state)
            if rule.chooser != DECREASE:
                key = solved[j] * scale[j]
            elif solved[j] > 0.0:
                key = _drop(j, rule.rate * solved[j], rule.loss, matrix, edges, weights)
            else:
                key = -1.0
        if key != keys[j]:
            keys[j] = key  # one at a time: the others are in their places
            if size > 0:
                _sift(heap, where, keys, where[j], size)


@njit(nogil=True, cache=True, error_model="numpy")
def _reweigh_general(j, step, quick, loss, matrix, state, stamp, t, touched):  # type: ignore[no-untyped-def]
    """Move the edges of the points that have j as a neighbour; which columns that touches, and how."""
    k = matrix.indices.shape[1]
    edges, weights, rising, sums = state.edges, state.weights, state.rising, state.sums
    change, lighter, good, bad = 0.0, 0.0, 0.0, 0.0
    n_touched = 0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i = matrix.places[p] // k
        move = step * matrix.values[matrix.places[p]]
        weight = weights[i] * loss_weight(loss, edges[i])
        if matrix.values[matrix.places[p]] > 0.0:
            good += weight
        elif matrix.values[matrix.places[p]] < 0.0:
            bad += weight
        if move == 0.0:
            continue
        change -= weights[i] * loss_value(loss, edges[i])
        edges[i] += move
        change += weights[i] * loss_value(loss, edges[i])
        gain = weights[i] * loss_weight(loss, edges[i]) - weight
        lighter += gain
        for c in range(k):
            j2 = matrix.indices[i, c]
            if j2 < 0:
                break
            if state.where[j2] < 0:
                continue
            if stamp[j2] != t:
                stamp[j2] = t
                rising[j2] = False
                touched[n_touched] = j2
                n_touched += 1
            # A heavier positive entry, or a lighter negative one, lengthens the step.
            r = matrix.values[i * k + c]
            rising[j2] |= r * move < 0.0
            if quick:
                side = 0 if r > 0.0 else 1
                sums[j2, side] += gain * abs(r) * np.exp(-state.solved[j2] * r)
                sums[j2, side + 2] = max(sums[j2, side + 2], sums[j2, side])
    return change, lighter, min(good, bad) / (good + bad) if good + bad > 0.0 else 0.0, n_touched


@njit(nogil=True, cache=True, error_model="numpy")
def boost_general(matrix, rule, scale, weights, order):  # type: ignore[no-untyped-def]
    """The rounds for any edges and any loss: each step is the root of a decreasing function.

    Gives the prototype, step and reject loss of each round, the risks, and the final edges.
    """
    m = len(weights)
    edges = np.zeros(m)
    total = _risk(rule.loss, edges, weights)
    unit = loss_weight(rule.loss, 0.0)  # the weight of one example at the start
    mass = 0.0
    for i in range(m):
        mass += unit * weights[i]
    followed = mass
    epsilon = rule.epsilon * (mass / m if rule.smoothing == NORMALISED else unit)
    heap, where, size = np.arange(m), np.arange(m), m
    touched, n_touched = np.arange(m), m
    stamp = np.full(m, -1)
    solved, keys = np.empty(m), np.empty(m)
    fresh, seen, rising = np.zeros(m, np.bool_), np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    quick = rule.loss == EXPONENTIAL and rule.chooser == LARGEST
    state = State(edges, weights, keys, solved, fresh, rising, heap, where, np.zeros((m, 4)), _spans(matrix))
    chosen, steps = np.empty(rule.n_rounds, np.int64), np.empty(rule.n_rounds)
    losses, risks = np.empty(rule.n_rounds), np.empty(rule.n_rounds + 1)
    risks[0] = total / m
    t, turn, ready, distinct = np.int64(0), 0, -1, 0
    exact, all_anew = t == 0, t == 0
    while t < rule.n_rounds and distinct < rule.n_wanted:
        ordered = size if rule.chooser != IN_ORDER and not all_anew else 0
        _value_general(touched[:n_touched], exact, matrix, rule, epsilon, scale, state, ordered)
        if all_anew:
            _heapify(heap, where, keys, size)
        if rule.chooser == IN_ORDER:
            while turn < len(order) and matrix.n_plus[order[turn]] + matrix.n_minus[order[turn]] == 0:
                turn += 1
            if turn == len(order):
                break
            j = order[turn]
        elif size == 0 or keys[heap[0]] <= 0.0:
            break
        else:
            j = heap[0]
        all_anew = False
        if (rule.chooser == IN_ORDER and ready != j) or not fresh[j]:
            ready = j
            touched[0], n_touched, exact = j, 1, True
            continue
        turn += 1
        ready = -1
        chosen[t], steps[t] = j, rule.rate * solved[j]
        distinct += not seen[j]
        seen[j] = True
        if not rule.repeats and rule.chooser != IN_ORDER:
            size = _take_out(heap, where, keys, j, size)
        change, lighter, losses[t], n_touched = _reweigh_general(
            j, steps[t], quick, rule.loss, matrix, state, stamp, t, touched
        )
        total += change
        mass += lighter
        t += 1
        if t % RECOUNT == 0:
            total = _risk(rule.loss, edges, weights)
        risks[t] = total / m
        exact = False
        if rule.chooser == IN_ORDER:
            n_touched = 0
        if rule.smoothing == NORMALISED and rule.loss != SQUARED and mass < FOLLOW * followed:
            followed = max(mass, FAINT)
            epsilon = rule.epsilon * followed / m
            if rule.chooser != IN_ORDER:
                n_touched, all_anew = size, True
                for at in range(size):
                    touched[at] = heap[at]
                    rising[heap[at]] = True
    return chosen[:t], steps[:t], losses[:t], risks[: t + 1], edges
