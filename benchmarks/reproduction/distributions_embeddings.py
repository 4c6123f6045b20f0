"""The comparison of chapter 7: linear machines on maps of histograms, against machines on their kernels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from distributions_data import Representations, draws, listing
from distributions_machine import Store, best_cost, log, machine, rates, summary
from sklearn.base import clone

from lookalike.similarity import (
    AdditiveKernelPCA,
    KernelPCAMap,
    RandomFourierMap,
    SquareRootMap,
    additive_kernel,
    mean_bandwidth,
)

N_WORDS = 4000
KERNELS = ("bhattacharyya", "chi2", "intersection")


def maps() -> dict[str, Any]:
    """What stands between a histogram and its linear machine, by the number of outputs."""
    few = {
        f"{name} {E}": model
        for E in (256, 512, 1024)
        for name, model in {
            "addkPCA": AdditiveKernelPCA(n_components=E),
            "kPCA": KernelPCAMap(kernel="exp-bhattacharyya", n_samples=E),
            "random": RandomFourierMap(kernel="exp-bhattacharyya", n_frequencies=E // 2),
        }.items()
    }
    many = {f"addkPCA {E}": AdditiveKernelPCA(n_components=E) for E in (4000, 8000, 12000)}
    waves = {
        f"random {E}": RandomFourierMap(kernel="exp-bhattacharyya", n_frequencies=E // 2)
        for E in (4000, 8000, 16000)
    }
    return {"linear": None, "√ + linear": SquareRootMap(), **few, **many, **waves}


def embeddings(data: Path, store: Store, n_draws: int) -> None:
    """Scene-15 with 4,000 hard words: maps first, then kernels."""
    y = listing(data, "scene15")[1]
    H = Representations(data, store.cache, "scene15", "sift").hard_words(N_WORDS)
    masks = draws(y, 100, n_draws)
    for name, model in maps().items():
        key = f"embeddings/{name}"
        if store.figures().get(key, {}).get("draws", 0) < n_draws:
            store.put(key, mapped(model, H, y, masks))
            log(f"{key}: {store.figures()[key]}")
    for kind in KERNELS:
        K = store.array(f"scene15-hard-{kind}", lambda kind=kind: additive_kernel(H, kind=kind))
        for name in (kind, f"exp-{kind}"):
            key = f"embeddings/{name} SVM"
            if store.figures().get(key, {}).get("draws", 0) < n_draws:
                store.put(key, by_kernel(K, name.startswith("exp-"), y, masks))
                log(f"{key}: {store.figures()[key]}")


def mapped(model: Any, H: np.ndarray, y: np.ndarray, masks: list[np.ndarray]) -> dict[str, Any]:
    """Rates of a linear machine on the outputs of a map, and the time the map takes.

    The machine is given the dot products: there are fewer images than outputs. C is chosen on a part of the
    first training set.
    """
    values, learned, applied, cost, width = [], [], [], None, 0
    for seed, train in enumerate(masks):
        started = time.process_time()
        if model is None:
            fitted = None
        else:
            fitted = clone(model)
            if "random_state" in fitted.get_params():
                fitted.set_params(random_state=seed)
            fitted.fit(H[train])
        learned.append(time.process_time() - started)
        started = time.process_time()
        # Raw histograms are short vectors: brought to a mean length of 1.
        X = H / np.linalg.norm(H[train], axis=1).mean() if fitted is None else fitted.transform(H)
        applied.append(time.process_time() - started)
        width = X.shape[1]
        K = X @ X[train].T
        cost = cost or best_cost(K[train], y[train])[0]
        values.append(rates(machine(cost).fit(K[train], y[train]).decision_function(K[~train]), y[~train]))
    times = {"learn": float(np.median(learned)), "apply": float(np.median(applied))}
    return summary(values, **times, E=width, C=cost)


def by_kernel(K: np.ndarray, exponentiated: bool, y: np.ndarray, masks: list[np.ndarray]) -> dict[str, Any]:
    """Rates of machines on a kernel; the bandwidth of an exponentiated one follows the mean rule."""
    values, cost = [], None
    for train in masks:
        G = np.exp(mean_bandwidth(1 - K[np.ix_(train, train)]) * (K - 1)) if exponentiated else K
        inside, across = G[np.ix_(train, train)], G[np.ix_(~train, train)]
        cost = cost or best_cost(inside, y[train])[0]
        values.append(rates(machine(cost).fit(inside, y[train]).decision_function(across), y[~train]))
    return summary(values, C=cost)
