"""Put a machine-made table into a document, between two markers that carry its name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def rows_of(document: str, name: str) -> dict[str, list[str]]:
    """The rows that are there from an earlier run, by their first cell."""
    text = (ROOT / "docs" / document).read_text()
    inside = text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    lines = [line for line in inside.splitlines() if line.startswith("| ")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in rows}


def option(parser: ArgumentParser) -> None:
    """What a script that measures calls ``--write``."""
    parser.add_argument("--write", action="store_true", help="put the table into the document")


def show(document: str, name: str, text: str, options: Namespace) -> None:
    """Print a table, and put it into a document where ``--write`` says so."""
    if options.write:
        write(document, name, text)
    else:
        print(text)


def write(document: str, name: str, text: str) -> None:
    """Replace what is between ``<!-- name -->`` and ``<!-- /name -->`` in ``docs/…``, and print it."""
    path = ROOT / "docs" / document
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    whole = path.read_text()
    if start not in whole or end not in whole:
        raise SystemExit(f"{path} has no markers {start} and {end}.")
    before, _, rest = whole.partition(start)
    path.write_text(f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}")
    print(text)
