"""``lookalike index`` and ``lookalike status``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli._options import PLAIN, AsJson, InCollection, ShowProgress, Workers
from lookalike.cli._progress import Show, reporting

if TYPE_CHECKING:
    from lookalike.collection import Collection, IndexReport, Status

index_app = typer.Typer(**PLAIN)
status_app = typer.Typer(**PLAIN)


@index_app.command()
def index(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="Folders, pictures, and lists of paths (CSV or Parquet with a column 'path', or text). "
            "Without any, those of the collection.",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="PATH",
            help="Where to keep what is found out: a folder, or an address like s3://bucket/pets; "
            "else '.lookalike' in the first folder.",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            "-f",
            metavar="NAME",
            help="What to compute (see 'lookalike feature list'); may be repeated. "
            "Without it, what the collection has, and at first the default.",
        ),
    ] = None,
    workers: Workers = -1,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Compute on the workers of a Dask cluster: the address of its scheduler, tcp://HOST:8786.",
        ),
    ] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(
            "--forget",
            metavar="SOURCE",
            help="Look through this source no more, and take the pictures away that lie in no other.",
        ),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try again what was set aside, even if it has not changed.")
    ] = False,
    progress: ShowProgress = Show.auto,
    as_json: AsJson = False,
) -> None:
    """Make or update the collection of a folder of pictures."""
    from lookalike.cli._output import count, emit_json, note
    from lookalike.features import get_feature
    from lookalike.parallel import DaskEngine, LocalEngine

    _few_arenas()
    wanted = [get_feature(name) for name in features or []]
    opened = _open(sources or [], collection)
    for source in forget or []:
        note(f"{source} is forgotten, with {count(opened.forget(source), 'picture')}.")
    engine = LocalEngine(workers or -1) if cluster is None else DaskEngine(cluster)
    try:
        with reporting(progress) as report_step:
            report = opened.index(
                sources or None,
                wanted or None,
                progress=report_step,
                engine=engine,
                retry=retry,
            )
    except KeyboardInterrupt:
        note("stopped; what was computed is kept: run the same command again to go on.")
        raise typer.Exit(1) from None
    if as_json:
        emit_json({"collection": opened.where, "found": report.found, **dataclasses.asdict(report)})
    else:
        _tell(opened, report)


def _few_arenas() -> None:
    """Keep glibc from giving each thread memory of its own, which many threads of a long run never fill."""
    import contextlib
    import ctypes

    arena_max = -8
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems have no such thing
        ctypes.CDLL(None).mallopt(arena_max, 2)


def _open(sources: list[str], path: str | None) -> Collection:
    """The collection to update, made where there is none yet."""
    from lookalike.collection import Collection
    from lookalike.images import find_images, path_of

    find_images(sources)  # what is wrong with a source is an error before anything is made
    for source in sources:
        if Path(source).is_file():
            next(find_images([source]), None)  # a list is opened
    if path is not None:
        if "://" not in path:
            Path(path).mkdir(parents=True, exist_ok=True)
        return Collection.open_or_create(path)
    if not sources:
        return Collection.find()
    first = Path(path_of(sources[0])).absolute()
    folder = first if first.is_dir() else first.parent
    _tell_nested(folder)
    return Collection.open_or_create(folder)


def _tell_nested(folder: Path) -> None:
    """Say that a new collection will lie inside another, which may not be what was meant."""
    from lookalike.cli._output import note, shown
    from lookalike.collection import Collection
    from lookalike.errors import LookalikeError

    try:
        outer = Collection.find(folder).root
    except LookalikeError:
        return
    if outer is not None and outer != folder:
        note(
            f"a collection of its own is made in {shown(folder)}, inside that of {outer}; "
            f"'lookalike index --collection {outer}' updates the other."
        )


def _tell(collection: Collection, report: IndexReport) -> None:
    from lookalike.cli._output import count, say, shown

    parts = [f"{n:,} {what}" for what, n in _changes(report) if n]
    if report.computed > report.new + report.changed:  # a feature was added
        parts.append(f"features computed for {report.computed:,}")
    rate = (
        f" ({report.computed / report.seconds:,.0f} images/s)" if report.computed and report.seconds else ""
    )
    say(f"{shown(collection.where)}: {count(len(collection), 'image')} in {report.seconds:.1f} s{rate}.")
    say("  " + (", ".join(parts) or "no picture was found") + ".")
    if report.set_aside:
        say(f"  {count(report.set_aside, 'file')} set aside: 'lookalike status --set-aside' says why.")


def _changes(report: IndexReport) -> list[tuple[str, int]]:
    names = ("new", "changed", "moved", "removed", "unchanged")
    return [(name, getattr(report, name)) for name in names]


@status_app.command()
def status(
    aside: Annotated[
        bool, typer.Option("--set-aside", help="List every file that was set aside, with its reason.")
    ] = False,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Say what a collection holds, and what was set aside."""
    from lookalike.cli._open import open_collection
    from lookalike.cli._output import emit_json, say, shown

    found = open_collection(collection).status()
    if as_json:
        emit_json(found.to_dict())
    elif aside:
        for file in found.set_aside_files:
            say(f"{shown(file['uri'])}: {file['reason']}")
    else:
        _tell_status(found)


def _tell_status(found: Status) -> None:
    from collections import Counter

    from lookalike.cli._output import count, say, shown, size

    def line(name: str, text: str) -> None:
        say(f"{name:<11}{text}")

    on_disk = "" if found.bytes_on_disk is None else f" ({size(found.bytes_on_disk)})"
    line("collection", shown(found.where) + on_disk)
    line("images", f"{found.indexed:,} ({found.contents:,} different)")
    for i, feature in enumerate(found.features):
        done = f"{feature['contents']:,} of {found.contents:,}"
        line("" if i else "features", f"{feature['name']} ({feature['kind']} of {feature['dim']}): {done}")
    classes = count(len(found.labels), "class", "classes")
    line("labelled", f"{found.labelled:,} in {classes}" if found.labelled else "none")
    line("models", ", ".join(found.models) or "none")
    line("set aside", f"{found.set_aside:,}")
    reasons = Counter(file["reason"] for file in found.set_aside_files)
    for reason, n in reasons.most_common(8):
        say(f"  {n:>7,} × {reason}")
    if len(reasons) > 8:
        say(
            f"  and {count(len(reasons) - 8, 'other reason')}: 'lookalike status --set-aside' lists them all."
        )
