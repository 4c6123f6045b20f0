"""Speed of distance-based discriminants: a step beside its products, evaluations beside L-BFGS, memory.

    python benchmarks/discriminants.py [step] [evaluations] [memory] [landmarks] [--data PATH] [--write]

Every ratio is of medians measured in the same run, in turns. ``--write`` puts the rows that were measured
into docs/reproduction/discriminants.md; the others stay.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks._merge import write_merged
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from lookalike.learn import DistanceDiscriminant, KernelDistanceDiscriminant
from lookalike.learn._distance import _core

ROOT = Path(__file__).parents[1]
MOST = 1500  # evaluations allowed to L-BFGS
PAGE = ROOT / "docs" / "reproduction" / "discriminants.md"


def blobs(n: int, d: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = rng.normal(size=(classes, d)).astype(np.float32)
    return rng.standard_normal((n, d), dtype=np.float32) * 2 + centres[y], y


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median seconds of each, measured in turns after a first run that does not count."""
    for work in works:
        work()
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, times in zip(works, taken):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return [median(times) for times in taken]


def step(_: argparse.Namespace) -> list[str]:
    """One whole step at n = 5,000, d = 256 beside the matrix products it needs."""
    rows = []
    for classes in (2, 15):
        x, y = blobs(5000, 256, classes)
        points, _basis = _core.span(x.astype(float))
        problem, _ = _core.pose(points, y, np.ones(classes, bool), _core.Settings(), 1.0)
        z, t = problem.points, np.eye(points.shape[1])

        def one_step(problem: _core.Problem = problem, t: np.ndarray = t) -> None:
            state = _core.assess(problem, t)
            linear = 2.0 * (state.between @ state.transformation)
            _core.compress(_core.solve_length(state.within + state.between, linear, 256.0)[0])

        def products(z: np.ndarray = z, t: np.ndarray = t) -> None:
            p = z @ t
            z.T @ ((p @ p.T) @ z)  # distances, weights times points, and the square matrix

        with threadpool_limits(1):  # a ratio of work: threads wait for one another on a busy machine
            ours, theirs = in_turns(5, one_step, products)
        rows.append(
            f"| a step at n = 5,000, d = 256, {classes} classes ÷ the matrix products it needs | "
            f"{ours / theirs:.2f} | ≤ 3 | {ours * 1e3:.0f} ms, one thread |"
        )
    return rows


def sonar(data: Path) -> tuple[np.ndarray, np.ndarray]:
    table = np.genfromtxt(data / "uci" / "sonar.csv", delimiter=",", dtype=str)
    return table[:, :-1].astype(float), (table[:, -1] != "R").astype(int)


def lbfgs_values(problem: _core.Problem, start: np.ndarray, length: float, goal: float) -> np.ndarray:
    """The lowest criterion so far, after each evaluation of L-BFGS on the sphere, down to ``goal``."""
    seen: list[float] = []

    class Reached(Exception):
        pass

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        t = v.reshape(start.shape)
        norm = np.sqrt((t * t).sum() / length)
        state = _core.assess(problem, t / norm)
        seen.append(state.criterion)
        if state.criterion <= goal or len(seen) >= MOST:
            raise Reached
        slope = _core.gradient(state)
        slope = (slope - state.transformation * (slope * state.transformation).sum() / length) / norm
        return state.criterion, slope.ravel()

    with contextlib.suppress(Reached):
        minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOST, "ftol": 1e-14})
    return np.minimum.accumulate(seen)


def evaluations(args: argparse.Namespace) -> list[str]:
    """Evaluations of the criterion until both are within a small distance of where the iteration ends."""
    x, y = sonar(args.data)
    rows = []
    for k in (2, 60):
        points, basis = _core.span(x)
        settings = _core.Settings(n_components=k, init="random")
        problem, _ = _core.pose(points, y, np.array([1, 0]), settings, 1.0)
        gaps = (1e-2, 1e-3, 1e-4)
        counts = np.zeros((2, len(gaps), 3))
        for seed in range(3):
            start = _core.starts(basis, settings, 60.0, np.random.RandomState(seed))[0]
            ours = np.array(_core.minimise(problem, start, length=60.0, max_iter=300, tol=1e-7).criteria)
            theirs = lbfgs_values(problem, start, 60.0, ours[-1] + min(gaps))
            for g, gap in enumerate(gaps):
                for i, values in enumerate((ours, theirs)):
                    reached = values <= ours[-1] + gap
                    counts[i, g, seed] = reached.argmax() + 1 if reached.any() else np.inf
        for g, gap in enumerate(gaps):
            middle = [median(counts[i, g]) for i in (0, 1)]
            late = int(np.isinf(counts[1, g]).sum())
            rows.append(
                f"| Sonar, {k} columns, three starts, to {gap:g} above the end: evaluations of L-BFGS ÷ ours "
                f"| {middle[1] / middle[0]:.1f} | ≥ 5 | {middle[1]:g} ÷ {middle[0]:g}"
                f"{f'; {late} of 3 not in {MOST}' if late else ''} |"
            )
    return rows


def _peak(queue: multiprocessing.Queue, steps: int) -> None:
    x, y = blobs(10_000, 1280, 15)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = DistanceDiscriminant(max_iter=steps, targets="all").fit(x, y)
    queue.put(
        (
            before,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            time.perf_counter() - start,
            model.n_iter_,
        )
    )


def memory(_: argparse.Namespace) -> list[str]:
    """Peak memory of a process that trains on 10,000 x 1280 with 15 classes."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(queue, 3))
    process.start()
    _, after, taken, done = queue.get()
    process.join()
    return [
        f"| training on 10,000 × 1280, 15 classes, {done} steps: peak resident memory of the process | "
        f"{after / 2**20:.2f} GB | < 2 GB | {taken:.0f} s |"
    ]


def landmarks(_: argparse.Namespace) -> list[str]:
    """What landmarks lose: the criterion on observations they do not hold, and the kernel's trace."""
    rows = []
    x, y = blobs(4000, 40, 8)
    for count in (250, 500, 1000, 2000):
        model = DistanceDiscriminant(max_points=count, max_iter=10, random_state=0).fit(x, y)
        rows.append(
            f"| DDA, {count} landmarks of 4,000 (40-d, 10 steps): criterion on others − on landmarks | "
            f"{model.landmark_loss_:.3f} | stated | |"
        )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6))
    y = (np.linalg.norm(x[:, :3], axis=1) < 1.4).astype(int)
    options: dict[str, Any] = {
        "targets": 1,
        "max_iter": 40,
        "length": 1.0,
    }  # one norm, or values differ by it
    exact = KernelDistanceDiscriminant(**options).fit(x, y)
    for count in (50, 100, 200):
        model = KernelDistanceDiscriminant(n_landmarks=count, random_state=0, **options).fit(x, y)
        rows.append(
            f"| KDDA, {count} landmarks of 400 (40 steps): criterion − that of all | "
            f"{model.criteria_[-1] - exact.criteria_[-1]:+.3f} | stated | "
            f"{100 * model.trace_lost_:.1f} % of the kernel's trace lost |"
        )
    return rows


PARTS = {"step": step, "evaluations": evaluations, "memory": memory, "landmarks": landmarks}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    rows = ["| what | measured | reach | note |", "|---|---|---|---|"]
    for name in args.parts or PARTS:
        for row in PARTS[name](args):
            print(row, flush=True)
            rows.append(row)
    if args.write:
        write_merged(PAGE, "speed", "\n".join(rows))


if __name__ == "__main__":
    main()
