"""Compiled loops of the exact search: keep the k smallest of each row while blocks pass by."""

import numpy as np
from numba import njit

CHUNK = 64  # values looked at together: one vectorised comparison decides for all of them

_ORDER_FREE = {"nnan", "nsz", "reassoc", "contract"}


@njit(nogil=True, cache=True, inline="always")
def _insert(values, indices, value, index):  # type: ignore[no-untyped-def]
    """Put one pair into a row sorted by (value, index); the last pair falls out."""
    at = len(values) - 1
    while at > 0 and (values[at - 1] > value or (values[at - 1] == value and indices[at - 1] > index)):
        values[at] = values[at - 1]
        indices[at] = indices[at - 1]
        at -= 1
    values[at] = value
    indices[at] = index


@njit(nogil=True, cache=True, fastmath=_ORDER_FREE)
def fold_products(products, constants, first, skip, values, indices):  # type: ignore[no-untyped-def]
    """Fold ``constants[j] - products[i, j]`` of one block into each row's smallest.

    ``first`` is the index of the block's first column, ``skip[i]`` the one index row i must not take.
    Columns come in ascending order, so that of equal values the lowest indices stay.
    """
    n_rows, n_columns = products.shape
    last = values.shape[1] - 1
    for i in range(n_rows):
        worst = values[i, last]
        for start in range(0, n_columns, CHUNK):
            row = products[i, start : start + CHUNK]
            level = constants[start : start + CHUNK]
            found = np.int32(0)
            for t in range(len(row)):
                found |= np.int32(level[t] - row[t] < worst)  # no branch: this loop is vectorised
            if found:
                for t in range(len(row)):
                    v = level[t] - row[t]
                    if v < worst and first + start + t != skip[i]:
                        _insert(values[i], indices[i], v, first + start + t)
                        worst = values[i, last]


@njit(nogil=True, cache=True)
def fold_distances(block, first, skip, values, indices):  # type: ignore[no-untyped-def]
    """Fold one block of ready distances (float64) into each row's smallest."""
    n_rows, n_columns = block.shape
    last = values.shape[1] - 1
    for i in range(n_rows):
        for j in range(n_columns):
            if block[i, j] < values[i, last] and first + j != skip[i]:
                _insert(values[i], indices[i], block[i, j], first + j)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _exact_value(x, y, scale_x, scale_y, cosine):  # type: ignore[no-untyped-def]
    """Squared distance of the scaled vectors, by differences; half of it, or 1, for the cosine."""
    if cosine and (scale_x == 0.0 or scale_y == 0.0):
        return 1.0  # a zero vector has no direction
    total = 0.0
    for t in range(len(x)):
        gap = np.float64(x[t]) * scale_x - np.float64(y[t]) * scale_y
        total += gap * gap
    return 0.5 * total if cosine else total


@njit(nogil=True, cache=True)
def refine(queries, base, query_scales, base_scales, cosine, candidates, values, indices):  # type: ignore[no-untyped-def]
    """Value the candidates exactly and keep the best of them, sorted by (value, index)."""
    for i in range(len(queries)):
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            if j == len(base):
                continue  # an empty place: there are fewer points than places
            v = _exact_value(queries[i], base[j], query_scales[i], base_scales[j], cosine)
            last = values.shape[1] - 1
            if v < values[i, last] or (v == values[i, last] and j < indices[i, last]):
                _insert(values[i], indices[i], v, j)


@njit(nogil=True, cache=True)
def fold_uncertain(  # type: ignore[no-untyped-def]
    products,
    constants,
    first,
    skip,
    bounds,
    queries,
    base,
    query_scales,
    base_scales,
    cosine,
    values,
    indices,
):
    """Value exactly every column whose rounded value lies under the row's bound, and fold it in."""
    n_rows, n_columns = products.shape
    last = values.shape[1] - 1
    for i in range(n_rows):
        for j in range(n_columns):
            if constants[j] - products[i, j] <= bounds[i] and first + j != skip[i]:
                at = first + j
                v = _exact_value(queries[i], base[at], query_scales[i], base_scales[at], cosine)
                if v < values[i, last]:
                    _insert(values[i], indices[i], v, at)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _manhattan(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(x)):
        total += abs(np.float64(x[t]) - np.float64(y[t]))
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _chi2(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(x)):
        a = np.float64(x[t])
        b = np.float64(y[t])
        gap = a - b
        mass = a + b
        total += gap * gap / mass if mass > 0.0 else 0.0
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _canberra(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(len(x)):
        a = np.float64(x[t])
        b = np.float64(y[t])
        mass = abs(a) + abs(b)
        total += abs(a - b) / mass if mass > 0.0 else 0.0
    return total


@njit(nogil=True, cache=True)
def _lorentzian(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    product = 1.0  # one logarithm for many factors
    for t in range(len(x)):
        product *= 1.0 + abs(np.float64(x[t]) - np.float64(y[t]))
        if product > 1e150:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@njit(nogil=True, cache=True)
def fold_direct(kind, queries, base, first, skip, values, indices):  # type: ignore[no-untyped-def]
    """Fold the distances of a block of queries to all of ``base``, pair by pair.

    ``kind`` is 0 Manhattan, 1 half of it (1 − intersection of unit histograms), 2 chi-square,
    3 Canberra, 4 Lorentzian.
    """
    last = values.shape[1] - 1
    for j in range(len(base)):
        for i in range(len(queries)):
            if kind == 0:
                v = _manhattan(queries[i], base[j])
            elif kind == 1:
                v = 0.5 * _manhattan(queries[i], base[j])
            elif kind == 2:
                v = _chi2(queries[i], base[j])
            elif kind == 3:
                v = _canberra(queries[i], base[j])
            else:
                v = _lorentzian(queries[i], base[j])
            if v < values[i, last] and first + j != skip[i]:
                _insert(values[i], indices[i], v, first + j)
