"""What commands print: text for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def say(text: str = "") -> None:
    """One line for people on standard output."""
    print(text)


def note(text: str) -> None:
    """One line beside the result, on standard error."""
    print(text, file=sys.stderr)


def emit_json(data: Any) -> None:
    """The whole result for programs."""
    print(json.dumps(data, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    """What JSON has no word for: numpy's numbers, paths, times."""
    for method in ("tolist", "isoformat"):
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value)


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]], *, indent: str = "") -> str:
    """A table as aligned text; numbers stand right.

    Examples
    --------
    >>> print(columns(["name", "images"], [["cats", 5], ["dogs", 12]]))
    name  images
    cats       5
    dogs      12
    """
    rows = [list(row) for row in rows]
    cells = [[str(value).replace("\n", "\\n") for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells)]
    right = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(heads))]

    def line(values: Sequence[str]) -> str:
        put = [v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right)]
        return (indent + "  ".join(put)).rstrip()

    return "\n".join(line(values) for values in [list(heads), *cells])


def shown(path: str | os.PathLike[str]) -> str:
    """A path or address as people like to read it: relative where it lies below the present folder."""
    from lookalike.images import path_of, printable

    text = path_of(os.fspath(path))
    try:
        relative = os.path.relpath(text) if Path(text).is_absolute() else text
    except ValueError:  # another disk
        relative = text
    text = text if relative.startswith("..") or relative == "." else relative
    return printable(text).replace("\n", "\\n")


def size(n_bytes: float) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size(999), size(1_500_000)
    ('999 B', '1.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def count(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "image"), count(2000, "image"), count(2, "class", "classes")
    ('1 image', '2,000 images', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(probability: float) -> str:
    """A probability for people; nothing is quite certain.

    Examples
    --------
    >>> percent(0.5), percent(0.99996), percent(0.0001)
    ('50 %', '> 99 %', '< 1 %')
    """
    if probability > 0.995:
        return "> 99 %"
    return "< 1 %" if probability < 0.005 else f"{100 * probability:.0f} %"


def open_page(path: Path) -> None:
    """Show an HTML page in the user's browser, where there is one."""
    import webbrowser

    if not webbrowser.open(path.absolute().as_uri()):
        note(f"no browser was found: open {path} yourself.")
