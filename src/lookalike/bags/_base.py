"""What the estimators of this room share: they take bags, not one flat array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state

from lookalike.arrays import Bags


def check_bags(X: Any, *, dim: int | None = None) -> Bags:
    """Bags of finite numbers (a list of matrices becomes one), or a ValueError that says what is wrong.

    float64 values stay float64; everything else becomes float32.
    """
    bags = X if isinstance(X, Bags) else Bags.from_list(X, dim=dim)
    if dim is not None and bags.dim != dim:
        raise ValueError(
            f"the descriptors have {bags.dim} columns, but the estimator was fitted on {dim}: "
            "extract them with the same feature."
        )
    bags = bags.compact()
    if bags.values.dtype not in (np.float32, np.float64):
        bags = Bags(bags.values.astype(np.float32), bags.offsets)
    # The sum is not finite where one entry is not; only an overflow needs the second, slower look.
    if not np.isfinite(bags.values.sum(dtype=np.float64)) and not np.isfinite(bags.values).all():
        bad = int(np.flatnonzero(~np.isfinite(bags.values).all(1))[0])
        image = int(np.searchsorted(bags.offsets, bad, side="right")) - 1
        raise ValueError(f"bag {image} holds a descriptor with NaN or infinity: leave it out.")
    return bags


def sample_descriptors(bags: Bags, limit: int | None, random_state: Any) -> NDArray[Any]:
    """At most ``limit`` descriptors of all bags, drawn without replacement and kept in their order."""
    total = len(bags.values)
    if limit is None or total <= limit:
        return bags.values
    rng = check_random_state(random_state)
    chosen = np.sort(rng.permutation(total)[:limit])
    return bags.values[chosen]


def bag_blocks(bags: Bags, bytes_per_row: int, *, budget: int) -> Iterator[slice]:
    """Consecutive slices of bags whose descriptors together stay within ``budget`` (at least one bag)."""
    limit = max(1, budget // max(1, bytes_per_row))
    start = 0
    while start < len(bags):
        stop = int(np.searchsorted(bags.offsets, bags.offsets[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), len(bags))
        yield slice(start, stop)
        start = stop


class BagsTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A transformer whose input is `Bags` (or a list of matrices)."""

    _flat_input = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from bags."""
        raise NotImplementedError
