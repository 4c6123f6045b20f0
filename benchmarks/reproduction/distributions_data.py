"""Pictures, labels and local descriptors for the measurements on images as distributions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lookalike.bags import Bags
from lookalike.features import ColorGrid, DenseSift
from lookalike.parallel import LocalEngine

# About 1000 descriptors for each image, as in the thesis: the step follows the size of the images.
GRIDS = {"scene15": 9, "corel1k": 11, "flowers17": 16}


def listing(data: Path, name: str) -> tuple[list[Path], np.ndarray]:
    """Paths and labels; exact duplicates are removed, and pictures in two classes altogether."""
    if name == "scene15":
        paths = sorted(data.glob("scene15/*/*/*.jpg"), key=lambda p: (p.parent.name, p.name, p.parts))
        labels = [p.parent.name for p in paths]
    elif name == "corel1k":
        paths = sorted(data.glob("corel1k/images/*.jpg"), key=lambda p: int(p.stem))
        labels = [str(int(p.stem) // 100) for p in paths]
    else:
        paths = sorted(data.glob("flowers17/images/*.jpg"))
        labels = [str((int(p.stem.split("_")[1]) - 1) // 80) for p in paths]
    by_content: dict[str, list[int]] = {}
    for i, path in enumerate(paths):
        by_content.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), []).append(i)
    kept = [group[0] for group in by_content.values() if len({labels[i] for i in group}) == 1]
    return [paths[i] for i in kept], np.unique([labels[i] for i in kept], return_inverse=True)[1]


def picture(path: Path) -> np.ndarray:
    """An RGB array."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def cached_bags(data: Path, cache: Path, name: str, kind: str) -> tuple[Bags, np.ndarray]:
    """Descriptors (one byte each, on disk) with positions, and labels."""
    make: Callable[..., Any] = DenseSift if kind == "sift" else ColorGrid
    feature = make(step=GRIDS[name], positions=True)
    stem = cache / f"{name}-{kind}-{feature.fingerprint[:12]}"
    paths, labels = listing(data, name)
    if not stem.with_suffix(".npy").exists():
        cache.mkdir(parents=True, exist_ok=True)

        def one(path: Path) -> np.ndarray:
            return np.rint(feature.extract([picture(path)])[0] * 255).astype(np.uint8)

        bags = list(LocalEngine(2).map(one, paths))
        np.save(stem.with_suffix(".offsets.npy"), np.concatenate([[0], np.cumsum([len(b) for b in bags])]))
        np.save(stem.with_suffix(".npy"), np.concatenate(bags))
    values = np.load(stem.with_suffix(".npy"), mmap_mode="r")
    return Bags(values, np.load(stem.with_suffix(".offsets.npy"))), labels
