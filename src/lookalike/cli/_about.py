"""``lookalike version``."""

from __future__ import annotations

import typer

from lookalike.cli._options import PLAIN, AsJson

version_app = typer.Typer(**PLAIN)


@version_app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version."""
    from lookalike._version import __version__
    from lookalike.cli._output import emit_json, say

    if as_json:
        emit_json({"version": __version__})
    else:
        say(f"lookalike {__version__}")
