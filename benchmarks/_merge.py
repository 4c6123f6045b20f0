"""Put what was measured now into the tables of an earlier run, so that no part that was not run is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    """A table with the lines before it: what a block of a document is made of."""

    caption: str
    head: str
    rows: list[str]

    def key(self) -> tuple[str, str]:
        """What makes it the same table as another run's: its head, and its caption up to the figures."""
        return re.split(r" \(|, \d", self.caption)[0], self.head

    def text(self) -> str:
        lines = [self.head, *self.rows]
        return "\n".join([*([self.caption, ""] if self.caption else []), *lines])


def parts(text: str) -> tuple[list[Part], str]:
    """The tables of a block with their captions, and what stands after the last of them."""
    found: list[Part] = []
    caption: list[str] = []
    for paragraph in filter(None, (p.strip() for p in text.split("\n\n"))):
        lines = paragraph.splitlines()
        if not lines[0].startswith("|"):
            caption.append(paragraph)
            continue
        found.append(Part("\n\n".join(caption), "\n".join(lines[:2]), lines[2:]))
        caption = []
    return found, "\n\n".join(caption)


def merge_rows(old: Sequence[str], new: Sequence[str], keys: int) -> list[str]:
    """Rows of ``old`` with those of ``new`` in their places; a row is known by its first ``keys`` cells.

    A row that is new comes after the one before it in ``new``, or last.

    Examples
    --------
    >>> merge_rows(["| a | 1 |", "| c | 3 |"], ["| a | 5 |", "| b | 2 |"], 1)
    ['| a | 5 |', '| b | 2 |', '| c | 3 |']
    """

    def key(row: str) -> tuple[str, ...]:
        return tuple(cell.strip() for cell in row.strip("|").split("|")[:keys])

    found = {key(row): row for row in old}
    order = list(found)
    before = None
    for row in new:
        if key(row) not in found:
            order.insert(order.index(before) + 1 if before is not None else len(order), key(row))
        before = key(row)
        found[before] = row
    return [found[k] for k in order]


def merge(old: str, new: str, keys: int = 1) -> str:
    """A block of captions and tables where ``new`` replaces what it measured and ``old`` keeps the rest."""
    there, tail = parts(old)
    made, end = parts(new)
    place = {part.key(): i for i, part in enumerate(there)}
    for part in made:
        at = place.get(part.key())
        if at is None:
            there.append(part)
        else:
            there[at] = part._replace(rows=merge_rows(there[at].rows, part.rows, keys))
    return "\n\n".join(filter(None, [*(part.text() for part in there), end or tail]))


def write_merged(page: Path, name: str, text: str, keys: int = 1) -> None:
    """Merge a block into what stands between ``<!-- name -->`` and ``<!-- end of name -->``."""
    if not text:
        return
    whole = page.read_text("utf-8")
    pattern = re.compile(f"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->)", re.S)
    if not pattern.search(whole):
        raise SystemExit(f"{page} has no markers for {name!r}.")
    page.write_text(pattern.sub(lambda m: f"{m[1]}{merge(m[2], text, keys)}\n{m[3]}", whole), "utf-8")
