"""Scores become probabilities: one temperature, fitted on held-out scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

Floats = NDArray[np.float64]

# The reach of the search: probabilities from almost even to almost certain.
_LOG_RANGE = (-12.0, 12.0)


def log_losses(scores: Floats, truth: NDArray[np.intp], sharpness: float) -> Floats:
    """The negative log-probability of each right class under ``softmax(sharpness * scores)``."""
    scaled = sharpness * scores
    chosen = scaled[np.arange(len(truth)), truth]
    losses: Floats = logsumexp(scaled, axis=1) - chosen
    return losses


def log_loss(
    scores: Floats, truth: NDArray[np.intp], sharpness: float, weights: Floats | None = None
) -> float:
    """The mean of `log_losses`."""
    return float(np.average(log_losses(scores, truth, sharpness), weights=weights))


def fit_sharpness(
    scores: Floats,
    truth: NDArray[np.intp],
    *,
    prior: float | None = None,
    prior_strength: float = 0.0,
    weights: Floats | None = None,
) -> tuple[float, float]:
    """The factor for held-out scores that makes their softmax most likely, and its log loss.

    The loss is convex in the factor. With few images the answer leans on ``prior``, as if
    ``prior_strength`` images had spoken for it (a normal penalty on the log of the factor).
    """
    n = len(truth)
    if not n or np.ptp(scores, axis=1).max(initial=0.0) == 0:
        return (prior or 1.0), float(np.log(max(scores.shape[1], 1)))
    # Search relative to the spread of the scores, so that their unit does not matter.
    unit = float(np.log(np.ptp(scores, axis=1).mean()))
    centre = np.log(prior) if prior else 0.0
    pull = prior_strength / n if prior else 0.0

    def objective(log_factor: float) -> float:
        factor = float(np.exp(log_factor))
        return log_loss(scores, truth, factor, weights) + pull * (log_factor - centre) ** 2

    low, high = _LOG_RANGE
    best = minimize_scalar(
        objective, bounds=(low - unit, high - unit), method="bounded", options={"xatol": 1e-4}
    )
    factor = float(np.exp(best.x))
    return factor, log_loss(scores, truth, factor, weights)


def probabilities(scores: Floats, sharpness: float) -> Floats:
    """``softmax(sharpness * scores)`` for each row."""
    result: Floats = softmax(sharpness * scores, axis=1)
    return result
