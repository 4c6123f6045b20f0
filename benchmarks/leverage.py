"""Speed of leveraged neighbours: the graph beside other exact searches, the rounds beside the graph.

Every row is a ratio of processor times measured in one run, in turns, as a median; growth and memory are
measured in processes of their own. Run all of it (about seven minutes) or some of it with

    python benchmarks/leverage.py [--write] graph rounds literal growth memory search-memory

``--write`` puts the rows into docs/reproduction/leveraged-neighbours.md, beside those of parts that were not
run. The graph row needs faiss (the extra ``bench``).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

import _markers
from lookalike.learn import _leverage as core
from lookalike.neighbors import ExactIndex, KNNGraph

POINTS, DIM, CLASSES, K = 100_000, 128, 15, 11
PAGE = "reproduction/leveraged-neighbours.md"
HEAD = ["what", "measured", "goal", "how"]
ROWS: list[list[str]] = []


def samples(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap: each several clusters, spread over as many directions as PCA leaves."""
    rng = np.random.default_rng(seed)
    scale = (np.arange(DIM) + 1.0) ** -0.5
    centres = np.random.default_rng(99).normal(size=(CLASSES * 20, DIM)) * scale
    cluster = rng.integers(len(centres), size=m)
    X = centres[cluster] + rng.normal(size=(m, DIM)) * scale * 0.8
    return X.astype(np.float32), cluster % CLASSES


def seconds(work: Callable[[], object]) -> float:
    """Of processor time, all threads together: other work on the machine disturbs it little."""
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median seconds of each, measured in turns."""
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken)]


def row(name: str, value: float, limit: str, note: str) -> None:
    ROWS.append([name, f"{value:.3g}", limit, note])
    print("| " + " | ".join(ROWS[-1]) + " |", flush=True)


def edges_of(graph: KNNGraph, y: np.ndarray, kernel: str = "uniform") -> core.Edges:
    weights = core.neighbour_weights(kernel, graph.distances)
    return core.multiclass_edges(graph.indices, y, CLASSES, weights)


def graph_beside_others(rounds: int = 3, queries: int = 1000) -> None:
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
    same = (index.query(asked, n_neighbors=K)[1] == flat.search(asked, K)[1]).mean()
    note = f"{queries:,} queries, {POINTS:,} points; {ours:.1f} s; {same:.2%} of indices equal faiss's"
    row("k-NN graph ÷ scikit-learn's brute force", ours / sklearns, "≤ 1.2", note)
    row("k-NN graph ÷ faiss's exact index", ours / faisss, "≤ 1.5", "the same")


def rounds_beside_graph(rounds: int = 1) -> None:
    """All rounds that there are (T = m), beside the whole graph."""
    X, y = samples(POINTS)
    KNNGraph.build(X[:5000], n_neighbors=K)
    graphs: list[KNNGraph] = []
    building = seconds(lambda: graphs.append(KNNGraph.build(X, n_neighbors=K)))
    graph = graphs[0]
    small = KNNGraph(graph.indices[:1000] % 1000, graph.distances[:1000])
    kinds = (("uniform", "exponential"), ("adaptive", "exponential"), ("adaptive", "logistic"))
    for kernel, loss in kinds:
        core.boost(edges_of(small, y[:1000], kernel), loss=loss)
        done: list[core.Rounds] = []

        def boosted(kernel: str = kernel, loss: str = loss, done: list[core.Rounds] = done) -> None:
            done.append(core.boost(edges_of(graph, y, kernel), loss=loss))

        (taken,) = in_turns(rounds, boosted)
        note = f"{len(done[-1].chosen):,} rounds in {taken:.2f} s; graph {building:.1f} s"
        name = f"{kernel} kernel" + (", logistic loss" if loss == "logistic" else "")
        row(f"boosting ({name}) ÷ k-NN graph", taken / building, "≤ 0.1", note)


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
    offsets = np.r_[1 : K // 2 + 2, -(K // 2) : 0][:K].astype(np.int32)
    indices = (np.arange(m, dtype=np.int32)[:, None] + offsets) % np.int32(m)
    y = (np.random.default_rng(0).random(m) * 0.4 + np.arange(m) / 50).astype(np.int64) % CLASSES
    return indices, y


def growth() -> None:
    """Seconds of T rounds, less those of one, over T log T: it should not grow with T."""
    indices, y = ring(POINTS)
    edges = core.multiclass_edges(indices, y, CLASSES)
    for loss, name in (("exponential", ""), ("logistic", ", logistic loss")):
        core.boost(edges, loss=loss, n_rounds=10)
        most = len(core.boost(edges, loss=loss).chosen)
        counts = [1, most // 8, most // 4, most // 2, most]
        start, *taken = in_turns(3, *(partial(core.boost, edges, loss=loss, n_rounds=T) for T in counts))
        unit = [(t - start) / (T * np.log(T)) for t, T in zip(taken, counts[1:])]
        note = ", ".join(f"T = {T:,}: {t:.2f} s" for t, T in zip(taken, counts[1:]))
        title = f"growth of time over T·log T, T → 8 T{name}"
        row(title, unit[-1] / unit[0], "≤ 1", f"{note}; start {start:.2f} s")


def peak() -> float:
    """The most memory that this process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def memory_of(kind: str, m: int) -> None:
    """Run by :func:`grown` in a process of its own."""
    if kind == "boost":
        indices, y = ring(m)
        edges = core.multiclass_edges(indices, y, CLASSES)
        taken = seconds(lambda: core.boost(edges))
    else:
        # In one piece and in float32, so that the peak is the search's.
        X = np.random.default_rng(0).standard_normal((m, DIM), dtype=np.float32)
        taken = seconds(lambda: KNNGraph.build(X, n_neighbors=K))
    print(f"{peak()} {taken}")


def grown(kind: str, sizes: tuple[int, int, int]) -> tuple[list[float], str]:
    """Peak memory of three sizes, and in words."""
    found = []
    for m in sizes:
        command = [sys.executable, __file__, "--memory-of", kind, str(m)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found.append([float(v) for v in out.split()])
    note = ", ".join(f"m = {m:,}: {gib:.2f} GiB, {t:.1f} s" for m, (gib, t) in zip(sizes, found))
    return [gib for gib, _ in found], note


def memory_rows(kind: str, name: str, sizes: tuple[int, int, int]) -> None:
    """A million points would take the search forty minutes: their memory is drawn on from fewer."""
    gib, note = grown(kind, sizes)
    steps = (sizes[2] - sizes[0]) / (sizes[1] - sizes[0])
    ratio = (gib[2] - gib[0]) / (gib[1] - gib[0])
    title = f"memory of {name}: added by {sizes[2] - sizes[0]:,} points ÷ by {sizes[1] - sizes[0]:,}"
    row(title, ratio, f"≤ {steps:.0f} (linear)", note)
    million = gib[2] + (1_000_000 - sizes[2]) / (sizes[2] - sizes[0]) * (gib[2] - gib[0])
    how = "measured, the last of these three" if sizes[2] == 1_000_000 else "extrapolated from these three"
    row(f"GiB for {name} of a million points", million, "≤ 24", how)


def memory() -> None:
    memory_rows("boost", "boosting", (250_000, 500_000, 1_000_000))


def search_memory() -> None:
    memory_rows("search", "the graph's search", (50_000, 100_000, 200_000))


PARTS = {
    "graph": graph_beside_others,
    "rounds": rounds_beside_graph,
    "literal": literal_beside_rounds,
    "growth": growth,
    "memory": memory,
    "search-memory": search_memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--write", action="store_true", help="put the table into the document")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--data", help="not needed: the points are drawn")
    options = parser.parse_args()
    if options.memory_of:
        memory_of(options.memory_of[0], int(options.memory_of[1]))
        return
    print("| what | measured | goal | how |\n|---|---|---|---|")
    for part in options.parts:
        PARTS[part]()
    if options.write:
        kept = _markers.rows_of(PAGE, "speed") | {line[0]: line for line in ROWS}
        _markers.write(PAGE, "speed", _markers.table(HEAD, list(kept.values())))


if __name__ == "__main__":
    main()
