"""Dense SIFT here against OpenCV's, on the same grids of the same images, each on one thread.

    python benchmarks/dense_sift.py [--data PATH] [--write]

Both see the same reduced images and the same patches; only the descriptors are timed. OpenCV is told where
the patches are (key points made beforehand). Each round alternates the two; ratios are of median CPU times.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from _markers import ROOT, write
from lookalike.features import DenseSift
from lookalike.features._dense_sift import ORIENTATIONS
from lookalike.features._grid import CELLS, axis

GRIDS = {
    "patches of 32 px every 16 px, 5 scales (the default)": DenseSift(),
    "patches of 32 px every 4 px, 1 scale": DenseSift(step=4, scales=1),
    "patches of 24 px every 4 px, 5 scales": DenseSift(cells=6, step=4),
    "patches of 16 px every 4 px, 5 scales": DenseSift(cells=4, step=4),
    "patches of 8, 16, 24, 32 px every 10 px": DenseSift(cells=(2, 4, 6, 8), step=10, scales=1),
}


def grids(feature: DenseSift, image: np.ndarray) -> list:
    """For each level and size of cell: the pixels, our axes, OpenCV's key points."""
    found = []
    for level in feature.grid.levels(Image.fromarray(image).convert("L")):
        for cell in feature.grid.fitting(*level.shape):
            rows, columns = (axis(n, cell, feature.step) for n in level.shape)
            # A cell of OpenCV's descriptor is one and a half times the size of the key point.
            points = [
                cv2.KeyPoint(float(x), float(y), cell / 1.5, 0.0)
                for y in rows.centres - 0.5
                for x in columns.centres - 0.5
            ]
            found.append((level, rows, columns, points))
    return found


def ours(parts: list, feature: DenseSift) -> None:
    for level, rows, columns, _ in parts:
        out = np.empty((len(rows.centres) * len(columns.centres), CELLS**2 * ORIENTATIONS), np.float32)
        feature._describe(level, rows, columns, out)


def opencv(parts: list, sift: cv2.SIFT) -> None:
    for level, _, _, points in parts:
        sift.compute(level, points)


def seconds(function, *arguments) -> float:
    start = time.thread_time()
    function(*arguments)
    return time.thread_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the table into the reference")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    sift = cv2.SIFT_create()
    files = sorted((options.data / "corel1k" / "images").iterdir())[::100]
    images = [np.asarray(Image.open(file).convert("RGB")) for file in files[:4]]
    results = []
    for name, feature in GRIDS.items():
        parts = [part for image in images for part in grids(feature, image)]
        ours(parts, feature)
        times = [(seconds(ours, parts, feature), seconds(opencv, parts, sift)) for _ in range(options.rounds)]
        mine, theirs = np.median(times, axis=0) / len(images)
        patches = sum(len(part[3]) for part in parts) // len(images)
        results.append(
            {
                "grid": name,
                "patches": patches,
                "ms": mine * 1e3,
                "opencv_ms": theirs * 1e3,
                "ratio": theirs / mine,
            }
        )
    lines = ["| grid | patches per image | here, ms | OpenCV, ms | times faster |", "|---|--:|--:|--:|--:|"]
    for r in results:
        numbers = f"{r['ms']:.2f} | {r['opencv_ms']:.1f} | {r['ratio']:.0f}"
        lines.append(f"| {r['grid']} | {r['patches']} | {numbers} |")
    if options.write:
        write("reference/features.md", "dense-sift", "\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
