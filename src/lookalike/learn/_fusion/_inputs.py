"""Feature blocks as they come in: a list of matrices, named matrices, or chosen columns of one matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target

Array = NDArray[Any]


def is_blocks(X: Any) -> bool:
    """Whether ``X`` is several matrices rather than one.

    >>> is_blocks([np.zeros((3, 2)), np.zeros((3, 4))]), is_blocks([[1.0, 2.0], [3.0, 4.0]])
    (True, False)
    """
    if isinstance(X, Mapping):
        return not hasattr(X, "shape")  # a sparse matrix may be a mapping too
    return isinstance(X, list | tuple) and len(X) > 0 and all(len(getattr(b, "shape", ())) == 2 for b in X)


def checked_blocks(X: Any, *, least: int = 1) -> tuple[list[str], list[Array]]:
    """Names and float matrices of several blocks; they must be finite and have the same rows."""
    pairs = list(X.items()) if isinstance(X, Mapping) else [(f"block{i}", b) for i, b in enumerate(X)]
    if not pairs:
        raise ValueError("There are no feature blocks: give at least one matrix.")
    names, arrays = [], []
    for name, block in pairs:
        names.append(str(name))
        arrays.append(
            check_array(block, dtype=[np.float64, np.float32], ensure_min_samples=least, input_name=str(name))
        )
    rows = {name: len(a) for name, a in zip(names, arrays)}
    if len(set(rows.values())) != 1:
        raise ValueError(f"Feature blocks must have the same rows in the same order, but have {rows} rows.")
    return names, arrays


def cut_blocks(X: Array, selection: Sequence[tuple[str, Any]], columns: Any = None) -> list[Array]:
    """The blocks that ``selection``, pairs of a name and columns, takes from one matrix.

    Columns are a slice (or, as plain data, a text like "0:256"), positions, a mask, or names where the
    matrix came with names.

    >>> [b.shape for b in cut_blocks(np.zeros((2, 5)), [("colour", "0:2"), ("shape", [2, 4])])]
    [(2, 2), (2, 2)]
    """
    place = {} if columns is None else {str(name): i for i, name in enumerate(columns)}
    blocks = []
    for name, chosen in selection:
        if isinstance(chosen, str):
            ends = chosen.split(":")
            if len(ends) != 2 or not all(end.isdecimal() for end in ends):
                raise ValueError(f"Columns of block {name!r} must be like '0:256', but are {chosen!r}.")
            chosen = slice(int(ends[0]), int(ends[1]))
        if not isinstance(chosen, slice) and len(chosen) and all(isinstance(c, str) for c in chosen):
            unknown = [c for c in chosen if c not in place]
            if unknown:
                raise ValueError(f"Block {name!r} asks for columns {unknown}, which the features lack.")
            chosen = [place[c] for c in chosen]
        if isinstance(chosen, slice) and (chosen.stop or 0) > X.shape[1]:
            raise ValueError(f"Block {name!r} ends at column {chosen.stop}, but there are {X.shape[1]}.")
        blocks.append(X[:, chosen])
        if blocks[-1].shape[1] == 0:
            raise ValueError(f"Block {name!r} has no columns.")
    return blocks


class Labels:
    """Labels as rows of an indicator matrix, made a few rows at a time."""

    def __init__(self, y: Any, classes: Sequence[Any] | None = None) -> None:
        kind = type_of_target(y, input_name="y")
        check_classification_targets(y)
        self.multilabel = kind == "multilabel-indicator"
        if self.multilabel:
            self.values = check_array(y, accept_sparse=False, dtype=np.float64)
            self.classes = np.arange(self.values.shape[1]) if classes is None else np.asarray(classes)
            if len(self.classes) != self.values.shape[1]:
                raise ValueError(f"y has {self.values.shape[1]} columns for {len(self.classes)} classes.")
            return
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"y must hold one class per sample or an indicator matrix, but is {kind}.")
        y = np.asarray(y).ravel()
        self.classes = np.unique(y) if classes is None else np.asarray(classes)
        place = {c: i for i, c in enumerate(self.classes.tolist())}
        unknown = set(np.unique(y).tolist()) - set(place)
        if unknown:
            raise ValueError(f"y holds classes that are not in classes: {sorted(unknown)}.")
        found, inverse = np.unique(y, return_inverse=True)
        self.values = np.array([place[c] for c in found.tolist()], dtype=np.intp)[inverse]

    def __len__(self) -> int:
        return len(self.values)

    def indicators(self, rows: Any) -> Array:
        """The indicator matrix of some rows."""
        if self.multilabel:
            return self.values[rows]
        index = self.values[rows]
        out = np.zeros((len(index), len(self.classes)))
        out[np.arange(len(index)), index] = 1.0
        return out
