"""Compiled rounds of leveraged neighbours for any edges and any loss: each step is the root of a decreasing
function. The heap of columns is that of :mod:`lookalike.learn._leverage_kernels`.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from lookalike.learn._leverage_kernels import (
    AT,
    DECREASE,
    EXPONENTIAL,
    EXTRA_MINUS,
    EXTRA_PLUS,
    FAINT,
    FOLLOW,
    IN_ORDER,
    LARGEST,
    LOG_LIMIT,
    LOGISTIC,
    LOWEST,
    MINUS,
    MOST_MINUS,
    MOST_PLUS,
    NORMALISED,
    PLUS,
    RECOUNT,
    SLACK,
    SPENT,
    SQUARED,
    _add,
    _everyone,
    _heapify,
    _next_column,
    _shares,
    _sift,
    _sum,
    _take_out,
)

# What is known of points and columns while the rounds go on; `pulls` are the points' weights times −ψ'.
State = namedtuple("State", "edges weights pulls keys solved fresh rising heap where columns spans shares")


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
def _balance(step, j, loss, matrix, edges, weights, extra):  # type: ignore[no-untyped-def]
    """log S₊(δ) − log S₋(δ) of a column and its derivative; S± = Σ s|r|·(−ψ'(e + δr)) by sign of r."""
    zero = _log_weight(loss, 0.0)[0]
    # For each sign: the largest logarithm so far, the sum relative to it, and the sum of the slopes.
    top = (-np.inf, -np.inf)
    total = (0.0, 0.0)
    slope = (0.0, 0.0)
    first = matrix.starts[j]
    for p in range(first - 2 if extra > 0.0 else first, matrix.starts[j + 1]):
        if p < first:  # the two pseudo-examples of the smoothing
            r = matrix.up[j] if p == first - 1 else -matrix.down[j]
            z, dz = _log_weight(loss, step * r)
            z -= zero
            mass = extra
        else:
            r = matrix.across[p]
            i = matrix.rows[p]
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
    over, under = 0.0, 0.0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i, r = matrix.rows[p], matrix.across[p]
        over += weights[i] * r * (1.0 - edges[i])
        under += weights[i] * r * r
    return over / under if under > 0.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _next_step(step, value, slope, low, high, limit):  # type: ignore[no-untyped-def]
    """Newton's step within limits and a bracket, which narrows; its middle where Newton would leave it."""
    if value == 0.0:
        return step, low, high
    if value > 0.0:
        low = step
    else:
        high = step
    new = step - value / slope
    if new != step and not (low < new < high):  # also where the slope vanished
        new = 0.5 * (max(low, -limit) + min(high, limit))
    return min(max(new, -limit), limit), low, high


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
    for _ in range(100):
        value, slope = _balance(step, j, loss, matrix, edges, weights, extra)
        before = step
        step, low, high = _next_step(before, value, slope, low, high, limit)
        if abs(step - before) <= 4e-16 * abs(step):
            break
    return step


@njit(nogil=True, cache=True, error_model="numpy")
def _pull(loss, x):  # type: ignore[no-untyped-def]
    """−ψ'(x) of the exponential or the logistic loss, and by what part of it it falls there."""
    if loss == EXPONENTIAL:
        return np.exp(-x), 1.0
    pull = 1.0 / (1.0 + np.exp(x))
    return pull, 1.0 - pull


@njit(nogil=True, cache=True, error_model="numpy")
def _sums_at(step, first, last, loss, rows, across, edges, weights):  # type: ignore[no-untyped-def]
    """S₊ and S₋ at a step without the pseudo-examples, their derivatives, and the least edge of the first."""
    plus, minus, lowest = 0.0, 0.0, np.inf
    towards, away = 0.0, 0.0
    for p in range(first, last):
        r, i = across[p], rows[p]
        x = edges[i] + step * r
        pull, part = _pull(loss, x)
        term = weights[i] * r * pull
        if r > 0.0:
            plus += term
            towards -= term * r * part
            lowest = min(lowest, x)
        else:
            minus -= term
            away += term * r * part
    return plus, minus, towards, away, lowest


@njit(nogil=True, cache=True, error_model="numpy")
def solve_by_sums(j, loss, matrix, state, extra):  # type: ignore[no-untyped-def]
    """As :func:`solve_column` by plain sums, which the state keeps; whether they were neither huge nor tiny.

    Newton's step δ leaves an error of about f''δ²/2f', where f'' is at most half of the square of the span:
    the last step need not be checked by another round of exponentials.
    """
    up, down, columns, spans = matrix.up[j], matrix.down[j], state.columns, state.spans
    limit, unit = LOG_LIMIT / (up + down), 1.0 / _pull(loss, 0.0)[0]
    low, high, step = -np.inf, np.inf, 0.0
    first, last, rows, across = matrix.starts[j], matrix.starts[j + 1], matrix.rows, matrix.across
    for _ in range(100):
        at = step
        plus, minus, towards, away, lowest = _sums_at(
            at, first, last, loss, rows, across, state.edges, state.weights
        )
        (with_plus, falling), (with_minus, rising) = _pull(loss, at * up), _pull(loss, -at * down)
        with_plus, with_minus = with_plus * unit, with_minus * unit
        all_plus, all_minus = plus + extra * with_plus, minus + extra * with_minus
        if not (1e-200 < all_plus < 1e200 and 1e-200 < all_minus < 1e200):
            return False
        value = np.log(all_plus / all_minus)
        slope = (towards - extra * with_plus * falling * up) / all_plus
        slope -= (away + extra * with_minus * rising * down) / all_minus
        step, low, high = _next_step(at, value, slope, low, high, limit)
        if (spans[j, 1] * (step - at)) ** 2 <= -1e-16 * slope * abs(step):
            break
    state.solved[j] = step
    columns[j, AT], columns[j, LOWEST] = at, min(lowest, at * up)
    columns[j, EXTRA_PLUS], columns[j, EXTRA_MINUS] = (
        state.shares[j] * with_plus,
        state.shares[j] * with_minus,
    )
    columns[j, PLUS] = columns[j, MOST_PLUS] = plus
    columns[j, MINUS] = columns[j, MOST_MINUS] = minus
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def _risk(loss, edges, weights):  # type: ignore[no-untyped-def]
    high, low = 0.0, 0.0
    for i in range(len(edges)):
        high, low = _add(high, low, weights[i] * loss_value(loss, edges[i]))
    return high, low


@njit(nogil=True, cache=True, error_model="numpy")
def _drop(j, step, loss, matrix, edges, weights):  # type: ignore[no-untyped-def]
    """By how much a step lowers the risk."""
    drop = 0.0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i = matrix.rows[p]
        new = edges[i] + step * matrix.across[p]
        drop += weights[i] * (loss_value(loss, edges[i]) - loss_value(loss, new))
    return drop


@njit(nogil=True, cache=True, error_model="numpy")
def _spans(matrix):  # type: ignore[no-untyped-def]
    """For each column the least and the largest |r| of both signs added, and the least of the first.

    Those of the smoothing are included.
    """
    m = len(matrix.up)
    spans = np.empty((m, 3))
    for j in range(m):
        least, most = (matrix.up[j], matrix.down[j]), (matrix.up[j], matrix.down[j])
        for p in range(matrix.starts[j], matrix.starts[j + 1]):
            r = matrix.across[p]
            if r > 0.0:
                least, most = (min(least[0], r), least[1]), (max(most[0], r), most[1])
            elif r < 0.0:
                least, most = (least[0], min(least[1], -r)), (most[0], max(most[1], -r))
        spans[j, 0] = least[0] + least[1]
        spans[j, 1] = most[0] + most[1]
        spans[j, 2] = least[0]
    return spans


@njit(nogil=True, cache=True, error_model="numpy")
def _step_bound(at, plus, minus, least, most, limit):  # type: ignore[no-untyped-def]
    """What the step of a column cannot exceed, by S₊ and S₋ at one step.

    ``least`` and ``most`` are how fast log S₊ − log S₋ falls at least beyond that step and at most before it.
    Infinity where the sums say nothing. (Numbers alone: to hand an array over costs more.)
    """
    if not (1e-200 < plus < 1e200 and 1e-200 < minus < 1e200):
        return np.inf
    ratio = np.log(plus / minus)
    bound = at + ratio / (least if ratio > 0.0 else most) + SLACK / least
    return min(max(bound, -limit), limit)


@njit(nogil=True, cache=True, error_model="numpy")
def new_state(edges, weights, matrix, rule):  # type: ignore[no-untyped-def]
    """What is known of points with these edges, before any column is solved."""
    m = len(edges)
    pulls = np.empty(m)
    for i in range(m):
        pulls[i] = weights[i] * loss_weight(rule.loss, edges[i])
    fresh, rising = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    columns, spans, shares = np.zeros((m, 8)), _spans(matrix), _shares(matrix, rule.smoothing)
    keys, solved, heap, where = np.empty(m), np.empty(m), np.arange(m), np.arange(m)
    return State(edges, weights, pulls, keys, solved, fresh, rising, heap, where, columns, spans, shares)


@njit(nogil=True, cache=True, error_model="numpy")
def _solve(j, epsilon, matrix, rule, scale, state):  # type: ignore[no-untyped-def]
    """The step of a column, and its key."""
    extra = epsilon * state.shares[j]
    if matrix.n_plus[j] + matrix.n_minus[j] == 0:
        state.solved[j] = state.columns[j, AT] = -LOG_LIMIT / (matrix.up[j] + matrix.down[j])
        state.columns[j, PLUS] = state.columns[j, MINUS] = 1.0
    elif rule.loss > LOGISTIC or not solve_by_sums(j, rule.loss, matrix, state, extra):
        state.solved[j] = solve_column(j, rule.loss, matrix, state.edges, state.weights, extra)
        state.columns[j, PLUS] = state.columns[j, MINUS] = np.inf
    step = state.solved[j]
    if rule.chooser != DECREASE:
        return step * scale[j]
    return _drop(j, rule.rate * step, rule.loss, matrix, state.edges, state.weights) if step > 0.0 else -1.0


@njit(nogil=True, cache=True, error_model="numpy")
def _overshoots(j, step, loss, matrix, state, extra):  # type: ignore[no-untyped-def]
    """Whether a step is too long for a column."""
    return _balance(step, j, loss, matrix, state.edges, state.weights, extra)[0] <= 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _value_general(touched, exact, matrix, rule, epsilon, scale, state, size):  # type: ignore[no-untyped-def]
    """New keys of the touched columns, which move to their places in the heap (of ``size`` columns).

    With the exponential and the logistic loss running sums bound a step: how fast log S₊ − log S₋ falls is
    told by the |r|, for the logistic loss by those of S₊ and by its least edge, since weights fall the slower
    the lower the edge. With others a column whose step can only have shrunk keeps its old key; another keeps
    it where the old one still overshoots, which one evaluation tells, and is solved else.
    """
    keys, fresh, columns, spans = state.keys, state.fresh, state.columns, state.spans
    starts, rows, across, up, down = matrix.starts, matrix.rows, matrix.across, matrix.up, matrix.down
    edges, weights = state.edges, state.weights
    quick = rule.loss <= LOGISTIC and rule.chooser == LARGEST
    for q in range(len(touched)):
        j = touched[q]
        key = keys[j]
        keep = not exact and rule.chooser == LARGEST
        bound = np.inf
        if keep and quick:
            plus, minus, at = columns[j, PLUS], columns[j, MINUS], columns[j, AT]
            if plus < SPENT * columns[j, MOST_PLUS] or minus < SPENT * columns[j, MOST_MINUS]:
                plus, minus, _, _, lowest = _sums_at(
                    at, starts[j], starts[j + 1], rule.loss, rows, across, edges, weights
                )
                columns[j, PLUS] = columns[j, MOST_PLUS] = plus
                columns[j, MINUS] = columns[j, MOST_MINUS] = minus
                columns[j, LOWEST] = min(lowest, at * up[j])
            plus += epsilon * columns[j, EXTRA_PLUS]
            minus += epsilon * columns[j, EXTRA_MINUS]
            least = spans[j, 0]
            if rule.loss == LOGISTIC:
                least = spans[j, 2] * _pull(LOGISTIC, columns[j, LOWEST])[1]
            bound = _step_bound(at, plus, minus, least, spans[j, 1], LOG_LIMIT / (up[j] + down[j]))
        if bound < np.inf:
            fresh[j] = False
            key = max(key, bound * scale[j]) if size > 0 else bound * scale[j]
        elif keep:
            if fresh[j]:
                fresh[j] = False
                key += SLACK * scale[j] / (up[j] + down[j])
            keep = not state.rising[j] or (
                rule.loss != SQUARED
                and _overshoots(j, key / scale[j], rule.loss, matrix, state, epsilon * state.shares[j])
            )
        if not keep:
            fresh[j] = True
            key = _solve(j, epsilon, matrix, rule, scale, state)
        if key != keys[j]:
            keys[j] = key  # one at a time: the others are in their places
            if size > 0:
                _sift(state.heap, state.where, keys, state.where[j], size)


@njit(nogil=True, cache=True, error_model="numpy")
def _reweigh_general(j, step, rule, matrix, state, stamp, t, touched, risk, mass):  # type: ignore[no-untyped-def]
    """Move the edges of the points that have j as a neighbour; which columns that touches, and how.

    The risk and the sum of the weights come and go as two numbers each.
    """
    k = matrix.indices.shape[1]
    loss, edges, weights, pulls = rule.loss, state.edges, state.weights, state.pulls
    rising, columns = state.rising, state.columns
    good, bad = 0.0, 0.0
    n_touched = 0
    for p in range(matrix.starts[j], matrix.starts[j + 1]):
        i = matrix.rows[p]
        old, move = pulls[i], step * matrix.across[p]
        if matrix.across[p] > 0.0:
            good += old
        elif matrix.across[p] < 0.0:
            bad += old
        if move == 0.0:
            continue
        risk = _add(risk[0], risk[1], -weights[i] * loss_value(loss, edges[i]))
        before = edges[i]
        edges[i] += move
        risk = _add(risk[0], risk[1], weights[i] * loss_value(loss, edges[i]))
        pulls[i] = weights[i] * loss_weight(loss, edges[i])
        mass = _add(mass[0], mass[1], -old)
        mass = _add(mass[0], mass[1], pulls[i])
        gain = pulls[i] - old
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
            if loss > LOGISTIC or rule.chooser != LARGEST:
                continue
            at, side = columns[j2, AT] * r, PLUS if r > 0.0 else MINUS
            if loss == EXPONENTIAL:
                columns[j2, side] += gain * abs(r) * np.exp(-at)
            else:
                heavier = _pull(loss, edges[i] + at)[0] - _pull(loss, before + at)[0]
                columns[j2, side] += weights[i] * abs(r) * heavier
                if r > 0.0:
                    columns[j2, LOWEST] = min(columns[j2, LOWEST], edges[i] + at)
            most = side + MOST_PLUS - PLUS
            columns[j2, most] = max(columns[j2, most], columns[j2, side])
    return risk, mass, min(good, bad) / (good + bad) if good + bad > 0.0 else 0.0, n_touched


@njit(nogil=True, cache=True, error_model="numpy")
def boost_general(matrix, rule, scale, weights, order):  # type: ignore[no-untyped-def]
    """The rounds for any edges and any loss: each step is the root of a decreasing function.

    Gives the prototype, step and reject loss of each round, the risks, and the final edges.
    """
    m = len(weights)
    state = new_state(np.zeros(m), weights, matrix, rule)
    risk, mass = _risk(rule.loss, state.edges, weights), _sum(state.pulls)
    counted, followed = risk[0] + risk[1], mass[0] + mass[1]
    unit = loss_weight(rule.loss, 0.0)  # the weight of one example at the start
    epsilon = rule.epsilon * (followed / m if rule.smoothing == NORMALISED else unit)
    keys, fresh, heap, where, size = state.keys, state.fresh, state.heap, state.where, m
    touched, n_touched = np.arange(m), m
    stamp, seen = np.full(m, -1), np.zeros(m, np.bool_)
    chosen, steps = np.empty(rule.n_rounds, np.int64), np.empty(rule.n_rounds)
    losses, risks = np.empty(rule.n_rounds), np.empty(rule.n_rounds + 1)
    risks[0] = (risk[0] + risk[1]) / m
    t, turn, ready, distinct = np.int64(0), 0, -1, 0
    exact, all_anew = t == 0, t == 0
    while t < rule.n_rounds and distinct < rule.n_wanted:
        ordered = size if rule.chooser != IN_ORDER and not all_anew else 0
        _value_general(touched[:n_touched], exact, matrix, rule, epsilon, scale, state, ordered)
        if all_anew:
            _heapify(heap, where, keys, size)
        all_anew = False
        j, turn, settled = _next_column(rule, matrix, order, turn, ready, fresh, heap, keys, size)
        if j < 0:
            break
        if not settled:
            ready, touched[0], n_touched, exact = j, j, 1, True
            continue
        turn, ready = turn + 1, -1
        chosen[t], steps[t] = j, rule.rate * state.solved[j]
        distinct += not seen[j]
        seen[j] = True
        if not rule.repeats and rule.chooser != IN_ORDER:
            size = _take_out(heap, where, keys, j, size)
        risk, mass, losses[t], n_touched = _reweigh_general(
            j, steps[t], rule, matrix, state, stamp, t, touched, risk, mass
        )
        if risk[0] + risk[1] < RECOUNT * counted:
            risk, mass = _risk(rule.loss, state.edges, weights), _sum(state.pulls)
            counted = risk[0] + risk[1]
        t += 1
        risks[t] = (risk[0] + risk[1]) / m
        exact = False
        if rule.chooser == IN_ORDER:
            n_touched = 0
        now = mass[0] + mass[1]
        if rule.smoothing == NORMALISED and rule.loss != SQUARED and now < FOLLOW * followed:
            followed = max(now, FAINT)
            epsilon = rule.epsilon * followed / m
            if rule.chooser != IN_ORDER:
                n_touched, all_anew = _everyone(where, touched), True
                for q in range(n_touched):
                    state.rising[touched[q]] = True
    return chosen[:t], steps[:t], losses[:t], risks[: t + 1], state.edges
