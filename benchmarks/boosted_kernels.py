"""Speed of boosted kernels: what a fit costs beside its one matrix product, and beside other fusions.

Every row is a ratio of two medians measured in the same run, in turns. Run the quick rows with

    python benchmarks/boosted_kernels.py [--write] fit rounds

and the long ones (minutes, several GB) with ``stream``, ``rivals`` and ``memory``. ``--write`` puts the rows
into docs/reproduction/boosted-kernels.md, beside those of parts that were not run.
"""

from __future__ import annotations

import argparse
import resource
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import _markers
from lookalike.learn import BlockMoments, BoostedKernel
from lookalike.learn._fusion import _boost, _mkl
from lookalike.learn._fusion._boost import Rules, boost
from lookalike.learn._fusion._spaces import geometry, moment_bank, ridge_learners

CLASSES = 17
PAGE = "reproduction/boosted-kernels.md"
HEAD = ["row", "measured", "wanted", "what"]
ROWS: list[list[str]] = []


def samples(n: int, n_blocks: int, dim: int, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Blocks whose principal axes carry less and less of the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % CLASSES
    scale = (np.arange(dim) + 1.0) ** -0.5
    centres = np.random.default_rng(99).normal(size=(n_blocks, CLASSES, dim)) * scale * 0.5
    blocks = []
    for b in range(n_blocks):
        noise = rng.standard_normal((n, dim), dtype=np.float32)
        blocks.append((noise * scale + centres[b][y]).astype(np.float32))
    return blocks, y


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median seconds of each, measured in turns."""
    for work in works:
        work()
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken)]


def row(name: str, value: float, limit: str, note: str) -> None:
    ROWS.append([name, f"{value:.2f}", limit, note])
    print("| " + " | ".join(ROWS[-1]) + " |", flush=True)


def fit_against_its_product(n: int = 100_000) -> None:
    """A whole fit of 500 functions against X'X alone."""
    blocks, y = samples(n, 4, 256)
    model = BoostedKernel(n_rounds=500, min_gain=1e-9)
    joined = np.hstack(blocks)
    double = joined.astype(np.float64)
    fit, product, single = in_turns(
        5, lambda: model.fit(blocks, y), lambda: double.T @ double, lambda: joined.T @ joined
    )
    note = f"n = {n}, 4 x 256, {CLASSES} classes, {model.n_rounds_} functions; {fit:.2f} s / {product:.2f} s"
    row("fit / X'X in double precision", fit / product, "2", note)
    row(
        "fit / X'X in single precision",
        fit / single,
        "",
        f"the product takes {single:.2f} s; moments are double",
    )


def gathered(n: int, batch: int = 20_000, seed: int = 0) -> BlockMoments:
    moments = BlockMoments([256] * 4, range(CLASSES))
    for start in range(0, n, batch):
        blocks, y = samples(min(batch, n - start), 4, 256, seed=seed + start)
        moments.update(blocks, np.eye(CLASSES)[y])
    return moments


def prepared(moments: BlockMoments) -> Callable[[], object]:
    """500 rounds on these moments, axes and base functions already made."""
    geo = geometry(moments, "auto")
    bank, levels = moment_bank(geo, ridge_learners(geo)), [s.level for s in geo.spaces]
    rules = Rules(500, 1e-12)
    assert len(boost(bank, levels, rules).betas) == 500
    return lambda: boost(bank, levels, rules)


def tried(rounds: Callable[[], object]) -> int:
    """How many candidates are judged: which one is the first to gain enough depends on the data."""
    count, judge = 0, _boost._State.scalars

    def counting(state: Any, spaces: Any, targets: Any) -> Any:
        nonlocal count
        found = judge(state, spaces, targets)
        count += found[0].size
        return found

    _boost._State.scalars = counting  # type: ignore[method-assign]
    try:
        rounds()
    finally:
        _boost._State.scalars = judge  # type: ignore[method-assign]
    return count


def compare_rounds(many: BlockMoments) -> None:
    """The rounds on moments of many samples and of few."""
    works = [prepared(many), prepared(gathered(10_000))]
    large, small = in_turns(25, *works)
    more, fewer = (tried(work) for work in works)
    note = f"500 rounds take {large:.3f} s / {small:.3f} s and try {more} / {fewer} candidates"
    row(f"rounds at n = {many.weight:.0f} / at n = 10000", large / small, "1", note)


def noise_of_rounds() -> None:
    """The rounds on several draws of few samples, and on the same draw twice.

    Which candidate is the first to gain enough depends on the data, and with it how many are tried: the
    spread over draws of the same size says how large a difference means nothing.
    """
    draws = [prepared(gathered(10_000, seed=10_000_000 * k)) for k in range(5)]
    *taken, again = in_turns(9, *draws, draws[0])
    note = f"{min(taken):.3f} to {max(taken):.3f} s over {len(draws)} draws; noise, not growth"
    row("rounds at n = 10000: the slowest draw / the fastest", max(taken) / min(taken), "", note)
    row(
        "rounds at n = 10000: the same draw / itself",
        again / taken[0],
        "",
        f"{again:.3f} s / {taken[0]:.3f} s",
    )


def rounds_do_not_see_samples() -> None:
    compare_rounds(gathered(100_000))


def streamed() -> None:
    """A million samples, never in memory together; then what the process took at most."""
    start = time.perf_counter()
    many = gathered(1_000_000)
    reading = time.perf_counter() - start
    compare_rounds(many)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    row(
        "peak memory of the whole process, GB",
        peak,
        "2",
        f"making and gathering the samples: {reading:.0f} s",
    )


def rivals(n: int = 5_000) -> None:
    """28 kernels: 7 blocks at 4 capacities, linear. The rivals solve ONE class of the 17."""
    blocks, y = samples(n, 7, 128)
    levels = [16, 32, 64, 128]
    model = BoostedKernel(levels=levels)
    ours = median(seconds(lambda: model.fit(blocks, y)) for _ in range(5))
    kernels = []
    for k in levels:
        for block in blocks:
            centred = block - block.mean(axis=0)
            axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :k]
            part = centred @ axes
            kernels.append((part @ part.T) / np.mean(np.sum(part**2, axis=1)))
    sign = np.where(y == 0, 1.0, -1.0)
    note = f"n = {n}, {len(kernels)} kernels, already made; one class of the {CLASSES} alone"
    easy = seconds(lambda: _mkl.easy_mkl(kernels, sign))
    row(
        "EasyMKL / boosted kernel", easy / ours, ">= 20", f"{note}: {easy:.1f} s against {ours:.2f} s for all"
    )
    simple = seconds(lambda: _mkl.simple_mkl(kernels, sign, 10.0, max_steps=1))
    note = f"the first step of one class: {simple:.1f} s against {ours:.2f} s for all"
    row("SimpleMKL / boosted kernel", simple / ours, ">= 20", note)


def memory() -> None:
    """Peak of what a fit allocates beyond its data."""
    grown = []
    for n in (25_000, 50_000, 100_000):
        blocks, y = samples(n, 4, 256)
        tracemalloc.start()
        BoostedKernel().fit(blocks, y)
        grown.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    note = "MB beyond the data at n = 25 000, 50 000, 100 000: " + ", ".join(f"{g:.0f}" for g in grown)
    row("memory at 4 n / at n, beyond the data", grown[2] / grown[0], "4", note)


ROWS_OF = {
    "fit": fit_against_its_product,
    "rounds": rounds_do_not_see_samples,
    "noise": noise_of_rounds,
    "stream": streamed,
    "rivals": rivals,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", default=["fit", "rounds"], choices=list(ROWS_OF), metavar="ROW")
    parser.add_argument("--write", action="store_true", help="put the rows into the document")
    given = parser.parse_args()
    for name in given.rows:
        ROWS_OF[name]()
    if given.write:
        kept = _markers.rows_of(PAGE, "speed") | {line[0]: line for line in ROWS}
        _markers.write(PAGE, "speed", _markers.table(HEAD, list(kept.values())))


if __name__ == "__main__":
    main()
