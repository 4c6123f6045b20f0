"""Bregman trees on histograms of real images: writes tables of docs/reproduction/retrieval.md.

    python benchmarks/reproduction/bregman_trees.py [--data PATH] [histograms] [exact] [budget] [tables]

The points are histograms of the colours of tiles of photographs (corel1k and flowers17, 24 tiles each), at 4
to 64 bins, and local descriptors of the same photographs (dense SIFT, 128 numbers, as histograms).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image
from retrieval import PAGE, ROOT, table, write

from lookalike.features import DenseSift
from lookalike.neighbors import BregmanBallTree, BregmanBruteForce, BregmanVPTree, RandomSampleSearch
from lookalike.similarity import smooth_histograms

BINS = {4: (4, 1, 1), 8: (2, 2, 2), 16: (4, 2, 2), 64: (4, 4, 4)}
TILES = (4, 6)
N_QUERIES = 500
EXACT = {
    "ball tree, arity 2": (BregmanBallTree, {"branching": 2}),
    "ball tree, arity 10": (BregmanBallTree, {"branching": 10}),
    "vantage-point tree": (BregmanVPTree, {}),
}


def photographs(data: Path) -> list[Path]:
    return [
        *sorted((data / "corel1k" / "images").glob("*.jpg")),
        *sorted((data / "flowers17").rglob("*.jpg")),
    ]


def histograms(data: Path, cache: Path) -> None:
    """All points, kept in one file."""
    tiles: dict[int, list[np.ndarray]] = {d: [] for d in BINS}
    sift, feature = [], DenseSift(scales=1, step=64, longest=384)
    for number, path in enumerate(photographs(data)):
        picture = Image.open(path)
        picture.draft("RGB", (192, 192))
        image = np.asarray(picture.convert("RGB").resize((192, 128)))
        cells = image.reshape(TILES[0], 32, TILES[1], 32, 3).transpose(0, 2, 1, 3, 4).reshape(24, -1, 3)
        for d, (r, g, b) in BINS.items():
            # Four bins alone are of brightness.
            whole = cells if d > 4 else cells.mean(axis=2, keepdims=True).repeat(3, axis=2)
            index = (whole * (np.array([r, g, b]) / 256)).astype(int) @ np.array([g * b, b, 1])
            tiles[d] += [np.bincount(row, minlength=d) for row in index]
        if number % 10 == 0:
            sift += list(feature.extract([np.asarray(Image.open(path).convert("RGB"))])[0])
    out = {f"colours {d}": _shares(np.array(rows)) for d, rows in tiles.items()}
    out["descriptors 128"] = _shares(np.array(sift))
    cache.mkdir(parents=True, exist_ok=True)
    np.savez(cache / "histograms.npz", **out)
    print({name: X.shape for name, X in out.items()})


def _shares(counts: np.ndarray) -> np.ndarray:
    counts = counts[counts.sum(axis=1) > 0].astype(float)
    return smooth_histograms(counts / counts.sum(axis=1, keepdims=True), epsilon=1e-3).astype(np.float32)


def parted(cache: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and held-out queries of one set."""
    X = np.load(cache / "histograms.npz")[name].astype(np.float64)
    X /= X.sum(axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[N_QUERIES:]], X[order[:N_QUERIES]]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def exact(cache: Path, name: str, side: str) -> list[dict[str, Any]]:
    """Every tree against matrix products: divergences, processor time, and the same answers."""
    X, Q = parted(cache, name)
    brute = BregmanBruteForce(X, "kl", side)
    true = brute.query(Q)
    rows = []
    for title, (kind, how) in EXACT.items():
        start = time.process_time()
        tree = kind(X, "kl", side, random_state=0, **how)
        built = time.process_time() - start
        values, ids = tree.query(Q)
        cost = tree.cost(Q)
        times = [
            (seconds(lambda tree=tree: tree.query(Q)), seconds(lambda: brute.query(Q))) for _ in range(3)
        ]
        slow, fast = (median(column) for column in zip(*times))
        rows.append(
            {
                "set": name,
                "n": len(X),
                "side": side,
                "tree": title,
                "speed_up": cost.speed_up,
                "leaf_only": len(X) / cost.leaf,
                "time": fast / slow,
                "same": float(np.mean((ids == true[1]) & (values == true[0]))),
                "built": built,
                "leaves": [tree.n_leaves_, cost.leaves],
            }
        )
        print(rows[-1], flush=True)
    return rows


def budget(cache: Path, name: str, side: str) -> list[dict[str, Any]]:
    """Points closer than the answer, against the work, for trees with a budget and for random samples."""
    X, Q = parted(cache, name)
    brute = BregmanBruteForce(X, "kl", side)
    near = brute.query(Q, 300)[0]
    rows = []

    def add(title: str, work: float, values: np.ndarray, expected: Any = None) -> None:
        closer = (near < values[:, :1] * (1 - 1e-12)).sum(axis=1)
        found = float(np.mean(closer == 0))
        row = {"set": name, "side": side, "search": title, "speed_up": work, "closer": float(closer.mean())}
        rows.append({**row, "recall": found, "expected": expected})
        print(rows[-1], flush=True)

    for title, kind in (("ball tree", BregmanBallTree), ("vantage-point tree", BregmanVPTree)):
        tree = kind(X, "kl", side, random_state=0)
        for leaves in (1, 4, 16, 64):
            values, _, expected = tree.query(Q, max_leaves=leaves, return_recall=True)
            cost = tree.cost(Q, max_leaves=leaves)
            add(f"{title}, {leaves} leaves", cost.speed_up, values, expected[:2])
    for one_in in (10, 50, 200):
        sample = RandomSampleSearch(X, "kl", side, rate=1 / one_in, random_state=0)
        add(f"random sample, 1 in {one_in}", one_in, sample.query(Q)[0])
    return rows


def tables(cache: Path) -> dict[str, str]:
    """The text between the markers."""
    kept = {path.stem: json.loads(path.read_text()) for path in sorted(cache.glob("*.json"))}
    rows = []
    for row in sorted(
        (r for name, part in kept.items() if name.startswith("exact") for r in part),
        key=lambda r: (r["side"] != "right", r["set"].split()[0], int(r["set"].split()[1]), r["tree"]),
    ):
        leaves, visited = row["leaves"]
        cells = [row["set"], f"{row['n']:,}", {"right": "KL", "jeffreys": "half-Jeffreys"}[row["side"]]]
        cells += [row["tree"], f"{row['speed_up']:.1f}", f"{row['leaf_only']:.1f}", f"{row['time']:.2f}"]
        rows.append([*cells, f"{visited:.0f} of {leaves:,}", f"{row['same']:.0%}", f"{row['built']:.1f} s"])
    head = ["set, bins", "points", "divergence", "tree", "speed-up in divergences", "in leaves alone"]
    head += ["speed-up in time", "leaves visited", "answers equal", "built in"]
    closer = []
    for row in (r for name, part in kept.items() if name.startswith("budget") for r in part):
        expected = row["expected"]
        said = f"{expected[0]:.0%} ± {expected[1]:.0%}" if expected else ""
        cells = [row["set"], row["search"], f"{row['speed_up']:.0f}", f"{row['closer']:.1f}"]
        closer.append([*cells, f"{row['recall']:.0%}", said])
    budgets = ["set, bins", "search", "speed-up in divergences", "points closer", "nearest found", "expected"]
    return {"trees": table(head, rows), "budgets": table(budgets, closer)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "lookalike-trees")
    parser.add_argument("parts", nargs="*", default=["histograms", "exact", "budget", "tables"])
    parser.add_argument("--only", default="", help="one set, as 'colours 8'")
    args = parser.parse_args()
    if "histograms" in args.parts:
        histograms(args.data, args.cache)
    sets = [f"colours {d}" for d in BINS] + ["descriptors 128"]
    for name in sets if not args.only else [args.only]:
        for side in ("right", "jeffreys"):
            if "exact" in args.parts:
                found = exact(args.cache, name, side)
                (args.cache / f"exact {name} {side}.json").write_text(json.dumps(found))
        if "budget" in args.parts:
            found = budget(args.cache, name, "right")
            (args.cache / f"budget {name}.json").write_text(json.dumps(found))
    if "tables" in args.parts:
        write(PAGE, tables(args.cache))


if __name__ == "__main__":
    main()
