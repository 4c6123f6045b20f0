"""Does indexing keep up? Images per second of ``Collection.index`` beside decoding and network alone.

The bare loop has the same threads, batches and reduced-size decoding, and throws its vectors away. Both are
measured in turns in one run; the ratio is the median over the rounds. Beside the clock, the processor time of
both is compared: other work on the machine disturbs that less.

    python benchmarks/index.py [--data ../shared/data] [--rounds 5] [--write]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from _markers import ROOT, option, show, table
from lookalike.collection import Collection
from lookalike.features import Feature, get_feature
from lookalike.images import find_images, open_image
from lookalike.parallel import LocalEngine

BATCH = 16


def bare_loop(paths: list[str], feature: Feature) -> None:
    """Decode and extract with one thread for each core, and nothing else."""

    def work(batch: list[str]) -> int:
        images = [open_image(path, shorter_side=feature.shorter_side).pixels for path in batch]
        return len(feature.extract(images))

    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    assert sum(LocalEngine().map(work, batches)) == len(paths)


def whole_index(source: Path, n: int, feature: Feature) -> None:
    """A new collection with all images."""
    with tempfile.TemporaryDirectory() as folder:
        report = Collection.create(folder).index([source], features=[feature], batch_size=BATCH)
        assert report.new == n


def seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds on the clock, and of the processors."""
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--rounds", type=int, default=5)
    option(parser)
    options = parser.parse_args()
    source = options.data / "corel1k" / "images"
    paths = [found.path for found in find_images([source])]
    feature = get_feature()
    bare_loop(paths[:64], feature)
    whole_index(source, len(paths), feature)  # Lance and its threads are loaded once, before the clock starts
    rounds = []
    for _ in range(options.rounds):
        bare = seconds(lambda: bare_loop(paths, feature))
        index = seconds(lambda: whole_index(source, len(paths), feature))
        rounds.append((bare, index))
        print(f"bare {bare[0]:.2f} s ({bare[1]:.2f}), index {index[0]:.2f} s ({index[1]:.2f})", flush=True)
    ratios, busy = ([bare[i] / index[i] for bare, index in rounds] for i in (0, 1))
    n = len(paths)
    speeds = [[n / median(line[j][i] for line in rounds) for i in (0, 1)] for j in (0, 1)]
    rows = [
        ["decode + network alone", f"{speeds[0][0]:.0f}", "1", f"{speeds[0][1]:.0f}", "1"],
        [
            "`index`",
            f"{speeds[1][0]:.0f}",
            f"**{median(ratios):.2f}** (reach 0.9)",
            f"{speeds[1][1]:.0f}",
            f"{median(busy):.2f}",
        ],
    ]
    spread = (
        f"Ratios of the {len(ratios)} rounds: {', '.join(f'{r:.2f}' for r in ratios)}; "
        f"of processor time: {', '.join(f'{r:.2f}' for r in busy)}."
    )
    workers = LocalEngine().workers
    head = [
        f"corel1k, {n} images, {workers} threads",
        "images/s",
        "ratio",
        "images per second of a core",
        "ratio",
    ]
    show("benchmarks/collection.md", "index", f"{table(head, rows)}\n\n{spread}", options)


if __name__ == "__main__":
    main()
