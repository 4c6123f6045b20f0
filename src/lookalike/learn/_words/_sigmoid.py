"""A sigmoid from scores to probabilities, fitted as Platt does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def negative_log_likelihood(scores: Array, targets: Array, a: float, b: float) -> float:
    """(4.11) of [1], without overflow: ``p = 1 / (1 + exp(a f + b))``."""
    z = a * scores + b
    return float((np.logaddexp(0.0, z) - (1.0 - targets) * z).sum())


def fit_sigmoid(
    scores: Array, positive: Array, *, smooth: bool = True, max_iter: int = 100
) -> tuple[float, float, list[float]]:
    """``A`` and ``B`` of ``P = 1 / (1 + exp(A f + B))`` (4.10), and the likelihoods on the way.

    Newton's method with a small ridge and backtracking. ``smooth`` uses Platt's targets instead of 0 and
    1, so that separable scores stay finite. Scores that point the wrong way give ``A = 0``: the base rate.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, _ = fit_sigmoid(np.array([-2.0, -1, 1, 2]), np.array([False, False, True, True]))
    >>> a < 0, abs(b) < 1e-6
    (True, True)
    """
    scores = np.asarray(scores, float)
    positive = np.asarray(positive, bool)
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    high, low = ((n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2)) if smooth else (1.0, 0.0)
    targets = np.where(positive, high, low)
    a, b = 0.0, float(np.log((n_neg + 1) / (n_pos + 1)))
    value = negative_log_likelihood(scores, targets, a, b)
    history = [value]
    for _ in range(max_iter):
        p = 1.0 / (1.0 + np.exp(np.clip(a * scores + b, -700, 700)))
        slope = targets - p
        gradient = np.array([(scores * slope).sum(), slope.sum()])
        if np.abs(gradient).max() < 1e-5:
            break
        w = p * (1.0 - p)
        hessian = np.array([[(scores * scores * w).sum(), (scores * w).sum()], [(scores * w).sum(), w.sum()]])
        hessian += 1e-12 * np.eye(2) * max(1.0, np.trace(hessian))
        step = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        size, along = 1.0, float(gradient @ step)
        while size >= 1e-10:
            new = negative_log_likelihood(scores, targets, a + size * step[0], b + size * step[1])
            if new < value + 1e-4 * size * along:
                break
            size /= 2
        else:
            break
        a, b, value = a + size * float(step[0]), b + size * float(step[1]), new
        history.append(value)
    if a > 0:
        rate = targets.mean()
        return 0.0, float(np.log((1 - rate) / rate)) if 0 < rate < 1 else b, history
    return a, b, history


def sigmoid(scores: Array, a: float, b: float) -> Array:
    """``1 / (1 + exp(a f + b))``."""
    return np.asarray(1.0 / (1.0 + np.exp(np.clip(a * np.asarray(scores, float) + b, -700, 700))))
