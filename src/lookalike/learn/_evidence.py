"""``Evidence``: an answer with the prototypes that decided it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Why one answer was given: the prototypes that voted and how much each brought.

    The shares add up to the score. A share below zero is a vote for another class.

    Parameters
    ----------
    label : object
        The class of the highest score.
    score : float
        Its score.
    prototypes : integer array
        Rows of the training data, the largest share first.
    shares : array
        What each of them brought to the score.
    declined : bool
        Whether the answer is "none of these".
    probability : float
        The calibrated probability of ``label``; NaN where the classifier has none.
    behind : integer array of shape (len(prototypes), b) or None
        For each prototype that has no label of its own, the labelled images that gave it one, those that it
        hears most from first; -1 elsewhere. None where all prototypes are labelled.

    Examples
    --------
    >>> import numpy as np
    >>> e = Evidence("cat", 1.5, np.array([4, 2]), np.array([2.0, -0.5]), declined=False)
    >>> bool(e.score == e.shares.sum())
    True
    >>> e.top(1).prototypes.tolist()
    [4]
    """

    label: Any
    score: float
    prototypes: NDArray[np.intp]
    shares: NDArray[np.float64]
    declined: bool
    probability: float = float("nan")
    behind: NDArray[np.intp] | None = None

    def top(self, most: int) -> Evidence:
        """The same answer with its largest votes alone; their shares no longer add up to the score."""
        kept = np.argsort(-np.abs(self.shares), kind="stable")[:most]
        return Evidence(
            self.label,
            self.score,
            self.prototypes[kept],
            self.shares[kept],
            self.declined,
            self.probability,
            None if self.behind is None else self.behind[kept],
        )
