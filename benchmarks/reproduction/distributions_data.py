"""Pictures, labels and local descriptors for the measurements on images as distributions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lookalike.bags import AdaptedGMM, BagOfWords, Bags, DescriptorPCA, Mixtures, UniversalGMM
from lookalike.features import ColorGrid, DenseSift
from lookalike.parallel import LocalEngine

# About 1000 descriptors for each image, as in the thesis: the step follows the size of the images.
GRIDS = {"scene15": 9, "corel1k": 11, "flowers17": 16}
# Descriptors that the universal mixtures are trained on.
SAMPLES = {"scene15": 1_000_000, "corel1k": 400_000, "flowers17": 400_000}


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

        bags = list(LocalEngine().map(one, paths))
        np.save(stem.with_suffix(".offsets.npy"), np.concatenate([[0], np.cumsum([len(b) for b in bags])]))
        np.save(stem.with_suffix(".npy"), np.concatenate(bags))
    values = np.load(stem.with_suffix(".npy"), mmap_mode="r")
    return Bags(values, np.load(stem.with_suffix(".offsets.npy"))), labels


def floats(bags: Bags, *, positions: bool = False) -> Bags:
    """The descriptors as numbers from 0 to 1, with or without their positions."""
    kept = bags.values if positions else bags.values[:, :-2]
    return Bags(kept.astype(np.float32) / 255, bags.offsets)


def draws(labels: np.ndarray, per_class: int, n_draws: int) -> list[np.ndarray]:
    """Masks of the training images: so many of each class, at random."""
    masks = []
    for seed in range(n_draws):
        rng = np.random.RandomState(seed)
        mask = np.zeros(len(labels), bool)
        for label in np.unique(labels):
            mask[rng.permutation(np.flatnonzero(labels == label))[:per_class]] = True
        masks.append(mask)
    return masks


class Representations:
    """Mixtures and word histograms of all images of one set, made once and kept on disk.

    The universal models are trained on a fixed random sample of the descriptors of ``source`` (all its
    images, without labels), so that the draws differ only in the images the learners see.
    """

    def __init__(
        self, data: Path, cache: Path, name: str, kind: str, *, source: str | None = None, n_words: int = 4096
    ) -> None:
        self.data, self.cache, self.name, self.kind = data, cache, name, kind
        self.source, self.n_words = source or name, n_words

    def _file(self, what: str, *, of_source: bool = False) -> Path:
        stem = f"{self.kind}-{self.source}" if of_source else f"{self.name}-{self.kind}-by-{self.source}"
        return self.cache / f"{stem}-{what}.npz"

    def _sample(self, limit: int) -> Bags:
        bags, _ = cached_bags(self.data, self.cache, self.source, self.kind)
        rows = np.sort(np.random.RandomState(0).permutation(len(bags.values))[:limit])
        values = bags.values[rows, :-2].astype(np.float32) / 255
        return Bags(values, [0, len(values)])

    def pca(self) -> DescriptorPCA:
        """50 dimensions."""
        file = self._file("pca", of_source=True)
        pca = DescriptorPCA(n_components=50)
        if not file.exists():
            pca.fit(self._sample(1_000_000))
            np.savez(file, mean=pca.mean_, components=pca.components_, variances=pca.explained_variance_)
        kept = np.load(file)
        pca.mean_, pca.components_ = kept["mean"], kept["components"]
        pca.explained_variance_, pca.n_features_in_ = kept["variances"], len(kept["mean"])
        return pca

    def universal(self, n_components: int, *, limit: int | None = None, n_iter: int = 10) -> UniversalGMM:
        """A universal mixture."""
        file = self._file(f"gmm{n_components}", of_source=True)
        gmm = UniversalGMM(n_components=n_components, n_iter=n_iter)
        if not file.exists():
            gmm.fit(self.pca().transform(self._sample(limit or SAMPLES[self.source])))
            np.savez(file, w=gmm.weights_, m=gmm.means_, v=gmm.variances_)
        kept = np.load(file)
        gmm.weights_, gmm.means_, gmm.variances_ = kept["w"], kept["m"], kept["v"]
        gmm.n_features_in_ = gmm.means_.shape[1]
        return gmm

    def descriptors(self) -> Bags:
        """All descriptors, projected."""
        bags, _ = cached_bags(self.data, self.cache, self.name, self.kind)
        pca = self.pca()
        starts = range(0, len(bags), 200)
        parts = [pca.transform(floats(bags[start : start + 200].compact())).values for start in starts]
        return Bags(np.concatenate(parts), bags.offsets)

    def mixtures(self, n_components: int = 128) -> Mixtures:
        """Adapted mixtures of all images."""
        file = self._file(f"adapted{n_components}")
        if not file.exists():
            made = AdaptedGMM(self.universal(n_components), relevance=10).transform(self.descriptors())
            np.savez(file, w=made.weights, m=made.means, v=made.variances)
        kept = np.load(file)
        universal = self.universal(n_components).mixture_
        return Mixtures(kept["w"], kept["m"], kept["v"], universal=universal)

    def soft_words(self) -> np.ndarray:
        """Histograms of Gaussian words."""
        file = self._file(f"soft{self.n_words}")
        if not file.exists():
            universal = self.universal(self.n_words, limit=300_000, n_iter=5)
            model = BagOfWords(assignment="soft", universal=universal)
            model.universal_, model.words_ = universal, universal.means_
            model.n_features_in_ = universal.means_.shape[1]
            np.savez(file, h=model.transform(self.descriptors()))
        return np.asarray(np.load(file)["h"])

    def hard_words(self, n_words: int = 4000) -> np.ndarray:
        """Histograms of words by k-means."""
        file = self._file(f"hard{n_words}")
        if not file.exists():
            model = BagOfWords(n_words=n_words, max_descriptors=300_000, random_state=0)
            sample = self.pca().transform(self._sample(300_000))
            np.savez(file, h=model.fit(sample).transform(self.descriptors()))
        return np.asarray(np.load(file)["h"])
