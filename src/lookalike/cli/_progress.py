"""How far a command is: a bar on a terminal, JSON lines when asked, nothing when piped."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from lookalike.progress import Progress, Step, silent

EVERY = 0.5  # seconds between two JSON lines of one stage


class Show(StrEnum):
    """How progress is shown."""

    auto = "auto"
    bar = "bar"
    json = "json"
    none = "none"


@contextlib.contextmanager
def reporting(show: Show, *, unit: str = "images") -> Iterator[Progress]:
    """Give the callback that shows progress as asked; ``auto`` is a bar where a person looks on."""
    if show is Show.auto:
        show = Show.bar if sys.stderr.isatty() else Show.none
    if show is Show.none:
        yield silent
    elif show is Show.json:
        yield _Lines()
    else:
        with _bar(unit) as progress:
            yield progress


class _Lines:
    """One JSON object on standard error now and then, and at the end of each stage."""

    def __init__(self) -> None:
        self.start: dict[str, float] = {}
        self.last: dict[str, float] = {}

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        start = self.start.setdefault(step.stage, now)
        if step.done != step.total and now - self.last.get(step.stage, -EVERY) < EVERY:
            return
        self.last[step.stage] = now
        rate = step.done / (now - start) if now > start else None
        left = (step.total - step.done) / rate if rate and step.total is not None else None
        line: dict[str, Any] = {"stage": step.stage, "done": step.done, "total": step.total}
        line["per_second"] = None if rate is None else round(rate, 1)
        line["seconds_left"] = None if left is None else round(left, 1)
        if step.note:
            line["note"] = step.note
        print(json.dumps(line), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _bar(unit: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many in a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} {unit}/s", style="cyan")

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def progress(step: Step) -> None:
        if step.stage not in tasks:
            tasks[step.stage] = bars.add_task(step.stage, total=step.total, note=step.note)
        bars.update(tasks[step.stage], completed=step.done, total=step.total, note=step.note)

    with bars:
        yield progress
