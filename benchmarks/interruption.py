"""Kill an index run 20 times at random moments, let the last one end, and compare with an undisturbed run.

The pictures are generated; the feature is a real one with a pause, so that there is something to interrupt.
Some files move, change and go between the kills. Writes ``docs/benchmarks/collection.md``.

    python benchmarks/interruption.py [--kills 20] [--images 1000] [--seed 0]

A run adds one row to the table, under its seed; rows of other seeds stay.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _markers import rows_of, table, write
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
    time.sleep(0.002 * len(images))
    return extract(self, images)
kind._extract = slowly
collection = Collection.open_or_create(sys.argv[1])
print("ready", flush=True)
report = collection.index([sys.argv[2]], features=["color-histogram"])
print(report.computed, flush=True)
"""


def start(home: Path, pictures: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(home), str(pictures)]
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


def kills(home: Path, pictures: Path, n: int, longest: float, chance: random.Random) -> tuple[int, int]:
    """Kill ``n`` runs; how many of them were in the middle, and how many images were seen to be lost."""
    middle = lost = 0
    for _ in range(n):
        before = {
            row["uri"]: row["hash"]
            for row in Collection.open_or_create(home).images(["uri", "hash"]).to_pylist()
        }
        run = start(home, pictures)
        time.sleep(chance.uniform(0, longest))
        middle += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait()
        collection = Collection.open(home)
        after = {row["uri"]: row["hash"] for row in collection.images(["uri", "hash"]).to_pylist()}
        lost += sum(uri not in after and Path(uri).exists() for uri in before)
        if after:
            seen = set(collection.vectors()[0]) if collection.features else set()
            lost += len(after.keys() - seen)  # an image is visible only with its features
    return middle, lost


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=fast) as name:
        pictures, home, calm = (Path(name) / part for part in ("pictures", "home", "calm"))
        for folder in (pictures, home, calm):
            folder.mkdir()
        generate(pictures, options.images)
        first = options.kills // 2
        begin = time.perf_counter()
        assert start(calm, pictures).wait() == 0
        whole = time.perf_counter() - begin - 2  # less what starting takes
        middle, lost = kills(home, pictures, first, max(1.0, whole / first * 1.5), chance)
        assert start(home, pictures).wait() == 0
        for where in (home, calm):
            collection = Collection.open(where)
            uris = collection.images(["uri"])["uri"].to_pylist()
            collection.set_labels([(uri, Path(uri).name) for uri in uris], by="number")
        deleted = disturb(pictures, chance)
        more = kills(home, pictures, options.kills - first, 1.5, chance)
        middle, lost = middle + more[0], lost + more[1]
        run = start(home, pictures)
        assert run.wait() == 0
        assert start(calm, pictures).wait() == 0
        disturbed, undisturbed = (knowledge(Collection.open(where)) for where in (home, calm))
        fresh = Path(name) / "fresh"
        fresh.mkdir()
        new = Collection.create(fresh)
        new.index([pictures], features=[get_feature("color-histogram")])
        labels = [uri for uri, label in disturbed[3] if Path(uri).name != label]
        equal = disturbed == undisturbed
        same = disturbed[:3] == knowledge(new)[:3]
        kept = len(disturbed[3]) == options.images - deleted and not labels
        shutil.rmtree(fresh)
    rows = rows_of("benchmarks/collection.md", "interruption")
    rows[str(options.seed)] = [
        str(options.seed),
        f"{options.images:,}",
        f"{options.kills} ({middle})",
        lost,
        "yes" if equal else "**no**",
        "yes" if same else "**no**",
        "yes" if kept else "**no**",
    ]
    head = ["seed", "images", "kills (in the middle of a run)", "images lost"]
    head += ["equal to undisturbed", "equal to fresh", "labels where they belong"]
    write("benchmarks/collection.md", "interruption", table(head, list(rows.values())))


if __name__ == "__main__":
    main()
