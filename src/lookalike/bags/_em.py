"""The E-step of diagonal mixtures as two matrix products, and the sums it leaves for every M-step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.arrays import row_blocks

# Rows of one block: small enough to stay in the cache and to keep float32 sums exact to about 1e-6.
_ROWS = 4096
_LOG_ZERO = -1e30  # the logarithm of a weight of 0 that is safe inside a float32 matrix product
# Posteriors below e^-60 count as e^-60: smaller ones soon are subnormal numbers, and those make a matrix
# product ten times slower.
LOG_LEAST = -60


class Statistics(NamedTuple):
    """Sums over descriptors of the posteriors, and of the posteriors times x and x² (encoder's units)."""

    counts: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]


class Encoder:
    """Logarithms of the weighted Gaussians of one mixture at many descriptors, as one matrix product.

    log w_i N(x; mu_i, s_i) is linear in (z², z, 1), where z is x shifted and scaled by the moments of the
    whole mixture: that keeps the three terms of the square of one size, so float32 loses no digits
    where the descriptors lie far from 0. Another ``frame`` (shift, scale) may be given, so that sums
    of several mixtures can be added.
    """

    def __init__(
        self,
        mixture: Any,
        dtype: Any = np.float32,
        frame: tuple[NDArray[Any], NDArray[Any]] | None = None,
    ) -> None:
        weights, means, variances = (np.asarray(a, dtype=np.float64) for a in mixture)
        if frame is None:
            shift = weights @ means / weights.sum()
            frame = shift, np.sqrt(weights @ (variances + (means - shift) ** 2) / weights.sum())
        self.shift, self.scale = frame
        self.weights = weights
        self.means = (means - self.shift) / self.scale  # in the encoder's units, float64
        self.variances = variances / self.scale**2
        self.dtype = np.dtype(dtype)
        self.dim = means.shape[1]
        with np.errstate(divide="ignore"):
            bias = np.maximum(np.log(weights), _LOG_ZERO)
        bias -= 0.5 * (np.log(2 * np.pi * self.variances) + self.means**2 / self.variances).sum(1)
        bias -= np.log(self.scale).sum()
        precision = 1 / self.variances
        self.matrix = np.vstack([-0.5 * precision.T, (self.means * precision).T, bias]).astype(self.dtype)
        self._shift = self.shift.astype(self.dtype)
        self._inverse_scale = (1 / self.scale).astype(self.dtype)

    def lift(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows (z², z, 1) of shape (T, 2 d + 1)."""
        d = self.dim
        lifted = np.empty((len(X), 2 * d + 1), self.dtype)
        z = lifted[:, d : 2 * d]
        np.subtract(X, self._shift, out=z, casting="same_kind")
        z *= self._inverse_scale
        np.multiply(z, z, out=lifted[:, :d])
        lifted[:, 2 * d] = 1
        return lifted

    def log_joint(self, X: NDArray[Any]) -> NDArray[Any]:
        """log w_i N(x_t; mu_i, s_i), of shape (T, n_components)."""
        return self.lift(np.asarray(X)) @ self.matrix

    def unnormalised(self, lifted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """exp(log joint - row maximum), its row sums, and the row maxima."""
        joint = lifted @ self.matrix
        top = joint.max(1)
        joint -= top[:, None]
        np.maximum(joint, LOG_LEAST, out=joint)
        np.exp(joint, out=joint)
        return joint, joint @ np.ones(joint.shape[1], self.dtype), top

    def posteriors(self, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Posteriors of the components (T, n_components), and log p(x_t) (T,)."""
        posterior, norm, top = self.unnormalised(self.lift(np.asarray(X)))
        posterior /= norm[:, None]
        return posterior, top + np.log(norm)

    def log_density(self, X: NDArray[Any]) -> NDArray[Any]:
        """log p(x_t) of the whole mixture."""
        X = np.asarray(X)
        out = np.empty(len(X), self.dtype)
        for block in row_blocks(len(X), self.dtype.itemsize * sum(self.matrix.shape)):
            out[block] = self.posteriors(X[block])[1]
        return out

    def statistics(self, X: NDArray[Any]) -> tuple[Statistics, float]:
        """Sums for the M-step over all descriptors, and their log-likelihood."""
        total = np.zeros((self.matrix.shape[1], self.matrix.shape[0]))
        loglik = 0.0
        for rows in _row_ranges(len(X)):
            lifted = self.lift(X[rows])
            posterior, norm, top = self.unnormalised(lifted)
            loglik += float(top.sum(dtype=np.float64) + np.log(norm).sum(dtype=np.float64))
            total += weighted_sums(posterior, lifted, norm)
        return self.split(total), loglik

    def split(self, sums: NDArray[Any]) -> Statistics:
        """Name the columns of one matrix of sums."""
        d = self.dim
        return Statistics(sums[..., 2 * d], sums[..., d : 2 * d], sums[..., :d])

    def restore(self, means: NDArray[Any], variances: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Means and variances in the units of the descriptors."""
        return means * self.scale + self.shift, variances * self.scale**2


def weighted_sums(posterior: NDArray[Any], lifted: NDArray[Any], norm: NDArray[Any]) -> NDArray[Any]:
    """Posterior-weighted sums of the lifted rows; dividing the narrower factor by the norm is cheaper."""
    return posterior.T @ (lifted / norm[:, None])


def _row_ranges(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _ROWS):
        yield slice(start, min(start + _ROWS, n_rows))


def split_heaviest(
    weights: NDArray[Any], means: NDArray[Any], variances: NDArray[Any], *, n_new: int, split: float
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Replace the ``n_new`` heaviest Gaussians by two each, their means ``split`` deviations apart."""
    order = np.argsort(-weights, kind="stable")[:n_new]
    shift = split * np.sqrt(variances[order])
    weights = weights.copy()
    weights[order] /= 2
    new_means = means[order] - shift
    means = means.copy()
    means[order] += shift
    return (
        np.concatenate([weights, weights[order]]),
        np.concatenate([means, new_means]),
        np.concatenate([variances, variances[order]]),
    )


def maximise(
    stats: Statistics, *, floor: NDArray[Any], split: float, min_count: float
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """M-step: weights, means and floored variances; an empty component takes half of the heaviest."""
    counts = np.maximum(stats.counts, 0)
    safe = np.maximum(counts, 1e-300)[:, None]
    means = stats.first / safe
    variances = np.maximum(stats.second / safe - means**2, floor)
    weights = counts / counts.sum()
    empty = np.flatnonzero(counts < min_count)
    kept = np.flatnonzero(counts >= min_count)
    if not len(empty):
        return weights, means, variances
    weights, means, variances = weights[kept], means[kept], variances[kept]
    while len(weights) < len(counts):
        n_new = min(len(weights), len(counts) - len(weights))
        weights, means, variances = split_heaviest(weights, means, variances, n_new=n_new, split=split)
    return weights / weights.sum(), means, variances
