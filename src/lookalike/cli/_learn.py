"""``lookalike learn``: from labels to a judged model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli._options import PLAIN, AsJson, InCollection, ShowProgress
from lookalike.cli._progress import Show, reporting

if TYPE_CHECKING:
    from lookalike.collection import Collection
    from lookalike.recipes import Learned, Recipe

SOON_LOOKED_AT = 10_000  # pictures: two cores look at them again, by all features of "best", in a minute

learn_app = typer.Typer(**PLAIN)


@learn_app.command()
def learn(
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            "-r",
            metavar="NAME",
            help="A recipe (see 'lookalike recipe list'), or a JSON file of one.",
        ),
    ] = "default",
    feature: Annotated[
        str | None,
        typer.Option(
            "--feature", "-f", metavar="NAME", help="Learn from this feature in place of the recipe's own."
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="NAME,NAME",
            help="Fuse several features into one model; the report says what each brought.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", "-n", metavar="NAME", help="What to call the model; else as the recipe."),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            "--folds", min=2, metavar="N", help="In how many parts it is judged, each held out once."
        ),
    ] = 5,
    judge: Annotated[
        bool, typer.Option("--judge/--no-judge", help="Whether to judge the model and write its report.")
    ] = True,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Where the report goes; else beside the model."),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    collection: InCollection = None,
    progress: ShowProgress = Show.auto,
    as_json: AsJson = False,
) -> None:
    """Learn a model from the labels of a collection, judge it, and write its report.

    Without options it learns from what several features see: those of the recipe 'best' where the collection
    is small enough to be looked at again in a minute, and all that were indexed.

    Features that the recipe looks at and the collection lacks are computed first.
    """
    from lookalike.cli._open import open_collection
    from lookalike.cli._output import emit_json, open_page
    from lookalike.recipes import learn_collection, missing_features

    opened = open_collection(collection)
    chosen = _recipe(opened, recipe, feature, features)
    # Not before there are labels: computing takes longer than saying that they are missing.
    if missing := missing_features(opened, chosen.make_feature()) if len(opened.labels()) else []:
        with reporting(progress, unit="images") as report_step:
            opened.index(features=missing, progress=report_step)
    with reporting(progress, unit="parts") as report_step:
        learned = learn_collection(
            opened, chosen, name=name, judge=judge, n_folds=folds, report=report, progress=report_step
        )
    if as_json:
        emit_json(learned.to_json())
    else:
        _tell(learned)
    if open_it and learned.report:
        open_page(learned.report)


def _recipe(opened: Collection, recipe: str, feature: str | None, features: str | None) -> Recipe:
    from lookalike.errors import LookalikeError
    from lookalike.recipes import fused_recipe, get_recipe, usual_recipe

    if features is not None:
        if feature is not None or recipe != "default":
            raise LookalikeError("--features makes a recipe of its own: leave out --recipe and --feature.")
        return fused_recipe(features.split(","))
    if recipe == "default" and feature is None:
        return usual_recipe(opened, look=len(opened) <= SOON_LOOKED_AT)
    return get_recipe(recipe, feature=feature)


def _tell(learned: Learned) -> None:
    from lookalike.cli._output import count, say, shown

    facts = learned.to_json()
    images = sum(facts["classes"].values())
    kept = f", {count(facts['prototypes'], 'prototype')}" if facts["prototypes"] else ""
    if facts["unlabelled_prototypes"]:
        kept += f" ({facts['unlabelled_prototypes']} of them unlabelled)"
    classes = count(len(facts["classes"]), "class", "classes")
    learnt = f"{classes} from {count(images, 'labelled image')}{kept}"
    say(f"{facts['name']}: {learnt}, in {learned.seconds:.1f} s.")
    if facts["brought"]:
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in facts["brought"].items())
        say(f"  brought by each feature: {shares}.")
    judged = facts["judged"]
    if judged:
        alone = [name for name in learned.rivals if name.endswith(" alone")]
        best = max(alone, key=learned.rivals.__getitem__, default=None)  # the report has them all
        told = [(name, r) for name, r in learned.rivals.items() if name == best or name not in alone]
        rivals = "".join(f"; {name} {100 * value:.1f} %" for name, value in told)
        say(f"  balanced accuracy {100 * judged['balanced_accuracy']:.1f} % on held-out images{rivals}.")
        error, declined = judged["calibration_error"], 100 * judged["declined"]
        say(f"  calibration error {error:.3f}; declines {declined:.1f} %.")
    if learned.report:
        say(f"  report: {shown(learned.report)}")
    for line in (learned.judgement.notes if learned.judgement else ())[:3]:
        say(f"  note: {line}")
