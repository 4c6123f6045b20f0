"""Cross-entropies between the Gaussians of many mixtures, phrased as matrix products.

The cross-entropy of two diagonal Gaussians, H(q, p) = -E_q log p, is linear in the moments of q and in
the natural parameters of p (equation 5.16 of Y. Liu's thesis, 2010). In a frame where the Gaussians have
means near 0 and variances near 1,

    H(q, p) = moment(q) . natural(p) + own(q) + bias(p) + constant,

with moment = (s + m² - 1, -m), natural = (1 / 2s - 1/2, m / s): both are small, so that float32 products
keep the digits; own, bias and the constant are computed in float64.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.arrays import row_blocks
from lookalike.bags._mixtures import Mixtures
from lookalike.bags._overlap_kernels import log_overlaps

LOG_ZERO = -1e4  # the logarithm of a weight of 0: far below all others, and safe in products


class Frame(NamedTuple):
    """Shift and scale of each component and dimension, shapes that broadcast to (n_components, d)."""

    shift: NDArray[Any]
    scale: NDArray[Any]

    @property
    def constant(self) -> NDArray[Any]:
        """What the cross-entropy of each component gains in the units of the descriptors."""
        return np.asarray(np.log(self.scale).sum(-1) + 0.5 * self.scale.shape[-1] * np.log(2 * np.pi))


def frame_of(mixtures: Mixtures, *, shared: bool) -> Frame:
    """Moments of the mixtures' components: for each component, or one frame ``shared`` by all."""
    axes = (0, 1) if shared else (0,)
    d = mixtures.dim
    if len(mixtures) == 0:
        shape = (1, d) if shared else (mixtures.n_components, d)
        return Frame(np.zeros(shape), np.ones(shape))
    shift = mixtures.means.mean(axes, dtype=np.float64)
    # A geometric mean: one wide Gaussian among many narrow ones does not set the scale.
    scale = np.exp(0.5 * np.log(mixtures.variances).mean(axes, dtype=np.float64))
    if shared:
        spread = mixtures.means.var(axes, dtype=np.float64)
        scale = np.sqrt(scale**2 + spread)
    return Frame(np.atleast_2d(shift), np.atleast_2d(scale))


def logarithm(weights: NDArray[Any]) -> NDArray[np.float64]:
    """log w, with a finite stand-in for log 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.asarray(weights, dtype=np.float64)), LOG_ZERO)


def _normalised(mixtures: Mixtures, frame: Frame) -> tuple[NDArray[Any], NDArray[Any]]:
    shift, inverse = frame.shift.astype(mixtures.dtype), (1 / frame.scale).astype(mixtures.dtype)
    return (mixtures.means - shift) * inverse, mixtures.variances * inverse**2


class Moments(NamedTuple):
    """The side of H(q, p) that belongs to q: rows (n, N, 2 d), own terms (n, N), and entropies (n, N)."""

    rows: NDArray[Any]
    own: NDArray[Any]
    entropy: NDArray[Any]


class Naturals(NamedTuple):
    """The side of H(q, p) that belongs to p: rows (n, N, 2 d) and biases (n, N)."""

    rows: NDArray[Any]
    bias: NDArray[Any]


def moments(mixtures: Mixtures, frame: Frame) -> Moments:
    """The side of the cross-entropy that is averaged over."""
    n, N, d = mixtures.means.shape
    means, variances = _normalised(mixtures, frame)
    rows = np.empty((n, N, 2 * d), mixtures.dtype)
    rows[..., :d] = variances + means**2 - 1
    rows[..., d:] = -means
    own = 0.5 * (rows[..., :d].sum(-1, dtype=np.float64) + d)
    entropy = 0.5 * (np.log(variances).sum(-1, dtype=np.float64) + d) + frame.constant
    return Moments(rows, own, entropy)


def naturals(mixtures: Mixtures, frame: Frame) -> Naturals:
    """The side of the cross-entropy inside the logarithm; its bias holds the frame's constant."""
    n, N, d = mixtures.means.shape
    means, variances = _normalised(mixtures, frame)
    precision = 1 / variances
    rows = np.empty((n, N, 2 * d), mixtures.dtype)
    rows[..., :d] = 0.5 * precision - 0.5
    rows[..., d:] = means * precision
    bias = rows[..., :d].sum(-1, dtype=np.float64)
    bias += 0.5 * (np.log(variances) + means * rows[..., d:]).sum(-1, dtype=np.float64)
    return Naturals(rows, bias + frame.constant)


def matched_cross_entropies(q: Moments, p: Naturals) -> NDArray[Any]:
    """H(q_i, p_i) for all components and pairs, of shape (N, n_q, n_p): one matrix product for each i."""
    out = np.matmul(q.rows.transpose(1, 0, 2), p.rows.transpose(1, 2, 0))
    out += q.own.T[:, :, None].astype(out.dtype)
    out += p.bias.T[:, None, :].astype(out.dtype)
    return out


def part_of(side: Any, rows: Any) -> Any:
    """The chosen mixtures of a `Moments` or `Naturals`."""
    return type(side)(*(array[rows] for array in side))


def separable_overlap(mixtures: Mixtures, rho: float) -> NDArray[np.float64]:
    """The part of log K^rho that each Gaussian brings alone, (n, N); 0 for rho = 1/2.

    K^rho is the integral of p^rho q^rho (equation 4.10); with r and quad of `_overlap_kernels`,
    log K^rho = own(p) + own(q) + sum(log r) / 2 - rho / 2 * sum(quad).
    """
    d = mixtures.dim
    logs = np.log(mixtures.variances).sum(-1, dtype=np.float64)
    constant = 0.5 * (1 - 2 * rho) * np.log(2 * np.pi) - 0.5 * np.log(2 * rho)
    return 0.5 * d * constant + 0.5 * (0.5 - rho) * logs


class Overlaps:
    """Logarithms of the probability products of Gaussians, against one collection of mixtures."""

    def __init__(self, mixtures: Mixtures, rho: float, *, matched: bool) -> None:
        self.rho, self.matched = rho, matched
        self.shift = frame_of(mixtures, shared=True).shift
        self.n, self.n_components, d = mixtures.means.shape
        means, deviations = mixtures.means - self.shift, np.sqrt(mixtures.variances)
        own = separable_overlap(mixtures, rho)
        if matched:  # (N, d, n)
            self.means, self.deviations = means.transpose(1, 2, 0), deviations.transpose(1, 2, 0)
            self.own = own.T
        else:  # (d, n * N)
            self.means, self.deviations = means.reshape(-1, d).T, deviations.reshape(-1, d).T
            self.own = own.ravel()
        self.dtype = mixtures.dtype
        self.means = np.ascontiguousarray(self.means, dtype=self.dtype)
        self.deviations = np.ascontiguousarray(self.deviations, dtype=self.dtype)

    def matched_logs(self, queries: Mixtures) -> NDArray[Any]:
        """log K of component i of each query and of each mixture, (N, n_queries, n)."""
        means, deviations = self._query(queries)
        own = separable_overlap(queries, self.rho)
        out = np.empty((self.n_components, len(queries), self.n), self.dtype)
        for i in range(self.n_components):
            np.add(own[:, i, None], self.own[i], out=out[i], casting="same_kind")
            self._add(means[:, i], deviations[:, i], self.means[i], self.deviations[i], out[i])
        return out

    def crossed_logs(self, query: Mixtures, chosen: slice) -> NDArray[Any]:
        """log K of all components of one query with those of the ``chosen`` mixtures, (N_q, m, N)."""
        means, deviations = self._query(query)
        columns = slice(chosen.start * self.n_components, chosen.stop * self.n_components)
        out = np.add(separable_overlap(query, self.rho)[0][:, None], self.own[columns]).astype(self.dtype)
        m, s = (np.ascontiguousarray(a[:, columns]) for a in (self.means, self.deviations))
        self._add(means[0], deviations[0], m, s, out)
        return out.reshape(len(out), -1, self.n_components)

    def _query(self, queries: Mixtures) -> tuple[NDArray[Any], NDArray[Any]]:
        return (
            (queries.means - self.shift).astype(self.dtype, copy=False),
            np.sqrt(queries.variances).astype(self.dtype, copy=False),
        )

    def _add(self, mp: Any, sp: Any, mq: Any, sq: Any, out: NDArray[Any]) -> None:
        coefficient = self.dtype.type(self.rho / 2)
        log_overlaps(np.ascontiguousarray(mp), np.ascontiguousarray(sp), mq, sq, coefficient, out)


class References:
    """What queries are compared with: log sum_j w_j e^(-H(q_i, p_j)), or log sum_j w_j B(q_i, p_j)^power.

    The second is meant where ``overlap`` is a power of the Bhattacharyya overlap B, not 0. This one
    number for component i of a query and each mixture p is all that mixtures of references and
    contextual similarities need. One-to-one keeps only j = i.
    """

    def __init__(
        self, mixtures: Mixtures, *, overlap: int = 0, matched: bool = True, frame: Frame | None = None
    ) -> None:
        self.n, self.n_components = mixtures.shape
        self.matched = matched
        self.dtype = mixtures.dtype
        self.log_weights = logarithm(mixtures.weights)
        self.power = overlap
        self.overlaps = Overlaps(mixtures, 0.5, matched=matched) if overlap else None
        if not overlap:
            self.frame = frame_of(mixtures, shared=not matched) if frame is None else frame
            self.side = naturals(mixtures, self.frame)

    @property
    def bytes_per_query(self) -> int:
        """What the numbers of one query take."""
        return self.n * self.n_components * self.dtype.itemsize * 2

    def logs(self, queries: Mixtures, side: Moments | None = None) -> NDArray[Any]:
        """Logarithms of shape (n_components of the queries, n_queries, n).

        ``side`` are the queries' moments in the frame, where they were made before.
        """
        if self.matched:
            if self.overlaps is not None:
                out = self.overlaps.matched_logs(queries)
                out *= self.power
            else:
                out = matched_cross_entropies(side or moments(queries, self.frame), self.side)
                np.negative(out, out=out)
            out += self.log_weights.T[:, None, :].astype(out.dtype)
            return out
        parts = [self._crossed(queries[k : k + 1]) for k in range(len(queries))]
        return np.stack(parts, axis=1)

    def _crossed(self, query: Mixtures) -> NDArray[Any]:
        out = np.empty((query.n_components, self.n), self.dtype)
        per_mixture = 3 * query.n_components * self.n_components * self.dtype.itemsize
        for block in row_blocks(self.n, per_mixture):
            if self.overlaps is not None:
                logs = self.power * self.overlaps.crossed_logs(query, block)
            else:
                logs = -crossed_cross_entropies(moments(query, self.frame), part_of(self.side, block))
            logs += self.log_weights[block].astype(self.dtype)
            out[:, block] = log_sum_exp(logs)
        return out


def crossed_cross_entropies(q: Moments, p: Naturals) -> NDArray[Any]:
    """H(q_i, p_j) of all components of one query with those of all mixtures, (N_q, n_p, N_p)."""
    n, N, width = p.rows.shape
    out = q.rows[0] @ p.rows.reshape(n * N, width).T
    out += q.own[0][:, None].astype(out.dtype)
    out += p.bias.ravel().astype(out.dtype)
    return out.reshape(-1, n, N)


def log_sum_exp(values: NDArray[Any]) -> NDArray[Any]:
    """log of the sum of exponentials over the last axis, without overflow."""
    top = values.max(-1, keepdims=True)
    return np.asarray(np.log(np.exp(values - top).sum(-1)) + top[..., 0])


class MatchedKL:
    """One-to-one divergences from and to one collection (equation 4.24), prepared once.

    KL(p || q) of matched mixtures is one dot product of length 2 N d for each pair, and short terms that
    are summed in float64.
    """

    def __init__(self, mixtures: Mixtures, frame: Frame | None = None) -> None:
        self.mixtures = mixtures
        self.frame = frame_of(mixtures, shared=False) if frame is None else frame
        self.width = 2 * mixtures.n_components * mixtures.dim
        self.weights = mixtures.weights.astype(np.float64)
        self.logs = logarithm(mixtures.weights)

    @cached_property
    def outside(self) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The side that is averaged over: rows (n, 2 N d), weighted, and what each mixture brings alone."""
        rows, own, entropy = moments(self.mixtures, self.frame)
        rows *= self.mixtures.weights[:, :, None]
        return rows.reshape(len(rows), self.width), (self.weights * (own - entropy + self.logs)).sum(1)

    @cached_property
    def inside(self) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The side inside the logarithm: rows (n, 2 N d), and biases of the components (n, N)."""
        rows, bias = naturals(self.mixtures, self.frame)
        return rows.reshape(len(rows), self.width), bias - self.logs

    def to(self, other: MatchedKL) -> NDArray[np.float64]:
        """KL(self || other), (n_self, n_other)."""
        (rows, alone), (columns, bias) = self.outside, other.inside
        out = np.empty((len(rows), len(columns)), np.float64)
        for block in row_blocks(len(rows), 12 * max(1, len(columns))):
            out[block] = rows[block] @ columns.T
            out[block] += self.weights[block] @ bias.T
        out += alone[:, None]
        return out

    def beside(self, mixtures: Mixtures) -> MatchedKL:
        """Other mixtures in the same frame."""
        return self if mixtures is self.mixtures else MatchedKL(mixtures, self.frame)

    def symmetric(self, mixtures: Mixtures) -> NDArray[np.float64]:
        """KL in both directions between ``mixtures`` and the collection, (n_mixtures, n)."""
        other = self.beside(mixtures)
        out = other.to(self)
        out += out.T if other is self else self.to(other).T
        return np.maximum(out, 0, out=out)


def one_to_one_kl(p: Mixtures, q: Mixtures) -> NDArray[np.float64]:
    """KL between matched mixtures (equation 4.24)."""
    reference = MatchedKL(q if len(q) else p)
    return reference.beside(p).to(reference.beside(q))
