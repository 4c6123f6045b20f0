"""The tables of ``docs/benchmarks/few-labels.md``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks._markers import table
from benchmarks._rivals import INDUCTIVE, TRANSDUCTIVE
from numpy.typing import NDArray

Row = dict[str, float]
Cells = dict[tuple[str, int, str], list[Row]]
OURS = "with the collection"


class Results:
    """What the cells say, by set, number of labels and method."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.sets = list(dict.fromkeys(key[0] for key in cells))
        self.labels = sorted({key[1] for key in cells})

    def has(self, methods: Sequence[str]) -> bool:
        """Whether all methods were measured somewhere."""
        return all(any(key[2] == m for key in self.cells) for m in methods)

    def places(self, n: int, method: str = OURS) -> list[str]:
        """The sets that were measured with n labels."""
        return [s for s in self.sets if (s, n, method) in self.cells]

    def values(self, s: str, n: int, method: str, what: str = "accuracy") -> NDArray[np.float64]:
        """One figure of each draw."""
        return np.array([row[what] for row in self.cells[s, n, method]])

    def mean(self, s: str, n: int, method: str, what: str = "accuracy") -> float:
        """Its mean."""
        return float(self.values(s, n, method, what).mean())

    def best(self, s: str, n: int, methods: Sequence[str]) -> str:
        """The best of several methods in hindsight."""
        return max(methods, key=lambda method: self.mean(s, n, method))

    def lead(self, s: str, n: int, over: str) -> tuple[float, float]:
        """The mean of our paired lead over a method, and its standard error."""
        gaps = self.values(s, n, OURS) - self.values(s, n, over)
        return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def tables(cells: Cells) -> dict[str, str]:
    """Each table that the cells suffice for, by its name."""
    results = Results(cells)
    made = {}
    if results.has([OURS, *INDUCTIVE, *TRANSDUCTIVE]):
        made["accuracy"] = _accuracy(results)
        made["leads"] = _leads(results)
    if results.has([OURS]):
        made["trust"] = _trust(results)
    if results.has([OURS, "all prototypes"]):
        made["prototypes"] = _prototypes(results)
    if results.has(["new images"]):
        made["new"] = _new(results)
    if results.has(["unseen classes", "unseen elsewhere"]):
        made["unseen"] = _unseen(results)
    if results.has([OURS, "fused"]):
        made["fused"] = _fused(results)
    if results.has(["suggested labels"]):
        made["suggest"] = _suggest(results)
    return made


def _accuracy(r: Results) -> str:
    methods = [*INDUCTIVE, *TRANSDUCTIVE, "labels alone", OURS]
    names = {
        OURS: "**PrototypeClassifier, with the collection**",
        "labels alone": "PrototypeClassifier, labels alone",
    }
    blocks = []
    for s in r.sets:
        labels = [n for n in r.labels if s in r.places(n)]
        rows = []
        for method in methods:
            if any((s, n, method) not in r.cells for n in labels):
                continue
            shown = [f"{r.mean(s, n, method):.1f} ± {r.values(s, n, method).std():.1f}" for n in labels]
            rows.append([names.get(method, method), *shown])
        draws = len(r.values(s, labels[0], OURS))
        head = [f"{s}, {draws} draws; labels a class", *map(str, labels)]
        blocks.append(table(head, rows))
    return "\n\n".join(blocks)


def _leads(r: Results) -> str:
    rows = []
    for kind, methods in (("inductive", list(INDUCTIVE)), ("with unlabelled images", list(TRANSDUCTIVE))):
        for n in r.labels:
            leads = []
            for s in r.places(n):
                best = r.best(s, n, methods)
                gain, error = r.lead(s, n, best)
                leads.append((s, best, gain, error))
            shown = ", ".join(f"{s} {gain:+.1f} ± {error:.1f} ({best})" for s, best, gain, error in leads)
            lowest = min(gain / max(error, 1e-9) for _, _, gain, error in leads)
            rows.append(
                [kind, n, f"{np.mean([gain for *_, gain, _ in leads]):+.2f}", f"{lowest:+.1f}", shown]
            )
    singles = []
    for method in TRANSDUCTIVE:
        gaps = [r.lead(s, n, method)[0] for n in r.labels for s in r.places(n)]
        singles.append([method, f"{np.mean(gaps):+.2f}"])
    heads = ["best rival, in hindsight", "labels", "mean lead", "lowest lead ÷ its error", "in each set"]
    return table(heads, rows) + "\n\n" + table(["mean lead over", "points"], singles)


def _trust(r: Results) -> str:
    rows = []
    for n in r.labels:
        for s in r.places(n):
            surest = r.mean(s, n, OURS, "surest") - r.mean(s, n, OURS, "all")
            rows.append(
                [
                    f"{s}, {n}",
                    f"{r.mean(s, n, OURS, 'calibration'):.3f}",
                    f"{r.mean(s, n, OURS, 'all'):.1f}",
                    f"{r.mean(s, n, OURS, 'surest'):.1f}",
                    f"{surest:+.1f}",
                    f"{r.mean(s, n, OURS, 'declined'):.0f}",
                    f"{np.median(r.values(s, n, OURS, 'seconds')):.1f}",
                ]
            )
    heads = [
        "set, labels a class",
        "calibration error",
        "right, %",
        "of the surest 80 %",
        "gain",
        "declined, %",
        "seconds",
    ]
    return table(heads, rows)


def _prototypes(r: Results) -> str:
    rows = []
    for n in [n for n in r.labels if r.places(n, "all prototypes")]:
        for s in r.places(n, "all prototypes"):
            lost, error = r.lead(s, n, "all prototypes")
            kept = r.mean(s, n, OURS, "kept")
            rows.append([f"{s}, {n}", f"{kept:.0f}", f"{lost:+.2f} ± {error:.2f}"])
    return table(["set, labels a class", "labelled images kept, %", "points against all kept"], rows)


def _new(r: Results) -> str:
    rows = []
    for n in r.labels:
        for s in r.places(n, "new images"):
            inside, outside = r.mean(s, n, "new images", "inside"), r.mean(s, n, "new images")
            rows.append([f"{s}, {n}", f"{inside:.1f}", f"{outside:.1f}", f"{outside - inside:+.1f}"])
    gaps = [float(row[3]) for row in rows]
    rows.append(["mean", "", "", f"{np.mean(gaps):+.2f}"])
    return table(["set, labels a class", "in the collection", "not in it", "difference"], rows)


def _unseen(r: Results) -> str:
    rows = []
    for n in r.labels:
        for s in r.places(n, "unseen classes"):
            row: list[object] = [f"{s}, {n}"]
            for method in ("unseen classes", "unseen elsewhere"):
                refused, lost = r.mean(s, n, method, "refused"), r.mean(s, n, method, "lost")
                row += [f"{r.mean(s, n, method, 'area'):.3f}", f"{refused:.0f} / {lost:.0f}"]
            rows.append(row)
    areas = [
        np.mean([r.mean(s, n, m, "area") for n in r.labels for s in r.places(n, m)])
        for m in ("unseen classes", "unseen elsewhere")
    ]
    rows.append(["mean", f"{areas[0]:.3f}", "", f"{areas[1]:.3f}", ""])
    heads = [
        "set, labels a class",
        "area, in the collection",
        "declined, unseen / seen, %",
        "area, not in the collection",
        "declined, unseen / seen, %",
    ]
    return table(heads, rows)


def _fused(r: Results) -> str:
    rows, gains = [], []
    for n in r.labels:
        for s in r.places(n, "fused"):
            fused = r.values(s, n, "fused")
            gaps = fused - r.values(s, n, OURS)[: len(fused)]
            gains.append(gaps.mean())
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            alone = r.values(s, n, OURS)[: len(fused)].mean()
            row = [f"{s}, {n}", f"{alone:.1f}", f"{fused.mean():.1f}", f"{gaps.mean():+.2f} ± {error:.2f}"]
            rows.append(row)
    rows.append(["mean", "", "", f"{np.mean(gains):+.2f}"])
    return table(["set, labels a class", "one feature", "fused", "gain"], rows)


def _suggest(r: Results) -> str:
    rows = []
    for s in r.places(1, "suggested labels"):
        whats = ("random, half way", "suggested, half way", "random", "accuracy")
        row = [s, *(f"{r.mean(s, 1, 'suggested labels', what):.1f}" for what in whats)]
        gaps = r.values(s, 1, "suggested labels") - r.values(s, 1, "suggested labels", "random")
        rows.append([*row, f"{gaps.mean():+.1f} ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1f}"])
    return table(
        ["set", "random, 25 labels", "suggested, 25", "random, 50", "suggested, 50", "gain at 50"], rows
    )
