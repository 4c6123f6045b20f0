"""Which images are labelled and which are asked about: the protocols of measurements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

Indices = NDArray[np.intp]


def few_label_draws(
    y: ArrayLike, per_class: int, n_draws: int, *, random_state: int | np.random.RandomState | None = None
) -> Iterator[tuple[Indices, Indices]]:
    """Draw ``per_class`` labelled images of each class; all others are asked about.

    Every class keeps at least one image to be asked about, so a class with too few images is an error.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> for labelled, asked in few_label_draws(y, 1, n_draws=2, random_state=0):
    ...     print(len(labelled), len(asked))
    2 4
    2 4
    """
    labels, coded = np.unique(np.asarray(y), return_inverse=True)
    counts = np.bincount(coded)
    if per_class < 1:
        raise ValueError(f"per_class must be at least 1, but is {per_class}.")
    if counts.min() <= per_class:
        small = labels[counts.argmin()]
        raise ValueError(
            f"class {small!r} has {counts.min()} images, so {per_class} cannot be labelled"
            " with one left to ask about."
        )
    rng = check_random_state(random_state)
    members = [np.flatnonzero(coded == c) for c in range(len(labels))]
    for _ in range(n_draws):
        labelled = np.concatenate([rng.choice(m, per_class, replace=False) for m in members])
        asked = np.ones(len(coded), dtype=bool)
        asked[labelled] = False
        yield labelled, np.flatnonzero(asked)


def folds(y: ArrayLike, n_folds: int = 5, *, random_state: int | None = 0) -> list[tuple[Indices, Indices]]:
    """Stratified folds that also hold with few labels: never more folds than the rarest class has images.

    A class with a single image is never held out: it can be learnt from but not asked about.

    Examples
    --------
    >>> [(len(a), len(b)) for a, b in folds([0, 0, 0, 0, 1, 1, 2])]
    [(4, 3), (4, 3)]
    """
    _, coded, counts = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
    single = np.flatnonzero(counts[coded] == 1)
    several = np.flatnonzero(counts[coded] > 1)
    if not len(several) or len(np.unique(coded[several])) < 1:
        raise ValueError("no class has two images, so nothing can be held out.")
    n = int(min(n_folds, counts[counts > 1].min()))
    splitter = StratifiedKFold(n, shuffle=True, random_state=random_state)
    return [
        (np.sort(np.concatenate([several[a], single])), several[b])
        for a, b in splitter.split(several[:, None], coded[several])
    ]
