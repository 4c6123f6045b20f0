"""Seven features of flowers, in the manner of the document's: each a histogram, compared by χ² distances.

The document uses seven distance matrices published with the data; these are our own, made of the same kinds
of evidence. The vocabularies are learned from all images without their labels, so that one matrix serves all
splits, as in the document.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import PIL.Image
from boosted_kernels_store import Store
from sklearn.cluster import MiniBatchKMeans

from lookalike.features import ColorHistogram, DenseSift, Hog, foreground
from lookalike.features._local_binary_patterns import PATTERNS, pattern_map
from lookalike.similarity import additive_kernel

SIDE = 320
WORDS = 1000
NAMES = ["colour", "hsv", "shape", "texture", "sift inside", "sift boundary", "gradients"]


def opened(path: Path) -> np.ndarray:
    picture = PIL.Image.open(path).convert("RGB")
    picture.thumbnail((SIDE, SIDE))
    return np.asarray(picture)


def colour(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Lab colours of the foreground, 5 × 12 × 12 bins."""
    lab = np.asarray(PIL.Image.fromarray(image).convert("LAB"))
    chroma = lab[:, :, 1:].view(np.int8).astype(int)
    a, b = (np.clip((chroma[:, :, k] + 72) // 12, 0, 11) for k in (0, 1))
    code = (lab[:, :, 0].astype(int) * 5 // 256 * 12 + a) * 12 + b
    return np.bincount(code.ravel(), mask.ravel(), 5 * 144)


def texture(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Local binary patterns of the foreground at three sizes."""
    grey = PIL.Image.fromarray(image).convert("L")
    weight = PIL.Image.fromarray(mask)
    parts = []
    for factor in (1, 2, 4):
        level, share = np.asarray(grey.reduce(factor)), np.asarray(weight.reduce(factor))
        parts.append(np.bincount(pattern_map(level).ravel(), share.ravel(), PATTERNS))
        parts[-1] /= max(parts[-1].sum(), 1e-9)
    return np.concatenate(parts)


def box_of(mask: np.ndarray) -> tuple[int, int, int, int]:
    """The part that holds the foreground: rows and columns with more than a tenth of the most."""
    spans = []
    for axis in (1, 0):
        line = mask.sum(axis=axis)
        inside = np.flatnonzero(line > 0.1 * line.max())
        spans.append((int(inside[0]), int(inside[-1]) + 1))
    (top, bottom), (left, right) = spans
    return top, max(bottom, top + 8), left, max(right, left + 8)


def patches(image: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dense SIFT, and how much each patch lies in the foreground and on its boundary."""
    sift = DenseSift(cells=(4, 8), step=8, scales=1, longest=SIDE, positions=True)
    values = sift.extract([image])[0]
    height, width = mask.shape
    y = np.minimum((values[:, 129] * height).astype(int), height - 1)
    x = np.minimum((values[:, 128] * width).astype(int), width - 1)
    inside = mask[y, x]
    return values[:, :128], inside, 4 * inside * (1 - inside)


def words_of(values: np.ndarray, words: np.ndarray) -> np.ndarray:
    return np.argmax(values @ words.T - 0.5 * (words**2).sum(axis=1), axis=1)


def vocabulary(paths: list[Path], boundary: bool, seed: int = 0) -> np.ndarray:
    """k-means on patches drawn by their weight."""
    rng = np.random.default_rng(seed)
    sample = []
    for path in paths[::3]:
        image = opened(path)
        values, inside, edge = patches(image, foreground(image))
        weight = (edge if boundary else inside) + 1e-6
        chosen = rng.choice(len(values), min(150, len(values)), replace=False, p=weight / weight.sum())
        sample.append(values[chosen])
    means = MiniBatchKMeans(WORDS, batch_size=10_000, n_init=1, max_iter=20, random_state=seed)
    return means.fit(np.concatenate(sample)).cluster_centers_.astype(np.float32)


def describe(path: Path, vocabularies: list[np.ndarray]) -> list[np.ndarray]:
    image = opened(path)
    mask = foreground(image)
    top, bottom, left, right = box_of(mask)
    thing = image[top:bottom, left:right]
    outline = np.repeat((mask[top:bottom, left:right, None] * 255).astype(np.uint8), 3, axis=2)
    values, inside, edge = patches(image, mask)
    return [
        colour(image, mask),
        ColorHistogram().extract([image])[0] ** 2,
        Hog(size=96, cells=6).extract([outline])[0] ** 2,
        texture(image, mask),
        np.bincount(words_of(values, vocabularies[0]), inside, WORDS),
        np.bincount(words_of(values, vocabularies[1]), edge, WORDS),
        Hog(size=128, cells=8).extract([thing])[0] ** 2,
    ]


def vocabularies(paths: list[Path]) -> list[np.ndarray]:
    """The words of the inside and those of the boundary."""
    return [vocabulary(paths, boundary) for boundary in (False, True)]


def histograms(paths: list[Path], words: list[np.ndarray], workers: int = 2) -> list[np.ndarray]:
    """The seven histograms of some images."""
    with ThreadPoolExecutor(workers) as pool:
        rows = list(pool.map(lambda path: describe(path, words), paths))
    return [np.stack(column).astype(np.float64) for column in zip(*rows)]


def chi2_distances(table: np.ndarray) -> np.ndarray:
    """``½ Σ (a − b)² / (a + b)`` between all rows, which sum to 1."""
    return np.maximum(1 - additive_kernel(table, kind="chi2"), 0)


def twins(paths: list[Path], threshold: float = 0.985) -> np.ndarray:
    """Groups of images that are nearly the same picture, by their correlation at 16 × 16 pixels."""
    tiny = [np.asarray(PIL.Image.open(p).convert("RGB").resize((16, 16)), float).ravel() for p in paths]
    X = np.stack(tiny)
    X -= X.mean(axis=1, keepdims=True)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    group = np.arange(len(X))
    for i, j in np.argwhere(np.triu(threshold < X @ X.T, 1)):
        group[group == group[j]] = group[i]
    return group


def word_tables(paths: list[Path], kind: str, sizes: tuple[int, ...]) -> np.ndarray:
    """Histograms of words of Lab colours or of SIFT patches, for several sizes of the vocabulary."""

    def local(path: Path) -> np.ndarray:
        image = opened(path)
        if kind == "lab":
            small = PIL.Image.fromarray(image).reduce(3).convert("LAB")
            lab = np.asarray(small)
            chroma = lab[:, :, 1:].view(np.int8).astype(np.float32) * 2
            return np.concatenate([lab[:, :, :1].astype(np.float32), chroma], axis=2).reshape(-1, 3)
        return DenseSift(cells=(4, 8), step=8, scales=1, longest=SIDE).extract([image])[0]

    rng = np.random.default_rng(0)
    sample = np.concatenate([v[rng.permutation(len(v))[:200]] for v in map(local, paths[::4])])
    means = [MiniBatchKMeans(k, batch_size=5000, n_init=3, random_state=0).fit(sample) for k in sizes]
    words = [m.cluster_centers_.astype(np.float32) for m in means]
    rows = []
    for path in paths:
        values = local(path)
        counts = [np.bincount(words_of(values, w), minlength=len(w)) / len(values) for w in words]
        rows.append(np.concatenate(counts))
    return np.stack(rows)


def flower_paths(data: Path) -> list[Path]:
    return sorted((data / "flowers17" / "images").glob("*.jpg"))


def flower_tables(data: Path, store: Store) -> list[np.ndarray]:
    """The seven histograms of every flower, each a table of shares."""
    paths = flower_paths(data)
    words = [store.array(f"words{b}", lambda b=b: vocabulary(paths, bool(b))) for b in (0, 1)]
    chunks = []
    for start in range(0, len(paths), 170):
        part = paths[start : start + 170]
        made = store.array(f"flowers{start}", lambda part=part: np.hstack(histograms(part, words)))
        chunks.append(made)
    joined = np.concatenate(chunks)
    dims = [720, 256, 900, 177, 1000, 1000, 1764]
    tables = np.split(joined, np.cumsum(dims)[:-1], axis=1)
    return [table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12) for table in tables]
