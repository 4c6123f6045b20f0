"""Memory of an index run: the peak of all its processes, and whether it grows with the collection.

Generates small pictures (each a different content, thousands in a second), indexes them in a process of its
own and reads the memory of that process and its children five times a second. Writes
``docs/benchmarks/collection.md``.

    python benchmarks/memory.py [--images 100000] [--network 10000]
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from _markers import table, write

RUN = """
import json, sys
from lookalike.collection import Collection
def progress(step):
    if step.stage == "index":
        print(step.done, flush=True)
report = Collection.create(sys.argv[1]).index([sys.argv[1]], features=[sys.argv[2]], progress=progress)
print(json.dumps([report.new, report.seconds]), flush=True)
"""


def generate(folder: Path, n: int) -> None:
    """``n`` different JPEG files of 64 x 48: one of a hundred pictures, and its number behind its end."""
    rng = np.random.default_rng(0)
    models = []
    for _ in range(100):
        file = io.BytesIO()
        small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
        small.resize((64, 48), Image.Resampling.BICUBIC).save(file, "JPEG", quality=85)
        models.append(file.getvalue())
    for i in range(n):
        part = folder / f"{i // 1000:04}"
        if i % 1000 == 0:
            part.mkdir()
        (part / f"{i:07}.jpg").write_bytes(models[i % 100] + i.to_bytes(4, "little"))


def memory_of(process: psutil.Process) -> float:
    """Megabytes that a process and its children have in memory."""
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_info().rss
        except psutil.Error:
            continue
    return total / 2**20


def measure(n: int, feature: str) -> tuple[list[tuple[int, float]], float]:
    """(Images done, megabytes) five times a second, and images per second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, n)
        run = subprocess.Popen([sys.executable, "-c", RUN, name, feature], stdout=subprocess.PIPE, text=True)
        done = [0]
        samples: list[tuple[int, float]] = []
        process = psutil.Process(run.pid)

        def watch() -> None:
            while run.poll() is None:
                try:
                    samples.append((done[0], memory_of(process)))
                except psutil.Error:
                    return
                time.sleep(0.2)

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith("["):
                new, seconds = json.loads(line)
            else:
                done[0] = int(line)
        watcher.join()
        assert run.wait() == 0 and new == n
    return samples, n / seconds


def peak(samples: list[tuple[int, float]], low: int, high: int) -> float:
    return max((mb for done, mb in samples if low <= done <= high), default=float("nan"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--network", type=int, default=10_000, help="how many for EfficientNet; 0 for none")
    options = parser.parse_args()
    rows = []
    n = options.images
    for feature, count in [("color-histogram", n), ("efficientnet-lite0", options.network)]:
        if not count:
            continue
        samples, speed = measure(count, feature)
        fifth = count // 5
        parts = [f"{peak(samples, k * fifth, (k + 1) * fifth):.0f}" for k in range(5)]
        whole = peak(samples, 0, count)
        limit = " (reach 1,500)" if feature == "color-histogram" else ""
        growth = peak(samples, fifth, count) / peak(samples, 0, 2 * fifth)
        rows.append(
            [
                feature,
                f"{count:,}",
                f"{speed:.0f}",
                f"**{whole:.0f}**{limit}",
                " / ".join(parts),
                f"{growth:.2f}",
            ]
        )
        print(rows[-1], flush=True)
    head = [
        "feature",
        "images",
        "images/s",
        "peak MB",
        "peak MB in each fifth",
        "after the first fifth ÷ first two",
    ]
    write("benchmarks/collection.md", "memory", table(head, rows))


if __name__ == "__main__":
    main()
