"""How well plain methods do on each feature: nearest neighbour, and a linear classifier with few labels.

    python benchmarks/features_quality.py [--data PATH] [--cache PATH] [--write] [--only SET] [--views]

Three measures for each feature on each set of images, all as the mean over the classes: the share of images
whose nearest other image (largest cosine) has the same class; the same with 10 labelled images per class, all
others being asked; and logistic regression with the same 10 labels. The last two are means over 10 draws.
Bags become Fisher vectors of 32 Gaussians, learned without labels on the same images. ``--views`` compares
the three ways to make an image square.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from _markers import ROOT, write
from lookalike.arrays import Bags
from lookalike.bags import DescriptorPCA, FisherVector, UniversalGMM
from lookalike.features import Feature, cache_folder, get_feature
from lookalike.images import open_image

PAGE = "reference/features.md"
LABELS, DRAWS = 10, 10
NAMES = (
    "efficientnet-lite0",
    "efficientnet-lite0-layers",
    "color-grid",
    "dense-sift",
    "color-histogram",
    "color-texture",
    "local-binary-patterns",
    "gist",
    "hog",
)
VIEWS = ("balanced", "whole", "centre")


def number(path: Path) -> int:
    return int(re.findall(r"\d+", path.stem)[-1])


def corel1k(data: Path) -> tuple[list[Path], np.ndarray]:
    paths = sorted((data / "corel1k" / "images").glob("*.jpg"))
    return paths, np.array([number(p) // 100 for p in paths])


def flowers17(data: Path) -> tuple[list[Path], np.ndarray]:
    paths = sorted((data / "flowers17" / "images").glob("*.jpg"))
    return paths, np.array([(number(p) - 1) // 80 for p in paths])


def scene15(data: Path) -> tuple[list[Path], np.ndarray]:
    """The first 60 test images of each class: about as many images as in the other sets."""
    folders = sorted((data / "scene15" / "test").iterdir())
    paths = [path for folder in folders for path in sorted(folder.glob("*.jpg"))[:60]]
    return paths, np.unique([p.parent.name for p in paths], return_inverse=True)[1]


SETS: dict[str, Callable[[Path], tuple[list[Path], np.ndarray]]] = {
    "corel1k": corel1k,
    "flowers17": flowers17,
    "scene15": scene15,
}


def vectors(feature: Feature, name: str, paths: list[Path], cache: Path) -> np.ndarray:
    """One vector for each image, kept on disk under the fingerprint of the feature."""
    file = cache / f"{name}-{feature.fingerprint}-{len(paths)}.npy"
    if file.exists():
        return np.load(file)

    def work(part: list[Path]) -> np.ndarray | Bags:
        return feature.extract([open_image(p, shorter_side=feature.shorter_side).pixels for p in part])

    parts = [paths[i : i + 16] for i in range(0, len(paths), 16)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, parts))
    rows = fisher([bag for part in found for bag in part]) if feature.kind == "bag" else np.concatenate(found)
    cache.mkdir(parents=True, exist_ok=True)
    np.save(file, rows)
    return rows


def fisher(bags: list[np.ndarray]) -> np.ndarray:
    joined = Bags.from_list(bags)
    small = DescriptorPCA(n_components=50, max_descriptors=200_000, random_state=0).fit_transform(joined)
    mixture = UniversalGMM(n_components=32, max_descriptors=200_000, random_state=0)
    return np.asarray(FisherVector(mixture).fit_transform(small), np.float32)


def draws(y: np.ndarray) -> list[np.ndarray]:
    """For each draw, the numbers of the labelled images."""
    found = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        found.append(np.concatenate([rng.permutation(np.flatnonzero(y == c))[:LABELS] for c in np.unique(y)]))
    return found


def balanced(truth: np.ndarray, said: np.ndarray) -> float:
    return 100 * float(np.mean([(said[truth == c] == c).mean() for c in np.unique(truth)]))


def measures(rows: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -np.inf)
    nearest = balanced(y, y[similar.argmax(axis=1)])
    few, linear = [], []
    for train in draws(y):
        rest = np.setdiff1d(np.arange(len(y)), train)
        few.append(balanced(y[rest], y[train][similar[np.ix_(rest, train)].argmax(axis=1)]))
        model = LogisticRegression(C=30, max_iter=300).fit(unit[train], y[train])
        linear.append(balanced(y[rest], model.predict(unit[rest])))
    return nearest, float(np.mean(few)), float(np.mean(linear))


def cached_measures(
    feature: Feature, name: str, paths: list[Path], y: np.ndarray, cache: Path
) -> list[float]:
    """The three measures, kept on disk beside the vectors."""
    file = cache / f"{name}-{feature.fingerprint}-{len(paths)}-{LABELS}x{DRAWS}.json"
    if not file.exists():
        found = measures(vectors(feature, name, paths, cache), y)
        file.write_text(json.dumps(found))
    return list(json.loads(file.read_text()))


def table(features: dict[str, Feature], options: argparse.Namespace) -> str:
    # The scenes are nearly square: how they become so hardly matters.
    names = [options.only] if options.only else list(SETS)[: 2 if options.views else 3]
    columns = " | ".join(f"{name}: 1-NN, all | 1-NN, {LABELS} | linear, {LABELS}" for name in names)
    lines = [f"| feature | {columns} |", "|---" + "|--:" * 3 * len(names) + "|"]
    for label, feature in features.items():
        cells = []
        for name in names:
            paths, y = SETS[name](options.data)
            cells += [f"{m:.1f}" for m in cached_measures(feature, name, paths, y, options.cache)]
        lines.append(f"| {label} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=cache_folder() / "measuring")
    parser.add_argument("--only", choices=list(SETS))
    parser.add_argument("--feature", choices=NAMES, help="only this one (fills the cache)")
    parser.add_argument("--views", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="lbfgs failed to converge")
    if options.views:
        features = {f"`view={v!r}`": get_feature(view=v) for v in VIEWS}
    else:
        features = {f"`{name}`": get_feature(name) for name in NAMES if options.feature in (None, name)}
    text = table(features, options)
    if options.write:
        write(PAGE, "views" if options.views else "quality", text)


if __name__ == "__main__":
    main()
