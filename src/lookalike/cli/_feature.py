"""``lookalike feature``: what features there are, and models of one's own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli._options import PLAIN, AsJson

app = typer.Typer(help="What pictures can be compared by; your own networks.", no_args_is_help=True, **PLAIN)


class Pool(StrEnum):
    """How a map becomes one vector."""

    mean = "mean"
    first = "first"


class View(StrEnum):
    """How a picture becomes a square."""

    balanced = "balanced"
    whole = "whole"
    centre = "centre"


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the features that can be used here."""
    from lookalike.cli._output import columns, emit_json, say
    from lookalike.features import list_features

    found = list_features()
    if as_json:
        names = ("name", "kind", "dim", "summary", "source")
        emit_json([{name: getattr(info, name) for name in names} for info in found])
        return
    rows = [[info.name, info.kind, info.dim, info.source, info.summary] for info in found]
    say(columns(["name", "kind", "size", "source", "what it is"], rows))


@app.command()
def add(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The .onnx file; it stays where it is.")],
    name: Annotated[
        str | None, typer.Option("--name", "-n", metavar="NAME", help="Its name; else that of the file.")
    ] = None,
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="PIXELS", help="Its square, if the model leaves it open."),
    ] = None,
    mean: Annotated[
        str | None, typer.Option("--mean", metavar="R,G,B", help="What is subtracted from channels in 0..1.")
    ] = None,
    std: Annotated[
        str | None, typer.Option("--std", metavar="R,G,B", help="What the channels are then divided by.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="NAME", help="Which output; else the first."),
    ] = None,
    pool: Annotated[
        Pool, typer.Option("--pool", help="What a map or a list of tokens becomes: its mean, or the first.")
    ] = Pool.mean,
    view: Annotated[
        View, typer.Option("--view", help="How a picture that is not square becomes one.")
    ] = View.balanced,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of a model of that name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Register an ONNX image model under a name, after showing it one picture."""
    from lookalike.cli._output import emit_json, say
    from lookalike.features import register_onnx

    given = {"size": size, "mean": _three("--mean", mean), "std": _three("--std", std), "output": output}
    settings = {key: value for key, value in given.items() if value is not None}
    made = register_onnx(model, name=name, replace=replace, pool=pool.value, view=view.value, **settings)
    own = made.settings["name"]
    if as_json:
        facts = {"settings": made.settings, "kind": made.kind, "dim": made.dim}
        emit_json({"name": own, **facts, "fingerprint": made.fingerprint})
        return
    say(f"{own} gives vectors of {made.dim} numbers: lookalike index FOLDER --feature {own}")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model that was added.")],
    as_json: AsJson = False,
) -> None:
    """Forget a model that was added; its file stays."""
    from lookalike.cli._output import emit_json, say
    from lookalike.features import unregister_onnx

    unregister_onnx(name)
    if as_json:
        emit_json({"removed": name})
    else:
        say(f"{name} is forgotten.")


def _three(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) != 3:
        raise typer.BadParameter(
            f"{text!r} is not three numbers with commas, like 0.5,0.5,0.5", param_hint=option
        )
    return values
