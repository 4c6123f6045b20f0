"""What discriminants ask of labels: their classes, who is a target, landmarks, and twins with two labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from lookalike.errors import LookalikeWarning

Array = NDArray[Any]


def encode(y: Array, needing: str = "a discriminant") -> tuple[Array, Array]:
    """The classes, two at least, and the number of each observation's."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class; {needing} needs at least two classes.")
    return classes, codes


def encode_two(y: Array) -> tuple[Array, Array]:
    """The same for what tells one class from the rest."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(
            f"Only binary classification is supported. y has {len(classes)} "
            f"class{'' if len(classes) == 1 else 'es'}: compare one with all the rest."
        )
    return classes, codes


def check_square(x: Array, kernel: Any) -> None:
    """A kernel matrix that is given must have a row and a column for each observation."""
    if isinstance(kernel, str) and kernel == "precomputed" and x.shape[0] != x.shape[1]:
        raise ValueError(f"a precomputed kernel must be a square matrix, but has shape {x.shape}.")


def choose_targets(x: Array, codes: Array, classes: Array, targets: Any) -> Array:
    """Which classes are to be made compact: a mask over the classes."""
    if isinstance(targets, str) and targets == "all":
        return np.ones(len(classes), bool)
    if isinstance(targets, str) and targets == "all but widest":
        spread = [x[codes == j].var(axis=0).sum() for j in range(len(classes))]
        chosen = np.ones(len(classes), bool)
        chosen[int(np.argmax(spread))] = False
        return chosen
    wanted = np.atleast_1d(np.asarray(targets))
    chosen = np.isin(classes, wanted)
    if chosen.sum() != len(np.unique(wanted)) or not chosen.any():
        raise ValueError(f"targets must be classes of y ({classes.tolist()}), but are {wanted.tolist()}.")
    return chosen


def stratified_sample(codes: Array, size: int, rng: np.random.RandomState) -> Array:
    """Indices of about ``size`` observations, every class in its proportion and none below two."""
    chosen = []
    for j in np.unique(codes):
        rows = np.flatnonzero(codes == j)
        take = min(len(rows), max(2, round(size * len(rows) / len(codes))))
        chosen.append(rng.choice(rows, take, replace=False))
    return np.sort(np.concatenate(chosen))


def warn_of_duplicates(x: Array, codes: Array) -> None:
    """Say so where one observation has two labels: their distance cannot be made large."""
    _, same = np.unique(x, axis=0, return_inverse=True)
    same = same.ravel()
    first = np.full(same.max() + 1, -1)
    first[same[::-1]] = codes[::-1]
    if (first[same] != codes).any():
        count = len(np.unique(same[first[same] != codes]))
        warnings.warn(
            f"{count} observations occur under two labels; their distance stays at the floor.",
            LookalikeWarning,
            stacklevel=4,
        )
