"""The compiled loop of information-theoretic metric learning."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def project(A, left, right, points, signs, targets, gamma, tolerance, sweeps):  # type: ignore[no-untyped-def]
    """Cyclic Bregman projections of the metric A, in place; how many sweeps they took.

    A pair with sign +1 shall be nearer than its target, one with −1 farther; ``targets`` move, too.
    """
    n, d = len(signs), A.shape[0]
    duals, v, Av = np.zeros(n), np.empty(d), np.empty(d)
    for sweep in range(sweeps):
        moved, size = 0.0, 0.0
        for c in range(n):
            p = 0.0
            for a in range(d):
                v[a] = points[left[c], a] - points[right[c], a]
            for a in range(d):
                total = 0.0
                for b in range(d):
                    total += A[a, b] * v[b]
                Av[a] = total
                p += v[a] * total
            if not p > 0.0:
                continue  # twins: no metric parts them
            s = signs[c]
            step = min(duals[c], s * gamma / (gamma + 1.0) * (1.0 / p - 1.0 / targets[c]))
            size += abs(duals[c])
            duals[c] -= step
            size += abs(duals[c])
            moved += abs(step)
            beta = s * step / (1.0 - s * step * p)
            targets[c] = 1.0 / (1.0 / targets[c] + s * step / gamma)
            for a in range(d):
                lift = beta * Av[a]
                for b in range(d):
                    A[a, b] += lift * Av[b]
        if size == 0.0 or moved < tolerance * size:
            return sweep + 1
    return sweeps
