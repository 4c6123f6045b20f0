"""Several features of a collection answer together: those that are named, the best ones, or all it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.features import JoinedFeature
from lookalike.recipes._presets import DEFAULT, get_recipe
from lookalike.recipes._recipe import Recipe

FUSED = "fused"


def fused_recipe(features: Sequence[str]) -> Recipe:
    """A recipe that weighs features by what the collection and held-out images say, and votes by prototypes.

    Parameters
    ----------
    features : sequence of str
        Names of two or more features that give vectors, the most trusted one first.

    Examples
    --------
    >>> recipe = fused_recipe(["color-histogram", "gist"])
    >>> recipe.feature, recipe.steps[0][0], recipe.steps[0][1]["blocks"]
    ('joined', 'FusedClassifier', [['color-histogram', '0:256'], ['gist', '256:768']])
    """
    names = [name.strip() for name in features]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise LookalikeError(
            f"to fuse features name two or more different ones, but they are: {', '.join(names) or 'none'}."
        )
    return _fused(FUSED, names, f"{', '.join(names)} weighed against each other, and a vote of prototypes.")


def usual_recipe(collection: Collection, *, look: bool = False) -> Recipe:
    """What a collection is learnt with where nobody says how: all vectors that it has, weighed.

    The default feature leads. With ``look``, those of the recipe "best" belong to it too, whether the
    collection has them or not.

    Examples
    --------
    >>> usual_recipe.__name__
    'usual_recipe'
    """
    usual = get_recipe(DEFAULT)
    known = [c for c in collection.features if c.kind == "vector" and c.name != JoinedFeature.name]
    features = [usual.make_feature()]
    if look:
        features = JoinedFeature(**get_recipe("best").feature_settings).parts
    elif all(c.fingerprint != features[0].fingerprint for c in known):
        return usual
    led = {feature.fingerprint for feature in features}
    others = [{"name": c.name, "settings": c.settings} for c in known if c.fingerprint not in led]
    if len(features) + len(others) == 1:
        return usual
    about = "Several features weighed against each other, and a vote of prototypes."
    return _fused(DEFAULT, [*(feature.spec for feature in features), *others], about)


def _fused(name: str, features: Sequence[str | dict[str, Any]], about: str) -> Recipe:
    try:
        joined = JoinedFeature(features=features)
    except ValueError as error:
        raise LookalikeError(f"these features cannot be fused: {error}") from None
    blocks = [list(span) for span in joined.spans]
    steps = [("FusedClassifier", {"blocks": blocks, "random_state": 0})]
    return Recipe(name, joined.name, {"features": joined.features}, steps, about)
