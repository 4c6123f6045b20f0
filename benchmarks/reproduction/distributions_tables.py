"""Tables for the document, from the figures in the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def write(document: Path, figures: dict[str, Any]) -> None:
    """Placeholder until the tables follow."""
    print(figures)
