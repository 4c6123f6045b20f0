"""The compiled loop of the distance-based criterion: from squared distances to pair weights, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def pair_weights(
    squares: NDArray[Any],
    within: NDArray[Any],
    first: int,
    bounds: NDArray[Any],
    terms: NDArray[Any],
    huber: float,
    floor2: float,
) -> float:
    """Sum the criterion over the pairs that begin in some rows, and put their surrogate weights in place.

    ``squares`` holds the squared distances of the points ``first, first + 1, ...`` to all points from
    ``first`` on, which are sorted by class (class ``j`` is ``bounds[j]:bounds[j + 1]``). It is overwritten
    with the weights of pairs of different classes; ``within`` (zeros, as many columns as needed) receives
    those of pairs of one class. Each pair is met once, at its earlier point; the rest becomes zero.
    ``terms`` has the within and the between coefficient of each class. Logarithms are taken of products of
    many factors, which costs far fewer of them.
    """
    total = 0.0
    half = 0.5 * huber * huber
    own = 0
    for i in range(squares.shape[0]):
        p = first + i
        while p >= bounds[own + 1]:
            own += 1
        squares[i, : i + 1] = 0.0
        for j in range(own, len(bounds) - 1):
            part = 0.0
            product = 1.0
            if j == own:
                coefficient = terms[0, own]
                for q in range(p + 1 - first, bounds[j + 1] - first):
                    u = squares[i, q] + floor2
                    squares[i, q] = 0.0
                    if coefficient == 0.0:
                        continue
                    if u <= huber * huber:
                        value = 0.5 * u
                        within[i, q] = coefficient / value
                    else:
                        d = np.sqrt(u)
                        value = huber * d - half
                        within[i, q] = coefficient * huber / (d * value)
                    product *= value
                    if product > 1e100 or product < 1e-100:
                        part += np.log(product)
                        product = 1.0
                if coefficient != 0.0:
                    total += coefficient * (part + np.log(product))
            else:
                coefficient = terms[1, own] + terms[1, j]
                for q in range(bounds[j] - first, bounds[j + 1] - first):
                    u = squares[i, q] + floor2
                    squares[i, q] = coefficient / u
                    product *= u
                    if product > 1e100 or product < 1e-100:
                        part += np.log(product)
                        product = 1.0
                if coefficient != 0.0:
                    total -= 0.5 * coefficient * (part + np.log(product))
    return total
