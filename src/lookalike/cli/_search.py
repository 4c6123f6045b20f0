"""``lookalike search`` and ``lookalike duplicates``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli._options import PLAIN, AsJson, FeatureName, InCollection, OpenPage, ShowProgress
from lookalike.cli._progress import Show, reporting

if TYPE_CHECKING:
    from lookalike.collection import Collection, Duplicates, Hit

search_app = typer.Typer(**PLAIN)
duplicates_app = typer.Typer(**PLAIN)

Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a contact sheet with the pictures.")
]
SearchFeature = Annotated[
    str | None,
    typer.Option(
        "--feature",
        "--with",
        "-f",
        metavar="NAME",
        help="The feature to compare by (see 'lookalike feature list'). Without it, the collection's own.",
    ),
]
Similarity = Annotated[
    str,
    typer.Option(
        "--similarity",
        "-s",
        metavar="NAME",
        help="How to compare: cosine, euclidean; kl, kl-left, jeffreys, jensen-shannon or itakura-saito for "
        "histograms; patches (or smp-kl) for multiscale patches, in two steps.",
    ),
]


@search_app.command()
def search(
    images: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE|WORD",
            help="One or several examples, in the collection or not; or words of its labels.",
        ),
    ],
    not_: Annotated[
        list[str] | None,
        typer.Option("--not", metavar="IMAGE", help="An example of what is not wanted; may be repeated."),
    ] = None,
    k: Annotated[int, typer.Option("--count", "-n", min=1, metavar="N", help="How many look-alikes.")] = 20,
    feature: SearchFeature = None,
    similarity: Similarity = "cosine",
    feedback: Annotated[
        bool,
        typer.Option("--feedback", help="Go on in rounds: say which results are right, and see better ones."),
    ] = False,
    taxonomy: Annotated[
        str,
        typer.Option(
            "--taxonomy",
            metavar="NAME|FILE",
            help="For words: 'wordnet', 'flat', or a CSV file of parent,child; 'auto' tries WordNet.",
        ),
    ] = "auto",
    collection: InCollection = None,
    html: Html = None,
    open_it: OpenPage = False,
    as_json: AsJson = False,
) -> None:
    """Find the look-alikes of one or several pictures, or the pictures that words fit."""
    from lookalike.cli._open import open_collection, sheet_file
    from lookalike.cli._output import emit_json, note, open_page, say, shown
    from lookalike.cli._words import are_words, show_word_hits
    from lookalike.errors import LookalikeError
    from lookalike.images import path_of

    opened = open_collection(collection)
    page = sheet_file(opened, html, open_it, "search.html")
    if are_words(opened, images):
        if feedback or not_ or similarity != "cosine":
            raise LookalikeError("--feedback, --not and --similarity need example pictures, not words.")
        show_word_hits(opened, images, feature, k, taxonomy, as_json, page)
        if open_it and page:
            open_page(page)
        return
    if similarity == "cosine":
        compared, hits = _by_cosine(opened, images, not_, feature, k, feedback)
    elif not_ or feedback:
        raise LookalikeError("--not and --feedback work with the similarity 'cosine' only.")
    else:
        from lookalike.recipes import find_similar

        found = find_similar(opened, images, similarity=similarity, feature=feature, k=k)
        compared, hits = found.feature, found.hits
    if page:
        _hit_sheet(page, images, not_ or [], hits)
    if as_json:
        rows = [
            {"uri": h.uri, "path": path_of(h.uri), "similarity": h.similarity, "score": h.score} for h in hits
        ]
        data = {"feature": compared, "similarity": similarity, "hits": rows}
        emit_json({**data, "html": str(page)} if page else data)
    else:
        for hit in hits:
            say(f"{hit.similarity:6.3f}  {shown(hit.uri)}")
        if page:
            note(f"contact sheet: {shown(page)}")
    if open_it and page:
        open_page(page)


def _by_cosine(
    opened: Collection,
    images: list[str],
    not_: list[str] | None,
    feature: str | None,
    k: int,
    feedback: bool,
) -> tuple[str, list[Hit]]:
    """The name of the feature that was compared, and the hits, examples left out."""
    from lookalike.cli._open import example_vectors, vector_feature

    compared = vector_feature(opened, feature)
    wanted, own = example_vectors(opened, images, compared)
    unwanted, against = example_vectors(opened, not_, compared) if not_ else (None, [])
    leave_out = {*own, *against}
    if feedback:
        from lookalike.cli._feedback import refine

        return compared.name, refine(opened, wanted, unwanted, compared, k, leave_out)
    hits = opened.search(wanted, not_=unwanted, k=k + len(leave_out), feature=compared, include_examples=True)
    return compared.name, [hit for hit in hits if hit.uri not in leave_out][:k]


def _hit_sheet(page: Path, images: list[str], not_: list[str], hits: list[Hit]) -> None:
    from lookalike.cli._output import shown
    from lookalike.evaluate import SheetGroup, SheetPicture, write_sheet
    from lookalike.images import path_of

    groups = [SheetGroup("Looked for", [SheetPicture(path_of(i), [shown(i)]) for i in images])]
    if not_:
        groups.append(SheetGroup("But not like", [SheetPicture(path_of(i), [shown(i)]) for i in not_]))
    found = [SheetPicture(path_of(h.uri), [f"similarity {h.similarity:.3f}", shown(h.uri)]) for h in hits]
    groups.append(SheetGroup("Found", found))
    write_sheet(page, "Look-alikes", groups, lead="The most similar first. Click a picture to open its file.")


@duplicates_app.command()
def duplicates(
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            "-t",
            min=-1.0,
            max=1.0,
            metavar="COSINE",
            help="How similar near-duplicates must be: the cosine of their vectors, 1 for the same. "
            "Without it, a value that suits the feature; the result names it.",
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Only files with the same content, byte for byte.")
    ] = False,
    feature: FeatureName = None,
    collection: InCollection = None,
    html: Html = None,
    open_it: OpenPage = False,
    progress: ShowProgress = Show.auto,
    as_json: AsJson = False,
) -> None:
    """Find pictures that are there twice: the same content, or nearly the same look."""
    from lookalike.cli._open import open_collection, sheet_file
    from lookalike.cli._output import emit_json, note, open_page, shown

    opened = open_collection(collection)
    with reporting(progress, unit="blocks") as report_step:
        found = opened.duplicates(threshold, near=not exact, feature=feature, progress=report_step)
    page = sheet_file(opened, html, open_it, "duplicates.html")
    if page:
        _duplicate_sheet(page, found)
    if as_json:
        emit_json(_duplicates_as_data(found, page))
    else:
        _tell_duplicates(found)
        if page:
            note(f"contact sheet: {shown(page)}")
    if open_it and page:
        open_page(page)


def _duplicates_as_data(found: Duplicates, page: Path | None) -> dict[str, Any]:
    from lookalike.images import path_of

    groups = [
        {
            "same_content": group.same_content,
            "similarity": group.similarity,
            "paths": [path_of(uri) for uri in group.uris],
            "contents": group.contents,
        }
        for group in found
    ]
    data = {"feature": found.feature, "threshold": found.threshold, "groups": groups}
    return {**data, "html": str(page)} if page else data


def _tell_duplicates(found: Duplicates) -> None:
    from lookalike.cli._output import count, say, shown

    for group in found:
        say("the same content:" if group.same_content else f"alike ({group.similarity:.3f} at least):")
        for content in group.contents:
            for i, uri in enumerate(content):
                same = "  (same content)" if i and not group.same_content else ""
                say(f"  {shown(uri)}{same}")
    images = sum(len(group.uris) for group in found)
    rule = f"at {found.threshold:.3f} or more by {found.feature}" if found.feature else "by content alone"
    counted = f"{count(len(found), 'group')} of {count(images, 'image')}" if images else "no duplicates"
    say(f"{counted}, {rule}.")


def _duplicate_sheet(page: Path, found: Duplicates) -> None:
    from lookalike.cli._output import shown
    from lookalike.evaluate import SheetGroup, SheetPicture, write_sheet
    from lookalike.images import path_of

    groups = []
    for i, group in enumerate(found, start=1):
        kind = "the same content" if group.same_content else f"similarity {group.similarity:.3f} at least"
        pictures = [SheetPicture(path_of(uri), [shown(uri)]) for uri in group.uris]
        groups.append(SheetGroup(f"{i}: {kind}", pictures))
    lead = "Pictures that are there more than once. Click a picture to open its file."
    write_sheet(page, "Duplicates", groups, lead=lead)
