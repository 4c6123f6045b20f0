"""Discriminants, words and feedback: writes the tables of docs/reproduction/discriminants.md.

Usage: python -m benchmarks.reproduction.discriminants [PART ...] [--data PATH] [--write]

Every part keeps its figures in benchmarks/results/discriminants.json, so parts can be run one by one and a
run can be resumed. A part that is there already is not run again unless named. --write puts all figures
that are there into the document; rows of parts that are not there stay as they are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._merge import write_merged
from benchmarks._sets import DATA, RESULTS
from benchmarks.reproduction import (
    discriminants_classes,
    discriminants_kernels,
    discriminants_sonar,
    discriminants_words,
)
from benchmarks.reproduction.discriminants_data import UCI

ROOT = Path(__file__).parents[2]
KEPT = RESULTS / "discriminants.json"
DOCUMENT = ROOT / "docs" / "reproduction" / "discriminants.md"
MODULES = (discriminants_classes, discriminants_sonar, discriminants_kernels, discriminants_words)
PARTS = {name: part for module in MODULES for name, part in module.PARTS.items()}
Results = dict[str, Any]

# Tables 2.1 and 2.2 of the thesis: error of NN and of DDA+NN in percent.
PRINTED = {
    "balance": (21.45, 3.06),
    "diabetes": (30.39, 27.11),
    "heart": (40.74, 21.11),
    "hepatitis": (29.57, 0.00),
    "ionosphere": (13.56, 7.14),
    "iris": (4.00, 3.33),
    "monk": (14.58, 0.69),
    "sonar": (None, None),
    "vehicle": (35.58, 24.70),
}


def percent(value: float | None) -> str:
    return "—" if value is None or not np.isfinite(value) else f"{100 * value:.2f}"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def table(head: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    return "\n".join([row(*head), row(*["---"] * len(head)), *(row(*r) for r in rows)])


def uci(results: Results) -> str:
    rows = []
    for name in sorted([*UCI, "monk"]):
        if r := results.get(f"uci-{name}"):
            printed = ["—" if v is None else f"{v:.2f}" for v in PRINTED[name]]
            rows.append(
                [
                    name,
                    f"{r['n']} × {r['d']}, {r['classes']}",
                    printed[0],
                    percent(r["nn"]),
                    printed[1],
                    percent(r["leaky_best"]),
                    percent(r["leaky_median"]),
                    f"**{percent(r['honest'])}** ± {percent(r['honest_spread'])}",
                    percent(r["converged"]),
                ]
            )
    head = ["set", "size and classes", "thesis NN", "our NN", "thesis DDA+NN", "on all data: best setting"]
    return table([*head, "on all data: median", "honest, held-out choice", "honest, to the end"], rows)


def optimisers(results: Results) -> str:
    rows = []
    for title, r in results.get("sonar-ends", {}).items():
        method, floor = title.split("|")
        rows.append([floor, method, f"{r['lowest']:.4f}", f"{r['highest']:.4f}", f"{r['calls']:.0f}"])
    return table(["floor", "optimiser", "lowest end", "highest end", "evaluations (median)"], rows)


def widths(results: Results) -> str:
    if not (r := results.get("sonar-widths")):
        return ""
    rows = []
    for steps, v in r.items():
        for title, key in (("columns learned", "learned"), ("directions kept", "kept")):
            rows.append([f"{steps}, {title}", *(f"{100 * e:.1f}" for e in v[key])])
    spectra = []
    for steps, v in r.items():
        when = "at the end" if steps == "to the end" else f"after {steps}"
        spectrum = ", ".join(f"{s:.2f}" for s in v["spectrum"])
        places = [str(v["widths"][v["break"] + i]) for i in (-1, 0)]
        spectra.append(
            f"Singular values {when}, over the largest: {spectrum}.\nBy Chow's test the error with "
            f"directions kept breaks between {' and '.join(places)} directions (p = {v['p']:.2g})."
        )
    head = ["error with so many dimensions", *map(str, next(iter(r.values()))["widths"])]
    return "\n\n".join([table(head, rows), *spectra])


def means(entries: list[list[float]]) -> list[str]:
    return [percent(v) for v in np.nanmean(np.array(entries, float), axis=0)]


def objects(results: Results) -> str:
    parts = []
    for name in ("corel1k", "flowers17"):
        if r := results.get(f"objects-{name}"):
            always = 1 / r["classes"]
            rows = [[t, *means(v)] for t, v in r["table"].items()]
            rows.append(["always negative", percent(always), "0.00", "100.00"])
            parts.append(f"{name}, {r['classes']} classes, {r['test']} test pictures:\n\n")
            parts[-1] += table(["classifier", "error", "GM", "SP"], rows)
    return "\n\n".join(parts)


def semantic(results: Results) -> str:
    if not (r := results.get("semantic")):
        return ""
    kinds = list(next(iter(r["rows"].values())))
    return table(["classifier", *kinds], [[t, *(percent(v[k]) for k in kinds)] for t, v in r["rows"].items()])


def kernels(results: Results) -> str:
    parts = []
    for name in ("corel1k", "flowers17"):
        if r := results.get(f"kernels-{name}"):
            rows = [
                [t, *means(v), f"{r['indefinite'][t]} of {r['classes']}" if t in r["indefinite"] else "—"]
                for t, v in r["learned"].items()
            ]
            parts += [f"{name}:", table(["method", "error", "GM", "SP", "kernel indefinite in"], rows)]
    return "\n\n".join(parts)


def guards(results: Results) -> str:
    """Both guards on all sets: GM and SP alone, with tracing and with the filter, for both rules."""
    sets = {"cuboids": results.get("cuboids", {}).get("table", {})}
    for name in ("corel1k", "flowers17"):
        sets[name] = results.get(f"kernels-{name}", {}).get("guarded", {})
    rows = []
    for name, entries in sets.items():
        for key in entries:
            title, rule, guard = key.split("|")
            if guard != "alone":
                continue
            cells = []
            for guard in ("alone", "tracing", "filter"):
                values = np.array(entries[f"{title}|{rule}|{guard}"])
                error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
                mean = values.mean(axis=0)
                spread = [f" ± {100 * e:.1f}" if name == "cuboids" else "" for e in error]
                cells += [f"{100 * mean[i]:.1f}{spread[i]}" for i in (1, 2)]
            rows.append([name, title, rule, *cells])
    head = ["set", "projection", "decision", "alone: GM", "SP", "tracing: GM", "SP", "filter: GM", "SP"]
    return table(head, rows)


def hyperplanes(results: Results) -> str:
    parts = []
    for name in ("corel1k", "flowers17"):
        if not (r := results.get(f"hyperplanes-{name}")):
            continue
        rows = []
        for i, c in enumerate(r["rows"]):
            rows.append(
                [
                    str(i),
                    percent(1 - c["svm"][0]),
                    percent(1 - c["mh"][0]),
                    f"{c['n']}",
                    percent(1 - c["best"][0]),
                    f"{c['best_n']}",
                    percent(c["svm"][1]),
                    percent(c["mh"][1]),
                    percent(c["best"][1]),
                    "—" if not c["ratio"] or not np.isfinite(c["ratio"]) else f"{c['ratio']:.2f}",
                ]
            )

        def mean(key: str, at: int, rows: list[Any] = r["rows"]) -> str:
            values = np.array([c[key][at] for c in rows])
            return percent(float((values if at else 1 - values).mean()))

        whole = ["mean", mean("svm", 0), mean("mh", 0), "", mean("best", 0), ""]
        rows.append([*whole, mean("svm", 1), mean("mh", 1), mean("best", 1), ""])
        head = ["class", "SVM accuracy", "MH accuracy", "planes", "MH in hindsight", "planes there"]
        head += ["SVM GM", "MH GM", "hindsight GM", "margin ratio there"]
        parts.append(f"{name}, {len(r['rows'])} classes:\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def few(results: Results) -> str:
    rows = []
    for name in ("corel1k", "flowers17", "scene15"):
        if r := results.get(f"few-{name}"):
            for each in ("5", "20"):
                v = r[each]
                better = sum(a > b for a, b in zip(v["dda"], v["nn"]))
                rows.append(
                    [
                        name,
                        each,
                        percent(np.mean(v["nn"])),
                        f"**{percent(np.mean(v['dda']))}**",
                        f"{better} of {len(v['nn'])}",
                        ", ".join(map(str, v["dims"])),
                        ", ".join(map(str, v["steps"])),
                    ]
                )
    return table(["set", "labels", "1-NN", "DDA + 1-NN", "better in draws", "dimensions", "steps"], rows)


def words(results: Results) -> str:
    parts = []
    for base in ("DDA", "SVM linear", "SVM gaussian"):
        r: Results = {}
        for part in ("flat", "global", "parent"):
            r |= results.get(f"words-{base}-{part}", {})
        if r:
            rows = [
                [
                    t,
                    *(percent(v[k]) for k in ("recall", "precision", "recall_s", "precision_s")),
                    percent(v["h_recall"]),
                    percent(v["h_precision"]),
                    f"{v['words']:.1f}",
                    percent(v["silent"]),
                ]
                for t, v in r.items()
                if isinstance(v, dict)
            ]
            head = [
                "ensemble",
                "recall",
                "precision",
                "recall +S",
                "precision +S",
                "hR",
                "hP",
                "words",
                "silent",
            ]
            parts.append(
                f"Base classifier {base} ({r['vocabulary']} words, {r['nodes']} concepts, {r['train']} "
                f"training and {r['test']} test pictures):\n\n{table(head, rows)}"
            )
    if r := results.get("modes"):
        rows = [
            [t, *(percent(v[k]) for k in ("recall", "precision", "h_recall", "h_precision", "map"))]
            for t, v in r.items()
        ]
        parts.append(
            table(["model of both modes, top 5", "recall", "precision", "hR", "hP", "search MAP"], rows)
        )
    return "\n\n".join(parts)


def feedback(results: Results) -> str:
    rows = []
    for name in ("corel1k", "flowers17"):
        for feature in ("efficientnet-lite0", "color-texture"):
            for strategy, by in discriminants_words.STRATEGIES:
                if v := results.get(f"feedback-{name}-{feature}-{strategy}-{by}"):
                    cells = [percent(v["seen"][i]) for i in (0, 1, 3, 5)]
                    cells += [percent(v["rest"][i]) for i in (0, 5)]
                    rows.append([name, feature, f"{strategy}, {by}", *cells])
    head = ["set", "feature", "strategy, question", "0 rounds", "1", "3", "5", "unmarked only: 0", "5"]
    return table(head, rows)


TABLES: dict[str, tuple[Callable[[Results], str], int]] = {  # and how many cells name a row
    "uci": (uci, 1),
    "optimisers": (optimisers, 2),
    "widths": (widths, 1),
    "objects": (objects, 1),
    "semantic": (semantic, 1),
    "kernels": (kernels, 1),
    "guards": (guards, 3),
    "hyperplanes": (hyperplanes, 1),
    "few": (few, 2),
    "words": (words, 1),
    "feedback": (feedback, 3),
}


def write(results: Results) -> None:
    """Put every row that has figures between its table's markers."""
    for name, (make, keys) in TABLES.items():
        write_merged(DOCUMENT, name, make(results), keys)


def kept() -> Results:
    """The figures that are there."""
    return json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", help="parts to run (again); all that are missing where none is named"
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help="put the figures into the document")
    parser.add_argument("--list", action="store_true", help="only name the parts")
    args = parser.parse_args()
    if args.list:
        print("\n".join(PARTS))
        return
    results = kept()
    wanted = args.parts or ([] if args.write else [p for p in PARTS if p not in results])
    for part in wanted:
        start = time.time()
        found = PARTS[part](args.data)
        results = kept() | {part: found}  # another part may have ended meanwhile
        KEPT.write_text(json.dumps(results, indent=1, default=float), "utf-8")
        print(f"{part}: {time.time() - start:.0f} s", flush=True)
    if args.write:
        write(results)


if __name__ == "__main__":
    main()
