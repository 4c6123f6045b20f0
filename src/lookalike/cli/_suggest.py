"""``lookalike suggest``: what to label next, and which labels to look at again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli._options import PLAIN, AsJson, InCollection, OpenPage

if TYPE_CHECKING:
    from lookalike.recipes import Doubt, Suggestion

suggest_app = typer.Typer(**PLAIN)


@suggest_app.command()
def suggest(
    n: Annotated[int, typer.Option("--count", "-n", min=1, metavar="N", help="How many pictures.")] = 10,
    mistakes: Annotated[
        bool, typer.Option("--mistakes", help="Show labels that are probably wrong, instead.")
    ] = False,
    feature: Annotated[
        str | None,
        typer.Option(
            "--feature", "-f", metavar="NAME", help="What to compare pictures by; else the default."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a contact sheet with the pictures.")
    ] = None,
    open_it: OpenPage = False,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Say which pictures to label next, or which labels are probably wrong.

    Few labels should tell most about all the others: each picture is one that many undecided ones look like.
    With --mistakes: which labels the others speak
    against; that needs three labelled pictures of each class.
    """
    from lookalike.cli._open import open_collection, sheet_file
    from lookalike.cli._output import emit_json, note, open_page, shown
    from lookalike.recipes import doubtful_labels, suggest_images

    opened = open_collection(collection)
    found = doubtful_labels(opened, n, feature) if mistakes else suggest_images(opened, n, feature)
    page = sheet_file(opened, html, open_it, "suggest.html")
    if page:
        _sheet(page, found, mistakes)
    if as_json:
        emit_json({("doubts" if mistakes else "suggestions"): [_plain(one) for one in found]})
    else:
        _tell(found)
        if page:
            note(f"written: {shown(page)}")
    if open_it and page:
        open_page(page)


def _plain(one: Suggestion | Doubt) -> dict[str, object]:
    from dataclasses import asdict

    from lookalike.images import path_of

    return {"path": path_of(one.uri), **asdict(one)}


def _words(one: Suggestion | Doubt) -> str:
    from lookalike.cli._output import percent
    from lookalike.recipes import Doubt

    if isinstance(one, Doubt):
        return f"labelled {one.given}, probably {one.likely} ({percent(one.probability)})"
    return f"settles {percent(one.stands_for)} of the pictures; undecided {percent(one.unsure)}"


def _tell(found: list[Suggestion] | list[Doubt]) -> None:
    from lookalike.cli._output import columns, say, shown

    if not found:
        say("No label looks wrong, or too few are there to tell (three of each class).")
        return
    say(columns(["picture", "why"], [[shown(one.uri), _words(one)] for one in found]))


def _sheet(page: Path, found: list[Suggestion] | list[Doubt], mistakes: bool) -> None:
    from lookalike.cli._output import shown
    from lookalike.evaluate import SheetGroup, SheetPicture, write_sheet
    from lookalike.images import path_of

    pictures = [SheetPicture(path_of(one.uri), [_words(one), shown(one.uri)]) for one in found]
    title = "Labels to look at again" if mistakes else "What to label next"
    write_sheet(page, title, [SheetGroup("", pictures)], lead="The most useful first.")
