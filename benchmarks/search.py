"""Exact search in a collection beside one numpy matrix-vector product of the same size.

A collection of 100,000 images with vectors of 1280 numbers is written through the collection's own tables
(random vectors; no pictures are needed). Both are warm and measured in turns.

    python benchmarks/search.py [--images 100000] [--dim 1280] [--rounds 15] [--write]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy as np
import pyarrow as pa

from _markers import option, show, table
from lookalike.collection import Collection
from lookalike.collection._shards import FeatureColumn, Shards, add_feature
from lookalike.collection._tables import SCHEMAS
from lookalike.features import Feature


class Random(Feature):
    """What the collection believes its vectors to be."""

    name, kind, dim = "random", "vector", 1280

    def _extract(self, images: list[np.ndarray]) -> np.ndarray:
        raise NotImplementedError


def fill(collection: Collection, n: int, dim: int) -> None:
    """Write images and vectors as an index run would."""
    rng = np.random.default_rng(0)
    tables = collection._tables
    feature = Random()
    feature.dim = dim
    column = FeatureColumn.of(feature)
    add_feature(tables, column)
    shards = Shards(tables, column)
    for start in range(0, n, 4096):
        count = min(4096, n - start)
        keys = [rng.bytes(32) for _ in range(count)]
        shards.append(keys, rng.standard_normal((count, dim), dtype=np.float32))
        uris = [f"/pictures/{start + i:07}.jpg" for i in range(count)]
        one = [1] * count
        rows = [uris, keys, one, one, one, one, ["JPEG"] * count]
        schema = SCHEMAS["images"]
        tables.append("images", pa.table([pa.array(c, f.type) for c, f in zip(rows, schema)], schema=schema))
    shards.seal()


def seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


ALONE = """
import resource, sys, time
import numpy as np
from lookalike.collection import Collection
query = np.ones(int(sys.argv[2]), np.float32)
collection = Collection.open(sys.argv[1])
start = time.perf_counter()
collection.search(query)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.perf_counter() - start)
"""


def alone(folder: str, dim: int) -> tuple[float, float]:
    """Peak megabytes of a process that opens the collection and searches once, and the search's seconds."""
    command = [sys.executable, "-c", ALONE, folder, str(dim)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=1280)
    parser.add_argument("--rounds", type=int, default=15)
    option(parser)
    options = parser.parse_args()
    n, dim = options.images, options.dim
    with tempfile.TemporaryDirectory() as folder:
        fill(Collection.create(folder), n, dim)
        collection = Collection.open(folder)
        query = np.random.default_rng(1).standard_normal(dim, dtype=np.float32)
        making, first = alone(folder, dim)
        mapping, again = alone(folder, dim)
        rng = np.random.default_rng(2)
        matrix = rng.standard_normal((n, dim), dtype=np.float32)  # numpy's own, not the collection's file
        examples = rng.standard_normal((8, dim), dtype=np.float32)
        works = {
            "numpy, one matrix-vector product": lambda: matrix @ query,
            "search, one example": lambda: collection.search(query),
            "search, 8 examples": lambda: collection.search(examples),
            "search, one example, euclidean": lambda: collection.search(query, metric="euclidean"),
        }
        for work in works.values():
            work()
        taken = [[seconds(work) for work in works.values()] for _ in range(options.rounds)]
        check(collection, query)
    rows = []
    for i, name in enumerate(works):
        ratio = median(line[i] / line[0] for line in taken)
        shown = f"**{ratio:.2f}** (reach 3)" if i == 1 else f"{ratio:.2f}"
        rows.append([name, f"{1000 * median(line[i] for line in taken):.1f}", shown])
    rows.append(["first search after indexing (makes the file of the matrix)", f"{1000 * first:.0f}", ""])
    rows.append(["first search of another process (maps it)", f"{1000 * again:.0f}", ""])
    head = [f"{n:,} x {dim}, warm", "ms (median)", "ratio"]
    note = (
        f"Peak memory of a process that makes the file of the matrix: {making:.0f} MB; of one that maps it "
        f"and searches: {mapping:.0f} MB. Both hold the {n * dim * 4 / 2**20:.0f} MB of the mapped file, "
        "which the system takes back when it needs the room."
    )
    show("benchmarks/collection.md", "search", f"{table(head, rows)}\n\n{note}", options)


def check(collection: Collection, query: np.ndarray) -> None:
    """The hits are those of a plain sort."""
    uris, X = collection.vectors()
    cosine = (X @ query) / (np.linalg.norm(X, axis=1) * np.linalg.norm(query))
    best = np.argsort(-cosine, kind="stable")[:10]
    assert [hit.uri for hit in collection.search(query, k=10)] == [uris[i] for i in best]


if __name__ == "__main__":
    main()
