"""The application: its commands, and what happens to errors."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from lookalike.cli._options import PLAIN
from lookalike.errors import LookalikeError, LookalikeWarning

# Name → where it is, and its summary, in the order of a first day with a folder of pictures. A command's
# module is only imported when the command is run or asked for its own help.
COMMANDS = {
    "index": ("_index:index_app", "Make or update the collection of a folder of pictures."),
    "status": ("_index:status_app", "Say what a collection holds, and what was set aside."),
    "search": (
        "_search:search_app",
        "Find the look-alikes of one or several pictures, or the pictures that words fit.",
    ),
    "duplicates": (
        "_search:duplicates_app",
        "Find pictures that are there twice: the same content, or nearly the same look.",
    ),
    "label": ("_label:app", "Say what pictures show; see, export and take back labels."),
    "learn": (
        "_learn:learn_app",
        "Learn a model from the labels of a collection, judge it, and write its report.",
    ),
    "classify": (
        "_answer:classify_app",
        'Say what pictures show: labels with probabilities, or "none of these".',
    ),
    "explain": (
        "_answer:explain_app",
        "Show the pictures that decided an answer, with their shares of its score.",
    ),
    "suggest": (
        "_suggest:suggest_app",
        "Say which pictures to label next, or which labels are probably wrong.",
    ),
    "tag": (
        "_words:tag_app",
        "Give words to pictures, learned from the labels of the collection: as specific as is safe.",
    ),
    "model": ("_model:app", "The models of a collection: list, show, export, remove."),
    "recipe": ("_model:recipe_app", "The chains from picture to answer that models are made by."),
    "feature": ("_feature:app", "What pictures can be compared by; your own networks."),
    "version": ("_about:version_app", "Print the version."),
}


class Commands(TyperGroup):
    """A group of commands that are loaded when they are needed; a user's mistake is one line and status 1."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command."""
        try:
            return super().main(*args, **kwargs)
        except LookalikeError as error:
            said = str(error)
        except OSError as error:  # a folder that may not be written to, a full disk
            if error.strerror is None:
                raise
            said = f"{os.fspath(error.filename)}: " if error.filename else ""
            said += f"{error.strerror.lower()}."
        print(f"error: {' '.join(said.split())}", file=sys.stderr)
        sys.exit(1)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order in which they are shown."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load one command."""
        if cmd_name not in COMMANDS:
            from difflib import get_close_matches

            close = get_close_matches(cmd_name, COMMANDS, n=1)
            ctx.fail(f"No such command {cmd_name!r}." + (f" Did you mean {close[0]!r}?" if close else ""))
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        found = importlib.import_module(f"lookalike.cli.{module}")
        command = typer.main.get_command(getattr(found, attribute))
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


app = typer.Typer(
    cls=Commands,
    epilog="Start with 'lookalike index FOLDER', then 'lookalike search PICTURE'.",
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    **{**PLAIN, "add_completion": True},
)


@app.callback()
def lookalike() -> None:
    """Teach a computer the classes of your own pictures from a handful of labels, and see why it answers."""


def run() -> None:
    """Run the command line on the arguments of this process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name of a file is never the end of a run
    warnings.showwarning = _show_warning
    app(prog_name="lookalike")


def _show_warning(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    """Lookalike's own warnings as one line; those of libraries are not for users."""
    if issubclass(category, LookalikeWarning):
        print(f"note: {' '.join(str(message).split())}", file=sys.stderr)
