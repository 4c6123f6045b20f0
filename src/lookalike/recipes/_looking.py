"""Pictures that are in no collection: read them and compute one feature, a bounded number at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lookalike.features import Feature
from lookalike.images import Unreadable, open_image
from lookalike.parallel import Engine, LocalEngine


@dataclass(frozen=True, slots=True)
class Looked:
    """A picture with its row of the feature (a vector or a bag), or the reason why there is none."""

    path: str
    row: Any = None
    reason: str = ""


class _Look:
    """Read a few pictures and compute the feature; a bad one never costs the others."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature

    def __call__(self, paths: Sequence[str]) -> list[Looked]:
        looked: dict[str, Looked] = {}
        pixels = {}
        for path in paths:
            try:
                pixels[path] = open_image(path, shorter_side=self.feature.shorter_side).pixels
            except Unreadable as error:
                looked[path] = Looked(path, reason=error.reason)
        if pixels:
            looked.update(self._extract(pixels))
        return [looked[path] for path in paths]

    def _extract(self, pixels: dict[str, Any]) -> dict[str, Looked]:
        try:
            rows = list(self.feature.extract(list(pixels.values())))
            return {path: Looked(path, row) for path, row in zip(pixels, rows, strict=True)}
        except Exception as error:
            if len(pixels) == 1:
                path = next(iter(pixels))
                reason = f"gives no {self.feature.name}: {str(error) or type(error).__name__}"
                return {path: Looked(path, reason=reason)}
            parts = [self._extract({path: one}) for path, one in pixels.items()]
            return {path: looked for part in parts for path, looked in part.items()}


def look(
    feature: Feature, paths: Iterable[str | os.PathLike[str]], *, engine: Engine | None = None
) -> Iterator[Looked]:
    """Compute a feature of pictures, in their order.

    Examples
    --------
    >>> from lookalike.features import get_feature
    >>> [looked.reason != "" for looked in look(get_feature("color-histogram"), ["no-such-file.jpg"])]
    [True]
    """
    names = (os.fspath(path) for path in paths)
    batches = iter(lambda: list(islice(names, max(1, feature.batch_size))), [])
    for batch in (engine or LocalEngine()).map(_Look(feature), batches):
        yield from batch
