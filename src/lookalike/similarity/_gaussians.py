"""Similarities of single Gaussians, with diagonal or full covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def gaussian_cross_entropy(q: tuple[ArrayLike, ArrayLike], p: tuple[ArrayLike, ArrayLike]) -> Any:
    """H(q, p) = -E_q log p of Gaussians (equation 5.16 of [1]_).

    Parameters
    ----------
    q, p : (mean, covariance)
        Means of shape (..., d); variances of shape (..., d) or full covariances (..., d, d). The leading
        shapes broadcast.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> round(float(gaussian_cross_entropy(([0.0], [1.0]), ([1.0], [4.0]))), 6)
    1.862086
    """
    mq, sq = _checked(q)
    mp, sp = _checked(p)
    sq, sp = _same_kind(mq, sq, mp, sp)
    d = mq.shape[-1]
    delta = mq - mp
    if _is_full(mp, sp):
        solved = np.linalg.solve(sp, sq + delta[..., :, None] * delta[..., None, :])
        trace = np.trace(solved, axis1=-2, axis2=-1)
        return 0.5 * (d * np.log(2 * np.pi) + np.linalg.slogdet(sp)[1] + trace)
    return 0.5 * (d * np.log(2 * np.pi) + (np.log(sp) + (sq + delta**2) / sp).sum(-1))


def gaussian_kl(p: tuple[ArrayLike, ArrayLike], q: tuple[ArrayLike, ArrayLike]) -> Any:
    """KL(p || q) of Gaussians (equation 4.15 of [1]_); the arguments are those of `gaussian_cross_entropy`.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> round(float(gaussian_kl(([0.0], [1.0]), ([1.0], [4.0]))), 6)
    0.443147
    """
    return gaussian_cross_entropy(p, q) - gaussian_cross_entropy(p, p)


def gaussian_probability_product(
    p: tuple[ArrayLike, ArrayLike], q: tuple[ArrayLike, ArrayLike], *, rho: float = 0.5
) -> Any:
    """The integral of p^rho q^rho (equation 4.10 of [1]_, in a form without cancellation).

    rho = 1/2 is the Bhattacharyya overlap, from 0 to 1; rho = 1 the expected likelihood. The other
    arguments are those of `gaussian_cross_entropy`.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> round(float(gaussian_probability_product(([0.0], [1.0]), ([1.0], [4.0]))), 6)
    0.850805
    """
    if not rho > 0:
        raise ValueError(f"rho must be positive, but is {rho!r}.")
    mp, sp = _checked(p)
    mq, sq = _checked(q)
    sp, sq = _same_kind(mp, sp, mq, sq)
    d, delta, total = mp.shape[-1], mp - mq, sp + sq
    constant = 0.5 * d * ((1 - 2 * rho) * np.log(2 * np.pi) - np.log(rho))
    if _is_full(mp, sp):
        logs_p, logs_q, logs = (np.linalg.slogdet(s)[1] for s in (sp, sq, total))
        quad = (delta * np.linalg.solve(total, delta[..., None])[..., 0]).sum(-1)
    else:
        logs_p, logs_q, logs = (np.log(s).sum(-1) for s in (sp, sq, total))
        quad = (delta**2 / total).sum(-1)
    return np.exp(constant + 0.5 * (1 - rho) * (logs_p + logs_q) - 0.5 * logs - 0.5 * rho * quad)


def _checked(gaussian: tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[Any], NDArray[Any]]:
    mean, covariance = (np.asarray(a, dtype=np.float64) for a in gaussian)
    d = mean.shape[-1]
    full = covariance.ndim == mean.ndim + 1
    if covariance.shape[-1] != d or (full and covariance.shape[-2] != d):
        raise ValueError(f"a covariance of shape {covariance.shape} does not fit a mean of {mean.shape}.")
    diagonal = np.diagonal(covariance, axis1=-2, axis2=-1) if full else covariance
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()) or np.any(diagonal <= 0):
        raise ValueError("a Gaussian needs finite means and positive, finite variances.")
    return mean, covariance


def _is_full(mean: NDArray[Any], covariance: NDArray[Any]) -> bool:
    return covariance.ndim == mean.ndim + 1


def _same_kind(ma: Any, sa: Any, mb: Any, sb: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both covariances diagonal, or both full."""
    if _is_full(ma, sa) == _is_full(mb, sb):
        return sa, sb
    eye = np.eye(ma.shape[-1])
    return (sa, sb[..., None] * eye) if _is_full(ma, sa) else (sa[..., None] * eye, sb)
