"""Rows of a collection as points: scaled, around the mean of all, of length one, in principal axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from lookalike.arrays import row_blocks
from lookalike.learn._row_scaling import column_scale, scale_rows, unit_rows

Floats = NDArray[np.float64]
Points = NDArray[np.floating]

MOST_AXES = 512
WIDE = 64  # columns from which rows are network features or histograms rather than measurements


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
    d = scaled.shape[1]
    moments = np.zeros((d, d))
    for rows in row_blocks(len(scaled), 8 * d):
        part = unit_rows((scaled[rows] - mean).astype(np.float32)).astype(np.float64)
        moments += part.T @ part
    first = max(0, d - MOST_AXES)
    power, axes = eigh(moments, subset_by_index=(first, d - 1))
    keep = power > max(power[-1], 0.0) * 1e-9
    if not keep.any():  # all rows are equal: one axis keeps the shapes
        keep[-1] = True
    order = np.flatnonzero(keep)[::-1]
    return np.ascontiguousarray(axes[:, order]), np.maximum(power[order], 0.0) / max(len(scaled), 1)
