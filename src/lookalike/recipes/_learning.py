"""``learn_collection``: from the labels of a collection to a judged, saved model and its report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.evaluate import (
    Judgement,
    ReportContents,
    ReportedPrototype,
    cross_validate,
    write_report,
)
from lookalike.images import Unreadable, path_of, thumbnail
from lookalike.learn import FusedClassifier, PrototypeClassifier, Surroundings
from lookalike.progress import Progress, Step, silent
from lookalike.recipes._fusing import usual_recipe
from lookalike.recipes._labelled import known_rows
from lookalike.recipes._model import Model
from lookalike.recipes._others import Others, fit_among
from lookalike.recipes._presets import DEFAULT, get_recipe
from lookalike.recipes._recipe import Recipe

THUMBNAIL = 160  # pixels
MOST_NUMBERS = 8_000_000  # in the vectors of a comparison with plain learners: it should not take minutes


@dataclass(frozen=True)
class Learned:
    """What `learn_collection` gives: the model, where it lies, its judgement and report (None unjudged).

    Examples
    --------
    >>> Learned.__dataclass_fields__["rivals"].name
    'rivals'
    """

    model: Model
    folder: Path
    judgement: Judgement | None
    report: Path | None
    rivals: dict[str, float]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.model.name,
            "folder": str(self.folder),
            "report": str(self.report) if self.report else None,
            "recipe": self.model.recipe.name,
            "feature": self.model.recipe.feature,
            "classes": dict(sorted(Counter(self.model.labels).items())),
            "judged": self.model.judged,
            "rivals": self.rivals,
            "prototypes": len(getattr(self.model.pipeline[-1], "prototypes_", [])) or None,
            "unlabelled_prototypes": len(self.model.borrowed),
            "brought": brought_by(self.model),
            "seconds": self.seconds,
        }


def learn_collection(
    collection: Collection,
    recipe: Recipe | str = DEFAULT,
    *,
    name: str | None = None,
    judge: bool = True,
    n_folds: int = 5,
    report: Path | str | None = None,
    progress: Progress = silent,
) -> Learned:
    """Fit a recipe to the labelled images of a collection, judge it by cross-validation, save and report.

    Parameters
    ----------
    collection : Collection
    recipe : Recipe or str
        Or the name of a preset. By default the vectors of the default feature, together with those of all
        others that the collection has.
    name : str, optional
        What the model is called; the recipe's name by default.
    judge : bool
        Whether to hold images out; every label then needs two images.
    n_folds : int
        In how many parts.
    report : path, optional
        Where the HTML report goes; beside the model by default.
    progress : callable

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, color in enumerate(["red", "darkred", "crimson", "blue", "navy", "royalblue"]):
    ...         place = Path(folder, "warm" if i < 3 else "cold")
    ...         place.mkdir(exist_ok=True)
    ...         Image.new("RGB", (32, 32), color).save(place / f"{i}.png")
    ...     collection = Collection.create(folder)
    ...     _ = collection.index(features=["color-histogram"])
    ...     _ = collection.label_from_folders()
    ...     learned = learn_collection(collection, "colors")
    ...     learned.model.classes, learned.judgement.accuracy >= 0.5
    (['cold', 'warm'], True)
    """
    start = time.perf_counter()
    chosen = recipe
    if isinstance(chosen, str):
        chosen = usual_recipe(collection) if chosen == DEFAULT else get_recipe(chosen)
    chosen.check_answers()
    uris, labels, rows, others = known_rows(collection, chosen)
    _check(labels, judge)
    progress(Step("learn", 0, 1))
    with _refusing(chosen):
        model = Model.fit(chosen, rows, labels, uris=uris, name=name or chosen.name, others=others)
    progress(Step("learn", 1, 1))
    judgement, rivals = None, {}
    if judge:
        y = np.asarray(labels, dtype=str)
        with _refusing(chosen):
            judgement = _judge(model, rows, y, others, n_folds, progress)
        model = model.with_judgement(judgement.summary())
    seconds = time.perf_counter() - start
    if judgement is not None:
        rivals = _alone(model, rows, y, others) | _rivals(model, rows, y, n_folds)
    page: Path | None = None
    with collection.models.new(model.name) as folder:
        model.save(folder)
        if judgement is not None:
            contents = _contents(model, judgement, rivals, seconds)
            page = write_report(report if report is not None else folder / "report.html", judgement, contents)
    final = collection.models.folder(model.name)
    if page is not None and report is None:
        page = final / page.name
    return Learned(model, final, judgement, page, rivals, seconds)


def _judge(
    model: Model, rows: Any, y: NDArray[Any], others: Others | None, n_folds: int, progress: Progress
) -> Judgement:
    """Cross-validation in which held-out images are in the collection too, without their labels."""
    vote = model.pipeline[-1]
    if others is None or not len(others.rows) or getattr(vote, "fusion", "weights") != "weights":
        among = partial(_among, others=others)
        return cross_validate(model.pipeline, rows, y, n_folds=n_folds, fit=among, progress=progress)
    # What the collection decides is the same for every part that is held out: it is done once.
    every = np.concatenate([rows, others.rows])
    if isinstance(vote, FusedClassifier):
        every, vote = vote.place(every), vote.vote_
    surroundings = Surroundings.of(every, vote.scaling)

    def fit(vote: Any, _: Any, y: NDArray[Any], learn: NDArray[np.intp], ask: NDArray[np.intp]) -> Any:
        return vote.fit_among(surroundings, learn, y[learn])

    return cross_validate(vote, every[: len(y)], y, n_folds=n_folds, fit=fit, progress=progress)


def _among(
    pipeline: Pipeline,
    rows: Any,
    y: NDArray[Any],
    learn: NDArray[np.intp],
    ask: NDArray[np.intp],
    others: Others | None = None,
) -> Pipeline:
    unlabelled = rows[ask] if isinstance(rows, np.ndarray) else None
    if others is not None and len(others.rows):
        unlabelled = np.concatenate([rows[ask], others.rows])
    return fit_among(pipeline, rows[learn], y[learn], unlabelled)


@contextmanager
def _refusing(recipe: Recipe) -> Iterator[None]:
    """What a step of the recipe says that it cannot learn from is something a user can mend."""
    try:
        yield
    except ValueError as error:
        raise LookalikeError(f"the recipe {recipe.name!r} cannot learn from these images: {error}") from error


def brought_by(model: Model) -> dict[str, float] | None:
    """What each feature of a fused model brought, the most first; None where there is one feature."""
    last = model.pipeline[-1]
    if not hasattr(last, "contributions_"):
        return None
    pairs = zip(last.block_names_, last.contributions_)
    return dict(sorted(((name, float(share)) for name, share in pairs), key=lambda pair: -pair[1]))


def _check(labels: Sequence[str], judge: bool) -> None:
    counts = Counter(labels)
    if len(counts) < 2:
        raise LookalikeError(
            f"all labelled images are {next(iter(counts))!r}: label images of a second class first."
        )
    single = [label for label, n in counts.items() if n == 1]
    if judge and single:
        raise LookalikeError(
            f"the label {single[0]!r} has one image, so it cannot be judged: label a second one, "
            "or learn with --no-judge."
        )


def _alone(model: Model, rows: NDArray[Any], y: NDArray[Any], others: Others | None) -> dict[str, float]:
    """What a vote of prototypes reaches on each feature of a fused model by itself, for held-out images."""
    last = model.pipeline[-1]
    if not hasattr(last, "contributions_"):
        return {}
    every = rows if others is None else np.concatenate([rows, others.rows])
    found = {}
    for name, part in zip(last.block_names_, _parts(model, every)):
        vote = PrototypeClassifier().fit(part[: len(y)], y, unlabelled=part[len(y) :])
        if np.isfinite(vote.held_out_accuracy_):
            found[f"{name} alone"] = vote.held_out_accuracy_
    return found


def _parts(model: Model, rows: NDArray[Any]) -> list[NDArray[Any]]:
    """The vectors of each feature that a model looks at."""
    dims = getattr(model.pipeline[-1], "block_dims_", [rows.shape[1]])
    return np.split(rows, np.cumsum(dims)[:-1], axis=1)


def _rivals(model: Model, rows: Any, y: NDArray[Any], n_folds: int) -> dict[str, float]:
    """What simple learners reach on the same vectors and folds."""
    if not isinstance(rows, np.ndarray) or rows.size > MOST_NUMBERS:
        return {}
    # Every feature of several has the same say.
    rows = normalize(np.hstack([normalize(part) for part in _parts(model, rows)]))
    if len(rows) < rows.shape[1]:
        # A turn into the span of the rows changes no distance and no product, and makes both learners fast.
        rows = rows @ np.linalg.svd(rows, full_matrices=False)[2].T
    nearest = max(1, min(5, int(np.unique(y, return_counts=True)[1].min()) - 1))
    rivals: dict[str, BaseEstimator] = {
        f"plain k-NN (k = {nearest})": KNeighborsClassifier(nearest),
        "logistic regression": LogisticRegression(C=30.0, max_iter=300, tol=1e-3),
    }
    return {
        name: cross_validate(rival, rows, y, n_folds=n_folds).balanced_accuracy
        for name, rival in rivals.items()
    }


def _contents(model: Model, judgement: Judgement, rivals: dict[str, float], seconds: float) -> ReportContents:
    last = model.pipeline[-1]
    facts = [
        ("labelled images", f"{len(model.labels)} in {len(model.classes)} classes"),
        ("feature", model.recipe.feature),
    ]
    if brought := brought_by(model):
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in brought.items())
        facts.append(("what each feature brought", shares))
    facts += getattr(last, "choices_", [])
    facts.append(("seconds to learn and judge", f"{seconds:.1f}"))
    paths = [path_of(uri) for uri in model.uris]

    def small(row: int) -> bytes | None:
        try:
            return thumbnail(paths[row], THUMBNAIL)
        except Unreadable:
            return None

    strongest = [ReportedPrototype(row, model.labels[row], weight) for row, weight in model.strongest()]
    lead = f"Learnt on {model.created[:10]} by the recipe “{model.recipe.name}”. {model.recipe.about}"
    # The folder and the name are enough to know a picture by; the whole path would fill the page.
    names = ["/".join(Path(path).parts[-2:]) for path in paths]
    return ReportContents(f"Model “{model.name}”", lead, names, small, strongest, rivals, facts)
