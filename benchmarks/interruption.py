"""Kill an index run 20 times at random moments, let the last one end, and compare with an undisturbed run.

Then files move, change and go, and the run that brings the collection up to date is killed as often. The
pictures are generated; the feature is a real one with a pause, so that there is something to interrupt.

    python benchmarks/interruption.py [--kills 20] [--images 5000] [--seed 0] [--write]

A run adds one row to the table, under its seed; rows of other seeds stay.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from _markers import option, rows_of, show, table
from lookalike.collection import Collection
from lookalike.features import get_feature
from memory import generate

RUN = """
import sys, time
from lookalike.collection import Collection
from lookalike.features import get_feature
kind = type(get_feature("color-histogram"))
extract = kind._extract
def slowly(self, images):
    time.sleep(float(sys.argv[3]) * len(images))
    return extract(self, images)
kind._extract = slowly
collection = Collection.open_or_create(sys.argv[1])
print("ready", flush=True)
report = collection.index([sys.argv[2]], features=["color-histogram"])
print(report.computed, flush=True)
"""


def start(home: Path, pictures: Path, pause: float = 0.0) -> subprocess.Popen[str]:
    """An index run in a process of its own; each picture takes ``pause`` seconds longer."""
    command = [sys.executable, "-c", RUN, str(home), str(pictures), str(pause)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline() == "ready\n"
    return run


def knowledge(
    collection: Collection,
) -> tuple[list[dict], list[str], list[list[float]], list[tuple[str, str]]]:
    """All that a collection knows, as plain data."""
    columns = ["uri", "hash", "size", "mtime_ns", "width", "height", "format"]
    uris, X = collection.vectors()
    labels = collection.labels()
    pairs = list(zip(labels["uri"].to_pylist(), labels["label"].to_pylist()))
    return collection.images(columns).to_pylist(), list(uris), X.tolist(), pairs


def disturb(pictures: Path, chance: random.Random) -> int:
    """Move a tenth of the files, change a tenth, delete a tenth; says how many that is."""
    files = sorted(pictures.rglob("*.jpg"))
    chance.shuffle(files)
    tenth = len(files) // 10
    elsewhere = pictures / "moved"
    elsewhere.mkdir()
    for path in files[:tenth]:
        path.rename(elsewhere / path.name)
    for path in files[tenth : 2 * tenth]:
        path.write_bytes(path.read_bytes() + b"more")
    for path in files[2 * tenth : 3 * tenth]:
        path.unlink()
    return tenth


class Killed(NamedTuple):
    """What a series of kills did: how many met a run at work, commits that were there after them, losses."""

    middle: int
    steps: int
    lost: int


def kills(home: Path, pictures: Path, n: int, pause: float, longest: float, chance: random.Random) -> Killed:
    """Kill ``n`` runs after up to ``longest`` seconds each, and look after each at what is there."""
    middle = steps = lost = 0
    before = hashes(Collection.open_or_create(home))
    for _ in range(n):
        run = start(home, pictures, pause)
        time.sleep(chance.uniform(0, longest))
        middle += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait()
        collection = Collection.open(home)
        after = hashes(collection)
        steps += after != before
        lost += sum(uri not in after and Path(uri).exists() for uri in before)
        if after:
            seen = set(collection.vectors()[0]) if collection.features else set()
            lost += len(after.keys() - seen)  # an image is visible only with its features
        before = after
    return Killed(middle, steps, lost)


def hashes(collection: Collection) -> dict[str, bytes]:
    """The content of each image."""
    return {row["uri"]: row["hash"] for row in collection.images(["uri", "hash"]).to_pylist()}


def whole_run(home: Path, pictures: Path) -> None:
    assert start(home, pictures).wait() == 0


def fresh(where: Path, pictures: Path) -> Collection:
    """A collection that is made now."""
    where.mkdir()
    collection = Collection.create(where)
    collection.index([pictures], features=[get_feature("color-histogram")])
    return collection


def series(folder: Path, options: argparse.Namespace) -> tuple[list[Killed], list[bool], bool]:
    """Both series; after each whether all is equal to undisturbed, and to fresh; and if labels are right."""
    chance = random.Random(options.seed)
    pictures, home, calm = (folder / part for part in ("pictures", "home", "calm"))
    for part in (pictures, home, calm):
        part.mkdir()
    generate(pictures, options.images)
    killed = [kills(home, pictures, options.kills, 0.004, 1.3, chance)]
    whole_run(home, pictures)
    whole_run(calm, pictures)
    known = [knowledge(Collection.open(where)) for where in (home, calm)]
    equal = [known[0] == known[1]]
    for where in (home, calm):
        collection = Collection.open(where)
        uris = collection.images(["uri"])["uri"].to_pylist()
        collection.set_labels([(uri, Path(uri).name) for uri in uris], by="number")
    deleted = disturb(pictures, chance)
    killed.append(kills(home, pictures, options.kills, 0.02, 3.0, chance))
    whole_run(home, pictures)
    whole_run(calm, pictures)
    known = [knowledge(Collection.open(where)) for where in (home, calm)]
    equal.append(known[0] == known[1])
    equal.append(known[0][:3] == knowledge(fresh(folder / "fresh", pictures))[:3])
    labels = known[0][3]
    right = len(labels) == options.images - deleted and all(Path(uri).name == name for uri, name in labels)
    return killed, equal, right


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20, help="in each of the two series")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    option(parser)
    options = parser.parse_args()
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=fast) as name:
        killed, equal, right = series(Path(name), options)
    rows = rows_of("benchmarks/collection.md", "interruption")
    rows[str(options.seed)] = [
        str(options.seed),
        f"{options.images:,}",
        *(f"{options.kills} / {one.middle} / {one.steps}" for one in killed),
        sum(one.lost for one in killed),
        *("yes" if good else "**no**" for good in (*equal, right)),
    ]
    head = ["seed", "images", "first run: kills / of a run at work / commits seen", "after changes: the same"]
    head += ["images lost", "first run equal to undisturbed", "in the end equal to undisturbed"]
    head += ["… to fresh", "labels where they belong"]
    show("benchmarks/collection.md", "interruption", table(head, list(rows.values())), options)


if __name__ == "__main__":
    main()
