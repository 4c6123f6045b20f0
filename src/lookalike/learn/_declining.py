"""When to say "none of these": too unsure, or too unlike everything that was learnt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

UNFAMILIAR = 3.0  # deviations of the best score that weigh like an image that no label reaches
STRANGE = 0.01  # the share of held-out images of known classes that may look too strange


@dataclass(frozen=True)
class DeclineRule:
    """Decline below a probability, below a score that images of known classes hardly ever have, and where an
    image is unfamiliar: like those of the collection that no label reaches.

    ``usual`` is the median and the deviation of the best scores of new images.
    """

    threshold: float
    least_score: float
    usual: tuple[float, float]

    def declines(
        self, chances: Floats, scores: Floats, familiarity: Floats | float = 1.0
    ) -> NDArray[np.bool_]:
        """One truth value for each row."""
        unsure = chances.max(1) < self.threshold
        result: NDArray[np.bool_] = (
            unsure | (scores.max(1) < self.least_score) | (np.asarray(familiarity) < 0)
        )
        return result

    def strangeness(self, scores: Floats, familiarity: Floats) -> Floats:
        """The larger of what the best score and what familiarity lack, each in its own unit."""
        middle, width = self.usual
        lacking: Floats = np.maximum((middle - scores.max(1)) / width, (1.0 - familiarity) * UNFAMILIAR)
        return lacking

    def among(self, scores: Floats) -> DeclineRule:
        """The same rule where the scores of new images are known."""
        return replace(self, usual=_usual(scores))


def _usual(scores: Floats) -> tuple[float, float]:
    best = scores.max(1)
    return float(np.median(best)), max(float(best.std()), 1e-12)


def fit_decline_rule(
    chances: Floats, scores: Floats, truth: NDArray[np.intp], max_error: float, enough: bool
) -> DeclineRule:
    """The lowest threshold at which held-out answers above it err in at most ``max_error`` of the cases.

    The errors are counted with one more than were seen, so that luck with a few images does not pass for
    certainty. Where no threshold reaches the goal, it is the one that comes nearest and still answers for
    half of the images. With too few labels to hold any out, it asks for an even chance.
    """
    if not enough:
        return DeclineRule(0.5, 0.0, _usual(scores))
    confidence = chances.max(1)
    order = np.argsort(-confidence, kind="stable")
    wrong = (chances.argmax(1) != truth)[order]
    accepted = np.arange(1, len(truth) + 1)
    rate = (np.cumsum(wrong) + 1.0) / (accepted + 1.0)
    good = np.flatnonzero(rate <= max_error)
    if len(good):
        last = int(good[-1])
    else:
        half = len(truth) // 2
        last = half + int(rate[half:].argmin()) if len(rate[half:]) else len(truth) - 1
    everything = last == len(truth) - 1
    threshold = 0.0 if everything else float(confidence[order][last])
    return DeclineRule(threshold, float(np.quantile(scores.max(1), STRANGE)), _usual(scores))
