"""The version of what is on disk, and the steps from an older one to the present."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from lookalike._version import __version__
from lookalike.collection._tables import SCHEMAS, Tables, now
from lookalike.errors import LookalikeError

VERSION = 1

# VERSION n → what makes n + 1 of it. A step may be cut short and run again: write it so.
MIGRATIONS: dict[int, Callable[[Tables], None]] = {}


def create(tables: Tables) -> None:
    """Make the tables; the one that says they are there comes last."""
    for name, schema in SCHEMAS.items():
        if name != "about":
            tables.create(name, schema)
    facts = {"schema": str(VERSION), "made by": f"lookalike {__version__}", "made at": now().isoformat()}
    tables.create("about", SCHEMAS["about"])
    if not tables.count("about"):
        tables.append("about", _about(facts))


def _about(facts: dict[str, str]) -> pa.Table:
    return pa.table([list(facts), list(facts.values())], schema=SCHEMAS["about"])


def is_there(tables: Tables) -> bool:
    """Whether these are the tables of a collection that was made completely."""
    return "about" in tables.names() and bool(tables.count("about"))


def version_of(tables: Tables, where: str) -> int:
    """The version on disk; one clear error where this Lookalike does not know it."""
    facts = tables.read("about").to_pydict()
    try:
        version = int(dict(zip(facts["key"], facts["value"]))["schema"])
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
