"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lookalike.cli._progress import Show

# What every part of the application has. Plain help: rich's would cost a third of the start-up.
PLAIN: dict[str, Any] = {
    "rich_markup_mode": None,
    "add_completion": False,
    "context_settings": {"help_option_names": ["--help", "-h"]},
}

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]

# Text and not a path: a path would swallow one of the slashes of an address like s3://bucket.
InCollection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="PATH",
        help="The collection: a folder that was indexed, its .lookalike, or an address like "
        "s3://bucket/pets. Without it, the nearest one at or above the present folder.",
    ),
]

ShowProgress = Annotated[
    Show,
    typer.Option(
        "--progress",
        help="How to show progress; 'auto' is a bar on a terminal and nothing elsewhere, "
        "'json' writes lines to standard error.",
    ),
]

FeatureName = Annotated[
    str | None,
    typer.Option(
        "--feature",
        "-f",
        metavar="NAME",
        help="The feature to compare by (see 'lookalike feature list'). Without it, the collection's own.",
    ),
]

Workers = Annotated[
    int,
    typer.Option("--workers", "-j", metavar="N", help="Pictures in work at a time; -1 is one per core."),
]

# What a command answers for: pictures from anywhere, or those of the collection.
Asked = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Pictures, folders and lists of paths; "
        "without any, the pictures of the collection that have no label.",
    ),
]

OpenPage = Annotated[bool, typer.Option("--open", help="Write a page and open it in the browser.")]
