"""Compiled distances to k-th neighbours between small sets: no distance matrix is built, no row is sorted.

One row of distances at a time stays in the first cache. The k-th smallest of the minima of 64 interleaved
groups bounds the k-th smallest of all from above, so that few groups are looked at a second time.

The points that are searched lie in the order of their shadows on one axis. A window of them around the query
gives a first radius, and only those whose shadow is within that radius are compared at all.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath={"contract"})
def _squared_distances(a, columns, first, last, out):
    """From a point to some others: ``columns`` holds a coordinate in each row, padded to a multiple of 9."""
    out = out[first:last]  # slices, for an index with an offset would not be compiled to vectors
    for c in range(0, len(columns), 9):
        a0, a1, a2, a3, a4 = a[c], a[c + 1], a[c + 2], a[c + 3], a[c + 4]
        a5, a6, a7, a8 = a[c + 5], a[c + 6], a[c + 7], a[c + 8]
        r0, r1, r2 = columns[c][first:last], columns[c + 1][first:last], columns[c + 2][first:last]
        r3, r4, r5 = columns[c + 3][first:last], columns[c + 4][first:last], columns[c + 5][first:last]
        r6, r7, r8 = columns[c + 6][first:last], columns[c + 7][first:last], columns[c + 8][first:last]
        for j in range(len(out)):
            t0 = r0[j] - a0
            t1 = r1[j] - a1
            t2 = r2[j] - a2
            t3 = r3[j] - a3
            t4 = r4[j] - a4
            t5 = r5[j] - a5
            t6 = r6[j] - a6
            t7 = r7[j] - a7
            t8 = r8[j] - a8
            s = t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3 + t4 * t4 + t5 * t5 + t6 * t6 + t7 * t7 + t8 * t8
            if c == 0:
                out[j] = s
            else:
                out[j] += s


@njit(nogil=True, cache=True)
def _insert(best, value):
    j = len(best) - 1
    if not value < best[j]:
        return
    while j > 0 and best[j - 1] > value:
        best[j] = best[j - 1]
        j -= 1
    best[j] = value


@njit(nogil=True, cache=True)
def _group_minima(row, minima):
    for j in range(64):
        minima[j] = row[j]
    fours = 64 + (len(row) - 64) // 256 * 256
    for start in range(64, fours, 256):
        p, q = row[start : start + 64], row[start + 64 : start + 128]
        r, s = row[start + 128 : start + 192], row[start + 192 : start + 256]
        for j in range(64):
            x = p[j] if p[j] < q[j] else q[j]
            y = r[j] if r[j] < s[j] else s[j]
            x = x if x < y else y
            minima[j] = x if x < minima[j] else minima[j]
    for start in range(fours, len(row), 64):
        part = row[start : start + 64]
        for j in range(64):
            minima[j] = part[j] if part[j] < minima[j] else minima[j]


@njit(nogil=True, cache=True)
def _bound(minima, k, ends):
    """A value that at least k of the minima do not exceed, by bisection; ``ends`` keeps its precision."""
    ends[0] = ends[1] = minima[0]
    for value in minima:
        ends[0] = min(ends[0], value)
        ends[1] = max(ends[1], value)
    for _ in range(12):
        ends[2] = 0.5 * (ends[0] + ends[1])
        middle = ends[2]
        count = np.int32(0)
        for j in range(64):
            count += np.int32(minima[j] <= middle)
        if count >= k:
            ends[1] = middle
            if count <= k + 2:
                break
        else:
            ends[0] = middle
    return ends[1]


@njit(nogil=True, cache=True)
def _collect(row, k, minima, ends, lanes, kept):
    """Keep the few that may be among the k smallest of a row, almost without branches; how many.

    The length of the row is a multiple of 64.
    """
    m = len(row)
    if k > 32:
        kept[:m] = row
        return m
    _group_minima(row, minima)
    bound = _bound(minima, k, ends)
    n_lanes = 0
    for j in range(64):
        lanes[n_lanes] = j
        n_lanes += 1 if minima[j] <= bound else 0
    m = 0
    for lane in lanes[:n_lanes]:
        for i in range(lane, len(row), 64):
            kept[m] = row[i]
            m += 1 if row[i] <= bound else 0
    return m


@njit(nogil=True, cache=True)
def _kth_smallest(kept, m, k):
    """The k-th smallest of the first m."""
    if m > 200:
        best = np.full(k, np.inf, kept.dtype)
        for value in kept[:m]:
            _insert(best, value)
        return best[k - 1]
    for i in range(m):
        less = np.int32(0)
        same = np.int32(0)
        for j in range(m):
            less += np.int32(kept[j] < kept[i])
            same += np.int32(kept[j] <= kept[i])
        if less < k and same >= k:
            return kept[i]
    return kept[0]


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _add_within(row, limit, kept, m):
    """Keep those up to a limit as well; how many there are then. Most blocks of 64 have none."""
    for start in range(0, len(row), 64):
        part = row[start : start + 64]
        least = part[0]
        for j in range(64):
            least = min(least, part[j])
        if least <= limit:
            for j in range(64):
                kept[m] = part[j]
                m += 1 if part[j] <= limit else 0
    return m


@njit(nogil=True, cache=True)
def shadows(points, axis, out):
    """The products of points with one direction."""
    for i in range(len(points)):
        total = 0.0
        for j in range(len(axis)):
            total += np.float64(points[i, j]) * axis[j]
        out[i] = total


@njit(nogil=True, cache=True)
def fill_columns(values, columns):
    """Turn points into rows of coordinates, with points at infinity up to a multiple of 64; how many."""
    n = len(values)
    padded = -(-n // 64) * 64
    for j in range(values.shape[1]):
        for i in range(n):
            columns[j, i] = values[i, j]
        for i in range(n, padded):
            columns[j, i] = np.inf
    return padded


@njit(nogil=True, cache=True)
def kth_squared(points, places, columns, shade, k, out):
    """The squared distance of each point to its k-th nearest among the columns.

    ``places`` and ``shade`` are the shadows of points and columns, those of the columns in rising order.
    """
    n = -(-len(shade) // 64) * 64
    width = 512 if k <= 32 else n
    scale = 1e-9 * max(abs(shade[0]), abs(shade[-1]))
    row = np.empty(n, points.dtype)
    minima = np.empty(64, points.dtype)
    ends = np.empty(3, points.dtype)
    lanes = np.empty(65, np.int64)
    kept = np.empty(n + 1, points.dtype)
    middle = 0
    for i in range(len(points)):
        if i > 0 and places[i] < places[i - 1]:  # most often the points are in order as well
            middle = np.searchsorted(shade, places[i])
        while middle < len(shade) and shade[middle] < places[i]:
            middle += 1
        first = max(0, min(n - width, (middle - width // 2) // 64 * 64))
        last = min(n, first + width)
        _squared_distances(points[i], columns, first, last, row)
        m = _collect(row[first:last], k, minima, ends, lanes, kept)
        found = _kth_smallest(kept, m, k)
        reach = np.sqrt(np.float64(found)) * (1.0 + 1e-5) + scale
        low = first
        while low > 0 and shade[low - 1] >= places[i] - reach:
            low -= 64
        high = last
        while high < len(shade) and shade[high] <= places[i] + reach:
            high += 64
        if low < first:
            _squared_distances(points[i], columns, low, first, row)
            m = _add_within(row[low:first], found, kept, m)
        if high > last:
            _squared_distances(points[i], columns, last, high, row)
            m = _add_within(row[last:high], found, kept, m)
        if low < first or high > last:
            found = _kth_smallest(kept, m, k)
        out[i] = found


@njit(nogil=True, cache=True)
def mean_log_kth(points, values, offsets, axis, k, floor, out):
    """For each bag, the mean over the points of the log of the distance to their k-th nearest in the bag.

    Distances below ``floor`` count as it. An empty bag gives infinity; a bag of fewer than k its farthest.
    Each bag lies in the order of its shadows on the axis.
    """
    longest = 0
    for b in range(len(offsets) - 1):
        longest = max(longest, offsets[b + 1] - offsets[b])
    columns = np.zeros((points.shape[1], -(-longest // 64) * 64), points.dtype)
    found = np.empty(len(points), points.dtype)
    places = np.empty(len(points))
    shadows(points, axis, places)
    shade = np.empty(longest)
    for b in range(len(offsets) - 1):
        bag = values[offsets[b] : offsets[b + 1]]
        n = len(bag)
        if n == 0 or len(points) == 0:
            out[b] = np.inf
            continue
        fill_columns(bag, columns)
        shadows(bag, axis, shade)
        kth_squared(points, places, columns, shade[:n], min(k, n), found)
        total = 0.0
        for i in range(len(points)):
            total += np.log(max(np.float64(found[i]), floor * floor))
        out[b] = 0.5 * total / len(points)
