"""The version of what is on disk, and the steps from an older one to the present."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from lookalike._version import __version__
from lookalike.collection._tables import SCHEMAS, Tables, now
from lookalike.errors import LookalikeError
from lookalike.images import path_of, uri_of

VERSION = 1
WITH_URIS = ("images", "labels", "set_aside")

# VERSION n → what makes n + 1 of it. A step may be cut short and run again: write it so.
MIGRATIONS: dict[int, Callable[[Tables], None]] = {}


def create(tables: Tables, root: Path | None) -> None:
    """Make the tables; the one that says they are there comes last."""
    for name, schema in SCHEMAS.items():
        if name != "about":
            tables.create(name, schema)
    facts = {"schema": str(VERSION), "made by": f"lookalike {__version__}", "made at": now().isoformat()}
    if root is not None:
        facts |= {f"root of {name}": uri_of(root) for name in WITH_URIS}
    tables.create("about", SCHEMAS["about"])
    if not tables.count("about"):
        tables.append("about", _about(facts))


def _about(facts: dict[str, str]) -> pa.Table:
    return pa.table([list(facts), list(facts.values())], schema=SCHEMAS["about"])


def is_there(tables: Tables) -> bool:
    """Whether these are the tables of a collection that was made completely."""
    return "about" in tables.names() and bool(tables.count("about"))


def about(tables: Tables) -> dict[str, str]:
    """What the collection says of itself."""
    facts = tables.read("about").to_pydict()
    return dict(zip(facts["key"], facts["value"]))


def version_of(tables: Tables, where: str) -> int:
    """The version on disk; one clear error where this Lookalike does not know it."""
    try:
        version = int(about(tables)["schema"])
    except (KeyError, ValueError):
        raise LookalikeError(
            f"the collection in {where} does not say its version: its files are damaged; "
            "index the pictures again in a new one."
        ) from None
    if version > VERSION:
        raise LookalikeError(
            f"the collection in {where} was written by a newer Lookalike (its version is {version}, "
            f"this one knows {VERSION}): update Lookalike."
        )
    return version


def migrate(tables: Tables, version: int) -> None:
    """Go from ``version`` to the present one, step by step; each step is recorded when it is done."""
    for old in range(version, VERSION):
        MIGRATIONS[old](tables)
        tables.upsert("about", _about({"schema": str(old + 1)}), ["key"])


def former_root(tables: Tables, root: Path) -> Path | None:
    """The folder that the collection was in before it moved to ``root``; None where it did not move.

    Another name of the same folder, such as a link to it, is not a move.
    """
    known = about(tables)
    for name in WITH_URIS:
        before = known.get(f"root of {name}")
        if before is not None and before != uri_of(root) and not _same(path_of(before), root):
            return Path(path_of(before))
    return None


def recorded_root(tables: Tables, root: Path) -> Path:
    """The name under which the collection knows its folder."""
    known = about(tables).get("root of images")
    return root if known is None else Path(path_of(known))


def _same(a: str, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)  # noqa: PTH121
    except OSError:
        return False


def relocate(tables: Tables, root: Path) -> None:
    """Let uris inside the collection's folder begin with its present name, table by table."""
    known = about(tables)
    for name in WITH_URIS:
        before = known.get(f"root of {name}", uri_of(root))
        if before == uri_of(root):
            continue
        old_path = Path(path_of(before))
        pairs = [(before, uri_of(root)), (old_path.as_uri(), root.as_uri())]
        for old, new in pairs:
            tables.replace_start(name, old.rstrip("/") + "/", new.rstrip("/") + "/")
        tables.upsert("about", _about({f"root of {name}": uri_of(root)}), ["key"])
