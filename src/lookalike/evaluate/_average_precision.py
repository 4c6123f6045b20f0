"""Average precision of one class, in the three ways that are in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

METHODS = ("area", "eleven-point", "mean")


def class_average_precision(
    relevant: ArrayLike, scores: ArrayLike, *, method: str = "area", ignore: ArrayLike | None = None
) -> float:
    """Average precision of a ranking by scores.

    Parameters
    ----------
    relevant : array of bool, shape (n,)
    scores : array of shape (n,)
        Larger is better; equal ones keep their order.
    method : {"area", "eleven-point", "mean"}
        "area" is the area under the interpolated precision (PASCAL VOC from 2010 on), "eleven-point" the mean
        of the interpolated precision at the recalls 0, 0.1, ..., 1 (VOC 2007), "mean" the mean precision at
        the relevant images without interpolation.
    ignore : array of bool or None
        Images to leave out of the ranking, such as those that VOC calls difficult.

    Returns
    -------
    float
        NaN where nothing is relevant.

    References
    ----------
    .. [1] M. Everingham et al., "The PASCAL visual object classes (VOC) challenge", IJCV 88, 2010.

    Examples
    --------
    >>> round(class_average_precision([1, 0, 1, 1, 0, 0, 1, 0], range(8, 0, -1), method="eleven-point"), 6)
    0.769481
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, but is {method!r}.")
    hits = np.asarray(relevant).astype(bool)
    values = np.asarray(scores, dtype=np.float64)
    if hits.shape != values.shape or hits.ndim != 1:
        raise ValueError(
            f"relevant and scores must be equally long, but have {hits.shape} and {values.shape}."
        )
    if np.isnan(values).any():
        raise ValueError("a score is NaN.")
    if ignore is not None:
        kept = ~np.asarray(ignore).astype(bool)
        hits, values = hits[kept], values[kept]
    hits = hits[np.argsort(-values, kind="stable")]
    if not hits.any():
        return float("nan")
    found = np.cumsum(hits)
    precision = found / np.arange(1, len(hits) + 1)
    if method == "mean":
        return float(precision[hits].mean())
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    if method == "area":  # recall grows by the same amount at every relevant image
        return float(best_from_here[hits].mean())
    # Whole numbers: a recall of 3 / 10 must reach 0.3 whatever the rounding.
    levels = [best_from_here[10 * found >= k * found[-1]] for k in range(11)]
    return float(np.mean([level[0] for level in levels]))
