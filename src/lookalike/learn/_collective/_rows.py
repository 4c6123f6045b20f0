"""Rows of a collection as points: scaled, around the mean of all, of length one, in principal axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from lookalike.arrays import even_steps, row_blocks
from lookalike.learn._row_scaling import WIDE, column_scale, scale_rows, unit_rows

Floats = NDArray[np.float64]
Points = NDArray[np.floating]

MOST_AXES = 512
MOST_LOOKED_ALONG = 2048  # images or columns from which axes are found
SPARE_AXES, POWER_ROUNDS = 32, 4


@dataclass(frozen=True)
class CollectionSpace:
    """How a row becomes a point; fitted on all images, labelled or not.

    Subtracting the mean of all images leaves what tells them apart, and unit length makes a product of
    two points a cosine.
    """

    scaling: str
    centre: Floats
    width: Floats
    mean: Floats
    axes: Floats  # (columns, axes)
    spread: Floats  # mean square along each axis, of the points
    n_columns: int

    @classmethod
    def fit(cls, X: NDArray[np.floating], scaling: str = "auto") -> CollectionSpace:
        """From the rows of all images."""
        if scaling == "auto":
            scaling = "root" if X.shape[1] >= WIDE else "standard"
        centre, width = column_scale(X, scaling)
        scaled = scale_rows(X, scaling, (centre, width))
        mean = scaled.mean(0, dtype=np.float64)
        axes, spread = _axes(scaled, mean)
        return cls(scaling, centre, width, mean, axes, spread, X.shape[1])

    def points(self, X: NDArray[np.floating]) -> Points:
        """Coordinates of rows."""
        rows = scale_rows(X, self.scaling, (self.centre, self.width))
        points: Points = unit_rows((rows - self.mean).astype(X.dtype)) @ self.axes.astype(X.dtype)
        return points

    def whitened(self, points: Points) -> Points:
        """Points with all axes alike, as far as many images can tell them from noise; of length one again."""
        level = self.spread.sum() / min(self.n_columns, max(len(points), 1))
        scale = 1.0 / np.sqrt(self.spread + level) if level > 0 else np.ones_like(self.spread)
        return unit_rows((points * scale).astype(points.dtype))


def _axes(scaled: NDArray[np.floating], mean: Floats) -> tuple[Floats, Floats]:
    """The first principal axes of the unit rows (as columns), and the mean square along each."""
    if min(scaled.shape) > MOST_LOOKED_ALONG:
        scaled = scaled[even_steps(len(scaled), MOST_LOOKED_ALONG)]
    n, d = scaled.shape
    if n < d:  # the products of all rows are the smaller matrix, and have the same powers
        points = unit_rows((scaled - mean).astype(np.float32))
        power, places = _leading((points @ points.T).astype(np.float64), MOST_AXES)
        places, power = _telling(places, power)
        return points.T @ (places / np.sqrt(np.maximum(power, 1e-30))), power / n
    moments = np.zeros((d, d))
    for rows in row_blocks(n, 8 * d):
        part = unit_rows((scaled[rows] - mean).astype(np.float32))
        moments += part.T @ part
    axes, power = _telling(*_leading(moments, MOST_AXES)[::-1])
    return np.ascontiguousarray(axes), power / max(n, 1)


def _telling(axes: Floats, power: Floats) -> tuple[Floats, Floats]:
    """Without the axes along which nothing varies; one stays where all rows are equal, to keep the shapes."""
    keep = power > max(power[0], 0.0) * 1e-6
    keep[0] = True
    return axes[:, keep], np.maximum(power[keep], 0.0)


def _leading(moments: Floats, most: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of a symmetric matrix, largest first, and their vectors as columns.

    Where most of them are not wanted, a few rounds of block power iteration are much quicker than the
    whole decomposition, and the space of the leading axes is all that matters here ([1]_, algorithm 4.4).

    .. [1] N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness", SIAM Review 53, 2011.
    """
    d = len(moments)
    if d <= most + SPARE_AXES:
        power, axes = eigh(moments)
        return power[::-1][:most], axes[:, ::-1][:, :most]
    basis = np.random.default_rng(0).standard_normal((d, most + SPARE_AXES), dtype=np.float32)
    narrow = moments.astype(np.float32)
    for _ in range(POWER_ROUNDS):
        basis, _ = qr(narrow @ basis, mode="economic", overwrite_a=True)
    power, inner = eigh((basis.T @ (narrow @ basis)).astype(np.float64))
    return power[::-1][:most], (basis @ inner[:, ::-1])[:, :most]
