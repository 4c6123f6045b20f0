"""The terminal's door; no logic of its own."""

from __future__ import annotations


def main() -> None:
    """Run the command line: what the script ``lookalike`` and ``python -m lookalike`` call."""
    from lookalike.cli._app import run

    run()


__all__ = ["main"]
