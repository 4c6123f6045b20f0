"""Two longer measurements: embeddings of histogram kernels, and Fisher vectors with a pyramid."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from distributions_data import Representations, cached_bags, draws, floats, listing, picture
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

from lookalike.bags import Bags, DescriptorPCA, FisherVector, UniversalGMM
from lookalike.features import DenseSift, Gist
from lookalike.parallel import LocalEngine
from lookalike.similarity import (
    AdditiveKernelPCA,
    KernelPCAMap,
    RandomFourierMap,
    SquareRootMap,
    additive_kernel,
    mean_bandwidth,
)

N_EMBEDDING_DRAWS = 3


def rate(scores: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Mean of the classes' rates, and the rate over all images, in percent."""
    right = scores.argmax(1) == y
    return 100 * float(np.mean([right[y == c].mean() for c in np.unique(y)])), 100 * float(right.mean())


def best_penalty(make: Callable[[float], Any], X: Any, y: np.ndarray, *, gram: bool = False) -> float:
    """The SVM's C with the best accuracy on a third of the training images."""
    inner = draws(y, int(np.bincount(y).min() * 2 / 3), 1)[0]
    a, b = (X[np.ix_(inner, inner)], X[np.ix_(~inner, inner)]) if gram else (X[inner], X[~inner])
    results = {C: make(C).fit(a, y[inner]).score(b, y[~inner]) for C in (0.1, 1.0, 10.0, 100.0)}
    return max(results, key=lambda C: results[C])


def linear(C: float) -> LinearSVC:
    """One linear machine for each class."""
    return LinearSVC(C=C, random_state=0)


def machine(C: float) -> OneVsRestClassifier:
    """One kernel machine for each class, on given kernel matrices."""
    return OneVsRestClassifier(SVC(kernel="precomputed", C=C))


def embeddings(data: Path, store: Any) -> None:
    """The comparison of chapter 7, on Scene-15 with 4,000 hard words."""
    y = listing(data, "scene15")[1]
    H = Representations(data, store.cache, "scene15", "sift").hard_words(4000)
    masks = draws(y, 100, N_EMBEDDING_DRAWS)
    maps = {
        "linear": None,
        "√ + linear": SquareRootMap(),
        **{f"addkPCA {E}": AdditiveKernelPCA(n_components=E) for E in (4000, 8000, 12000)},
        **{f"kPCA {E}": KernelPCAMap(kernel="exp-bhattacharyya", n_samples=E) for E in (256, 512, 1024)},
        **{
            f"random {E}": RandomFourierMap(kernel="exp-bhattacharyya", n_frequencies=E // 2)
            for E in (1024, 4000, 8000, 16000)
        },
    }
    for name, model in maps.items():
        store.keep(f"embeddings/{name}", lambda model=model: _embedded(model, H, y, masks))
    for kind in ("bhattacharyya", "chi2", "intersection"):
        K = store.array(f"scene15-hard-{kind}", lambda kind=kind: additive_kernel(H, kind=kind))
        for name in (kind, f"exp-{kind}"):
            store.keep(f"embeddings/{name} SVM", lambda K=K, name=name: _kernel(K, name, y, masks))


def _summary(values: list[tuple[float, float]]) -> dict[str, Any]:
    a = np.array(values)
    return {"rate": a[:, 0].mean(), "std": a[:, 0].std(), "overall": a[:, 1].mean(), "draws": len(a)}


def _embedded(model: Any, H: np.ndarray, y: np.ndarray, masks: list[np.ndarray]) -> dict[str, Any]:
    values, times, C, width = [], [], None, 0
    for seed, train in enumerate(masks):
        started = time.perf_counter()
        if model is None:
            X = H / np.linalg.norm(H[train], axis=1).mean()
        else:
            fitted = clone(model)
            if "random_state" in fitted.get_params():
                fitted.set_params(random_state=seed)
            X = fitted.fit(H[train]).transform(H)
        times.append(time.perf_counter() - started)
        width = X.shape[1]
        C = C or best_penalty(linear, X[train], y[train])
        values.append(rate(linear(C).fit(X[train], y[train]).decision_function(X[~train]), y[~train]))
    return {**_summary(values), "seconds": float(np.median(times)), "E": width, "C": C}


def _kernel(K: np.ndarray, name: str, y: np.ndarray, masks: list[np.ndarray]) -> dict[str, Any]:
    values, C = [], None
    for train in masks:
        G = K
        if name.startswith("exp-"):
            G = np.exp(mean_bandwidth(1 - K[np.ix_(train, train)]) * (K - 1))
        inside = G[np.ix_(train, train)]
        C = C or best_penalty(machine, inside, y[train], gram=True)
        scores = machine(C).fit(inside, y[train]).decision_function(G[np.ix_(~train, train)])
        values.append(rate(scores, y[~train]))
    return {**_summary(values), "C": C}


# --- Fisher vectors ----------------------------------------------------------------------------------

FISHER = {
    "plain": ((1, 1),),
    "pyramid": ((1, 1), (2, 2), (3, 1)),
}
DENSE = {"cells": (4, 6, 8, 10), "step": 4, "scales": 1, "positions": True}
N_GAUSSIANS = 128


def _dense_models(data: Path, store: Any) -> tuple[DenseSift, DescriptorPCA, UniversalGMM]:
    """64 dimensions and a universal mixture, from descriptors of 250 images."""
    feature = DenseSift(**DENSE)
    file = store.cache / f"fisher-models-{feature.fingerprint[:12]}-{N_GAUSSIANS}.npz"
    pca = DescriptorPCA(n_components=64, n_positions=2, whiten=False)
    gmm = UniversalGMM(n_components=N_GAUSSIANS)
    if not file.exists():
        paths = listing(data, "scene15")[0]
        rng = np.random.RandomState(0)
        parts = []
        for i in rng.permutation(len(paths))[:250]:
            bag = feature.extract([picture(paths[i])])[0]
            parts.append(bag[rng.permutation(len(bag))[:800]])
        sample = Bags.from_list(parts)
        projected = pca.fit(sample).transform(sample)
        gmm.fit(Bags(np.ascontiguousarray(projected.values[:, :64]), projected.offsets))
        np.savez(
            file,
            mean=pca.mean_,
            c=pca.components_,
            v=pca.explained_variance_,
            w=gmm.weights_,
            m=gmm.means_,
            s=gmm.variances_,
        )
    kept = np.load(file)
    pca.mean_, pca.components_, pca.explained_variance_ = kept["mean"], kept["c"], kept["v"]
    pca.n_features_in_ = len(pca.mean_) + 2
    gmm.weights_, gmm.means_, gmm.variances_ = kept["w"], kept["m"], kept["s"]
    gmm.n_features_in_ = 64
    return feature, pca, gmm


def fisher_vectors(data: Path, store: Any, *, seconds: float = 400) -> np.ndarray | None:
    """Vectors of all images (float16, on disk); None where the time was over before all were made."""
    paths, _ = listing(data, "scene15")
    feature, pca, gmm = _dense_models(data, store)
    width = sum(r * c for r, c in FISHER["pyramid"]) * N_GAUSSIANS * 128
    file = store.cache / f"fisher-{feature.fingerprint[:12]}-{N_GAUSSIANS}.npy"
    done_file = file.with_suffix(".done")
    done = int(done_file.read_text()) if done_file.exists() else 0
    mode = "r+" if file.exists() else "w+"
    vectors = np.lib.format.open_memmap(file, mode=mode, dtype=np.float16, shape=(len(paths), width))
    model = FisherVector(gmm, pyramid=FISHER["pyramid"], n_positions=2)
    model.universal_, model.n_features_in_ = gmm, 66

    def one(path: Path) -> np.ndarray:
        return model.transform(pca.transform(feature.extract([picture(path)])))[0]

    started = time.time()
    while done < len(paths) and time.time() - started < seconds:
        part = paths[done : done + 50]
        # float16 keeps three digits; the scale keeps the small numbers out of its subnormal range.
        vectors[done : done + len(part)] = np.stack(list(LocalEngine(2).map(one, part))) * 64
        done += len(part)
        done_file.write_text(str(done))
    vectors.flush()
    print(f"Fisher vectors: {done} of {len(paths)}", flush=True)
    return vectors if done == len(paths) else None


def _products(vectors: np.ndarray, columns: slice, chosen: np.ndarray | None = None) -> np.ndarray:
    """Dot products of all vectors with all (or the chosen) ones over some columns, in blocks."""
    chosen = np.ones(len(vectors), bool) if chosen is None else chosen
    out = np.zeros((len(vectors), int(chosen.sum())), np.float32)
    for start in range(columns.start, columns.stop, 8192):
        part = np.asarray(vectors[:, start : min(start + 8192, columns.stop)], dtype=np.float32) / 64
        out += part @ part[chosen].T
    return out


def fisher(data: Path, store: Any) -> None:
    """Scene-15 by Fisher vectors of dense descriptors, and fused with GIST."""
    from distributions import N_DRAWS

    vectors = fisher_vectors(data, store)
    if vectors is None:
        return
    paths, y = listing(data, "scene15")
    stem = f"fisher-{DenseSift(**DENSE).fingerprint[:12]}-{N_GAUSSIANS}"
    width = N_GAUSSIANS * 128
    grams = {
        "plain": store.array(f"{stem}-gram-plain", lambda: _products(vectors, slice(0, width)) * 8),
        "pyramid": store.array(f"{stem}-gram-pyramid", lambda: _products(vectors, slice(0, 8 * width))),
    }
    gist = store.array("scene15-gist", lambda: _gists(paths))
    masks = draws(y, 100, N_DRAWS)
    bandwidth = mean_bandwidth(((gist[:500, None] - gist[None, :500]) ** 2).sum(2))
    K = rbf_kernel(gist, gamma=bandwidth)
    sums = {**grams, "GIST": K, "pyramid + GIST": grams["pyramid"] + 0.25 * K}
    for name, gram in sums.items():
        store.keep(f"fisher/{name}", lambda gram=gram: _kernel(gram, "", y, masks))


def _gists(paths: list[Path]) -> np.ndarray:
    feature = Gist()
    return np.concatenate(list(LocalEngine(2).map(lambda p: feature.extract([picture(p)]), paths)))


PARTS = {"embeddings": embeddings, "fisher": fisher}


def fisher_same(data: Path, store: Any) -> None:
    """Fisher vectors on the very descriptors and universal mixture of the other systems, one draw."""
    made = Representations(data, store.cache, "scene15", "sift")
    y = listing(data, "scene15")[1]
    stored, _ = cached_bags(data, store.cache, "scene15", "sift")
    gmm, pca = made.universal(128), made.pca()
    pca.n_positions, pca.n_features_in_ = 2, pca.n_features_in_ + 2
    model = FisherVector(gmm, pyramid=FISHER["pyramid"], n_positions=2)
    model.universal_, model.n_features_in_ = gmm, gmm.means_.shape[1] + 2
    width = len(gmm.weights_) * 2 * gmm.means_.shape[1]
    file = store.cache / "fisher-same.npy"
    if not file.exists():
        partial = file.with_suffix(".part.npy")
        vectors = np.lib.format.open_memmap(partial, "w+", np.float16, (len(y), 8 * width))
        for start in range(0, len(y), 50):
            rows = slice(start, min(start + 50, len(y)))
            bags = floats(stored[rows].compact(), positions=True)
            vectors[rows] = model.transform(pca.transform(bags)) * 64
        vectors.flush()
        partial.rename(file)
        return  # the products are a run of their own
    vectors = np.load(file, mmap_mode="r")
    train = draws(y, 100, 1)[0]
    plain = _products(vectors, slice(0, width), train) * 8
    whole = plain / 8 + _products(vectors, slice(width, 8 * width), train)
    for name, columns in {"plain": plain, "pyramid": whole}.items():
        store.keep(f"fisher-same/{name}", lambda columns=columns: _one_draw(columns, y, train))


def _one_draw(columns: np.ndarray, y: np.ndarray, train: np.ndarray) -> dict[str, Any]:
    """Rates from the products of all images with the training images."""
    inside = columns[train]
    C = best_penalty(machine, inside, y[train], gram=True)
    scores = machine(C).fit(inside, y[train]).decision_function(columns[~train])
    return {**_summary([rate(scores, y[~train])]), "C": C}


PARTS["fisher-same"] = fisher_same
