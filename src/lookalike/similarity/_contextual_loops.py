"""The compiled loop of contextual similarity: one unknown for each pair of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def mixing_weights(
    forward: Any, backward: Any, wq: Any, wp: Any, n_iter: int, least: Any, out: Any
) -> None:  # pragma: no cover
    """EM for the symmetric mixing weight of each pair.

    ``forward`` and ``backward`` are ratios a / b of shape (n_parts, n, m), ``wq`` (n_parts, n) and ``wp``
    (n_parts, m) the weights of their sums. With the odds o = w / (1 - w), a part's posterior is
    r o / (1 + r o): a division, and no exponential inside the iterations. An empty ``backward`` leaves the
    asymmetric form.
    """
    n_parts, n, m = forward.shape
    symmetric = backward.shape[1] == n
    one, half = out.dtype.type(1), out.dtype.type(0.5)
    odds = np.empty(m, out.dtype)
    votes = np.empty(m, out.dtype)
    for a in range(n):
        row = out[a]
        row[:] = half
        for _ in range(n_iter):
            for b in range(m):
                w = min(max(row[b], least), one - least)
                odds[b] = w / (one - w)
                votes[b] = 0
            for i in range(n_parts):
                weight, ratios = wq[i, a], forward[i, a]
                for b in range(m):
                    x = ratios[b] * odds[b]
                    votes[b] += weight * (x / (one + x))
            if symmetric:
                for i in range(n_parts):
                    weights, ratios = wp[i], backward[i, a]
                    for b in range(m):
                        x = ratios[b] * odds[b]
                        votes[b] += weights[b] * (x / (one + x))
                for b in range(m):
                    votes[b] *= half
            row[:] = votes
