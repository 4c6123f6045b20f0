"""Find features by name: the built-in ones, those of other packages, and the user's own models."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lookalike.errors import LookalikeError
from lookalike.features import _registered
from lookalike.features._feature import Feature
from lookalike.features._onnx_feature import OnnxFeature

GROUP = "lookalike.features"
DEFAULT_FEATURE = "efficientnet-lite0"
ONNX = "onnx"  # any ONNX model, described by its settings alone

# Modules are named, not imported: each loads only what it needs, when it is asked for.
_BUILT_IN = {
    "color-histogram": "lookalike.features._color_histogram:ColorHistogram",
    "color-grid": "lookalike.features._color_grid:ColorGrid",
    "color-texture": "lookalike.features._color_texture:ColorTexture",
    "dense-sift": "lookalike.features._dense_sift:DenseSift",
    "efficientnet-lite0": "lookalike.features._efficientnet_lite0:EfficientNetLite0",
    "efficientnet-lite0-layers": "lookalike.features._efficientnet_layers:EfficientNetLite0Layers",
    "gist": "lookalike.features._gist:Gist",
    "hog": "lookalike.features._hog:Hog",
    "joined": "lookalike.features._joined:JoinedFeature",
    "local-binary-patterns": "lookalike.features._local_binary_patterns:LocalBinaryPatterns",
    "sparse-multiscale-patches": "lookalike.features._sparse_multiscale_patches:SparseMultiscalePatches",
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


def names_of_code() -> set[str]:
    """Names that no registered model may take."""
    return {*_BUILT_IN, *_plugins(), ONNX}


def _find(name: str) -> tuple[Callable[..., Feature], str]:
    """What makes the feature of this name, and where it comes from."""
    if name in _BUILT_IN:
        return _load(_BUILT_IN[name]), "built in"
    if point := _plugins().get(name):
        return point.load(), point.dist.name if point.dist else "plugin"
    known = sorted({*_BUILT_IN, *_plugins(), *_registered.registered()})
    close = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else f" There are: {', '.join(known)}."
    raise LookalikeError(f"there is no feature called {name!r}.{hint}")


def _maker(name: str, settings: dict[str, Any]) -> tuple[Callable[..., Feature], str]:
    """The same for a name that may also be that of an ONNX model, registered or described by its settings."""
    if name in _BUILT_IN or name in _plugins():
        return _find(name)
    own = settings.get("name") or name
    entry = _registered.registered().get(own)
    if entry is None and "path" not in settings:
        return _find(name)
    return OnnxFeature, "registered"


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
    make, source = _maker(name, settings)
    known = inspect.signature(make).parameters
    if unknown := sorted(set(settings) - set(known)):
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise LookalikeError(f"the feature {name!r} has no setting {unknown[0]!r}: {takes}.")
    try:
        feature = _registered.make(name, settings) if make is OnnxFeature else make(**settings)
    except (TypeError, ValueError) as error:
        raise LookalikeError(f"the settings of the feature {name!r} do not fit: {error}") from error
    if not isinstance(feature, Feature):
        raise LookalikeError(f"{name!r} from {source} is not a Feature: ask its author to mend it.")
    return feature


def list_features() -> list[FeatureInfo]:
    """All features that can be used here, in the order of their names.

    Examples
    --------
    >>> [info.kind for info in list_features() if info.name == "color-histogram"]
    ['vector']
    """
    found = []
    for name in {*_BUILT_IN, *_plugins()}:
        make, source = _find(name)
        feature = make()
        summary = (inspect.getdoc(feature) or "").partition("\n")[0].replace("``", "")
        found.append(FeatureInfo(name, feature.kind, feature.dim, summary, source))
    for name, entry in _registered.registered().items():
        path = entry["settings"]["path"]
        found.append(FeatureInfo(name, "vector", entry["dim"], f"Your model {path}", "registered"))
    return sorted(found, key=lambda info: info.name)
