"""What many labels say by themselves: kernel ridge regression on the labelled points.

The linear map of `soft_labels` sees classes as large groups. With many labels there is more to learn, such as
where a class bends around another. The Gaussian kernel follows that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import inv

from lookalike.learn._calibration import fit_sharpness, log_losses
from lookalike.learn._prototype_space import squared_distances

Floats = NDArray[np.float64]
Points = NDArray[np.floating]

MANY = 40  # images of the rarest class, from which they are listened to
MOST = 4096  # labelled images that are learnt from
RIDGE = 0.03  # of what an image of weight one says, as in K + ridge / weight
SAY = (0.25, 0.5, 1.0)  # beside the linear map, in units of its deviation
SURE = 1.0  # standard errors of the gain


class KernelScores(NamedTuple):
    """Scores of a point: Gaussian votes of labelled points, times learnt coefficients."""

    places: Points
    coefficients: Floats  # (places, classes)

    @classmethod
    def none(cls, n_axes: int, n_classes: int) -> KernelScores:
        """Those that say nothing."""
        return cls(np.zeros((0, n_axes), dtype=np.float32), np.zeros((0, n_classes)))

    def of(self, points: Points) -> Floats:
        """Class scores."""
        return gaussian(points, self.places) @ self.coefficients

    def times(self, factor: float) -> KernelScores:
        """The same, louder or softer."""
        return KernelScores(self.places, factor * self.coefficients)


def gaussian(points: Points, places: Points) -> Floats:
    """The kernel, of width one: points have length one or so."""
    kernel: Floats = np.exp(-0.5 * squared_distances(points, places)).astype(np.float64)
    return kernel


def fit_kernel_scores(
    points: Points, truth: NDArray[np.intp], weights: Floats, n_classes: int
) -> tuple[KernelScores, Floats]:
    """Scores learnt from labelled points, and the score of each of these when it is left out.

    With ``M = (K + ridge / weights)⁻¹`` and centred targets ``Y``, the residual of a row left out is
    ``(M Y)_i / M_ii``.
    """
    targets = np.eye(n_classes)[truth]
    targets -= weights @ targets / weights.sum()
    inverse = inv(gaussian(points, points) + np.diag(RIDGE / weights), overwrite_a=True)
    coefficients = inverse @ targets
    held_out = targets - coefficients / np.diag(inverse)[:, None]
    return KernelScores(points, coefficients), held_out


def listened_to(
    points: Points, truth: NDArray[np.intp], weights: Floats, linear: Floats
) -> tuple[KernelScores, Floats]:
    """Kernel scores as loud as held-out images ask for, and theirs there; ``linear`` are the map's there."""
    n_classes = linear.shape[1]
    nothing = KernelScores.none(points.shape[1], n_classes), np.zeros_like(linear)
    if np.bincount(truth).min() < MANY or len(truth) > MOST:
        return nothing
    alone, held_out = fit_kernel_scores(points, truth, weights, n_classes)
    unit = float(_centred(linear).std()) / max(float(_centred(held_out).std()), 1e-30)

    def losses(say: float) -> Floats:
        scores = linear + say * unit * held_out
        return log_losses(scores, truth, fit_sharpness(scores, truth)[0])

    silent = losses(0.0)
    found = [losses(say) for say in SAY]
    best = int(np.argmin([f.mean() for f in found]))
    gains = silent - found[best]
    if gains.mean() <= SURE * gains.std() / np.sqrt(len(gains)):
        return nothing
    factor = SAY[best] * unit
    return alone.times(factor), factor * held_out


def _centred(scores: Floats) -> Floats:
    centred: Floats = scores - scores.mean(axis=1, keepdims=True)
    return centred
