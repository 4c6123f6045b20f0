"""Compiled loops of additive kernels that are no matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def chi2_sums(X: Any, Y: Any, out: Any) -> None:  # pragma: no cover
    """out = 2 sum of x y / (x + y), with 0 / 0 = 0."""
    least = X.dtype.type(1e-37)
    for a in range(out.shape[0]):
        row = X[a]
        for b in range(out.shape[1]):
            other = Y[b]
            total = X.dtype.type(0)
            for k in range(row.shape[0]):
                total += row[k] * other[k] / (row[k] + other[k] + least)
            out[a, b] = 2 * total


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def intersection_sums(X: Any, Y: Any, out: Any) -> None:  # pragma: no cover
    """out = sum of min(x, y)."""
    for a in range(out.shape[0]):
        row = X[a]
        for b in range(out.shape[1]):
            other = Y[b]
            total = X.dtype.type(0)
            for k in range(row.shape[0]):
                total += np.minimum(row[k], other[k])
            out[a, b] = total
