"""The compiled loops of dense descriptors: one pass over the pixels each, sums kept for one row of cells."""

from __future__ import annotations

import numpy as np
from numba import njit

ORIENTATIONS = 8


# Freedoms that change the last digit only; without them the loops below are not vectorised.
FAST = {"nnan", "ninf", "nsz", "contract", "reassoc"}
ZERO, ONE = np.float32(0), np.float32(1)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _differences(left, right, above, below, dy, gx, gy):  # type: ignore[no-untyped-def]
    """Half the difference from left to right, and ``dy`` times that from above to below."""
    for x in range(len(left)):
        gx[x] = (np.float32(right[x]) - np.float32(left[x])) * np.float32(0.5)
    for x in range(len(above)):
        gy[x] = (np.float32(below[x]) - np.float32(above[x])) * dy


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _polar(gx, gy, length, angle):  # type: ignore[no-untyped-def]
    """Lengths and angles (in eighths of a turn, 0 to 8) of gradients, without a branch or arctan.

    The angle is a polynomial in the ratio of the smaller to the larger component (Abramowitz & Stegun 4.4.49
    times 4/π, error 1e-5), then reflected into its octant.
    """
    for x in range(len(gx)):
        dx, dy = gx[x], gy[x]
        ax = dx if dx > ZERO else -dx
        ay = dy if dy > ZERO else -dy
        large = ax if ax > ay else ay
        small = ay if ax > ay else ax
        t = small / (large + np.float32(1e-12))
        q = t * t
        p = np.float32(0.0265281) * q - np.float32(0.1083947)
        p = p * q + np.float32(0.2293626)
        p = p * q - np.float32(0.4205504)
        p = (p * q + np.float32(1.2730689)) * t
        p = np.float32(2) - p if ay > ax else p
        p = np.float32(4) - p if dx < ZERO else p
        p = np.float32(8) - p if dy < ZERO else p
        length[x] = np.sqrt(dx * dx + dy * dy)
        angle[x] = p


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _shares(length, angle, direction, vote):  # type: ignore[no-untyped-def]
    """What each gradient gives to one direction: its length, less the farther its angle is away."""
    for x in range(len(vote)):
        away = angle[x] - direction
        away = away if away > ZERO else -away
        share = ONE - away
        vote[x] = length[x] * (share if share > ZERO else ZERO)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _add(weight, values, sums):  # type: ignore[no-untyped-def]
    """``sums += weight * values``, without a temporary."""
    for x in range(len(values)):
        sums[x] += weight * values[x]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _vote_row(grey, y, work, votes, margin):  # type: ignore[no-untyped-def]
    """Gradients of one row of pixels: ``votes[o, margin:]`` has each one's share for direction ``o``.

    Differences are central, one-sided at the edges. A gradient's length is shared between the two nearest
    directions, in proportion to how near they are.
    """
    height, width = grey.shape
    top, bottom = max(y - 1, 0), min(y + 1, height - 1)
    here = grey[y]
    gx, gy, length, angle = work[0], work[1], work[2], work[3]
    dy = ONE / np.float32(max(1, bottom - top))
    _differences(here[: width - 2], here[2:], grey[top], grey[bottom], dy, gx[1 : width - 1], gy)
    for x in (0, width - 1):
        gx[x] = np.float32(here[min(x + 1, width - 1)]) - np.float32(here[max(x - 1, 0)])
    _polar(gx, gy, length, angle)
    for o in range(ORIENTATIONS):
        _shares(length, angle, np.float32(o), votes[o, margin : margin + width])
    # An angle just below a whole turn is also near direction 0; no angle is near both.
    _shares(length, angle, np.float32(ORIENTATIONS), gx)
    _add(ONE, gx, votes[0, margin : margin + width])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _pool_row(strip, column_starts, margin, taps, turned, sums):  # type: ignore[no-untyped-def]
    """Weighted sums along a row of cells: ``sums[c, o]`` from ``strip[o]``, which has a margin of zeros."""
    for o in range(ORIENTATIONS):
        for x in range(strip.shape[1]):
            turned[x, o] = strip[o, x]
    for c in range(len(column_starts)):
        part = turned[column_starts[c] + margin : column_starts[c] + margin + len(taps)]
        # Eight sums in registers, side by side: one instruction for each pixel.
        a = b = c_ = d = e = f = g = h = ZERO
        for k in range(len(taps)):
            tap = taps[k]
            a += tap * part[k, 0]
            b += tap * part[k, 1]
            c_ += tap * part[k, 2]
            d += tap * part[k, 3]
            e += tap * part[k, 4]
            f += tap * part[k, 5]
            g += tap * part[k, 6]
            h += tap * part[k, 7]
        out = sums[c]
        out[0], out[1], out[2], out[3] = a, b, c_, d
        out[4], out[5], out[6], out[7] = e, f, g, h


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def orientation_cells(grey, row_starts, column_starts, taps, before, strips, sums):  # type: ignore[no-untyped-def]
    """Sums of gradient votes around every cell, weighted by ``taps`` in both axes.

    The weights of a cell begin ``before`` pixels before it. ``strips`` has a line of zeros, 8 × (width +
    2 × len(taps)), for each row of cells that is under way at once: votes are first summed over the pixels
    of a column, and along the row when all its pixels are in. ``sums`` is (rows of cells, columns, 8).
    """
    height, width = grey.shape
    margin, slots = len(taps), len(strips)
    work = np.empty((4, width), np.float32)
    turned = np.empty((width + 2 * margin, ORIENTATIONS), np.float32)
    all_votes = np.zeros(strips.shape[1], np.float32)  # one after the other, to be added at one go
    votes = all_votes.reshape(ORIENTATIONS, -1)
    first = 0
    for y in range(height):
        if row_starts[first] - before > y:
            continue
        _vote_row(grey, y, work, votes, margin)
        for r in range(first, len(row_starts)):
            tap = y - row_starts[r] + before
            if tap < 0:
                break
            _add(taps[tap], all_votes, strips[r % slots])
        while first < len(row_starts) and (y - row_starts[first] + before == margin - 1 or y == height - 1):
            strip = strips[first % slots]
            planes = strip.reshape(ORIENTATIONS, -1)
            _pool_row(planes, column_starts, margin - before, taps, turned, sums[first])
            strip[:] = ZERO
            first += 1
        if first == len(row_starts):
            break


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _sum_of_squares(values):  # type: ignore[no-untyped-def]
    total = ZERO
    for k in range(len(values)):
        total += values[k] * values[k]
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _cut(values, limit):  # type: ignore[no-untyped-def]
    for k in range(len(values)):
        values[k] = values[k] if values[k] < limit else limit


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _scaled(scale, values, out):  # type: ignore[no-untyped-def]
    for k in range(len(values)):
        out[k] = scale * values[k]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def sift_patches(sums, row_index, column_index, window, floor, clip, out):  # type: ignore[no-untyped-def]
    """Gather 4 × 4 cells for each patch, weigh them, bring to length 1, cut at ``clip``, length 1 again.

    A patch whose length is at most ``floor`` stays zero: there is nothing to see in it.
    """
    n_columns = len(column_index)
    patch = np.empty(16 * ORIENTATIONS, np.float32)
    for i in range(len(row_index)):
        for j in range(n_columns):
            for a in range(4):
                row = sums[row_index[i, a]]
                for b in range(4):
                    start = (a * 4 + b) * ORIENTATIONS
                    _scaled(window[a, b], row[column_index[j, b]], patch[start : start + ORIENTATIONS])
            length = np.sqrt(_sum_of_squares(patch))
            scale = ZERO
            if length > floor:
                _cut(patch, clip * length)
                scale = ONE / np.sqrt(_sum_of_squares(patch))
            _scaled(scale, patch, out[i * n_columns + j, : 16 * ORIENTATIONS])


@njit(nogil=True, cache=True)
def _add_bytes(values, total, squares):  # type: ignore[no-untyped-def]
    """Add bytes, and their squares, to whole numbers."""
    for i in range(len(values)):
        value = np.int32(values[i])
        total[i] += value
        squares[i] += value * value


@njit(nogil=True, cache=True)
def color_cells(pixels, row_starts, column_starts, cell, strips, sums):  # type: ignore[no-untyped-def]
    """Exact sums of the three channels (0..2) and of their squares (3..5) in every cell.

    ``pixels`` is (height, width × 3). ``strips`` has two lines of zeros (int32, width × 3) for each row of
    cells that is under way at once: bytes are first summed down the columns of pixels, and along the row
    when all its pixels are in. ``sums`` is (rows of cells, columns of cells, 6) of int64, zeros too.
    """
    slots, first = len(strips), 0
    for y in range(len(pixels)):
        for r in range(first, len(row_starts)):
            if row_starts[r] > y:
                break
            _add_bytes(pixels[y], strips[r % slots, 0], strips[r % slots, 1])
        if row_starts[first] + cell - 1 == y:
            total, squares = strips[first % slots, 0], strips[first % slots, 1]
            for c in range(len(column_starts)):
                out = sums[first, c]
                for x in range(column_starts[c], column_starts[c] + cell):
                    for k in range(3):
                        out[k] += total[3 * x + k]
                        out[k + 3] += squares[3 * x + k]
            total[:] = 0
            squares[:] = 0
            first += 1
            if first == len(row_starts):
                break
