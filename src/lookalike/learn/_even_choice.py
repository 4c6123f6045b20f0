"""Which images of a class speak for it: a subset whose even vote is the vote of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def herd(kernel: Floats, n_kept: int) -> NDArray[np.intp]:
    """Choose rows greedily so that the mean kernel of the chosen follows the mean of all.

    This is kernel herding [1]_: each next image is the one that the chosen ones represent worst. Ties go
    to the first row.

    .. [1] Y. Chen, M. Welling, A. Smola, "Super-samples from kernel herding", UAI 2010, equation (8).
    """
    wanted = kernel.mean(1)
    said = np.zeros(len(kernel))
    chosen: list[int] = []
    for t in range(min(n_kept, len(kernel))):
        gap = wanted - said / (t + 1)
        gap[chosen] = -np.inf
        best = int(gap.argmax())
        chosen.append(best)
        said += kernel[:, best]
    return np.array(chosen, dtype=np.intp)
