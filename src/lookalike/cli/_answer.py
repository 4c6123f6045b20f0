"""``lookalike classify`` and ``lookalike explain``: a model's answers."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from lookalike.cli._options import PLAIN, AsJson, Asked, InCollection, OpenPage, ShowProgress, Workers
from lookalike.cli._progress import Show, reporting
from lookalike.errors import LookalikeError
from lookalike.progress import Progress, Step

if TYPE_CHECKING:
    from lookalike.collection import Collection
    from lookalike.recipes import Answer, Model, Vote

classify_app = typer.Typer(**PLAIN)
explain_app = typer.Typer(**PLAIN)

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="A model of the collection, or the folder of one; else the newest.",
    ),
]


class Form(StrEnum):
    """How answers are written."""

    auto = "auto"
    text = "text"
    csv = "csv"
    jsonl = "jsonl"


class _Classify(TyperCommand):
    """``--collection`` may stand alone: then it is the nearest one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a lonely ``--collection`` the present folder."""
        full = list[str]()
        for i, word in enumerate(args):
            full.append(word)
            alone = i + 1 == len(args) or args[i + 1].startswith("-")
            if word in ("--collection", "-c") and alone:
                full.append(".")
        return super().parse_args(ctx, full)


@classify_app.command(cls=_Classify)
def classify(
    sources: Asked = None,
    model: ModelName = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Without sources: also the pictures that have a label.")
    ] = False,
    form: Annotated[
        Form,
        typer.Option(
            "--format", help="'auto' is text on a terminal and CSV elsewhere; 'jsonl' is JSON lines."
        ),
    ] = Form.auto,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; .jsonl for JSON lines."),
    ] = None,
    workers: Workers = -1,
    collection: InCollection = None,
    progress: ShowProgress = Show.auto,
    as_json: AsJson = False,
) -> None:
    """Say what pictures show: labels with probabilities, or "none of these"."""
    from lookalike.cli._open import open_model
    from lookalike.cli._output import note

    if sources:
        from lookalike.images import find_images

        find_images(sources)  # a missing one is an error before anything is written
    loaded, opened = open_model(model, collection, need_collection=not sources)
    feature = loaded.make_feature()
    if not sources and opened is not None:
        from lookalike.recipes import parts_of

        parts_of(opened, feature)  # one that was not indexed is an error too
    form = _form(form, output, as_json)
    if form is Form.text and output is None and progress is Show.auto:
        progress = Show.none  # the answers themselves show how far it is
    with reporting(progress) as report_step:
        if sources:
            answers = _of_files(loaded, sources, workers, report_step)
        else:
            assert opened is not None
            answers = _of_collection(loaded, opened, everything, report_step)
        answered, unread = _write(answers, form, output)
    if unread and not answered:
        raise LookalikeError("none of these files can be read as a picture.")
    if not answered:
        note(
            "no picture was found." if sources else "every picture has a label already: --all takes them too."
        )


def _form(form: Form, output: Path | None, as_json: bool) -> Form:
    if as_json:
        return Form.jsonl
    if form is not Form.auto:
        return form
    if output is not None:
        return Form.jsonl if output.suffix.lower() in (".jsonl", ".ndjson", ".json") else Form.csv
    return Form.text if sys.stdout.isatty() else Form.csv


def _of_files(model: Model, sources: list[str], workers: int, progress: Progress) -> Iterator[Answer]:
    """Answers for what the sources hold; what cannot be read comes with its reason."""
    from lookalike.images import SetAside, find_images
    from lookalike.parallel import LocalEngine
    from lookalike.recipes import Answer

    found = list(find_images(sources))
    paths = [thing.path for thing in found if not isinstance(thing, SetAside)]
    aside = [Answer(thing.path, None, reason=thing.reason) for thing in found if isinstance(thing, SetAside)]
    answers = model.answer_images(paths, engine=LocalEngine(workers or -1))
    for done, answer in enumerate(answers, start=1):
        progress(Step("classify", done, len(paths)))
        yield answer
    yield from aside


def _of_collection(
    model: Model, collection: Collection, everything: bool, progress: Progress
) -> Iterator[Answer]:
    """Answers for the pictures of a collection, from what was indexed."""
    import numpy as np

    from lookalike.images import path_of
    from lookalike.recipes import row_blocks_of

    labelled = set() if everything else set(collection.labels()["uri"].to_pylist())
    done, total = 0, len(collection)
    for uris, rows in row_blocks_of(collection, model.make_feature()):
        chosen = np.array([uri not in labelled for uri in uris], bool)
        done += len(uris)
        if chosen.any():
            yield from model.answer_rows(rows[chosen], [path_of(uri) for uri in uris[chosen]])
        progress(Step("classify", done, total))


def _write(answers: Iterable[Answer], form: Form, output: Path | None) -> tuple[int, int]:
    """Write every answer as it comes; how many there were, and how many files could not be read."""
    answered = unread = 0
    with _file(output) as file:
        write = {Form.text: _text, Form.csv: _csv, Form.jsonl: _jsonl}[form](file)
        for answer in answers:
            write(answer)
            answered += not answer.reason
            unread += bool(answer.reason)
    return answered, unread


@contextlib.contextmanager
def _file(output: Path | None) -> Iterator[IO[str]]:
    if output is None:
        yield sys.stdout
        return
    try:
        with output.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
    except OSError as error:
        raise LookalikeError(
            f"{output} cannot be written: {(error.strerror or str(error)).lower()}."
        ) from None


def _text(file: IO[str]) -> Callable[[Answer], None]:
    from lookalike.cli._output import percent, shown

    def write(answer: Answer) -> None:
        if answer.reason:
            print(f"   –    {shown(answer.path)}: {answer.reason}", file=file)
        else:
            words = answer.best if answer.label is not None else f"none of these (perhaps {answer.best})"
            print(f"{percent(answer.probability):>6}  {words}  {shown(answer.path)}", file=file)

    return write


def _csv(file: IO[str]) -> Callable[[Answer], None]:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["path", "label", "probability", "declined", "best", "reason"])

    def write(answer: Answer) -> None:
        if answer.reason:
            table.writerow([answer.path, "", "", "", "", answer.reason])
        else:
            declined = "yes" if answer.declined else "no"
            row = [answer.path, answer.label or "", f"{answer.probability:.4f}", declined, answer.best, ""]
            table.writerow(row)

    return write


def _jsonl(file: IO[str]) -> Callable[[Answer], None]:
    def write(answer: Answer) -> None:
        print(json.dumps(answer.to_json(), ensure_ascii=False), file=file)

    return write


@explain_app.command()
def explain(
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="A picture, in the collection or not.")],
    votes: Annotated[
        int, typer.Option("--votes", "-n", min=1, metavar="N", help="How many of the largest votes to show.")
    ] = 8,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Show them with their pictures: an .html page or a .png."
        ),
    ] = None,
    open_it: OpenPage = False,
    model: ModelName = None,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Show the pictures that decided an answer, with their shares of its score.

    Where a class has few labels, unlabelled pictures may speak for it too; then the labelled ones that made
    them do so are named.
    """
    from lookalike.cli._open import open_model, sheet_file
    from lookalike.cli._output import emit_json, note, open_page, shown
    from lookalike.images import Unreadable

    if output is not None and output.suffix.lower() not in (".html", ".htm", ".png"):
        raise typer.BadParameter(
            f"{str(output)!r} ends neither with .html nor with .png", param_hint="--output"
        )
    loaded, opened = open_model(model, collection)
    if not loaded.explains:
        raise LookalikeError(
            f"the model {loaded.name!r} shows no evidence (recipe {loaded.recipe.name!r}): "
            "learn one with the recipe 'default'."
        )
    (answer,) = loaded.answer_images([image], votes=votes)
    if answer.reason:
        raise Unreadable(answer.reason, image)
    page = sheet_file(opened, output, open_it, "explain.html")
    if page:
        _picture(page, answer, loaded)
    if as_json:
        path = {"path": os.path.abspath(answer.path)}  # noqa: PTH100  links keep their name
        emit_json({**answer.to_json(), **path, **({"file": str(page)} if page else {})})
    else:
        _tell(answer)
        if page:
            note(f"written: {shown(page)}")
    if open_it and page:
        open_page(page)


def _verdict(answer: Answer) -> str:
    from lookalike.cli._output import percent

    sure = f"{percent(answer.probability)} sure"
    return f"none of these (perhaps {answer.best}, {sure})" if answer.declined else f"{answer.best}, {sure}"


def _tell(answer: Answer) -> None:
    from lookalike.cli._output import columns, say, shown

    say(f"{shown(answer.path)}: {_verdict(answer)}")
    rows = [[f"{vote.share:+.3f}", vote.label, shown(vote.uri) + _behind(vote)] for vote in answer.votes]
    say(columns(["share", "label", "prototype"], rows, indent="  "))
    rest = answer.score - sum(vote.share for vote in answer.votes)
    say(f"  {rest:+.3f}  all others; the score is {answer.score:.3f}")


def _behind(vote: Vote) -> str:
    """Why an image without a label speaks for a class."""
    from lookalike.cli._output import shown

    return f"  (unlabelled, like {', '.join(shown(uri) for uri in vote.behind)})" if vote.behind else ""


def _picture(page: Path, answer: Answer, model: Model) -> None:
    """The asked picture and its prototypes, as a page or as a strip."""
    from lookalike.cli._output import shown
    from lookalike.evaluate import SheetGroup, SheetPicture, draw_strip, write_sheet
    from lookalike.images import path_of

    largest = max((abs(vote.share) for vote in answer.votes), default=1.0) or 1.0
    asked = SheetPicture(answer.path, [_verdict(answer), shown(answer.path)])
    prototypes = [
        SheetPicture(
            path_of(v.uri), [f"{v.label}  {v.share:+.3f}", shown(v.uri) + _behind(v)], v.share / largest
        )
        for v in answer.votes
    ]
    if page.suffix.lower() == ".png":
        draw_strip(page, [asked, *prototypes])
        return
    rest = answer.score - sum(vote.share for vote in answer.votes)
    text = (
        f"The largest votes. With all others ({rest:+.3f}) they make the score of {answer.score:.3f}. "
        "A vote below zero speaks for another class."
    )
    groups = [SheetGroup("The picture", [asked]), SheetGroup("What decided", prototypes, text)]
    write_sheet(
        page, f"Why: {_verdict(answer)}", groups, lead=f"The model “{model.name}” shows its evidence."
    )
