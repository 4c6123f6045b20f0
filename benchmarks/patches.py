"""Speed of multiscale patches: comparing, extracting, and searching a thousand images.

    python benchmarks/patches.py [--data PATH] [--write] [compare extract search]

Everything is processor time of one core, which other work disturbs little; ratios to the same work done by
k-d trees are measured in turns in the same run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree

import _markers
from lookalike.bags import Bags
from lookalike.features import SparseMultiscalePatches, patch_bands
from lookalike.similarity import PatchDissimilarity

DATA = Path(__file__).parents[2] / "shared" / "data"
K = 10
PAGE = "reproduction/retrieval.md"
HEAD = ["what", "measured", "goal", "how"]
ROWS: list[list[str]] = []


def images(data: Path, step: int = 1) -> list[Path]:
    """The photographs of corel1k in the order of their numbers."""
    paths = sorted((data / "corel1k" / "images").glob("*.jpg"), key=lambda path: int(path.stem))
    return paths[::step]


def opened(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


def extracted(paths: list[Path]) -> Bags:
    """The patches of these images, as a collection keeps them."""
    feature = SparseMultiscalePatches()
    return Bags.from_list([feature.extract([opened(path)])[0] for path in paths])


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median seconds of each, measured in turns after one round that does not count."""

    def seconds(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    for work in works:
        work()
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken)]


def row(name: str, value: str, goal: str, note: str) -> None:
    ROWS.append([name, value, goal, note])
    print(f"| {name} | {value} | {goal} | {note} |", flush=True)


def compare(data: Path) -> None:
    """One query against 16 images on one core; the distances within the query are computed each time."""
    patches = extracted(images(data, 59)[:17])
    query, others = patches[:1], patches[1:]
    search = PatchDissimilarity(n_neighbors=K).fit(others)
    bands = [[np.ascontiguousarray(band[i]) for i in range(17)] for band in patch_bands(patches)]
    trees = {
        "scipy": [[cKDTree(points) for points in band] for band in bands],
        "scikit-learn": [[KDTree(points) for points in band] for band in bands],
    }

    def by_trees(kind: str, n: int, build: bool) -> list[float]:
        total = np.zeros(n)
        for band, made in zip(bands, trees[kind]):
            near = _kth(made[0], band[0], K + 1)
            for i in range(n):
                if build:
                    tree = cKDTree(band[i + 1]) if kind == "scipy" else KDTree(band[i + 1])
                else:
                    tree = made[i + 1]
                far = _kth(tree, band[0], K)
                total[i] += np.log(len(band[i + 1]) / (len(band[0]) - 1))
                total[i] += band[0].shape[1] * (np.log(far).mean() - np.log(near).mean())
        return total.tolist()

    exact = search.pairwise(query)[0]
    np.testing.assert_allclose(by_trees("scipy", 16, False), exact, atol=2e-3)
    works: list[Callable[[], object]] = [lambda: search.pairwise(query)]
    works += [lambda kind=kind: by_trees(kind, 16, False) for kind in trees]
    ours, *theirs = in_turns(3, *works)
    row(
        "pairs of images per second and core", f"{16 / ours:.0f}", "150", "384 x 256, k = 10, one query to 16"
    )
    for kind, taken in zip(trees, theirs):
        row(
            f"time of {kind}'s k-d trees / ours",
            f"{taken / ours:.1f}",
            "10",
            "trees of the collection ready made",
        )


def _kth(tree: cKDTree | KDTree, points: np.ndarray, k: int) -> np.ndarray:
    if isinstance(tree, cKDTree):
        distance = tree.query(points, [k])[0][:, 0]
    else:
        distance = tree.query(points, k)[0][:, -1]
    return np.maximum(distance, 0.5)


def extract(data: Path) -> None:
    """Decoding and extraction of 50 photographs, and extraction alone."""
    paths = images(data, 20)
    arrays = [opened(path) for path in paths]
    feature = SparseMultiscalePatches()

    def alone() -> None:
        for array in arrays:
            feature.extract([array])

    times = in_turns(3, lambda: extracted(paths), alone)
    for name, taken in zip(("decoded and extracted", "extracted"), times):
        how = f"384 x 256, {1000 * taken / len(paths):.1f} ms each; the goal is 60 on 2 cores"
        row(f"images per second and core, {name}", f"{len(paths) / taken:.0f}", "30", how)


def settings() -> Iterator[tuple[str, dict[str, object]]]:
    yield "low-pass, 50 left (thesis)", {"preselect": "lowpass", "n_candidates": 50}
    for n in (50, 100):
        yield f"sample, {n} left", {"preselect": "sample", "n_candidates": n}


def search(data: Path, n_queries: int = 12) -> None:
    """Queries against all thousand photographs, in full and after a first look."""
    patches = extracted(images(data))
    asked = np.random.default_rng(0).choice(len(patches), n_queries, replace=False)
    whole = PatchDissimilarity().fit(patches)
    searches = [("in full", whole)]
    for name, chosen in settings():
        one = PatchDissimilarity().set_params(**chosen)
        one.__dict__.update({k: v for k, v in vars(whole).items() if k.startswith("_") or k.endswith("_")})
        searches.append((name, one))
    whole.kneighbors(patches[:1], 2)
    taken: dict[str, list[float]] = {name: [] for name, _ in searches}
    found: dict[str, list[np.ndarray]] = {name: [] for name, _ in searches}
    for i in asked:
        for name, one in searches:
            start = time.process_time()
            found[name].append(one.kneighbors(patches[[i]], 11, return_distance=False)[0][1:])
            taken[name].append(time.process_time() - start)
    for name, times in taken.items():
        how = f"1,000 images, {n_queries} queries, one core"
        row(f"seconds for a query, {name}", f"{median(times):.2f}", "" if name == "in full" else "2", how)
        if name != "in full":
            same = np.mean([np.array_equal(a, b) for a, b in zip(found[name], found["in full"])])
            row(f"same first ten, {name}", f"{same:.0%}", "95 %", "in the same order")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--queries", type=int, default=12)
    parser.add_argument("--write", action="store_true", help="put the rows into the document")
    parser.add_argument("parts", nargs="*", default=["compare", "extract", "search"])
    args = parser.parse_args()
    print("| what | measured | goal | how |\n|---|---|---|---|")
    if "compare" in args.parts:
        compare(args.data)
    if "extract" in args.parts:
        extract(args.data)
    if "search" in args.parts:
        search(args.data, args.queries)
    if args.write:
        kept = _markers.rows_of(PAGE, "speed") | {line[0]: line for line in ROWS}
        _markers.write(PAGE, "speed", _markers.table(HEAD, list(kept.values())))


if __name__ == "__main__":
    main()
