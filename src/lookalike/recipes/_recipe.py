"""``Recipe``: the chain from image to answer, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from lookalike.errors import LookalikeError
from lookalike.features import Feature, get_feature
from lookalike.recipes._steps import find_step

FORMAT = 1


@dataclass(frozen=True)
class Recipe:
    """A named chain: one feature, then steps; the last step is a classifier.

    Parameters
    ----------
    name : str
    feature : str
        Name of a feature; see ``lookalike feature list``.
    feature_settings : dict
        What that feature takes.
    steps : list of (str, dict)
        Names of estimators with their parameters: public ones of Lookalike by their class name alone,
        and some of scikit-learn's.
    about : str
        One sentence.

    Examples
    --------
    >>> recipe = Recipe("small", "color-histogram", steps=[("PrototypeClassifier", {"max_error": 0.2})])
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    >>> recipe.make()
    Pipeline(steps=[('prototypeclassifier', PrototypeClassifier(max_error=0.2))])
    """

    name: str
    feature: str
    feature_settings: dict[str, Any] = field(default_factory=dict)
    steps: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    about: str = ""

    def make_feature(self) -> Feature:
        """The feature that the chain begins with."""
        return get_feature(self.feature, **self.feature_settings)

    def make(self) -> Pipeline:
        """The steps as an unfitted scikit-learn pipeline."""
        if not self.steps:
            raise LookalikeError(f"the recipe {self.name!r} has no steps: its last must be a classifier.")
        made: list[tuple[str, BaseEstimator]] = []
        for name, parameters in self.steps:
            try:
                step = find_step(name)(**parameters)
            except TypeError as error:
                raise LookalikeError(
                    f"step {name!r} of the recipe {self.name!r} does not fit: {error}."
                ) from None
            label = name.lower()
            same = sum(known.startswith(label) for known, _ in made)
            made.append((f"{label}-{same + 1}" if same else label, step))
        return Pipeline(made)

    def check_answers(self) -> None:
        """Refuse a recipe that can search but not label."""
        if self.steps and not hasattr(find_step(self.steps[-1][0]), "predict"):
            raise LookalikeError(
                f"the recipe {self.name!r} is for search, it gives no labels: 'lookalike recipe list' shows "
                "those that do."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads."""
        data = asdict(self)
        data["steps"] = [{"use": name, "with": parameters} for name, parameters in self.steps]
        return {"lookalike_recipe": FORMAT, **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Recipe:
        """Read a recipe; one clear error for whatever is not one."""
        version = data.get("lookalike_recipe") if isinstance(data, Mapping) else None
        if not isinstance(version, int):
            raise LookalikeError("this is not a recipe: it has no entry 'lookalike_recipe'.")
        if version > FORMAT:
            raise LookalikeError(
                f"the recipe has format {version}, but this Lookalike reads up to {FORMAT}: update Lookalike."
            )
        try:
            steps = [(str(step["use"]), dict(step.get("with", {}))) for step in data["steps"]]
            return cls(
                str(data["name"]),
                str(data["feature"]),
                dict(data.get("feature_settings", {})),
                steps,
                str(data.get("about", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LookalikeError(
                f"the recipe is damaged: {type(error).__name__} at {error}; compare it with one that "
                "'lookalike recipe show' prints."
            ) from None

    @classmethod
    def read(cls, path: Path | str) -> Recipe:
        """Read a recipe from a JSON file."""
        try:
            return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise LookalikeError(f"the recipe {path} cannot be read: {error.strerror}.") from None
        except ValueError as error:
            raise LookalikeError(f"the recipe {path} is not JSON: {error}.") from None
