"""The target of a fusion: orthonormal columns that span the centred labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def label_root(scatter: Array, *, tolerance: float = 1e-10) -> Array:
    """The matrix ``A`` that makes ``Q = HL A`` orthonormal, from the scatter ``LᵀHL`` of the labels.

    ``Q`` spans the centred labels and has one column for each of their independent directions: one less
    than there are classes where every sample has exactly one. Duplicated, complementary, empty and
    universal labels fall away by themselves (an unpivoted QR would lose part of the span).
    """
    values, vectors = np.linalg.eigh(scatter)
    keep = values > tolerance * max(values[-1], 0.0)
    if values[-1] <= 0 or not keep.any():
        raise ValueError("The labels do not differ: a fusion needs samples of at least 2 classes.")
    return vectors[:, keep] / np.sqrt(values[keep])
