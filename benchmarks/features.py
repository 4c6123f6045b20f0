"""How many images per second each feature takes, beside decoding them; and ways to run the default network.

    python benchmarks/features.py [--data PATH] [--write] [--throughput]

Every feature is measured in turns with decoding, in CPU time of one thread; medians. ``--throughput`` tries
ways to run the default network while decoding: threads of ours times images in a call, and threads inside
onnxruntime. ``--write`` puts the table into docs/reference/features.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np

from _markers import ROOT, write
from lookalike.features import Feature, get_feature, list_features
from lookalike.images import open_image

PAGE = "reference/features.md"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def decoded(paths: Sequence[Path], feature: Feature) -> list[np.ndarray]:
    return [open_image(path, shorter_side=feature.shorter_side).pixels for path in paths]


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def speed(feature: Feature, paths: Sequence[Path], rounds: int) -> tuple[float, float]:
    """Median CPU seconds of one thread for all images: decoding, and the feature."""
    images = decoded(paths, feature)
    feature.extract(images[:2])
    taken = [
        (cpu_seconds(lambda: decoded(paths, feature)), cpu_seconds(lambda: feature.extract(images)))
        for _ in range(rounds)
    ]
    decoding, extracting = (median(column) for column in zip(*taken))
    return decoding, extracting


def speeds(paths: Sequence[Path], rounds: int) -> str:
    """One row for each feature, from the fastest to the slowest."""
    n, rows = len(paths), []
    for info in list_features():
        if info.source == "built in":
            decoding, extracting = speed(get_feature(info.name), paths, rounds)
            rows.append((extracting / decoding, f"`{info.name}`", n / extracting))
    rows.append((1.0, "(decoding a JPEG of 384 × 256)", n / decoding))
    lines = ["| feature | images/s on one thread | time ÷ decoding |", "|---|--:|--:|"]
    return "\n".join(lines + [f"| {name} | {rate:.0f} | {ratio:.1f} |" for ratio, name, rate in sorted(rows)])


class Inside:
    """The default network with threads inside onnxruntime instead of threads of ours."""

    def __init__(self, threads: int, batch: int) -> None:
        from lookalike.features._efficientnet_lite0 import EfficientNetLite0, network
        from lookalike.features._network import import_onnxruntime

        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            network(EfficientNetLite0.revision), options, providers=["CPUExecutionProvider"]
        )
        self.batch = batch

    def __call__(self, paths: Sequence[Path]) -> None:
        from lookalike.features._pixels import fit

        for i in range(0, len(paths), self.batch):
            images = [
                fit(open_image(p, shorter_side=224).pixels, 224, "balanced")
                for p in paths[i : i + self.batch]
            ]
            self.session.run(None, {"image": np.stack(images)})


class Outside:
    """Each thread decodes a few images and runs the network on them itself."""

    def __init__(self, threads: int, batch: int) -> None:
        self.feature = get_feature()
        self.feature.batch_size = batch
        self.threads, self.batch = threads, batch

    def __call__(self, paths: Sequence[Path]) -> None:
        parts = [paths[i : i + self.batch] for i in range(0, len(paths), self.batch)]
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(lambda part: self.feature.extract(decoded(part, self.feature)), parts))


def throughput(paths: Sequence[Path], rounds: int) -> str:
    """Decoding and the default network together, in several ways."""
    cores = os.cpu_count() or 1
    ways: dict[str, Callable[[Sequence[Path]], None]] = {}
    for threads, batch in itertools.product((1, cores, cores + 1, 2 * cores), (1, 4, 8, 16)):
        ways[f"{threads} threads, {batch} images in a call"] = Outside(threads, batch)
    for batch in (4, 16):
        ways[f"{cores} threads inside the network, {batch} images in a call"] = Inside(cores, batch)
    for way in ways.values():
        way(paths[:32])
    taken = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(seconds(lambda way=way: way(paths)))
    best = min(median(t) for t in taken.values())
    lines = ["| decoding and the default network | images/s | of the best |", "|---|--:|--:|"]
    for name, times in taken.items():
        t = median(times)
        lines.append(f"| {name} | {len(paths) / t:.0f} | {best / t:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    paths = sorted((options.data / "corel1k" / "images").iterdir())
    paths = paths[:: max(1, len(paths) // options.images)]
    text = (throughput if options.throughput else speeds)(paths, options.rounds)
    if options.write:
        write(PAGE, "throughput" if options.throughput else "speed", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
