"""The compiled loop of sparse logistic regression: coordinate descent on one quadratic model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
def descend(
    columns: Any, curvature: Any, gradient: Any, limits: Any, start: Any, bias: Any, tol: float, sweeps: int
) -> Any:  # pragma: no cover
    """Minimise g.d + d'Hd / 2 + sum of limits |start + d|, with H = A' diag(curvature) A.

    ``columns`` are the active features, each a row; the last row of A is a column of ones, whose gradient
    is ``bias`` and which has no limit. Returns d (the bias last) and A d for every image.
    """
    n_active, n = columns.shape
    step = np.zeros(n_active + 1)
    moved = np.zeros(n)
    diagonal = np.empty(n_active)
    for j in range(n_active):
        column = columns[j]
        total = 0.0
        for i in range(n):
            total += curvature[i] * column[i] * column[i]
        diagonal[j] = total
    ones = curvature.sum()
    for _ in range(sweeps):
        largest = 0.0
        for j in range(n_active):
            if diagonal[j] <= 0:
                continue
            column = columns[j]
            slope = gradient[j]
            for i in range(n):
                slope += curvature[i] * column[i] * moved[i]
            before = start[j] + step[j]
            goal = before - slope / diagonal[j]
            limit = limits[j] / diagonal[j]
            after = 0.0
            if goal > limit:
                after = goal - limit
            elif goal < -limit:
                after = goal + limit
            change = after - before
            if change != 0:
                step[j] += change
                for i in range(n):
                    moved[i] += change * column[i]
                largest = max(largest, abs(change) * diagonal[j] / limits[j])
        slope = bias
        for i in range(n):
            slope += curvature[i] * moved[i]
        change = -slope / ones
        step[n_active] += change
        for i in range(n):
            moved[i] += change
        if largest <= tol:
            break
    return step, moved
