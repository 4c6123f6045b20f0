"""``lookalike tag``, and ``lookalike search`` by words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli._options import PLAIN, AsJson, Asked, FeatureName, InCollection

if TYPE_CHECKING:
    from lookalike.collection import Collection
    from lookalike.features import Feature
    from lookalike.images import SetAside

tag_app = typer.Typer(**PLAIN)


@tag_app.command()
def tag(
    sources: Asked = None,
    at_least: Annotated[
        float,
        typer.Option(
            "--at-least",
            min=0.0,
            max=1.0,
            metavar="P",
            help="How probable a word must be. Where no word is, a more general one may be said, or none.",
        ),
    ] = 0.5,
    top: Annotated[
        int | None, typer.Option("--top", min=1, metavar="N", help="So many words for each, safe or not.")
    ] = None,
    taxonomy: Annotated[
        str,
        typer.Option(
            "--taxonomy",
            metavar="NAME|FILE",
            help="'wordnet', 'flat', or a CSV file of parent,child; 'auto' is WordNet if it is there.",
        ),
    ] = "auto",
    feature: FeatureName = None,
    collection: InCollection = None,
    as_json: AsJson = False,
) -> None:
    """Give words to pictures, learned from the labels of the collection: as specific as is safe."""
    from lookalike.cli._open import open_collection, vector_feature
    from lookalike.cli._output import emit_json, note, percent, say, shown
    from lookalike.images import path_of
    from lookalike.recipes import learn_words

    opened = open_collection(collection)
    compared = vector_feature(opened, feature)
    aside: list[SetAside] = []
    names, rows = _vectors_of(opened, sources, compared, aside) if sources else _unlabelled(opened, compared)
    if not sources and not names:
        note("every picture has a label already: name pictures to tag them all the same.")
    model = learn_words(opened, compared, taxonomy=taxonomy)
    found = model.tags(rows, at_least=at_least, top=top) if names else []
    if as_json:
        images: list[dict[str, Any]] = [
            {"path": path_of(name), "tags": [{"word": t.word, "probability": t.probability} for t in tags]}
            for name, tags in zip(names, found)
        ]
        images += [{"path": thing.path, "tags": [], "reason": thing.reason} for thing in aside]
        emit_json({"feature": compared.name, "concepts": len(model.ensemble.concepts_), "images": images})
    else:
        for name, tags in zip(names, found):
            said = ", ".join(f"{t.word} {percent(t.probability)}" for t in tags)
            say(f"{shown(name)}  {said or '(nothing is safe to say)'}")
        for thing in aside:
            note(f"{shown(thing.path)} {thing.reason}")
    if aside and not names:
        raise typer.Exit(1)


def _unlabelled(collection: Collection, feature: Feature) -> tuple[list[str], Any]:
    """The pictures of a collection that have no label, and their vectors."""
    labelled = set(collection.labels()["uri"].to_pylist())
    uris, every = collection.vectors(feature)
    free = [i for i, uri in enumerate(uris) if uri not in labelled]
    return [uris[i] for i in free], every[free]


def _vectors_of(
    collection: Collection, sources: Sequence[str], feature: Feature, aside: list[SetAside]
) -> tuple[list[str], Any]:
    """What the sources hold, and its vectors: those of the collection where it has them.

    What cannot be read is added to ``aside``.
    """
    import numpy as np

    from lookalike.errors import LookalikeError
    from lookalike.images import SetAside, find_images
    from lookalike.recipes import look

    rows: dict[str, Any] = {}
    outside: list[str] = []
    for source in sources:
        try:
            rows[source] = collection.vectors(feature, uris=[collection.uri(source)])[1][0]
        except LookalikeError:
            outside.append(source)
    found = list(find_images(outside))
    aside += [thing for thing in found if isinstance(thing, SetAside)]
    for looked in look(feature, [thing.path for thing in found if not isinstance(thing, SetAside)]):
        if looked.reason:
            aside.append(SetAside(looked.path, looked.path, looked.reason))
        else:
            rows[looked.path] = looked.row
    return list(rows), np.array(list(rows.values()))


def are_words(collection: Collection, names: Sequence[str]) -> bool:
    """Whether what was typed are words: none is a file, or looks like one, or is in the collection."""
    from lookalike.errors import LookalikeError

    for name in names:
        as_file = set(name) & set("/\\") or Path(name).suffix or Path(name).is_file()
        if as_file or not name.strip(". "):
            return False
        try:
            collection.uri(name)
        except LookalikeError:
            continue
        return False
    return True


def show_word_hits(
    collection: Collection,
    words: Sequence[str],
    feature: str | None,
    k: int,
    taxonomy: str,
    as_json: bool,
    page: Path | None,
) -> None:
    """Print (and draw) the pictures that words fit."""
    from lookalike.cli._open import vector_feature
    from lookalike.cli._output import emit_json, note, percent, say, shown
    from lookalike.evaluate import SheetGroup, SheetPicture, write_sheet
    from lookalike.images import path_of
    from lookalike.recipes import search_words

    compared = vector_feature(collection, feature)
    hits = search_words(collection, list(words), compared, k=k, taxonomy=taxonomy)
    if page:
        found = [SheetPicture(path_of(uri), [percent(p), shown(uri)]) for uri, p in hits]
        groups = [SheetGroup(" ".join(words), found)]
        write_sheet(page, "Pictures for words", groups, lead="The most probable first.")
    if as_json:
        rows = [{"uri": uri, "path": path_of(uri), "probability": p} for uri, p in hits]
        emit_json(
            {
                "feature": compared.name,
                "words": list(words),
                "hits": rows,
                **({"html": str(page)} if page else {}),
            }
        )
        return
    for uri, p in hits:
        say(f"{percent(p):>6}  {shown(uri)}")
    if page:
        note(f"contact sheet: {shown(page)}")
