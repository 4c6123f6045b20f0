"""Find features by name: the built-in ones, those of other packages, and the user's own models."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lookalike.errors import LookalikeError
from lookalike.features._feature import Feature

GROUP = "lookalike.features"
DEFAULT_FEATURE = "efficientnet-lite0"

# Modules are named, not imported: each loads only what it needs, when it is asked for.
_BUILT_IN = {
    "color-histogram": "lookalike.features._color_histogram:ColorHistogram",
    "color-grid": "lookalike.features._color_grid:ColorGrid",
    "dense-sift": "lookalike.features._dense_sift:DenseSift",
    "efficientnet-lite0": "lookalike.features._efficientnet_lite0:EfficientNetLite0",
}


@dataclass(frozen=True, slots=True)
class FeatureInfo:
    """What ``list_features`` says of one feature.

    Examples
    --------
    >>> FeatureInfo("gist", "vector", 512, "The layout of a scene.", "built in").dim
    512
    """

    name: str
    kind: str
    dim: int
    summary: str
    source: str


def _load(target: str) -> Callable[..., Feature]:
    module, _, attribute = target.partition(":")
    make: Callable[..., Feature] = getattr(importlib.import_module(module), attribute)
    return make


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _find(name: str) -> tuple[Callable[..., Feature], str]:
    """What makes the feature of this name, and where it comes from."""
    if name in _BUILT_IN:
        return _load(_BUILT_IN[name]), "built in"
    if point := _plugins().get(name):
        return point.load(), point.dist.name if point.dist else "plugin"
    known = sorted({*_BUILT_IN, *_plugins()})
    close = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else f" There are: {', '.join(known)}."
    raise LookalikeError(f"there is no feature called {name!r}.{hint}")


def get_feature(name: str = DEFAULT_FEATURE, /, **settings: Any) -> Feature:
    """Make the feature of a name, with settings of its own.

    Parameters
    ----------
    name : str
        One of ``list_features()``.
    **settings
        What that feature takes; see its class.

    Returns
    -------
    feature : Feature
        Weights are loaded at its first use.

    Examples
    --------
    >>> feature = get_feature("color-histogram", grid=2)
    >>> feature
    ColorHistogram(grid=2)
    >>> get_feature(feature.name, **feature.settings) == feature
    True
    """
    make, source = _find(name)
    known = inspect.signature(make).parameters
    if unknown := sorted(set(settings) - set(known)):
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise LookalikeError(f"the feature {name!r} has no setting {unknown[0]!r}: {takes}.")
    try:
        feature = make(**settings)
    except (TypeError, ValueError) as error:
        raise LookalikeError(f"the settings of the feature {name!r} do not fit: {error}") from error
    if not isinstance(feature, Feature):
        raise LookalikeError(f"{name!r} from {source} is not a Feature: ask its author to mend it.")
    return feature


def _names() -> Iterator[str]:
    yield from sorted({*_BUILT_IN, *_plugins()})


def list_features() -> list[FeatureInfo]:
    """All features that can be used here, in the order of their names.

    Examples
    --------
    >>> [info.kind for info in list_features() if info.name == "color-histogram"]
    ['vector']
    """
    found = []
    for name in _names():
        make, source = _find(name)
        feature = make()
        summary = (inspect.getdoc(feature) or "").partition("\n")[0]
        found.append(FeatureInfo(name, feature.kind, feature.dim, summary, source))
    return found
