"""Speed of leveraged neighbours: the graph beside other exact searches, the rounds beside the graph.

Every row is a ratio measured in one run, in turns, as a median; growth and memory are measured in processes
of their own. Run all of it (about six minutes on two cores) or some of it with

    python benchmarks/leverage.py graph rounds literal growth memory

The graph row needs faiss (the extra ``bench``).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from lookalike.learn import _leverage as core
from lookalike.neighbors import ExactIndex, KNNGraph

POINTS, DIM, CLASSES, K = 100_000, 128, 15, 11


def samples(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap: each several clusters, spread over as many directions as PCA leaves."""
    rng = np.random.default_rng(seed)
    scale = (np.arange(DIM) + 1.0) ** -0.5
    centres = np.random.default_rng(99).normal(size=(CLASSES * 20, DIM)) * scale
    cluster = rng.integers(len(centres), size=m)
    X = centres[cluster] + rng.normal(size=(m, DIM)) * scale * 0.8
    return X.astype(np.float32), cluster % CLASSES


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median seconds of each, measured in turns."""
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken)]


def row(name: str, value: float, limit: str, note: str) -> None:
    print(f"| {name} | {value:.3g} | {limit} | {note} |", flush=True)


def edges_of(graph: KNNGraph, y: np.ndarray, kernel: str = "uniform") -> core.Edges:
    weights = core.neighbour_weights(kernel, graph.distances)
    return core.multiclass_edges(graph.indices, y, CLASSES, weights)


def graph_beside_others(rounds: int = 5, queries: int = 3000) -> None:
    """The search of part of the points among all of them: the whole graph is so many times that."""
    import faiss
    from sklearn.neighbors import NearestNeighbors

    X, _ = samples(POINTS)
    index, asked = ExactIndex(X), X[:queries]
    peer = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X)
    flat = faiss.IndexFlatL2(DIM)
    flat.add(X)
    index.query(asked[:300], n_neighbors=K)  # compiled
    ours, sklearns, faisss = in_turns(
        rounds,
        lambda: index.query(asked, n_neighbors=K),
        lambda: peer.kneighbors(asked),
        lambda: flat.search(asked, K),
    )
    same = (index.query(asked[:2000], n_neighbors=K)[1] == flat.search(asked[:2000], K)[1]).mean()
    note = f"{queries:,} queries, {POINTS:,} points; {ours:.1f} s; {same:.2%} of indices equal faiss's"
    row("k-NN graph ÷ scikit-learn's brute force", ours / sklearns, "≤ 1.2", note)
    row("k-NN graph ÷ faiss's exact index", ours / faisss, "≤ 1.5", "the same")


def rounds_beside_graph(rounds: int = 5) -> None:
    """All rounds that there are (T = m), beside the whole graph."""
    X, y = samples(POINTS)
    KNNGraph.build(X[:5000], n_neighbors=K)
    graphs: list[KNNGraph] = []
    building = seconds(lambda: graphs.append(KNNGraph.build(X, n_neighbors=K)))
    graph = graphs[0]
    small = KNNGraph(graph.indices[:1000] % 1000, graph.distances[:1000])
    for kernel, loss in (("uniform", "exponential"), ("adaptive", "exponential"), ("uniform", "logistic")):
        core.boost(edges_of(small, y[:1000], kernel), loss=loss)
        done: list[core.Rounds] = []
        (taken,) = in_turns(
            rounds if loss == "exponential" and kernel == "uniform" else 1,
            lambda kernel=kernel, loss=loss, done=done: done.append(  # type: ignore[misc]
                core.boost(edges_of(graph, y, kernel), loss=loss)
            ),
        )
        row(
            f"boosting ({kernel} kernel, {loss} loss) ÷ k-NN graph",
            taken / building,
            "≤ 0.1" if kernel == "uniform" and loss == "exponential" else "",
            f"{len(done[-1].chosen):,} rounds in {taken:.2f} s; graph {building:.1f} s",
        )


def literal(indices: np.ndarray, y: np.ndarray, n_classes: int) -> list[int]:
    """Algorithm 4 with whole arrays: every column is valued in every round."""
    m, k = indices.shape
    columns = indices.ravel()
    same = (y[:, None] == y[indices]).ravel()
    rows = np.repeat(np.arange(m), k)
    D = n_classes - 1
    r = np.where(same, 1 / D, -1 / D**2)
    w, free, chosen = np.ones(m) / m, np.ones(m, bool), []
    for _ in range(m):
        plus = np.bincount(columns[same], weights=w[rows[same]], minlength=m)
        minus = np.bincount(columns[~same], weights=w[rows[~same]], minlength=m)
        delta = D**2 / n_classes * np.log((D * plus + w.mean()) / (minus + w.mean()))
        j = int(np.argmax(np.where(free, delta, -np.inf)))
        if delta[j] <= 0:
            break
        free[j] = False
        chosen.append(j)
        entries = columns == j
        w[rows[entries]] *= np.exp(-delta[j] * r[entries])
    return chosen


def literal_beside_rounds(m: int = 5000) -> None:
    X, y = samples(m)
    graph = KNNGraph.build(X, n_neighbors=K)
    core.boost(edges_of(graph, y))
    lengths: list[int] = []
    slow = seconds(lambda: lengths.append(len(literal(graph.indices, y, CLASSES))))
    (fast,) = in_turns(5, lambda: core.boost(edges_of(graph, y)))
    row("literal numpy ÷ boosting", slow / fast, "≥ 100", f"m = {m:,}, {lengths[0]:,} rounds, {fast:.3f} s")


def ring(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours without a search: points on a ring, whose classes change along it."""
    offsets = np.r_[1 : K // 2 + 2, -(K // 2) : 0][:K]
    indices = ((np.arange(m)[:, None] + offsets) % m).astype(np.int32)
    y = (np.random.default_rng(0).random(m) * 0.4 + np.arange(m) / 50).astype(np.int64) % CLASSES
    return indices, y


def growth() -> None:
    """Seconds of T rounds, less those of one, over T log T: it should not grow with T."""
    indices, y = ring(POINTS)
    edges = core.multiclass_edges(indices, y, CLASSES)
    core.boost(edges, n_rounds=10)
    most = len(core.boost(edges).chosen)
    counts = [most // 8, most // 4, most // 2, most]
    (start,) = in_turns(5, lambda: core.boost(edges, n_rounds=1))
    taken = in_turns(5, *(lambda T=T: core.boost(edges, n_rounds=T) for T in counts))  # type: ignore[misc]
    unit = [(t - start) / (T * np.log(T)) for t, T in zip(taken, counts)]
    note = ", ".join(f"T = {T:,}: {t:.2f} s" for t, T in zip(taken, counts))
    row("growth of time over T·log T, T → 8 T", unit[-1] / unit[0], "≤ 1", f"{note}; start {start:.2f} s")


def memory_of(m: int) -> None:
    import resource

    indices, y = ring(m)
    edges = core.multiclass_edges(indices, y, CLASSES)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    taken = seconds(lambda: core.boost(edges))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{before} {peak} {taken}")


def memory() -> None:
    found = {}
    for m in (250_000, 500_000, 1_000_000):
        out = subprocess.run(
            [sys.executable, __file__, "--memory-of", str(m)], capture_output=True, text=True, check=True
        ).stdout
        found[m] = [float(v) for v in out.split()]
    grown = [found[m][1] - found[250_000][1] for m in (500_000, 1_000_000)]
    note = ", ".join(f"m = {m:,}: {peak / 1024:.2f} GiB, {t:.1f} s" for m, (_, peak, t) in found.items())
    row("memory added by 750,000 points ÷ by 250,000", grown[1] / grown[0], "≤ 3 (linear)", note)
    row("GiB for a million points, k = 11", found[1_000_000][1] / 1024, "≤ 24", "boosting, with its graph")


PARTS = {
    "graph": graph_beside_others,
    "rounds": rounds_beside_graph,
    "literal": literal_beside_rounds,
    "growth": growth,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--data", help="not needed: the points are drawn")
    options = parser.parse_args()
    if options.memory_of:
        memory_of(options.memory_of)
        return
    print("| what | measured | reach | |\n|---|---|---|---|")
    for part in options.parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
