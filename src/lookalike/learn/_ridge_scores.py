"""Class scores by ridge regression, for many shrinkages at once, with exact leave-one-out scores.

Regressing the class indicators on the vectors with a ridge gives the scores of a shrunken linear
discriminant [1]_. One eigendecomposition serves every shrinkage, and the score that an image would get
from a fit without it follows in closed form from its leverage [2]_, so choosing a shrinkage and calibrating
probabilities cost no refit. All sums are matrix products in blocks of bounded memory.

References
----------
.. [1] T. Hastie, A. Buja, R. Tibshirani, "Penalized discriminant analysis", Annals of Statistics 23, 1995.
.. [2] G. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a good ridge
   parameter", Technometrics 21, 1979, equation (1.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lookalike.arrays import row_blocks

Floats = NDArray[np.float64]


class RidgeScores(NamedTuple):
    """One fit: ``scores = (X - mean) @ components``, and the scores of each row from a fit without it."""

    shrinkage: float
    mean: Floats
    components: Floats
    held_out: Floats


def ridge_scores(
    X: NDArray[np.floating], targets: Floats, weights: Floats, shrinkages: Sequence[float]
) -> list[RidgeScores]:
    """Fit ``targets`` (centred class indicators) for each shrinkage, a multiple of the mean squared norm.

    The ridge is ``shrinkage`` times the weighted mean of the squared distances from the mean: a prior as
    strong as ``shrinkage`` images of weight one, however many there are.
    """
    n, d = X.shape
    w, total = weights, weights.sum()
    mean = _weighted_sum(X, w) / total
    level = (w @ targets) / total
    directions, power = _principal_axes(X, mean, w)
    strength = power.sum() / total
    # Everything below happens in the span of the data: P = (X - mean) V.
    moments = directions.T @ _cross(X, mean, w, targets - level)
    ridges = np.maximum(np.asarray(shrinkages, dtype=np.float64) * strength, np.finfo(np.float64).tiny)
    gains = 1.0 / (power[:, None] + ridges)  # (axes, shrinkages)
    inner = moments[:, None, :] * gains[:, :, None]  # (axes, shrinkages, targets)
    held_out = np.empty((len(ridges), *targets.shape))
    for rows in row_blocks(n, 8 * (d + len(power) + 2 * inner.shape[1] * inner.shape[2])):
        projected = (X[rows].astype(np.float64) - mean) @ directions
        fitted = np.tensordot(projected, inner, axes=1)
        leverage = w[rows, None] * (projected**2 @ gains + 1.0 / total)
        # A row that the fit follows completely says nothing about itself: keep the division finite.
        free = np.maximum(1.0 - leverage, 1e-9)[:, :, None]
        centred = (targets[rows] - level)[:, None, :]
        held_out[:, rows] = (centred - (centred - fitted) / free).swapaxes(0, 1)
    return [
        RidgeScores(float(s), mean, directions @ inner[:, i], held_out[i]) for i, s in enumerate(shrinkages)
    ]


def _weighted_sum(X: NDArray[np.floating], w: Floats) -> Floats:
    total = np.zeros(X.shape[1])
    for rows in row_blocks(len(X), 8 * X.shape[1]):
        total += w[rows] @ X[rows].astype(np.float64)
    return total


def _cross(X: NDArray[np.floating], mean: Floats, w: Floats, targets: Floats) -> Floats:
    total = np.zeros((X.shape[1], targets.shape[1]))
    for rows in row_blocks(len(X), 8 * X.shape[1]):
        total += (X[rows].astype(np.float64) - mean).T @ (w[rows, None] * targets[rows])
    return total


def _principal_axes(X: NDArray[np.floating], mean: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Orthonormal axes (as columns) of the weighted, centred data and the power along each."""
    n, d = X.shape
    if n <= d:
        centred = np.sqrt(w)[:, None] * (X.astype(np.float64) - mean)
        power, left = eigh(centred @ centred.T)
        keep = power > max(power[-1], 0.0) * 1e-10
        return centred.T @ (left[:, keep] / np.sqrt(power[keep])), power[keep]
    scatter = np.zeros((d, d))
    for rows in row_blocks(n, 8 * d):
        part = np.sqrt(w[rows])[:, None] * (X[rows].astype(np.float64) - mean)
        scatter += part.T @ part
    power, axes = eigh(scatter)
    keep = power > max(power[-1], 0.0) * 1e-10
    return axes[:, keep], power[keep]
