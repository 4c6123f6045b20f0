"""One divergence and one side, turned into coordinates in which every search is right-sided or symmetric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, logsumexp
from sklearn.utils.validation import check_array

from lookalike.neighbors import _bregman_kernels as kernels
from lookalike.similarity._bregman import (
    EXPONENTIAL,
    ITAKURA_SAITO,
    KL,
    MULTINOMIAL,
    SQUARED_EUCLID,
    BregmanDivergence,
    _Mahalanobis,
    lambert_centre,
    resolve_divergence,
    smooth_histograms,
)

Rows = NDArray[np.float64]
OWN = -1  # the code of a generator that only Python knows


class Ball(NamedTuple):
    """Centres of a ball in both orientations, with what goes with them, and its radius."""

    left: Rows
    left_aux: Rows
    right: Rows
    right_aux: Rows
    radius: float


def _itself(x: Rows) -> Rows:
    return x


def _log_histogram(x: Rows) -> Rows:
    return np.asarray(log_softmax(np.concatenate([x, np.zeros_like(x[:, :1])], axis=1), axis=1))


def _histogram(x: Rows) -> Rows:
    return np.exp(_log_histogram(x))


def _root_exp(x: Rows) -> Rows:
    return np.exp(x / 2) / np.sqrt(2)


# (divergence, side) -> coordinates, generator, form. Left-sided search is right-sided search for the
# conjugate, equation (3.6); some conjugates are old friends.
_TABLE: dict[tuple[str, str], tuple[Callable[[Rows], Rows], int, int]] = {
    ("sqeuclidean", "right"): (_itself, kernels.SQUARED, kernels.RIGHT),
    ("sqeuclidean", "left"): (_itself, kernels.SQUARED, kernels.RIGHT),
    ("sqeuclidean", "jeffreys"): (_itself, kernels.SQUARED, kernels.RIGHT),
    ("sqeuclidean", "jensen"): (_itself, kernels.SQUARED, kernels.JENSEN),
    ("kl", "right"): (_itself, kernels.KL, kernels.RIGHT),
    ("kl", "left"): (np.log, kernels.EXPONENTIAL, kernels.RIGHT),
    ("kl", "jeffreys"): (_itself, kernels.KL, kernels.JEFFREYS),
    ("kl", "jensen"): (_itself, kernels.KL, kernels.JENSEN),
    ("itakura_saito", "right"): (_itself, kernels.ITAKURA, kernels.RIGHT),
    ("itakura_saito", "left"): (np.reciprocal, kernels.ITAKURA, kernels.RIGHT),
    ("itakura_saito", "jeffreys"): (_itself, kernels.ITAKURA, kernels.JEFFREYS),
    ("itakura_saito", "jensen"): (_itself, kernels.ITAKURA, kernels.JENSEN),
    ("exponential", "right"): (_itself, kernels.EXPONENTIAL, kernels.RIGHT),
    ("exponential", "left"): (np.exp, kernels.KL, kernels.RIGHT),
    ("exponential", "jeffreys"): (np.exp, kernels.KL, kernels.JEFFREYS),
    ("exponential", "jensen"): (_root_exp, kernels.SQUARED, kernels.RIGHT),
    ("multinomial", "right"): (_log_histogram, kernels.EXPONENTIAL, kernels.RIGHT),
    ("multinomial", "left"): (_histogram, kernels.KL, kernels.RIGHT),
    ("multinomial", "jeffreys"): (_histogram, kernels.KL, kernels.JEFFREYS),
}
_BUILT_IN = (SQUARED_EUCLID, KL, ITAKURA_SAITO, EXPONENTIAL, MULTINOMIAL)


class BregmanSpace:
    """What a tree needs to know of a divergence: its coordinates, divergences, centres and tolerances."""

    def __init__(
        self,
        divergence: str | BregmanDivergence,
        side: str,
        *,
        smoothing: float | None = 1e-6,
        mixed: bool = False,
    ) -> None:
        self.divergence = resolve_divergence(divergence)
        self.side = side
        self.smoothing = smoothing
        self.mixed = mixed
        d = self.divergence
        self.own: BregmanDivergence | None = None
        if isinstance(d, _Mahalanobis):
            self._transform, self.code, self.form = _TABLE["sqeuclidean", _known(side)]
        elif any(d is known for known in _BUILT_IN) and (d.name, _known(side)) in _TABLE:
            self._transform, self.code, self.form = _TABLE[d.name, side]
        elif side in ("right", "left"):
            self.own = d if side == "right" else d.conjugate()
            self._transform = _itself if side == "right" else d.gradient
            self.code, self.form = OWN, kernels.RIGHT
        else:
            raise ValueError(
                f"the {_known(side)} form of {d.name!r} has no safe bounds for a tree: "
                "rank with bregman_pairwise instead."
            )
        self.simplex = -1.0
        self.slack = 0.0

    def rows(self, X: ArrayLike, *, n_features: int | None = None) -> tuple[Rows, Rows]:
        """The coordinates of these rows and what goes with them; refuses what the divergence cannot take."""
        given: Any = check_array(X, dtype=np.float64, order="C", ensure_min_samples=0 if n_features else 1)
        if n_features is not None and given.shape[1] != n_features:
            raise ValueError(f"queries have {given.shape[1]} coordinates, but the points have {n_features}.")
        if self.divergence.positive and given.size and given.min() <= 0:
            if given.min() < 0:
                raise ValueError(f"the divergence {self.divergence.name!r} takes nothing below zero.")
            if self.smoothing is None:
                raise ValueError(
                    f"the divergence {self.divergence.name!r} needs coordinates above zero: "
                    "give smoothing=1e-6 or smooth the histograms."
                )
            given = smooth_histograms(given, epsilon=self.smoothing)
        if isinstance(self.divergence, _Mahalanobis):
            given = given @ self.divergence.root
        x = np.ascontiguousarray(self._transform(given))
        return x, self.aux(x)

    def fit(self, x: Rows, aux: Rows) -> None:
        """Measure what the tolerances depend on."""
        if self.code > 0:
            self.slack = 1e-13 * float(np.max(np.sum(np.abs(x) * (1 + np.abs(aux)), axis=1)))
        if self.code == kernels.KL and self.form == kernels.RIGHT:
            off = float(np.max(np.abs(x.sum(axis=1) - 1)))
            self.simplex = off + 1e-15 if off < 1e-5 else -1.0
        self._normalise = self.code == kernels.EXPONENTIAL and bool(
            np.all(np.abs(np.exp(x).sum(axis=1) - 1) < 1e-5)
        )

    @property
    def divergence_here(self) -> BregmanDivergence:
        """A user's own divergence, in these coordinates."""
        assert self.own is not None
        return self.own

    def kernel(self) -> kernels.Space:
        """The same for the compiled loops."""
        return kernels.Space(self.code, self.form, self.simplex, self.slack)

    def aux(self, x: Rows) -> Rows:
        """What the compiled divergences want to have at hand."""
        if self.code in (kernels.KL, kernels.ITAKURA):
            return np.log(x)
        if self.code == kernels.EXPONENTIAL:
            return np.exp(x)
        return np.zeros_like(x)

    def right(self, p: Rows, ap: Rows, q: Rows, aq: Rows) -> Rows:
        """``D(p || q)`` along the last axis in these coordinates."""
        if self.own is not None:
            return self.own(p, q)
        if self.code == kernels.SQUARED:
            terms = (p - q) ** 2
        elif self.code == kernels.KL:
            terms = p * (ap - aq) - p + q
        elif self.code == kernels.ITAKURA:
            terms = p / q - (ap - aq) - 1
        else:
            terms = ap - aq - (p - q) * aq
        return np.maximum(terms.sum(axis=-1), 0.0)

    def between(self, p: Rows, ap: Rows, q: Rows, aq: Rows) -> Rows:
        """The divergence of points to queries, in the form that is searched."""
        if self.form == kernels.RIGHT:
            return self.right(p, ap, q, aq)
        if self.form == kernels.JEFFREYS:
            return 0.5 * (self.right(p, ap, q, aq) + self.right(q, aq, p, ap))
        m = 0.5 * (p + q)
        am = self.aux(m)
        return 0.5 * (self.right(p, ap, m, am) + self.right(q, aq, m, am))

    def ball(self, x: Rows, aux: Rows) -> Ball:
        """The ball around these points: the mean in these coordinates, or both sided means."""
        mean = x.mean(axis=0)
        if self.form != kernels.JEFFREYS:
            if self._normalise:
                mean = mean - logsumexp(mean)
            aux_mean = self.aux(mean)
            radius = float(np.max(self.between(x, aux, mean, aux_mean)))
            return Ball(mean, aux_mean, mean, aux_mean, self._wider(radius))
        if self.code == kernels.KL:
            left = np.exp(aux.mean(axis=0))
            both: Any = lambert_centre(mean, aux.mean(axis=0))
        else:
            left = 1 / (1 / x).mean(axis=0)
            both = np.sqrt(mean * left)
        left, right = (left, mean) if self.mixed else (both, both)
        ball = Ball(left, self.aux(left), right, self.aux(right), 0.0)
        return ball._replace(radius=self._wider(float(np.max(self.to_ball(x, aux, ball)))))

    def to_ball(self, x: Rows, aux: Rows, ball: Ball) -> Rows:
        """The function that is at most the radius inside a ball."""
        if self.form != kernels.JEFFREYS:
            return self.between(x, aux, ball.right, ball.right_aux)
        return 0.5 * (
            self.right(ball.left, ball.left_aux, x, aux) + self.right(x, aux, ball.right, ball.right_aux)
        )

    def _wider(self, radius: float) -> float:
        """A radius that its farthest point does not leave by rounding."""
        return radius * (1 + 1e-9) + self.slack


def _known(side: str) -> str:
    if side not in ("right", "left", "jeffreys", "jensen"):
        raise ValueError(f"side must be 'right', 'left', 'jeffreys' or 'jensen', but is {side!r}.")
    return side
