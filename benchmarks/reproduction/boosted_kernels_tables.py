"""Tables of docs/reproduction/boosted-kernels.md from what was measured, between their markers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Results = dict[str, Any]
PUBLISHED = {
    "average": "84.9 ± 1.9",
    "product": "85.5 ± 1.2",
    "simplemkl": "85.2 ± 1.5",
    "lpbeta": "85.5 ± 3.0",
    "boosted, eigenvectors first": "88.3 ± 1.1",
}
OURS = ["boosted, held out", "boosted, held out + product kernel"]  # whose leads are shown
TITLES = {
    "average": "average kernel",
    "product": "product kernel",
    "align": "align",
    "alignf": "alignf",
    "easymkl": "EasyMKL",
    "simplemkl": "SimpleMKL",
    "lpmkl": "lp-MKL, p = 2",
    "lpbeta": "LP-β",
    "alignf + product kernel": "alignf, the product kernel as an eighth",
    "lpbeta + product kernel": "LP-β, the product kernel as an eighth",
}


def gathered(results: Results, part: str, field: str = "test") -> dict[tuple[str, ...], dict[int, float]]:
    """Values by the rest of their key and by split."""
    out: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for key, value in results.items():
        names = key.split("|")
        if names[0] == part and field in value:
            place = 3 if part == "deep" else 1
            out[tuple(names[1:place] + names[place + 1 :])][int(names[place])] = value[field]
    return out


def shown(values: Iterable[float]) -> str:
    numbers = 100 * np.array(list(values))
    return (
        f"{numbers.mean():.1f} ± {numbers.std(ddof=1):.1f}" if len(numbers) > 1 else f"{numbers.mean():.1f}"
    )


def difference(a: dict[int, float], b: dict[int, float]) -> str:
    """Mean of the paired differences and its standard error."""
    both = sorted(set(a) & set(b))
    gaps = 100 * np.array([a[s] - b[s] for s in both])
    if len(gaps) < 2:
        return f"{gaps.mean():+.1f}" if len(gaps) else ""
    return f"{gaps.mean():+.1f} ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)


def flowers_table(results: Results) -> str:
    found = {name[0]: values for name, values in gathered(results, "methods").items()}
    sizes = gathered(results, "methods", "functions")
    heights = gathered(results, "methods", "alignment")
    ours = [name for name in OURS if name in found]
    rows = []
    for name in sorted(found, key=lambda n: (not n.startswith("single"), np.mean(list(found[n].values())))):
        count, height = sizes.get((name,), {}), heights.get((name,), {})
        rows.append(
            [
                TITLES.get(name, name),
                PUBLISHED.get(name, ""),
                shown(found[name].values()),
                str(len(found[name])),
                f"{np.mean(list(height.values())):.3f}" if height else "",
                f"{np.mean(list(count.values())):.0f}" if count else "",
                *("" if name == mine else difference(found[mine], found[name]) for mine in ours),
            ]
        )
    head = ["method", "document", "ours", "splits", "alignment", "functions"]
    return table([*head, *(f"the lead of “{mine}”" for mine in ours)], rows)


def rounds_table(results: Results) -> str:
    out = []
    for order, title in (("eigen_first", "eigenvectors first"), ("level_first", "capacities first")):
        keys = [key.split("|") for key in results]
        caps = sorted({int(k[3]) for k in keys if k[0] == "rounds" and k[2] == order})
        rows = []
        for t in (50, 100, 200, 300, 400, 500):
            row = [f"T = {t}"]
            for cap in caps:
                values = [v for k, v in results.items() if re.fullmatch(rf"rounds\|\d+\|{order}\|{cap}", k)]
                reached = [v for v in values if str(t) in v]
                if len(reached) < len(values):
                    row.append(".")
                    continue
                mean = 100 * np.mean([v[str(t)] for v in reached])
                row.append(f"{mean:.1f} ({np.mean([v[f'dim {t}'] for v in reached]):.0f})")
            rows.append(row)
        stops = ["functions at the stop"]
        for cap in caps:
            counts = [
                v["functions"] for k, v in results.items() if re.fullmatch(rf"rounds\|\d+\|{order}\|{cap}", k)
            ]
            stops.append(f"{min(counts)} to {max(counts)}")
        out.append(f"{title}:\n\n" + table(["", *map(str, caps)], [*rows, stops]))
    return "\n\n".join(out)


def labels_table(results: Results) -> str:
    published = {"lab16": 14.0, "lab32": 22.8, "lab64": 26.3, "lab128": 28.7, "sift16": 22.0, "sift32": 30.4}
    published |= {"sift64": 34.4, "sift128": 37.6, "concatenation": 45.3, "boosted, eigenvectors first": 48.3}
    found = gathered(results, "mosaics", "mean")
    out = []
    for name in sorted({key[0] for key in found}):
        here = {key[1:]: values for key, values in found.items() if key[0] == name}
        inputs = list(dict.fromkeys(key[0] for key in here))
        features = list(dict.fromkeys(key[1] for key in here))
        methods = features[features.index("concatenation") :]
        rows = []
        for feature in features:
            row = [feature, str(published.get(feature, "")) if name == "corel1k" else ""]
            for kind in inputs:
                base, values = here[kind, "concatenation"], here.get((kind, feature), {})
                row.append(shown(values.values()) if values else "")
                row.append(difference(values, base) if feature in methods[1:] and values else "")
            rows.append(row)
        splits = len(here[inputs[0], "concatenation"])
        head = ["feature or method", "document (VOC 2006)"]
        head += [text for kind in inputs for text in (kind, "over concatenation")]
        out.append(f"Mosaics of {name}, {splits} splits:\n\n" + table(head, rows))
    return "\n\n".join(out)


def deep_table(results: Results) -> str:
    found = gathered(results, "deep")
    fusions = {"concatenation": "even weights", "boosted": "boosted kernel", "fused": "`FusedClassifier`"}
    rows = []
    for name, per_class in sorted({key[:2] for key in found}):
        here = {key[2]: values for key, values in found.items() if key[:2] == (name, per_class)}
        alone = {n: v for n, v in here.items() if n not in fusions and n != "deep, logistic"}
        ranked = sorted(alone, key=lambda n: -np.mean(list(alone[n].values())))
        best, second = ranked[:2]
        row = [name, per_class, str(len(here[best])), f"{best} {shown(here[best].values())}"]
        row += [f"{second} {shown(here[second].values())}", shown(here["deep, logistic"].values())]
        row += [f"{shown(here[m].values())} ({difference(here[m], here[best])})" for m in fusions]
        rows.append(row)
    head = ["set", "labels per class", "splits", "best feature alone", "the second best"]
    return table([*head, "the best, logistic regression", *fusions.values()], rows)


SOURCES = {"flowers": "methods", "labels": "mosaics"}  # where a table's figures lie
TABLES = {
    "flowers": flowers_table,
    "rounds": rounds_table,
    "labels": labels_table,
    "deep": deep_table,
}


def draw_rounds(results: Results, path: Path) -> None:
    """Accuracy and dimensions over the number of functions, a line for each largest dimension."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "boosted-kernels"  # the same file from the same figures
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(8, 5.2), sharex=True, sharey="row", layout="constrained")
    for column, (order, title) in enumerate(
        (("eigen_first", "eigenvectors first"), ("level_first", "capacities first"))
    ):
        caps = sorted({int(k.split("|")[3]) for k in results if k.startswith("rounds|")})
        for shade, cap in enumerate(caps):
            found = [v for k, v in results.items() if re.fullmatch(rf"rounds\|\d+\|{order}\|{cap}", k)]
            times = [t for t in (50, 100, 200, 300, 400, 500) if all(str(t) in v for v in found)]
            style = {"color": plt.cm.viridis(shade / len(caps)), "marker": "o", "label": f"{cap}"}
            axes[0, column].plot(times, [100 * np.mean([v[str(t)] for v in found]) for t in times], **style)
            axes[1, column].plot(times, [np.mean([v[f"dim {t}"] for v in found]) for t in times], **style)
        axes[0, column].set_title(title)
        axes[1, column].set_xlabel("functions")
    axes[0, 0].set_ylabel("percent correct")
    axes[1, 0].set_ylabel("mean dimension taken")
    axes[0, 1].legend(title="largest dimension", fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def write_document(results: Results, path: Path) -> None:
    """Put the tables between ``<!-- NAME -->`` and ``<!-- /NAME -->``."""
    text = path.read_text()
    for name, make in TABLES.items():
        if any(key.startswith(f"{SOURCES.get(name, name)}|") for key in results):
            made = f"<!-- {name} -->\n{make(results)}\n<!-- /{name} -->"
            text = re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda m, t=made: t, text, flags=re.S)
    path.write_text(text)
    if any(key.startswith("rounds|") for key in results):
        draw_rounds(results, path.with_name("boosted-kernels-rounds.svg"))
