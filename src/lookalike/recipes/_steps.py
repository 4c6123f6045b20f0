"""Which classes a recipe or a model file may name: Lookalike's public estimators, and a few others."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from sklearn.base import BaseEstimator

from lookalike.errors import LookalikeError

ROOMS = ("bags", "similarity", "neighbors", "learn")

# Nothing outside this table and Lookalike's own public names can be made from a file.
OTHERS = {
    "Pipeline": "sklearn.pipeline",
    "PCA": "sklearn.decomposition",
    "StandardScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "LabelEncoder": "sklearn.preprocessing",
    "LogisticRegression": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "SGDClassifier": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "SVC": "sklearn.svm",
    "KNeighborsClassifier": "sklearn.neighbors",
    "NearestCentroid": "sklearn.neighbors",
}


def public_estimators() -> dict[str, type[BaseEstimator]]:
    """All that a step may be, by name."""
    found: dict[str, type[BaseEstimator]] = {}
    for room in ROOMS:
        module = importlib.import_module(f"lookalike.{room}")
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, BaseEstimator):
                found[name] = thing
    return found


def find_step(name: str) -> type[BaseEstimator]:
    """The class of a step."""
    own = public_estimators()
    if name in own:
        return own[name]
    if name in OTHERS:
        thing: Any = getattr(importlib.import_module(OTHERS[name]), name)
        return thing
    close = difflib.get_close_matches(name, [*own, *OTHERS], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise LookalikeError(f"there is no step called {name!r}.{hint}")
