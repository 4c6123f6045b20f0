"""Ways to bring the rows of a matrix to one scale before a linear fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SCALINGS = ("none", "standard", "unit", "root")

WIDE = 64  # columns from which rows are network features or histograms rather than measurements

Scale = tuple[NDArray[np.float64], NDArray[np.float64]]


def usual_scaling(X: NDArray[np.floating]) -> str:
    """The scaling that fits rows of this kind, whatever the labels are."""
    if X.shape[1] < WIDE:
        return "standard"
    return "root" if X.min(initial=0.0) >= 0 else "unit"


def column_scale(X: NDArray[np.floating], scaling: str) -> Scale:
    """Centre and width of each column, where the scaling needs them; 0 and 1 elsewhere."""
    d = X.shape[1]
    if scaling != "standard" or len(X) < 2:
        return np.zeros(d), np.ones(d)
    centre = X.mean(0, dtype=np.float64)
    width = X.std(0, dtype=np.float64)
    # A column that does not vary (up to rounding) says nothing: leave its width alone.
    flat = width <= 10 * np.finfo(X.dtype).eps * np.abs(centre)
    return centre, np.where(flat | (width == 0), 1.0, width)


def scale_rows(X: NDArray[np.floating], scaling: str, scale: Scale) -> NDArray[np.floating]:
    """Apply one of: nothing; standard columns; rows of length one; signed square roots of length one.

    The root is the Hellinger map of histograms and of activations that are never negative [1]_: it keeps
    a few large entries from deciding everything.

    .. [1] R. Arandjelovic, A. Zisserman, "Three things everyone should know to improve object retrieval",
       CVPR 2012, section 3.
    """
    if scaling == "standard":
        centre, width = scale
        return ((X - centre) / width).astype(X.dtype)
    if scaling == "root":
        X = np.sign(X) * np.sqrt(np.abs(X))
    if scaling in ("unit", "root"):
        return unit_rows(X)
    return X


def unit_rows(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Rows of length one; a row of zeros stays."""
    # Scaling by the largest entry first keeps huge and tiny numbers from overflowing.
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    X = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    result: NDArray[np.floating] = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    return result
