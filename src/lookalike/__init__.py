"""Lookalike: teach a computer the classes of your own pictures from a handful of labels.

The rooms, in the order data passes through them: ``images``, ``features``, ``bags``, ``similarity``,
``neighbors``, ``learn``, ``evaluate``, ``collection``, ``recipes``; and two doors, ``cli`` and ``server``.
The names below load their room only when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from lookalike._numba_cache import ensure_place
from lookalike._version import __version__

ensure_place()

_HOME = {
    "LookalikeError": "lookalike.errors",
    "LookalikeWarning": "lookalike.errors",
    "open_image": "lookalike.images",
    "get_feature": "lookalike.features",
    "list_features": "lookalike.features",
    "BagOfWords": "lookalike.bags",
    "Bags": "lookalike.bags",
    "FisherVector": "lookalike.bags",
    "UniversalGMM": "lookalike.bags",
    "knn_kl": "lookalike.similarity",
    "BregmanBallTree": "lookalike.neighbors",
    "KNNGraph": "lookalike.neighbors",
    "BoostedKernel": "lookalike.learn",
    "DistanceDiscriminant": "lookalike.learn",
    "Evidence": "lookalike.learn",
    "HierarchicalEnsemble": "lookalike.learn",
    "MLNNClassifier": "lookalike.learn",
    "PrototypeClassifier": "lookalike.learn",
    "RelevanceFeedback": "lookalike.learn",
    "ShrinkageDiscriminant": "lookalike.learn",
    "Taxonomy": "lookalike.learn",
    "UNNClassifier": "lookalike.learn",
    "cross_validate": "lookalike.evaluate",
    "Collection": "lookalike.collection",
    "Model": "lookalike.recipes",
    "Recipe": "lookalike.recipes",
    "get_recipe": "lookalike.recipes",
    "learn_collection": "lookalike.recipes",
}

__all__ = [
    "BagOfWords",
    "Bags",
    "BoostedKernel",
    "BregmanBallTree",
    "Collection",
    "DistanceDiscriminant",
    "Evidence",
    "FisherVector",
    "HierarchicalEnsemble",
    "KNNGraph",
    "LookalikeError",
    "LookalikeWarning",
    "MLNNClassifier",
    "Model",
    "PrototypeClassifier",
    "Recipe",
    "RelevanceFeedback",
    "ShrinkageDiscriminant",
    "Taxonomy",
    "UNNClassifier",
    "UniversalGMM",
    "__version__",
    "cross_validate",
    "get_feature",
    "get_recipe",
    "knn_kl",
    "learn_collection",
    "list_features",
    "open_image",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
