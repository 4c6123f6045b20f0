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
        return f"{values['rate']:.1f} ({values['std']:.1f})"
    a = np.array(values)[:, 0]
    return f"{a.mean():.1f} ({a.std():.1f})"


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
        key = f"scene15/{name}"
        rows.append(
            [text, THESIS.get(name, "–"), rate(figures, key), overall(figures, key), n_draws(figures, key)]
        )
    return table(["system", "thesis", "ours", "ours, over all images", "draws"], rows)


def cross(figures: dict[str, Any]) -> str:
    """Own and foreign universal mixtures."""
    rows = []
    for name in ("KLK", "PPK"):
        count = len(figures.get(f"cross/{name}", []))
        own = {"x": figures.get(f"scene15/{name}", [])[:count]}
        rows.append(
            [
                NAMES[name],
                rate(own, "x") if own["x"] else NONE,
                rate(figures, f"cross/{name}"),
                str(min(count, len(own["x"]))),
            ]
        )
    return table(["system", "own universal mixture", "from corel1k", "draws"], rows)


def color(figures: dict[str, Any]) -> str:
    """Two sets, three kinds of descriptors."""
    rows = []
    for name in ("BOV", "PPK", "KLK", "MOM-PPK", "MOM-KL", "CTXT"):
        cells = [
            rate(figures, f"{data}/{kind}/{name}")
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
    rows = [
        [
            text,
            rate(figures, f"fisher/{key}"),
            overall(figures, f"fisher/{key}"),
            n_draws(figures, f"fisher/{key}"),
        ]
        for key, text in {
            "plain": "Fisher vectors, whole image",
            "pyramid": "Fisher vectors, pyramid of 8 cells",
            "GIST": "GIST, Gaussian kernel",
            "pyramid + GIST": "Fisher vectors with pyramid, and GIST",
        }.items()
    ]
    return table(["system", "rate", "over all images", "draws"], rows)


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
