"""``Model``: a recipe once fitted; it answers, explains, and lies in a folder of three files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from sklearn.pipeline import Pipeline

from lookalike._version import __version__
from lookalike.arrays import Bags
from lookalike.errors import LookalikeError
from lookalike.features import Feature
from lookalike.learn import Evidence
from lookalike.parallel import Engine
from lookalike.recipes._card import card_text
from lookalike.recipes._looking import look
from lookalike.recipes._others import Others, fit_among
from lookalike.recipes._recipe import Recipe
from lookalike.recipes._state import Arrays, pack, unpack

FORMAT = 1
FILES = ("model.json", "arrays.safetensors", "card.md")
BATCH = 256  # rows answered at a time


@dataclass(frozen=True)
class Vote:
    """One prototype of an answer: the image, its label, and its share of the score.

    ``behind`` is empty where the image is labelled. Where it is not, it speaks for a class because it is
    like labelled images of it: these are behind it.

    Examples
    --------
    >>> Vote("file:///cats/tom.jpg", "cat", 0.4).share
    0.4
    """

    uri: str
    label: str
    share: float
    behind: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data: dict[str, Any] = {"uri": self.uri, "label": self.label, "share": self.share}
        return {**data, "unlabelled": True, "behind": list(self.behind)} if self.behind else data


@dataclass(frozen=True)
class Answer:
    """What a model says of one image.

    ``label`` is None where it declines ("none of these"), where ``best`` still names the most probable
    class; ``reason`` is not empty where the image could not be read. The shares of ``votes`` add up to
    ``score`` when all votes were asked for.

    Examples
    --------
    >>> Answer("cats/tom.jpg", "cat", "cat", 0.9, {"cat": 0.9, "dog": 0.1}).to_json()["label"]
    'cat'
    """

    path: str
    label: str | None
    best: str = ""
    probability: float = 0.0
    probabilities: dict[str, float] = field(default_factory=dict)
    score: float = 0.0
    votes: Sequence[Vote] = ()
    reason: str = ""

    @property
    def declined(self) -> bool:
        """Whether the model says "none of these"."""
        return self.label is None and not self.reason

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the votes if there are any."""
        if self.reason:
            return {"path": self.path, "reason": self.reason}
        data: dict[str, Any] = {
            "path": self.path,
            "label": self.label,
            "declined": self.declined,
            "best": self.best,
            "probability": self.probability,
            "probabilities": self.probabilities,
        }
        if self.votes:
            data |= {"score": self.score, "votes": [vote.to_json() for vote in self.votes]}
        return data


@dataclass(frozen=True)
class Model:
    """A recipe fitted to labelled images.

    Parameters
    ----------
    name : str
    recipe : Recipe
    pipeline : Pipeline
        The fitted steps.
    fingerprint : str
        Of the feature it was fitted to: other vectors are refused.
    uris, labels : list of str
        The labelled images, in the order of the training rows.
    judged : dict
        The figures of its cross-validation; empty where it was not judged.
    created : str
        When, in UTC.
    borrowed : dict
        Unlabelled images that became prototypes: their row (counted on after the labelled ones) and uri.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 4)) + 3 * np.eye(4)[np.arange(20) % 2]
    >>> y = np.array(["cat", "dog"])[np.arange(20) % 2]
    >>> recipe = Recipe("small", "color-histogram", steps=[("PrototypeClassifier", {})])
    >>> model = Model.fit(recipe, X, y, uris=[f"{i}.jpg" for i in range(20)])
    >>> answer = model.answer_rows(X[:1], votes=3)[0]
    >>> answer.best, len(answer.votes)
    ('cat', 3)
    """

    name: str
    recipe: Recipe
    pipeline: Pipeline
    fingerprint: str
    uris: list[str]
    labels: list[str]
    judged: dict[str, Any] = field(default_factory=dict)
    created: str = ""
    borrowed: dict[int, str] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        recipe: Recipe,
        rows: Any,
        labels: Sequence[str],
        *,
        uris: Sequence[str],
        name: str = "",
        others: Others | None = None,
    ) -> Model:
        """Fit the recipe's steps to the rows (vectors or bags) of labelled images, among ``others``."""
        recipe.check_answers()
        feature = recipe.make_feature()
        unlabelled = None if others is None else others.rows
        pipeline = fit_among(recipe.make(), rows, np.asarray(labels, dtype=str), unlabelled)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        names = [str(label) for label in labels]
        chosen = np.asarray(getattr(pipeline[-1], "prototypes_", []), dtype=np.intp)
        chosen = chosen[chosen >= len(names)]
        borrowed = {int(j): str(others.uris[j - len(names)]) for j in chosen} if others is not None else {}
        return cls(
            name or recipe.name,
            recipe,
            pipeline,
            feature.fingerprint,
            list(uris),
            names,
            {},
            created,
            borrowed,
        )

    def with_judgement(self, judged: dict[str, Any]) -> Model:
        """The same model with the figures of its cross-validation."""
        return replace(self, judged=judged)

    @property
    def classes(self) -> list[str]:
        """The labels it can answer with."""
        return [str(c) for c in self.pipeline.classes_]

    @property
    def explains(self) -> bool:
        """Whether its answers come with prototypes."""
        return hasattr(self.pipeline[-1], "explain")

    # -- answering ---------------------------------------------------------------------------------

    def make_feature(self) -> Feature:
        """The feature it needs; an error where it has changed since the model was fitted."""
        feature = self.recipe.make_feature()
        if feature.fingerprint != self.fingerprint:
            raise LookalikeError(
                f"the feature {feature.name!r} is not the one that the model {self.name!r} was fitted to "
                "(its settings or weights have changed): run 'lookalike learn' again."
            )
        return feature

    def answer_rows(self, rows: Any, paths: Sequence[str] | None = None, *, votes: int = 0) -> list[Answer]:
        """Answer for rows of the feature, each with its ``votes`` largest votes (-1 for all)."""
        names = list(paths) if paths is not None else ["" for _ in range(len(rows))]
        answers: list[Answer] = []
        for start in range(0, len(rows), BATCH):
            part = slice(start, start + BATCH)
            answers += self._answer(rows[part], names[part], votes)
        return answers

    def _answer(self, rows: Any, names: Sequence[str], votes: int) -> list[Answer]:
        reduced = self.pipeline[:-1].transform(rows) if len(self.pipeline) > 1 else rows
        last = self.pipeline[-1]
        chances = last.predict_proba(reduced)
        declined = last.declines(reduced) if hasattr(last, "declines") else np.zeros(len(names), bool)
        evidence: list[Evidence | None] = [None] * len(names)
        if votes and self.explains:
            evidence = list(last.explain(reduced))
        classes = self.classes
        answers = []
        for i, name in enumerate(names):
            best = int(chances[i].argmax())
            answers.append(
                Answer(
                    name,
                    None if declined[i] else classes[best],
                    classes[best],
                    float(chances[i, best]),
                    {c: float(p) for c, p in zip(classes, chances[i])},
                    *self._votes(evidence[i], votes),
                )
            )
        return answers

    def _votes(self, evidence: Evidence | None, most: int) -> tuple[float, list[Vote]]:
        if evidence is None:
            return 0.0, []
        shown = evidence if most < 0 else evidence.top(most)
        return evidence.score, [self._vote(shown, i) for i in range(len(shown.prototypes))]

    def _vote(self, evidence: Evidence, i: int) -> Vote:
        row, share = int(evidence.prototypes[i]), float(evidence.shares[i])
        if row < len(self.uris):
            return Vote(self.uris[row], self.labels[row], share)
        assert evidence.behind is not None  # an unlabelled prototype has labelled images behind it
        behind = [int(j) for j in evidence.behind[i] if j >= 0]
        return Vote(self.borrowed[row], self.labels[behind[0]], share, tuple(self.uris[j] for j in behind))

    def answer_images(
        self, paths: Iterable[str], *, votes: int = 0, engine: Engine | None = None
    ) -> Iterator[Answer]:
        """Answer for files, in their order, in bounded memory; what cannot be read says why."""
        feature = self.make_feature()
        waiting: list[Any] = []
        for looked in look(feature, paths, engine=engine):
            waiting.append(looked)
            if len(waiting) >= BATCH:
                yield from self._answer_looked(feature, waiting, votes)
                waiting = []
        yield from self._answer_looked(feature, waiting, votes)

    def _answer_looked(self, feature: Feature, looked: list[Any], votes: int) -> list[Answer]:
        good = [one for one in looked if not one.reason]
        rows: Any = [one.row for one in good]
        rows = Bags.from_list(rows, dim=feature.dim) if feature.kind == "bag" else np.array(rows)
        answers = iter(self.answer_rows(rows, [one.path for one in good], votes=votes) if good else [])
        return [Answer(one.path, None, reason=one.reason) if one.reason else next(answers) for one in looked]

    def strongest(self, most: int = 12) -> list[tuple[int, float]]:
        """Training rows of the prototypes with the largest coefficients, and these (the largest is 1)."""
        last = self.pipeline[-1]
        if not hasattr(last, "prototypes_"):
            return []
        rows = np.asarray(last.prototypes_)
        weights: NDArray[np.float64] = np.abs(np.asarray(last.alphas_, dtype=np.float64))
        labelled = rows < len(self.labels)
        rows, weights = rows[labelled], weights[labelled]
        order = np.argsort(-weights, kind="stable")
        # The best of each class before the second of any: even votes would show one class alone.
        seen: Counter[str] = Counter()
        place = []
        for j in order:
            place.append(seen[self.labels[rows[j]]])
            seen[self.labels[rows[j]]] += 1
        order = order[np.argsort(place, kind="stable")][:most]
        top = weights.max(initial=0.0) or 1.0
        return [(int(rows[j]), float(weights[j] / top)) for j in order]

    # -- on disk -----------------------------------------------------------------------------------

    def save(self, folder: Path | str) -> Path:
        """Write ``model.json``, ``arrays.safetensors`` and ``card.md`` into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        arrays: Arrays = {}
        data = {
            "lookalike_model": FORMAT,
            "written_by": __version__,
            "name": self.name,
            "created": self.created,
            "recipe": self.recipe.to_json(),
            "feature_fingerprint": self.fingerprint,
            "classes": self.classes,
            "judged": self.judged,
            "pipeline": pack(self.pipeline, arrays),
            "training": {
                "uris": self.uris,
                "labels": self.labels,
                "borrowed": {str(row): uri for row, uri in self.borrowed.items()},
            },
        }
        save_file(arrays, folder / FILES[1])
        (folder / FILES[0]).write_text(json.dumps(data, indent=1, ensure_ascii=True), encoding="utf-8")
        (folder / FILES[2]).write_text(card_text(self), encoding="utf-8", errors="backslashreplace")
        return folder

    @classmethod
    def load(cls, folder: Path | str) -> Model:
        """Read a model; one clear error for one that is damaged, unknown or newer than this Lookalike."""
        folder = Path(folder)
        try:
            data = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
            version = data["lookalike_model"]
        except OSError as error:
            raise LookalikeError(
                f"there is no model in {folder} ({error.strerror}): see 'lookalike model list'."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(folder, error) from None
        if not isinstance(version, int) or version > FORMAT:
            raise LookalikeError(
                f"the model in {folder} has format {version}, but this Lookalike reads up to {FORMAT}: "
                "update Lookalike, or learn the model again."
            )
        try:
            arrays = load_file(folder / FILES[1])
            pipeline = unpack(data["pipeline"], arrays)
            if not isinstance(pipeline, Pipeline):
                raise ValueError("its pipeline is something else")
            model = cls(
                str(data["name"]),
                Recipe.from_json(data["recipe"]),
                pipeline,
                str(data["feature_fingerprint"]),
                [str(uri) for uri in data["training"]["uris"]],
                [str(label) for label in data["training"]["labels"]],
                dict(data["judged"]),
                str(data["created"]),
                {int(row): str(uri) for row, uri in data["training"].get("borrowed", {}).items()},
            )
            if model.classes != data["classes"] or len(model.uris) != len(model.labels):
                raise ValueError("its parts do not fit each other")
        except (
            OSError,
            SafetensorError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            LookalikeError,
        ) as error:
            raise _damaged(folder, error) from None
        return model


def _damaged(folder: Path, error: Exception) -> LookalikeError:
    what = str(error).strip("'\"").rstrip(".") or type(error).__name__
    return LookalikeError(
        f"the model in {folder} is damaged ({what}): learn it again, or fetch a fresh copy."
    )
