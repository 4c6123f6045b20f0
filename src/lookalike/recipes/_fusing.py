"""``fused_recipe``: several features of a collection answer together."""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.errors import LookalikeError
from lookalike.features import JoinedFeature
from lookalike.recipes._recipe import Recipe

FUSED = "fused"


def fused_recipe(features: Sequence[str]) -> Recipe:
    """A recipe that weighs features by held-out images and answers by a vote of prototypes.

    Parameters
    ----------
    features : sequence of str
        Names of two or more features that give vectors.

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
    try:
        joined = JoinedFeature(features=names)
    except ValueError as error:
        raise LookalikeError(f"these features cannot be fused: {error}") from None
    blocks = [list(span) for span in joined.spans]
    return Recipe(
        FUSED,
        joined.name,
        {"features": names},
        [("FusedClassifier", {"blocks": blocks, "random_state": 0})],
        f"{', '.join(names)} weighed by held-out images, and a vote of prototypes.",
    )
