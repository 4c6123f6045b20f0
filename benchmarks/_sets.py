"""Labelled sets of pictures to measure on, and the vectors of a feature for them, computed once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.features import Feature, get_feature
from lookalike.recipes import look

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parents[2] / "shared" / "data"
PICTURES = {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp"}


@dataclass(frozen=True)
class Pictures:
    """A set: its name, the files, and the class of each."""

    name: str
    paths: list[Path]
    classes: NDArray[np.str_]


def known_set(name: str, data: Path) -> Pictures:
    """One of the sets of the measuring data."""
    if name == "scene15":
        return folder_set(name, data / "scene15" / "train", data / "scene15" / "test")
    paths = [p for p in sorted((data / name / "images").iterdir()) if p.suffix.lower() in PICTURES]
    numbers = np.array([int("".join(c for c in p.stem if c.isdigit())) for p in paths])
    classes = numbers // 100 if name == "corel1k" else (numbers - 1) // 80
    return Pictures(name, paths, classes.astype(str))


def folder_set(name: str, *roots: Path) -> Pictures:
    """Folders whose sub-folders are the classes; several roots are joined."""
    paths = [p for root in roots for p in sorted(root.rglob("*")) if p.suffix.lower() in PICTURES]
    by_root = [next(root for root in roots if root in p.parents) for p in paths]
    classes = [p.relative_to(root).parts[0] for p, root in zip(paths, by_root)]
    return Pictures(name, paths, np.array(classes))


def vectors(pictures: Pictures, feature: str = "efficientnet-lite0") -> NDArray[np.float32]:
    """The vectors of a set, kept in ``benchmarks/results`` for the next run."""
    made = get_feature(feature)
    key = hashlib.sha256("\n".join(map(str, pictures.paths)).encode()).hexdigest()[:12]
    place = RESULTS / "vectors" / f"{pictures.name}-{feature}-{made.fingerprint[:12]}-{key}.npy"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        np.save(place, _compute(pictures, made))
    stored: NDArray[np.float32] = np.load(place)
    return stored


def _compute(pictures: Pictures, feature: Feature) -> NDArray[np.float32]:
    rows = []
    for looked in look(feature, pictures.paths):
        if looked.reason:
            raise SystemExit(f"{looked.path} {looked.reason}: remove it from the set.")
        rows.append(looked.row)
    return np.array(rows, dtype=np.float32)
