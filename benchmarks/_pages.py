"""Tables that a script writes into a document, between two markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; all columns but the first stand right."""
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def write_between(path: Path, name: str, text: str) -> None:
    """Put ``text`` between ``<!-- name -->`` and ``<!-- /name -->`` of a document."""
    page = path.read_text(encoding="utf-8")
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = page.partition(first)
    _, closed, after = rest.partition(last)
    if not (found and closed):
        raise SystemExit(f"{path} has no markers {first} … {last}: add them where the table goes.")
    path.write_text(f"{before}{first}\n\n{text}\n\n{last}{after}", encoding="utf-8")
