"""Measures of answers that carry a probability: how often, how sure, and how much is left when unsure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Reliability(NamedTuple):
    """One bin of confidence each: how many answers fell in it, how sure they were, how often right."""

    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats


class RiskCoverage(NamedTuple):
    """The error among the surest part of all answers, for every size of that part."""

    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """The mean risk over all coverages; smaller is better."""
        return float(self.risk.mean()) if len(self.risk) else float("nan")


def reliability(correct: ArrayLike, confidence: ArrayLike, *, bins: int = 15) -> Reliability:
    """Group answers by confidence, in bins of equal width; an empty bin has NaN for both means.

    Examples
    --------
    >>> reliability([True, False], [0.9, 0.8], bins=2).counts.tolist()
    [0, 2]
    """
    right, sure = _pair(correct, confidence)
    place = np.clip((sure * bins).astype(np.int64), 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(place, weights=w, minlength=bins) / counts for w in (sure, right)]
    return Reliability(counts, means[0], means[1])


def calibration_error(correct: ArrayLike, confidence: ArrayLike, *, bins: int = 15) -> float:
    """The expected calibration error: the mean gap between how sure and how right, over the answers.

    Examples
    --------
    >>> float(calibration_error([True, False], [0.75, 0.75]))
    0.25
    """
    table = reliability(correct, confidence, bins=bins)
    filled = table.counts > 0
    if not filled.any():
        return float("nan")
    gaps = np.abs(table.confidence - table.accuracy)[filled]
    return float(np.average(gaps, weights=table.counts[filled]))


def risk_coverage(correct: ArrayLike, confidence: ArrayLike) -> RiskCoverage:
    """The error rate among the k surest answers, for every k; equal confidences share one value.

    Examples
    --------
    >>> curve = risk_coverage([True, False, True, True], [0.9, 0.1, 0.8, 0.7])
    >>> curve.risk.tolist()
    [0.0, 0.0, 0.0, 0.25]
    """
    right, sure = _pair(correct, confidence)
    n = len(right)
    order = np.argsort(-sure, kind="stable")
    sizes = np.arange(1, n + 1)
    risk = np.cumsum(1 - right[order]) / sizes
    if n:
        # Nobody can cut inside a group of equal confidences: give its end to all of it.
        ends = np.append(np.flatnonzero(np.diff(sure[order])), n - 1)
        risk = risk[np.repeat(ends, np.diff(np.append(-1, ends)))]
    return RiskCoverage(sizes / max(n, 1), risk)


def accuracy_at_coverage(correct: ArrayLike, confidence: ArrayLike, coverage: float) -> float:
    """The accuracy among the surest ``coverage`` of all answers.

    Examples
    --------
    >>> accuracy_at_coverage([True, False, True, True], [0.9, 0.1, 0.8, 0.7], 0.75)
    1.0
    """
    curve = risk_coverage(correct, confidence)
    if not len(curve.risk):
        return float("nan")
    kept = max(1, round(coverage * len(curve.risk)))
    return float(1 - curve.risk[kept - 1])


def _pair(correct: ArrayLike, confidence: ArrayLike) -> tuple[Floats, Floats]:
    right = np.asarray(correct, dtype=np.float64).ravel()
    sure = np.asarray(confidence, dtype=np.float64).ravel()
    if right.shape != sure.shape:
        raise ValueError(f"{len(right)} answers have {len(sure)} confidences: give one for each.")
    if not np.isfinite(sure).all():
        raise ValueError("confidences must be finite numbers.")
    return right, sure
