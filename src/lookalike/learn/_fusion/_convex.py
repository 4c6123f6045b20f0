"""The best kernel that blocks can make together, and the certificate that none is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def whitened(crossed: Array, hits: Array, variances: Array) -> tuple[Array, Array]:
    """Products ``UᵀU`` and ``UᵀQ`` of orthonormal bases of the blocks, from those of their components."""
    scale = 1.0 / np.sqrt(variances)
    return crossed * scale * scale[:, None], hits * scale[:, None]


def convex_factors(
    products: Array, hits: Array, parts: Sequence[slice], *, max_sweeps: int = 500, tolerance: float = 1e-15
) -> tuple[list[Array], list[float]]:
    """Factors ``R_s`` of the kernel ``Σ U_s R_s R_sᵀ U_sᵀ`` of highest alignment, and its path.

    The alignment is highest where ``‖Σ U_s M_s U_sᵀ − QQᵀ‖²`` is lowest over positive semi-definite
    ``M_s``; each block in turn takes its exact minimum ``[U_sᵀ(QQᵀ − K_{−s})U_s]₊``, which has at most
    as many columns as Q.
    """
    factors = [np.zeros((p.stop - p.start, 0)) for p in parts]
    path: list[float] = []
    for _ in range(max_sweeps):
        for s, mine in enumerate(parts):
            gap = hits[mine] @ hits[mine].T
            for other, theirs in enumerate(parts):
                if other != s and factors[other].shape[1]:
                    reach = products[mine, theirs] @ factors[other]
                    gap -= reach @ reach.T
            values, vectors = np.linalg.eigh(gap)
            keep = values > 0
            factors[s] = vectors[:, keep] * np.sqrt(values[keep])
        path.append(factor_alignment(products, hits, parts, factors))
        if len(path) > 1 and path[-1] - path[-2] <= tolerance * path[-1]:
            break
    return factors, path


def _reach(products: Array, parts: Sequence[slice], factors: Sequence[Array]) -> Array:
    """``UᵀF`` of the embedding ``F = [U_1R_1 … U_SR_S]``."""
    return np.concatenate([products[:, p] @ r for p, r in zip(parts, factors)], axis=1)


def factor_alignment(products: Array, hits: Array, parts: Sequence[slice], factors: Sequence[Array]) -> float:
    """Centred alignment of the kernel with these factors."""
    norm2, aligned = _scalars(products, hits, parts, factors)
    return aligned / np.sqrt(hits.shape[1] * norm2) if norm2 > 0 else 0.0


def _scalars(
    products: Array, hits: Array, parts: Sequence[slice], factors: Sequence[Array]
) -> tuple[float, float]:
    reach = _reach(products, parts, factors)
    gram = np.concatenate([r.T @ reach[p] for p, r in zip(parts, factors)], axis=0)
    inside = np.concatenate([hits[p].T @ r for p, r in zip(parts, factors)], axis=1)
    return float(np.sum(gram**2)), float(np.sum(inside**2))


def certificates(products: Array, hits: Array, parts: Sequence[slice], factors: Sequence[Array]) -> Array:
    """How steeply each block could still raise the alignment: ``λ_max(U_sᵀ(QQᵀ − S/N² K)U_s)``.

    No value above 0 (beyond rounding) proves that the kernel is the best of all.
    """
    norm2, aligned = _scalars(products, hits, parts, factors)
    ratio = aligned / norm2 if norm2 > 0 else 0.0
    reach = _reach(products, parts, factors)
    slopes = [
        np.linalg.eigvalsh(hits[p] @ hits[p].T - ratio * reach[p] @ reach[p].T)[-1]
        if p.stop > p.start
        else 0.0
        for p in parts
    ]
    return np.array(slopes)
