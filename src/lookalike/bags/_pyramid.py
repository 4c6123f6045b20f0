"""Cells of an image, for representations that keep a little of the layout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_pyramid(pyramid: Any, n_positions: int) -> list[tuple[int, int]]:
    """(rows, columns) of each level, or a ValueError."""
    levels = [(int(rows), int(columns)) for rows, columns in pyramid]
    if not levels or min(min(level) for level in levels) < 1:
        raise ValueError(
            "pyramid must hold pairs (rows, columns) of at least 1 each, such as [(1, 1), (2, 2)]."
        )
    if levels != [(1, 1)] and n_positions < 2:
        raise ValueError(
            "a pyramid needs the positions x, y as last columns of the descriptors: n_positions=2."
        )
    return levels


def cells(positions: NDArray[Any], levels: list[tuple[int, int]]) -> list[NDArray[np.bool_] | None]:
    """For each cell of each level, which descriptors lie in it; None stands for all of them.

    The first two columns of ``positions`` are x and y, from 0 to 1.
    """
    masks: list[NDArray[np.bool_] | None] = []
    for rows, columns in levels:
        if rows == columns == 1:
            masks.append(None)
            continue
        row = np.clip((positions[:, 1] * rows).astype(int), 0, rows - 1)
        column = np.clip((positions[:, 0] * columns).astype(int), 0, columns - 1)
        index = row * columns + column
        masks.extend(index == cell for cell in range(rows * columns))
    return masks


def power_l2(X: NDArray[Any], power: float, width: int) -> NDArray[Any]:
    """Signed power, then each group of ``width`` columns to Euclidean length 1 (0 stays 0), in place."""
    if power != 1:
        np.copyto(X, np.sign(X) * np.abs(X) ** power)
    groups = X.reshape(len(X), -1, width)
    norms = np.sqrt((groups.astype(np.float64) ** 2).sum(2, keepdims=True))
    groups /= np.maximum(norms, 1e-30).astype(X.dtype)
    return X
