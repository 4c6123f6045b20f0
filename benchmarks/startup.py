"""How soon the command line answers: ``lookalike --help`` and its first commands, after the first run.

    python benchmarks/startup.py [--rounds 15] [--write]

Each row is the median over the rounds, measured in turns, beside what Python itself needs to start.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from statistics import median

from _markers import option, show, table

CALLS = {
    "python, nothing": ["-c", "pass"],
    "python, import typer": ["-c", "import typer"],
    "lookalike --help": ["-c", "from lookalike.cli import main; main()", "--help"],
    "lookalike version": ["-c", "from lookalike.cli import main; main()", "version"],
    "lookalike index --help": ["-c", "from lookalike.cli import main; main()", "index", "--help"],
}


def once(arguments: list[str]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, env=os.environ)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    option(parser)
    options = parser.parse_args()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in CALLS}
    for arguments in CALLS.values():
        once(arguments)  # the first run compiles to bytecode
    for _ in range(options.rounds):
        for name, arguments in CALLS.items():
            taken[name].append(once(arguments))
    rows = []
    for name, times in taken.items():
        wall, cpu = (f"{1000 * median(column):.0f}" for column in zip(*times))
        shown = f"**{wall}** (reach 150)" if name == "lookalike --help" else wall
        rows.append([name, shown, cpu])
    head = ["call", "ms on the clock", "ms of the processor"]
    show("benchmarks/collection.md", "startup", table(head, rows), options)


if __name__ == "__main__":
    main()
