"""Tables for the document, from the figures in the cache."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

THESIS = {
    "BOV": "78.4 (0.9)",
    "PPK": "79.0 (0.8)",
    "KLK": "80.4 (0.7)",
    "MOM-PPK": "82.4 (0.6)",
    "MOM-KL": "81.2",
    "CTXT": "81.2",
}
NAMES = {
    "BOV": "word histograms, χ² (BOV)",
    "PPK": "adapted mixtures, overlap (PPK)",
    "KLK": "adapted mixtures, divergence (KLK)",
    "MOM-PPK": "mixtures of reference images, overlap (MOM-PPK)",
    "MOM-KL": "mixtures of reference images, bound of the divergence (MOM-KL)",
    "CTXT": "contextual divergence (CTXT KL)",
    "MOM-PPK tempered": "MOM-PPK, tempered (sharpness 0.3)",
    "MOM-KL tempered": "MOM-KL, tempered (sharpness 0.3)",
    "MOM-PPK once": "MOM-PPK, tempered (sharpness 0.1) and 1 iteration",
    "MOM-KL once": "MOM-KL, tempered (sharpness 0.1) and 1 iteration",
    "PPK printed": "PPK with the weights as printed in equation 4.13",
    "MOM-PPK √w": "MOM-PPK with square roots of the weights",
    "MOM-PPK not itself": "MOM-PPK, a training image not its own reference",
}
NONE = "not measured"


def rate(figures: dict[str, Any], key: str) -> str:
    """Mean and deviation of the classes' mean rate over the draws."""
    if key not in figures:
        return NONE
    values = figures[key]
    if isinstance(values, dict):
        return f"{values['rate']:.1f}" + (f" ({values['std']:.1f})" if values["draws"] > 1 else "")
    a = np.array(values)[:, 0]
    return f"{a.mean():.1f} ({a.std():.1f})" if len(a) > 1 else f"{a.mean():.1f}"


def overall(figures: dict[str, Any], key: str) -> str:
    """Mean rate over all images."""
    if key not in figures:
        return NONE
    values = figures[key]
    return f"{values['overall'] if isinstance(values, dict) else np.array(values)[:, 1].mean():.1f}"


def n_draws(figures: dict[str, Any], key: str) -> str:
    """How many draws."""
    if key not in figures:
        return "0"
    values = figures[key]
    return str(values["draws"] if isinstance(values, dict) else len(values))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def scene(figures: dict[str, Any]) -> str:
    """The row of the thesis."""
    rows = []
    for name, text in NAMES.items():
        sparse, machine = f"scene15/slr/{name}", f"scene15/svm/{name}"
        cells = [rate(figures, sparse), n_draws(figures, sparse)]
        cells += [rate(figures, machine), overall(figures, machine), n_draws(figures, machine)]
        rows.append([text, THESIS.get(name, "–"), *cells])
    head = ["system", "thesis", "sparse logistic", "draws", "support vectors", "over all images", "draws"]
    return table(head, rows)


def cross(figures: dict[str, Any]) -> str:
    """Own and foreign universal mixtures."""
    rows = []
    for name in ("KLK", "PPK"):
        count = len(figures.get(f"cross/svm/{name}", []))
        own = {"x": figures.get(f"scene15/svm/{name}", [])[:count]}
        rows.append(
            [
                NAMES[name],
                rate(own, "x") if own["x"] else NONE,
                rate(figures, f"cross/svm/{name}"),
                str(min(count, len(own["x"]))),
            ]
        )
    return table(["system", "own universal mixture", "from corel1k", "draws"], rows)


def color(figures: dict[str, Any]) -> str:
    """Two sets, three kinds of descriptors."""
    rows = []
    for name in ("BOV", "PPK", "KLK", "MOM-PPK once", "MOM-KL once", "CTXT"):
        cells = [
            rate(figures, f"{data}/{kind}/svm/{name}")
            for data in ("corel1k", "flowers17")
            for kind in ("sift", "color", "both")
        ]
        rows.append([NAMES[name], *cells])
    head = ["system"] + [
        f"{data}, {kind}" for data in ("corel1k", "flowers17") for kind in ("orientations", "colours", "both")
    ]
    return table(head, rows)


def embeddings(figures: dict[str, Any]) -> str:
    """Accuracy and time by map."""
    rows = []
    for key, value in figures.items():
        if key.startswith("embeddings/"):
            seconds = f"{value['seconds']:.1f}" if "seconds" in value else "–"
            width = str(value.get("E", "–"))
            rows.append([key.split("/")[1], width, rate(figures, key), seconds, str(value["draws"])])
    return (
        table(["classifier", "outputs", "rate", "seconds to learn and apply the map", "draws"], rows)
        if rows
        else NONE
    )


def fisher(figures: dict[str, Any]) -> str:
    """Fisher vectors."""
    texts = {
        "fisher-same/plain": "the descriptors of the other systems, whole image",
        "fisher-same/pyramid": "the descriptors of the other systems, pyramid of 8 cells",
        "fisher/plain": "dense descriptors of four sizes, whole image",
        "fisher/pyramid": "dense descriptors of four sizes, pyramid of 8 cells",
        "fisher/GIST": "GIST alone, Gaussian kernel",
        "fisher/pyramid + GIST": "dense descriptors with pyramid, and GIST",
    }
    rows = [[text, rate(figures, k), overall(figures, k), n_draws(figures, k)] for k, text in texts.items()]
    return table(["Fisher vectors of", "rate", "over all images", "draws"], rows)


def write(document: Path, figures: dict[str, Any]) -> None:
    """Put every table between its marks."""
    text = document.read_text(encoding="utf-8")
    for name, make in {
        "scene": scene,
        "cross": cross,
        "color": color,
        "embeddings": embeddings,
        "fisher": fisher,
    }.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        made = make(figures)
        text, count = pattern.subn(lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text)
        if count != 1:
            raise SystemExit(f"{document} has no marks for {name}.")
    document.write_text(text, encoding="utf-8")
