"""Tables for the document, from the figures in the cache."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from distributions_pairs import LITERAL, Form

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
}
LITERALS = {
    "PPK printed": "PPK with the weights as printed in equation 4.13",
    "MOM-PPK literal": "MOM-PPK, literal",
    "MOM-KL literal": "MOM-KL, literal",
    "CTXT literal": "CTXT KL, literal",
}
FISHER = {
    "plain": "whole image",
    "pyramid": "pyramid of 8 cells",
    "GIST": "GIST alone, Gaussian kernel",
    "pyramid + GIST": "pyramid, and GIST",
}
NONE = "not measured"


def rate(figures: dict[str, Any], key: str) -> str:
    """Mean and deviation of the classes' mean rate over the draws."""
    values = figures.get(key)
    if not values:
        return NONE
    if isinstance(values, dict):
        mean, deviation, count = values["rate"], values["std"], values["draws"]
    else:
        a = np.array(values)[:, 0]
        mean, deviation, count = a.mean(), a.std(), len(a)
    return f"{mean:.1f} ({deviation:.1f})" if count > 1 else f"{mean:.1f}"


def overall(figures: dict[str, Any], key: str) -> str:
    """Mean rate over all images."""
    values = figures.get(key)
    if not values:
        return NONE
    return f"{values['overall'] if isinstance(values, dict) else np.array(values)[:, 1].mean():.1f}"


def n_draws(figures: dict[str, Any], key: str) -> str:
    """How many draws."""
    values = figures.get(key)
    if not values:
        return "0"
    return str(values["draws"] if isinstance(values, dict) else len(values))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def scene(figures: dict[str, Any]) -> str:
    """The row of the thesis."""
    rows = []
    for name, text in {**NAMES, **LITERALS}.items():
        vectors, sparse = f"scene15/svm/{name}", f"scene15/sparse/{name}"
        cells = [rate(figures, vectors), overall(figures, vectors), n_draws(figures, vectors)]
        rows.append([text, THESIS.get(name, "–"), *cells, rate(figures, sparse), n_draws(figures, sparse)])
    head = ["system", "thesis", "support vectors", "over all images", "draws", "sparse logistic", "draws"]
    return table(head, rows)


def forms(figures: dict[str, Any]) -> str:
    """What was chosen for mixtures of references and for contexts, and what else was looked at."""
    rows = []
    for name in ("MOM-PPK", "MOM-KL", "CTXT"):
        found = figures.get(f"forms/{name}")
        if not found:
            continue
        best = Form(*found["best"])
        kinds = {
            "literal": LITERAL,
            "one iteration": LITERAL._replace(n_iter=1),
            "less sharp": LITERAL._replace(sharpness=0.3),
            "less sharp, one iteration": Form(sharpness=0.3, n_iter=1),
            "own weight as the largest other": LITERAL._replace(largest=True),
            "the same, square roots": LITERAL._replace(largest=True, power=0.5),
            "**chosen**": best,
        }
        for kind, form in kinds.items():
            rows.append([name, kind, str(form), f"{found['rates'][str(form)]:.1f}"])
    head = ["system", "what is changed", "form", "rate on held-out training images"]
    return table(head, rows) if rows else NONE


def own(figures: dict[str, Any]) -> str:
    """How much a training image weighs for itself, and the nearest one for a new image."""
    rows = [
        [LITERALS[name], *(f"{value:.3f}" for value in figures[f"own/{name}"])]
        for name in LITERALS
        if f"own/{name}" in figures
    ]
    head = ["system", "own weight of a training image", "largest weight of a new image"]
    return table(head, rows) if rows else NONE


def cross(figures: dict[str, Any]) -> str:
    """Own and foreign universal mixtures."""
    rows = []
    for name in ("PPK", "KLK"):
        foreign = figures.get(f"cross/svm/{name}", [])
        own = figures.get(f"scene15/svm/{name}", [])[: len(foreign)]
        both = {"own": own, "foreign": foreign}
        rows.append([NAMES[name], rate(both, "own"), rate(both, "foreign"), str(len(foreign))])
    return table(["system", "own universal mixture", "from corel1k", "draws"], rows)


def color(figures: dict[str, Any]) -> str:
    """Two sets, three kinds of descriptors."""
    columns = [(data, kind) for data in ("corel1k", "flowers17") for kind in ("sift", "color", "both")]
    rows = [
        [text, *(rate(figures, f"{data}/{kind}/svm/{name}") for data, kind in columns)]
        for name, text in NAMES.items()
    ]
    words = {"sift": "orientations", "color": "colours", "both": "both"}
    return table(["system", *(f"{data}, {words[kind]}" for data, kind in columns)], rows)


def embeddings(figures: dict[str, Any]) -> str:
    """Accuracy and time by map."""
    rows = []
    for key, value in figures.items():
        if key.startswith("embeddings/"):
            times = [f"{value[name]:.2f}" if name in value else "–" for name in ("learn", "apply")]
            width = str(value.get("E", "–"))
            rows.append([key.split("/")[1].removesuffix(f" {width}"), width, rate(figures, key), *times])
    return table(["classifier", "outputs", "rate", "s to learn", "s to apply"], rows) if rows else NONE


def fisher(figures: dict[str, Any]) -> str:
    """Fisher vectors."""
    rows = [
        [text, *(f(figures, f"fisher/{name}") for f in (rate, overall, n_draws))]
        for name, text in FISHER.items()
    ]
    return table(["Fisher vectors of", "rate", "over all images", "draws"], rows)


TABLES = {
    "scene": scene,
    "own": own,
    "forms": forms,
    "cross": cross,
    "color": color,
    "embeddings": embeddings,
    "fisher": fisher,
}


def write(document: Path, figures: dict[str, Any]) -> None:
    """Put every table between its marks."""
    text = document.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        made = make(figures)
        text, count = pattern.subn(lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text)
        if count != 1:
            raise SystemExit(f"{document} has no marks for {name}.")
    document.write_text(text, encoding="utf-8")
