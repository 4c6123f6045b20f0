"""Few, small leveraging steps that correct an even vote where held-out images ask for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def leverage(edges: Floats, weights: Floats, alphas: Floats, n_steps: int) -> Floats:
    """Improve coefficients by MLNN steps under the exponential loss, from a vote that stands already.

    Each step takes the column whose Newton step, (5.28) of Piro's thesis, promises the largest decrease
    of the risk (5.13), and moves its coefficient by at most half its first value, so that no prototype
    takes over from a few images.

    Parameters
    ----------
    edges : array of shape (n, m)
        What each prototype says of each image: K(x_i, x_j) times the label factor of (5.19).
    weights : array of shape (n,)
        Importance of the images.
    alphas : array of shape (m,)
        The even vote to start from.
    """
    alphas = alphas.copy()
    reach = 0.5 * alphas
    squares = edges * edges
    margin = edges @ alphas
    for _ in range(n_steps):
        # Only ratios of the weights matter: the largest is one, nothing overflows.
        w = weights * np.exp(margin.min() - margin)
        slope, curve = w @ edges, w @ squares
        gain = np.divide(slope * slope, curve, out=np.zeros_like(slope), where=curve > 0)
        j = int(gain.argmax())
        if gain[j] <= 1e-12 * w.sum():
            break
        step = float(np.clip(slope[j] / curve[j], -reach[j], reach[j]))
        step = max(step, -alphas[j])  # a prototype votes for its own class or not at all
        if step == 0.0:
            break
        alphas[j] += step
        margin += step * edges[:, j]
    return alphas
