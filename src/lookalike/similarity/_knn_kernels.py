"""Compiled distances to k-th neighbours between small sets: no distance matrix is built, nothing is sorted.

One row of distances at a time stays in the first cache. The k-th smallest of the minima of 64 interleaved
groups bounds the k-th smallest of all from above, so that few groups are looked at a second time.
"""

# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath={"contract"})
def _squared_distances(a, columns, out):
    """From one point to all: ``columns`` holds a coordinate in each row, padded to a multiple of 9."""
    for c in range(0, len(columns), 9):
        a0, a1, a2, a3, a4 = a[c], a[c + 1], a[c + 2], a[c + 3], a[c + 4]
        a5, a6, a7, a8 = a[c + 5], a[c + 6], a[c + 7], a[c + 8]
        r0, r1, r2, r3, r4 = columns[c], columns[c + 1], columns[c + 2], columns[c + 3], columns[c + 4]
        r5, r6, r7, r8 = columns[c + 5], columns[c + 6], columns[c + 7], columns[c + 8]
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
    for start in range(64, len(row), 64):
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
def _kth_smallest(row, k, minima, ends, lanes, kept):
    """The k-th smallest of a row whose length is a multiple of 64, almost without branches."""
    m = len(row)
    if k <= 32:
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
    else:
        kept[:m] = row
    if m > 200:
        best = np.full(k, np.inf, row.dtype)
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


@njit(nogil=True, cache=True)
def fill_columns(values, start, stop, columns):
    """Turn points into rows of coordinates, with points at infinity up to a multiple of 64; how many."""
    n = stop - start
    padded = -(-n // 64) * 64
    for j in range(values.shape[1]):
        for i in range(n):
            columns[j, i] = values[start + i, j]
        for i in range(n, padded):
            columns[j, i] = np.inf
    return padded


@njit(nogil=True, cache=True)
def kth_squared(points, columns, n, k, out):
    """The squared distance of each point to its k-th nearest among the first ``n`` columns."""
    row = np.empty(n, points.dtype)
    minima = np.empty(64, points.dtype)
    ends = np.empty(3, points.dtype)
    lanes = np.empty(65, np.int64)
    kept = np.empty(n + 1, points.dtype)
    for i in range(len(points)):
        _squared_distances(points[i], columns, row)
        out[i] = _kth_smallest(row, k, minima, ends, lanes, kept)


@njit(nogil=True, cache=True)
def mean_log_kth(points, values, offsets, k, floor, out):
    """For each bag, the mean over the points of the log of the distance to their k-th nearest in the bag.

    Distances below ``floor`` count as it. An empty bag gives infinity; a bag of fewer than k its farthest.
    """
    longest = 0
    for b in range(len(offsets) - 1):
        longest = max(longest, offsets[b + 1] - offsets[b])
    columns = np.zeros((points.shape[1], -(-longest // 64) * 64), points.dtype)
    found = np.empty(len(points), points.dtype)
    for b in range(len(offsets) - 1):
        n = offsets[b + 1] - offsets[b]
        if n == 0 or len(points) == 0:
            out[b] = np.inf
            continue
        padded = fill_columns(values, offsets[b], offsets[b + 1], columns)
        kth_squared(points, columns, padded, min(k, n), found)
        total = 0.0
        for i in range(len(points)):
            total += np.log(max(np.float64(found[i]), floor * floor))
        out[b] = 0.5 * total / len(points)
