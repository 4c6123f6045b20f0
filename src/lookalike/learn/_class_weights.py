"""Class weights that multiply sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_weights(
    class_weight: Any, y: NDArray[Any], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sample weights times scikit-learn's ``class_weight``: "balanced", a dict, or None.

    "Balanced" gives every class the same total and keeps the total of all; it counts weights, not rows, so
    a row of weight two is the same as the row twice (scikit-learn's own helper counts rows).
    """
    if class_weight is None:
        return sample_weight
    classes, coded = np.unique(y, return_inverse=True)
    if isinstance(class_weight, dict):
        factors = np.array([class_weight.get(c, 1.0) for c in classes.tolist()], dtype=np.float64)
    else:
        totals = np.bincount(coded, weights=sample_weight)
        present = totals > 0
        factors = np.zeros(len(classes))
        factors[present] = sample_weight.sum() / (present.sum() * totals[present])
    weighted: NDArray[np.float64] = sample_weight * factors[coded]
    return weighted
