"""The recipes that come with Lookalike."""

from __future__ import annotations

import difflib
from pathlib import Path

from lookalike.errors import LookalikeError
from lookalike.features import list_features
from lookalike.recipes._recipe import Recipe

DEFAULT = "default"

_PRESETS = [
    Recipe(
        DEFAULT,
        "efficientnet-lite0",
        steps=[("PrototypeClassifier", {})],
        about="Network features and a vote of prototypes: the best start for pictures of any kind.",
    ),
    Recipe(
        "colors",
        "color-histogram",
        steps=[("PrototypeClassifier", {})],
        about="Colours alone; seconds for thousands of pictures.",
    ),
    Recipe(
        "scenes",
        "gist",
        steps=[("PrototypeClassifier", {})],
        about="The layout of a scene, without a network.",
    ),
    Recipe(
        "logistic",
        "efficientnet-lite0",
        steps=[("Normalizer", {}), ("LogisticRegression", {"C": 30.0, "max_iter": 1000})],
        about="Network features and logistic regression: a strong rival that shows no evidence.",
    ),
]


def list_recipes() -> list[Recipe]:
    """The recipes that come with Lookalike.

    Examples
    --------
    >>> list_recipes()[0].name
    'default'
    """
    return list(_PRESETS)


def get_recipe(name: str | Path = DEFAULT, *, feature: str | None = None) -> Recipe:
    """A recipe by its name or by the path of a JSON file; ``feature`` takes the place of its own.

    Examples
    --------
    >>> get_recipe("colors").feature
    'color-histogram'
    >>> get_recipe(feature="gist").feature
    'gist'
    """
    if str(name).endswith(".json"):
        recipe = Recipe.read(name)
    else:
        found = [r for r in _PRESETS if r.name == name]
        if not found:
            names = [r.name for r in _PRESETS]
            close = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}."
            raise LookalikeError(f"there is no recipe called {str(name)!r}: {hint}")
        recipe = found[0]
    if feature is None:
        return recipe
    known = {info.name for info in list_features()}
    if feature not in known:
        raise LookalikeError(f"there is no feature called {feature!r}: see 'lookalike feature list'.")
    return Recipe(recipe.name, feature, {}, recipe.steps, recipe.about)
