"""Data for the reproduction of discriminants: tables of numbers, and vectors of pictures with their words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks._sets import known_set, vectors

from lookalike.evaluate import columns_like_labels

UCI = ("balance", "diabetes", "heart", "hepatitis", "ionosphere", "iris", "sonar", "vehicle")
FILES = {"balance": "balance-scale", "diabetes": "pima-indians-diabetes", "vehicle": "Vehicle"}

# What each class of pictures shows. The words are those of the class, not of the single picture: nobody has
# looked whether every beach has a sky.
CLASS_WORDS: dict[str, dict[str, str]] = {
    "scene15": {
        "Bedroom": "bedroom room",
        "Coast": "coast sea sky",
        "Forest": "forest tree",
        "Highway": "highway road sky",
        "Industrial": "factory building",
        "InsideCity": "city street building",
        "Kitchen": "kitchen room",
        "LivingRoom": "living_room room",
        "Mountain": "mountain sky",
        "Office": "office room",
        "OpenCountry": "field sky",
        "Store": "shop building",
        "Street": "street road building",
        "Suburb": "suburb house",
        "TallBuilding": "skyscraper building sky",
    },
    "corel1k": {
        "0": "person",
        "1": "beach sea sky",
        "2": "building",
        "3": "bus road",
        "4": "dinosaur",
        "5": "elephant field",
        "6": "flower",
        "7": "horse field",
        "8": "mountain sky",
        "9": "food",
    },
    "flowers17": {
        "0": "daffodil",
        "1": "snowdrop",
        "2": "lily_of_the_valley",
        "3": "bluebell",
        "4": "crocus",
        "5": "iris",
        "6": "tiger_lily",
        "7": "tulip",
        "8": "fritillary",
        "9": "sunflower",
        "10": "daisy",
        "11": "coltsfoot",
        "12": "dandelion",
        "13": "cowslip",
        "14": "buttercup",
        "15": "anemone",
        "16": "pansy",
    },
}
SENSES = {  # where the most frequent sense of WordNet is another thing
    "iris": "iris#1",
    "shop": "shop#1",
    "field": "field#1",
}


def uci(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Attributes and classes of one table; missing values become the mean of their column."""
    lines = (folder / "uci" / f"{FILES.get(name, name)}.csv").read_text("utf-8").split("\n")
    rows = [line.strip().split(",") for line in lines if line.strip()]
    if name in ("hepatitis", "vehicle"):
        rows = rows[1:]
    table = np.array(rows)
    at = 0 if name == "hepatitis" else table.shape[1] - 1
    y = np.unique(table[:, at], return_inverse=True)[1]
    columns = np.delete(table, at, axis=1)
    x = np.array([[np.nan if v in ("?", "") else float(v) for v in row] for row in columns])
    mean = np.nanmean(x, axis=0)
    x = np.where(np.isnan(x), mean, x)
    if leaks := columns_like_labels(x, y):
        raise SystemExit(f"attribute {leaks[0]} of {name} is most likely the label: leave it out.")
    return x, y


def monk(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The prescribed training and test part of Monk's problem 1."""
    parts: list[np.ndarray] = []
    for part in ("train", "test"):
        rows = [line.split() for line in (folder / "uci" / f"monks-1.{part}").read_text("utf-8").splitlines()]
        table = np.array([r[:7] for r in rows if len(r) >= 7 and r[0].isdigit()], float)
        parts += [table[:, 1:], table[:, 0].astype(int)]
    return parts[0], parts[1], parts[2], parts[3]


@dataclass(frozen=True)
class Pictures:
    """Vectors of one set of pictures, with the class and the words of each."""

    x: np.ndarray
    y: np.ndarray
    words: list[list[str]]


def pictures(data: Path, name: str, feature: str) -> Pictures:
    """The vectors of a set under a feature, with the classes and the words of its pictures."""
    known = known_set(name, data)
    labels = CLASS_WORDS[name]
    words = [labels[c].replace(" ", ",").replace("_", " ").split(",") for c in known.classes.tolist()]
    codes = np.unique(known.classes, return_inverse=True)[1]
    return Pictures(vectors(known, feature).astype(float), codes, words)
