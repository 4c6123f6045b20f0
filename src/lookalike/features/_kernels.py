"""The compiled loops of dense descriptors: one pass over the pixels each, sums kept for one row of cells."""

from __future__ import annotations

import numpy as np
from numba import njit

ORIENTATIONS = 8


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _vote_row(grey, y, votes):  # type: ignore[no-untyped-def]
    """Gradients of one row of pixels: their lengths, shared between the two nearest of 8 directions.

    The angle is found without arctan: a polynomial in the ratio of the smaller to the larger component
    (error 1e-5 of a turn's eighth), then two reflections for the right octant.
    """
    height, width = grey.shape
    above, below = max(y - 1, 0), min(y + 1, height - 1)
    dy_scale = np.float32(1.0) / np.float32(max(1, below - above))
    votes[:] = np.float32(0)
    for x in range(width):
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        gx = (np.float32(grey[y, right]) - np.float32(grey[y, left])) / np.float32(max(1, right - left))
        gy = (np.float32(grey[below, x]) - np.float32(grey[above, x])) * dy_scale
        ax, ay = abs(gx), abs(gy)
        large, small = max(ax, ay), min(ax, ay)
        if large <= np.float32(0):
            continue
        t = small / large
        q = t * t
        # atan(t) in eighths of a turn, on 0 ≤ t ≤ 1 (Abramowitz & Stegun 4.4.49, times 4/π)
        p = np.float32(0.0265281) * q - np.float32(0.1083947)
        p = p * q + np.float32(0.2293626)
        p = p * q - np.float32(0.4205504)
        p = (p * q + np.float32(1.2730689)) * t
        if ay > ax:
            p = np.float32(2) - p
        if gx < 0:
            p = np.float32(4) - p
        if gy < 0:
            p = np.float32(8) - p
        low = int(p)
        high_share = p - np.float32(low)
        length = large * np.sqrt(np.float32(1) + q)
        votes[x, low & 7] += length * (np.float32(1) - high_share)
        votes[x, (low + 1) & 7] += length * high_share


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def orientation_cells(grey, row_starts, column_starts, cell, sums):  # type: ignore[no-untyped-def]
    """Sums of gradient votes around every cell, weighted by a triangle two cells wide in both axes.

    ``sums`` (rows of cells, columns of cells, 8) must come as zeros.
    """
    height, width = grey.shape
    votes = np.empty((width, ORIENTATIONS), np.float32)
    line = np.empty((len(column_starts), ORIENTATIONS), np.float32)
    inverse = np.float32(1.0 / cell)
    half = np.float32(0.5 * cell)
    first = 0
    for y in range(height):
        # A row counts for cells whose middle is nearer than one cell.
        while first < len(row_starts) and y + 0.5 - row_starts[first] - half >= cell:
            first += 1
        if first == len(row_starts):
            break
        if row_starts[first] + half - y - 0.5 >= cell:
            continue
        _vote_row(grey, y, votes)
        line[:] = np.float32(0)
        for c in range(len(column_starts)):
            middle = np.float32(column_starts[c]) + half
            low = max(0, column_starts[c] - cell // 2 - 1)
            high = min(width, column_starts[c] + cell + cell // 2 + 2)
            for x in range(low, high):
                weight = np.float32(1) - abs(np.float32(x) + np.float32(0.5) - middle) * inverse
                if weight > 0:
                    for o in range(ORIENTATIONS):
                        line[c, o] += weight * votes[x, o]
        r = first
        while r < len(row_starts):
            weight = (
                np.float32(1)
                - abs(np.float32(y) + np.float32(0.5) - np.float32(row_starts[r]) - half) * inverse
            )
            if weight <= 0:
                break
            for c in range(len(column_starts)):
                for o in range(ORIENTATIONS):
                    sums[r, c, o] += weight * line[c, o]
            r += 1


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def sift_patches(sums, row_index, column_index, window, floor, clip, out):  # type: ignore[no-untyped-def]
    """Gather 4 × 4 cells for each patch, weigh them, bring to length 1, cut at ``clip``, length 1 again.

    A patch whose length is at most ``floor`` stays zero: there is nothing to see in it.
    """
    n_columns = len(column_index)
    for i in range(len(row_index)):
        for j in range(n_columns):
            patch = out[i * n_columns + j]
            total = np.float32(0)
            for a in range(4):
                for b in range(4):
                    cell = sums[row_index[i, a], column_index[j, b]]
                    weight = window[a, b]
                    for o in range(ORIENTATIONS):
                        value = weight * cell[o]
                        patch[(a * 4 + b) * ORIENTATIONS + o] = value
                        total += value * value
            if total <= floor * floor:
                patch[:128] = np.float32(0)
                continue
            limit = clip * np.sqrt(total)
            total = np.float32(0)
            for k in range(128):
                value = min(patch[k], limit)
                patch[k] = value
                total += value * value
            scale = np.float32(1) / np.sqrt(total)
            for k in range(128):
                patch[k] *= scale


@njit(nogil=True, cache=True)
def color_cells(pixels, row_starts, column_starts, cell, sums):  # type: ignore[no-untyped-def]
    """Exact sums of the three channels (0..2) and of their squares (3..5) in every cell.

    ``sums`` (rows of cells, columns of cells, 6) of int64 must come as zeros.
    """
    height, width = pixels.shape[:2]
    running = np.zeros((width + 1, 6), np.int64)
    line = np.empty((len(column_starts), 6), np.int64)
    first = 0
    for y in range(height):
        while first < len(row_starts) and row_starts[first] + cell <= y:
            first += 1
        if first == len(row_starts):
            break
        if row_starts[first] > y:
            continue
        for x in range(width):
            for k in range(3):
                value = np.int64(pixels[y, x, k])
                running[x + 1, k] = running[x, k] + value
                running[x + 1, k + 3] = running[x, k + 3] + value * value
        for c in range(len(column_starts)):
            for k in range(6):
                line[c, k] = running[column_starts[c] + cell, k] - running[column_starts[c], k]
        r = first
        while r < len(row_starts) and row_starts[r] <= y:
            for c in range(len(column_starts)):
                for k in range(6):
                    sums[r, c, k] += line[c, k]
            r += 1
