"""``lookalike model`` and ``lookalike recipe``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli._options import PLAIN, AsJson, InCollection
from lookalike.errors import LookalikeError

if TYPE_CHECKING:
    from lookalike.recipes import Model

app = typer.Typer(
    help="The models of a collection: list, show, export, remove.", no_args_is_help=True, **PLAIN
)
recipe_app = typer.Typer(
    help="The chains from picture to answer that models are made by.", no_args_is_help=True, **PLAIN
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A model of the collection (see 'model list').")]


def _facts(model: Model) -> dict[str, Any]:
    from collections import Counter

    return {
        "name": model.name,
        "recipe": model.recipe.name,
        "feature": model.recipe.feature,
        "classes": dict(sorted(Counter(model.labels).items())),
        "created": model.created,
        "judged": model.judged,
    }


@app.command("list")
def list_command(collection: InCollection = None, as_json: AsJson = False) -> None:
    """List the models of a collection."""
    from lookalike.cli._open import open_collection
    from lookalike.cli._output import columns, emit_json, note, say
    from lookalike.recipes import Model

    opened = open_collection(collection)
    found, damaged = [], []
    for name in opened.models.names():
        try:
            found.append(_facts(Model.load(opened.models.folder(name))))
        except LookalikeError as error:  # one that cannot be read hides no other
            damaged.append({"name": name, "error": str(error)})
    if as_json:
        emit_json([*found, *damaged])
        return
    rows = [
        [
            f["name"],
            f["recipe"],
            f["feature"],
            len(f["classes"]),
            sum(f["classes"].values()),
            _rate(f),
            f["created"][:16].replace("T", " "),
        ]
        for f in found
    ]
    say(columns(["model", "recipe", "feature", "classes", "labels", "balanced accuracy", "created"], rows))
    for one in damaged:
        note(f"{one['name']}: {one['error']}")


def _rate(facts: dict[str, Any]) -> str:
    judged = facts["judged"]
    return f"{100 * judged['balanced_accuracy']:.1f} %" if judged else "not judged"


@app.command()
def show(name: Name, collection: InCollection = None, as_json: AsJson = False) -> None:
    """Show the card of a model: what it is, what it was made from, how good it is."""
    from lookalike.cli._open import model_folder
    from lookalike.cli._output import emit_json, say
    from lookalike.recipes import Model

    folder = model_folder(name, collection)
    model = Model.load(folder)
    if as_json:
        emit_json({**_facts(model), "recipe": model.recipe.to_json(), "folder": str(folder)})
    else:
        say((folder / "card.md").read_text(encoding="utf-8").rstrip())


@app.command()
def export(
    name: Name,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for its files.")],
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Copy a model to a folder, where 'classify --model FOLDER' can use it without the collection."""
    from lookalike.cli._open import model_folder
    from lookalike.cli._output import emit_json, say, shown
    from lookalike.recipes import Model

    source = model_folder(name, collection)
    Model.load(source)  # a damaged one is not passed on
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LookalikeError(f"{folder} is there already: name a new folder.")
    try:
        shutil.copytree(source, folder, dirs_exist_ok=True)
    except OSError as error:
        raise LookalikeError(
            f"{folder} cannot be written: {(error.strerror or str(error)).lower()}."
        ) from None
    if as_json:
        emit_json({"name": name, "folder": str(folder)})
    else:
        say(f"{name} is in {shown(folder)}.")


@app.command()
def remove(name: Name, collection: InCollection = None, as_json: AsJson = False) -> None:
    """Delete a model."""
    from lookalike.cli._open import open_collection
    from lookalike.cli._output import emit_json, say

    open_collection(collection).models.remove(name)
    if as_json:
        emit_json({"removed": name})
    else:
        say(f"{name} is deleted.")


@recipe_app.command("list")
def list_recipes_command(as_json: AsJson = False) -> None:
    """List the recipes that come with Lookalike."""
    from lookalike.cli._output import columns, emit_json, say
    from lookalike.recipes import list_recipes

    found = list_recipes()
    if as_json:
        emit_json([recipe.to_json() for recipe in found])
    else:
        say(columns(["recipe", "feature", "what it is"], [[r.name, r.feature, r.about] for r in found]))


@recipe_app.command("show")
def show_recipe(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A recipe, or a JSON file of one.")],
    as_json: AsJson = False,
) -> None:
    """Print a recipe as JSON: save it, change it, and learn with it."""
    from lookalike.cli._output import emit_json
    from lookalike.recipes import get_recipe

    emit_json(get_recipe(name).to_json())
