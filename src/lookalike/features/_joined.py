"""Several features of an image side by side, as one vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.features._feature import Feature, Image

PARTS = ("color-histogram", "hog", "local-binary-patterns", "gist")


class JoinedFeature(Feature):
    """The vectors of several features, one after the other.

    Learners that fuse features (``BoostedKernel`` and its rivals) take the parts by their ``spans``.

    Parameters
    ----------
    features : sequence of str or dict
        Names of vector features, or ``{"name": …, "settings": …}`` of each.

    Examples
    --------
    >>> joined = JoinedFeature(features=["color-histogram", "gist"])
    >>> joined.dim, joined.spans
    (768, [('color-histogram', '0:256'), ('gist', '256:768')])
    >>> joined.extract([np.zeros((32, 32, 3), np.uint8)]).shape
    (1, 768)
    """

    name = "joined"
    kind = "vector"

    def __init__(self, *, features: Sequence[str | Mapping[str, Any]] = PARTS) -> None:
        from lookalike.features._registry import get_feature  # the registry names this module

        specs: list[dict[str, Any]] = [
            {"name": f, "settings": {}} if isinstance(f, str) else dict(f) for f in features
        ]
        if not specs or any(set(spec) != {"name", "settings"} for spec in specs):
            raise ValueError(f"features must be names of features, but are {list(features)!r}.")
        self.parts = [get_feature(spec["name"], **spec["settings"]) for spec in specs]
        bags = [part.name for part in self.parts if part.kind != "vector"]
        if bags:
            raise ValueError(f"only vectors can be joined, but {bags[0]!r} gives a bag for each image.")
        if len({repr(spec) for spec in specs}) < len(specs):
            raise ValueError(f"each feature can be joined once, but they are {list(features)!r}.")
        self.features = [part.name if not spec["settings"] else spec for part, spec in zip(self.parts, specs)]
        sides = [part.shorter_side for part in self.parts]
        self.shorter_side = None if None in sides else max(side or 1 for side in sides)
        self.batch_size = max(part.batch_size for part in self.parts)

    @property
    def dim(self) -> int:
        """The sum over the parts."""
        return sum(part.dim for part in self.parts)

    @property
    def spans(self) -> list[tuple[str, str]]:
        """The name of every part and its columns, as ``BoostedKernel(blocks=…)`` takes them."""
        ends = np.cumsum([0, *(part.dim for part in self.parts)]).tolist()
        return [(part.name, f"{a}:{b}") for part, (a, b) in zip(self.parts, pairwise(ends))]

    @property
    def weights_hash(self) -> str:
        """The fingerprints of the parts, which hold their weights and revisions."""
        return "+".join(part.fingerprint for part in self.parts)

    def _extract(self, images: list[Image]) -> NDArray[Any]:
        return np.concatenate([part.extract(images) for part in self.parts], axis=1)
