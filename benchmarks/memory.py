"""Memory of an index run: the peak of all its processes, and whether it grows with the collection.

Generates small pictures (each a different content, thousands in a second), runs ``lookalike index`` on them
and reads the memory of that process and its children fifty times a second.

    python benchmarks/memory.py [--images 100000] [--network 5000] [--write]
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

from _markers import option, rows_of, show, table


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


def memory_of(processes: list[psutil.Process]) -> float:
    """Megabytes that processes have in memory."""
    total = 0
    for one in processes:
        try:
            total += one.memory_info().rss
        except psutil.Error:
            continue
    return total / 2**20


def measure(n: int, feature: str) -> tuple[list[tuple[int, float]], float]:
    """(Images done, megabytes) fifty times a second, and images per second."""
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None  # so that a slow disk is not what is measured
    with tempfile.TemporaryDirectory(dir=fast) as name:
        folder = Path(name)
        generate(folder, n)
        command = [sys.executable, "-m", "lookalike", "index", name, "-f", feature]
        command += ["--progress", "json", "--json"]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        done = [0]
        samples: list[tuple[int, float]] = []
        process = psutil.Process(run.pid)

        def watch() -> None:
            family, looked = [process], 0.0
            while run.poll() is None:
                if time.monotonic() - looked > 0.5:  # who is there; that takes longer than asking them
                    try:
                        family = [process, *process.children(recursive=True)]
                    except psutil.Error:
                        return
                    looked = time.monotonic()
                samples.append((done[0], memory_of(family)))
                time.sleep(0.02)

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert run.stdout is not None and run.stderr is not None
        for line in run.stderr:
            step = json.loads(line)
            if step["stage"] == "index":
                done[0] = step["done"]
        report = json.loads(run.stdout.read())
        watcher.join()
        assert run.wait() == 0 and report["new"] == n
    return samples, n / report["seconds"]


def peak(samples: list[tuple[int, float]], low: int, high: int) -> float:
    return max((mb for done, mb in samples if low <= done <= high), default=float("nan"))


def row_of(feature: str, count: int) -> list[str]:
    """Measure one feature on so many images."""
    samples, speed = measure(count, feature)
    fifths = [peak(samples, k * count // 5, (k + 1) * count // 5) for k in range(5)]
    limit = " (reach 1,500)" if count >= 100_000 else ""
    return [
        feature,
        f"{count:,}",
        f"{speed:.0f}",
        f"**{peak(samples, 0, count):.0f}**{limit}",
        " / ".join(f"{mb:.0f}" for mb in fifths),
        f"{fifths[4] / fifths[1]:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--network", type=int, default=5_000, help="how many for EfficientNet")
    parser.add_argument(
        "--only", choices=["color-histogram", "efficientnet-lite0"], help="keep the other row"
    )
    option(parser)
    options = parser.parse_args()
    rows = rows_of("benchmarks/collection.md", "memory")
    for feature, count in [("color-histogram", options.images), ("efficientnet-lite0", options.network)]:
        if options.only in (None, feature):
            rows[feature] = row_of(feature, count)
            print(rows[feature], flush=True)
    head = ["feature", "images", "images/s", "peak MB", "peak MB in each fifth", "last fifth ÷ second"]
    show("benchmarks/collection.md", "memory", table(head, list(rows.values())), options)


if __name__ == "__main__":
    main()
