"""What all parts share: figures and arrays on disk, rates, and support vector machines on kernels."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from distributions_data import draws
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

COSTS = (0.3, 3.0, 30.0, 300.0)


def log(text: str) -> None:
    """Say where the work is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


class Store:
    """Figures and arrays on disk, so that a run that was cut short goes on where it stopped."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.file = cache / "figures.json"

    def figures(self) -> dict[str, Any]:
        """All figures so far."""
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def put(self, key: str, value: Any) -> None:
        """Set the figures under this key; parts may run beside each other."""
        with self.file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fresh = self.file.with_suffix(".new")
            fresh.write_text(json.dumps({**self.figures(), key: value}, indent=1))
            fresh.replace(self.file)

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """A float32 array, made now where it is missing."""
        file = self.cache / f"{name}.npy"
        if not file.exists():
            started = time.process_time()
            np.save(file, np.asarray(make(), dtype=np.float32))
            log(f"{name}: {time.process_time() - started:.0f} s")
        return np.asarray(np.load(file))

    def arrays(self, name: str, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Several arrays by name, made now where they are missing."""
        file = self.cache / f"{name}.npz"
        if not file.exists():
            started = time.process_time()
            np.savez(file, **make())
            log(f"{name}: {time.process_time() - started:.0f} s")
        with np.load(file) as kept:
            return dict(kept)


def rates(scores: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Mean of the classes' rates, and the rate over all images, in percent."""
    right = scores.argmax(1) == y
    return 100 * float(np.mean([right[y == c].mean() for c in np.unique(y)])), 100 * float(right.mean())


def summary(values: list[tuple[float, float]], **more: Any) -> dict[str, Any]:
    """Figures of several draws."""
    a = np.array(values)
    return {"rate": a[:, 0].mean(), "std": a[:, 0].std(), "overall": a[:, 1].mean(), "draws": len(a), **more}


def machine(cost: float) -> OneVsRestClassifier:
    """A support vector machine for each class, on a given kernel matrix."""
    return OneVsRestClassifier(SVC(kernel="precomputed", C=cost))


def inner_part(y: np.ndarray) -> np.ndarray:
    """Two thirds of the training images, the same share of each class: what choices are made on."""
    return draws(y, int(np.bincount(y).min() * 2 / 3), 1)[0]


def best_cost(K: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The machine's C on the other third of the training images, and its rate there."""
    inner = inner_part(y)
    a, b = K[np.ix_(inner, inner)], K[np.ix_(~inner, inner)]
    found = {C: rates(machine(C).fit(a, y[inner]).decision_function(b), y[~inner])[0] for C in COSTS}
    best = max(found, key=lambda C: found[C])
    return best, found[best]


def as_kernels(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear kernels of vectors: those of the training images (a), and of others (b) with them."""
    mean = a.mean(0)
    a, b = a - mean, b - mean
    scale = np.mean((a**2).sum(1))
    return a @ a.T / scale, b @ a.T / scale


def measure_kernels(
    store: Store, key: str, options: dict[Any, np.ndarray], y: np.ndarray, masks: list[np.ndarray]
) -> None:
    """Rates of the best of some kernels, all n x n; kernel and C are chosen on the first training set."""
    if store.figures().get(key, {}).get("draws", 0) >= len(masks):
        return
    train = masks[0]
    found = {name: best_cost(K[np.ix_(train, train)], y[train]) for name, K in options.items()}
    name = max(found, key=lambda option: found[option][1])
    K, cost = options[name], found[name][0]
    values = []
    for train in masks:
        fitted = machine(cost).fit(K[np.ix_(train, train)], y[train])
        values.append(rates(fitted.decision_function(K[np.ix_(~train, train)]), y[~train]))
    store.put(key, summary(values, C=cost, option=name))
    log(f"{key}: {store.figures()[key]}")
