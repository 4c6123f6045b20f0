"""The compiled loop of this room: how much Gaussians overlap, where no matrix product gives it.

log(s_p + s_q) couples two images, so the probability product kernel is not bilinear. The loop uses

    r = 2 sqrt(s_p s_q) / (s_p + s_q)   (at most 1)   and   (m_p - m_q)² / (s_p + s_q),

one division for each dimension, and one logarithm for every 32 of them. It runs across the columns,
so that the processor works on several pairs at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_WIDTH = 512  # columns worked on together: their sums stay in the first cache
_CHUNK = 32  # factors r before their product is turned into a logarithm


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def log_overlaps(mp: Any, sp: Any, mq: Any, sq: Any, coefficient: Any, out: Any) -> None:  # pragma: no cover
    """out[a, b] += sum over d of log(r) / 2 - coefficient * (m_p - m_q)² / (s_p + s_q).

    ``mp``, ``sp`` are means and deviations (n, d); ``mq``, ``sq`` those of the others, (d, m).
    """
    n, d = mp.shape
    m = mq.shape[1]
    zero, one, half, least = out.dtype.type(0), out.dtype.type(1), out.dtype.type(0.5), out.dtype.type(1e-37)
    product = np.empty(_WIDTH, out.dtype)
    square = np.empty(_WIDTH, out.dtype)
    for first in range(0, m, _WIDTH):
        last = min(first + _WIDTH, m)
        for a in range(n):
            # Slices, not sums of indices: those would be checked for being negative, and cost the speed.
            result = out[a, first:last]
            square[:] = zero
            for start in range(0, d, _CHUNK):
                product[:] = one
                for k in range(start, min(start + _CHUNK, d)):
                    mean, deviation = mp[a, k], sp[a, k]
                    variance, twice = deviation * deviation, deviation + deviation
                    means, deviations = mq[k, first:last], sq[k, first:last]
                    for b in range(last - first):
                        other = deviations[b]
                        inverse = one / (variance + other * other)
                        delta = mean - means[b]
                        square[b] += delta * delta * inverse
                        product[b] *= twice * other * inverse
                for b in range(last - first):
                    result[b] += half * np.log(max(product[b], least))
            for b in range(last - first):
                result[b] -= coefficient * square[b]
