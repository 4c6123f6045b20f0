"""``lookalike label``: who says what a picture shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli._options import PLAIN, AsJson, InCollection

app = typer.Typer(
    help="Say what pictures show; see, export and take back labels.", no_args_is_help=True, **PLAIN
)

By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who says so; else your name on this machine.")
]
Add = Annotated[
    bool, typer.Option("--add", help="Put the label beside those a picture has; else it takes their place.")
]


def _me() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without users
        return "someone"


def _done(n: int, as_json: bool, words: str) -> None:
    from lookalike.cli._output import count, emit_json, say

    if as_json:
        emit_json({words.split()[0]: n})
    else:
        say(f"{count(n, 'image')} {words}.")


@app.command("set")
def set_command(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What they show.")],
    images: Annotated[list[str], typer.Argument(metavar="IMAGE", help="Pictures of the collection.")],
    by: By = None,
    add: Add = False,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Label one or several pictures."""
    from lookalike.cli._open import open_collection

    opened = open_collection(collection)
    _done(
        opened.set_labels([(image, label) for image in images], by=by or _me(), add=add), as_json, "labelled"
    )


@app.command("from-folders")
def from_folders(
    root: Annotated[
        str | None,
        typer.Argument(
            metavar="FOLDER", help="Its sub-folders are the labels; else the collection's folder."
        ),
    ] = None,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Label every picture by the sub-folder that it is in."""
    from lookalike.cli._open import open_collection

    opened = open_collection(collection or root)
    _done(opened.label_from_folders(root), as_json, "labelled")


@app.command("from-csv")
def from_csv(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A CSV file with the columns 'path' and 'label'; paths from its folder."
        ),
    ],
    by: By = None,
    add: Add = False,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Read labels from a CSV file."""
    from lookalike.cli._open import open_collection

    opened = open_collection(collection)
    _done(opened.import_labels(file, by=by, add=add), as_json, "labelled")


@app.command()
def remove(
    images: Annotated[list[str], typer.Argument(metavar="IMAGE", help="Pictures of the collection.")],
    label: Annotated[
        str | None, typer.Option("--label", "-l", metavar="LABEL", help="Only this one; else all they have.")
    ] = None,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Take labels back."""
    from lookalike.cli._open import open_collection
    from lookalike.cli._output import count, emit_json, say

    removed = open_collection(collection).remove_labels(images, label=label)
    if as_json:
        emit_json({"removed": removed})
    else:
        say(f"{count(removed, 'label')} removed.")


@app.command()
def show(
    images: Annotated[
        list[str] | None,
        typer.Argument(metavar="IMAGE", help="Only these pictures; else the whole count."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", metavar="LABEL", help="Only the pictures with this label.")
    ] = None,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Show the labels there are, or those of some pictures."""
    from collections import Counter

    from lookalike.cli._open import open_collection
    from lookalike.cli._output import columns, emit_json, note, say, shown

    opened = open_collection(collection)
    rows = opened.labels().to_pylist()
    if images:
        asked = {opened.uri(image) for image in images}
        rows = [row for row in rows if row["uri"] in asked]
    if label is not None:
        rows = [row for row in rows if row["label"] == label]
    if as_json:
        emit_json({"counts": dict(Counter(row["label"] for row in rows)), "labels": rows})
    elif label is not None and not rows:
        note(f"no picture has the label {label!r}.")
    elif images or label is not None:
        cells = [[shown(r["uri"]), r["label"], r["by"], f"{r['at']:%Y-%m-%d %H:%M}"] for r in rows]
        say(columns(["image", "label", "by", "at"], cells))
    elif not rows and label is None:
        note("no picture has a label yet: see 'lookalike label --help'.")
    else:
        say(columns(["label", "images"], sorted(Counter(row["label"] for row in rows).items())))


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The CSV file to write.")],
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Write all labels to a CSV file that 'from-csv' can read."""
    from lookalike.cli._open import open_collection
    from lookalike.cli._output import count, emit_json, say, shown

    written = open_collection(collection).export_labels(file)
    if as_json:
        emit_json({"exported": written, "file": str(file)})
    else:
        say(f"{count(written, 'label')} in {shown(file)}.")
