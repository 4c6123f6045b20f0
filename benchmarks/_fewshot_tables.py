"""The tables of ``docs/benchmarks/few-labels.md``."""

from __future__ import annotations

Row = dict[str, float]
Cells = dict[tuple[str, int, str], list[Row]]
OURS = "with the collection"


def tables(cells: Cells) -> dict[str, str]:
    """Each table that the cells suffice for, by its name."""
    return {}
