"""The compiled loop that reads functions of one number from tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def look_up(
    X: Any, per_root: Any, n_bins: int, tables: Any, starts: Any, out: Any
) -> None:  # pragma: no cover
    """Linear interpolation between nodes that lie evenly on the square root of the number.

    Dimension d has outputs ``starts[d]`` to ``starts[d + 1]``; its table is (n_bins + 1, outputs), stored
    from ``starts[d] * (n_bins + 1)``. ``per_root[d]`` is how many bins a square root of 1 spans. Zero gives
    zeros exactly: ``out`` comes filled with them.
    """
    for a in range(X.shape[0]):
        for d in range(X.shape[1]):
            value = X[a, d]
            width = starts[d + 1] - starts[d]
            if value <= 0 or width == 0:
                continue
            position = np.sqrt(value) * per_root[d]
            bin = min(int(position), n_bins - 1)
            rest = min(position - bin, per_root.dtype.type(1))  # beyond the last node: its value
            node = starts[d] * (n_bins + 1) + bin * width
            for e in range(width):
                low = tables[node + e]
                out[a, starts[d] + e] = low + rest * (tables[node + width + e] - low)
