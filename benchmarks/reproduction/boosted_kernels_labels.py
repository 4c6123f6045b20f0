"""Several labels at once: mosaics of photographs, in the manner of the document's VOC table.

A mosaic is one to three photographs side by side; it has the labels of all of them, and its histograms are
the means of theirs. Every method gets the same machines and the same costs to choose from.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import boosted_kernels_features as features
import numpy as np
import scipy.linalg
from boosted_kernels_store import Store
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from _sets import known_set
from lookalike.learn import BlockConcatenation, BoostedKernel, OneShotKernel
from lookalike.similarity import additive_kernel

SIZES = (16, 32, 64, 128)
COSTS = (0.01, 0.1, 1.0, 10.0, 30.0)
CAPS = (SIZES[:2], SIZES[:3], SIZES)
RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
SIMILAR = "χ² similarities"
MORE_COSTS = (100.0,)  # for the concatenation of similarities, which takes the highest
INPUTS = {"corel1k": ("histograms", "square roots"), "flowers17": ("histograms", "square roots", SIMILAR)}
HELD_OUT = {"scoring": "loo", "keep_moments": False}
WHOLE = "boosted, held out, whole blocks and the concatenation"
WITH_ALL = {"boosted, held out, the concatenation as one more block", WHOLE}
METHODS: dict[str, list[Any]] = {
    "concatenation": [BlockConcatenation(standardize=False)],
    "one-shot ridge": [OneShotKernel(ridge=ridge) for ridge in RIDGES],
    "boosted, eigenvectors first": [BoostedKernel(levels=cut, keep_moments=False) for cut in CAPS],
    "boosted, capacities first": [
        BoostedKernel(levels=cut, order="level_first", keep_moments=False) for cut in CAPS
    ],
    "boosted, best candidate": [BoostedKernel(levels=cut, select="best", keep_moments=False) for cut in CAPS],
    "boosted, held out": [BoostedKernel(ridge=ridge, **HELD_OUT) for ridge in RIDGES[1:4]],
    "boosted, held out, best candidate": [
        BoostedKernel(ridge=ridge, select="best", **HELD_OUT) for ridge in RIDGES[1:4]
    ],
    "boosted, held out, the concatenation as one more block": [
        BoostedKernel(ridge=ridge, **HELD_OUT) for ridge in RIDGES[1:4]
    ],
    WHOLE: [
        BoostedKernel(ridge=ridge, levels=None, order="level_first", **HELD_OUT)
        for ridge in (0.3, 1.0, list(RIDGES))
    ],
}


def corel_tables(data: Path, store: Store) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Eight histograms as in the document's VOC table: colours and textures, 16 to 128 words each."""
    pictures = known_set("corel1k", data)
    out = {}
    for kind in ("lab", "sift"):
        table = store.array(f"words-{kind}", lambda k=kind: features.word_tables(pictures.paths, k, SIZES))
        for size, part in zip(SIZES, np.split(table, np.cumsum(SIZES)[:-1], axis=1)):
            out[f"{kind}{size}"] = part
    return out, pictures.classes.astype(int)


def flower_tables(data: Path, store: Store) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The seven histograms of the Flowers-17 table."""
    tables = features.flower_tables(data, store)
    return dict(zip(features.NAMES, tables)), np.arange(len(tables[0])) // 80


SETS = {"corel1k": corel_tables, "flowers17": flower_tables}


def labels(data: Path, store: Store, splits: int) -> None:
    """Every feature and every method on the mosaics of both sets."""
    for seed in range(splits):
        for name, tables in SETS.items():
            blocks, y = tables(data, store)
            parts = mosaics(y, seed)
            marks = [found for _, found in parts]
            for kind in INPUTS[name]:
                key = f"mosaics|{seed}|{name}|{kind}"
                if f"{key}|{WHOLE}" in store.results:
                    continue
                made = changed(kind, [[share @ block for block in blocks.values()] for share, _ in parts])
                measure_methods(key, list(blocks), made, marks, store)


def changed(kind: str, parts: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """Histograms as they are, their square roots, or similarities ``exp(−D / mean D)`` to the first part.

    Similarities come in as many principal components as "auto" would take.
    """
    if kind == "square roots":
        return [[np.sqrt(block) for block in part] for part in parts]
    if kind != SIMILAR:
        return parts
    blocks = []
    for tables in zip(*parts):
        D = [np.maximum(1 - additive_kernel(table, tables[0], kind="chi2"), 0) for table in tables]
        blocks.append(narrow([np.exp(-d / D[0].mean()) for d in D], (len(D[0]) - 1) // 2))
    return [list(part) for part in zip(*blocks)]


def measure_methods(
    key: str, names: list[str], parts: list[list[np.ndarray]], marks: list[np.ndarray], store: Store
) -> None:
    parts = [list(part) for part in zip(*(narrow([part[b] for part in parts]) for b in range(len(names))))]
    for b, name in enumerate(names):
        alone = [[part[b]] for part in parts]
        store.once(f"{key}|{name}", partial(mean_precision, alone, marks, METHODS["concatenation"]))
    joined = BlockConcatenation(standardize=False).fit(parts[0])
    wider = [[*part, wide] for part, wide in zip(parts, narrow([joined.transform(part) for part in parts]))]
    for name, models in METHODS.items():
        given = wider if name in WITH_ALL else parts
        costs = (*COSTS, *MORE_COSTS) if name == "concatenation" and key.endswith(SIMILAR) else COSTS
        store.once(f"{key}|{name}", partial(mean_precision, given, marks, models, costs))


def narrow(parts: list[np.ndarray], most: int | None = None) -> list[np.ndarray]:
    """The same in the principal axes that the first part spans, where no linear machine sees a difference.

    With ``most`` in the first of these axes alone.
    """
    mean = parts[0].mean(axis=0)
    centred = parts[0] - mean
    _, size, across = scipy.linalg.svd(centred, full_matrices=False, lapack_driver="gesvd")
    axes = across[size > 1e-9 * size[0]][:most].T
    return [(part - mean) @ axes for part in parts]


def mosaics(y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mosaics to train, to tune and to test: the shares of the photographs in each, and the labels.

    No photograph is in two of the parts.
    """
    rng = np.random.default_rng(seed)
    parts = np.split(rng.permutation(len(y)), [len(y) * 3 // 8, len(y) // 2])
    made = []
    for part, n in zip(parts, (1000, 400, 1300)):
        members = rng.choice(part, (n, 3))
        count = rng.integers(1, 4, n)
        weight = (np.arange(3) < count[:, None]) / count[:, None]
        share = np.zeros((n, len(y)))
        np.add.at(share, (np.arange(n)[:, None], members), weight)
        made.append((share, (share @ np.eye(y.max() + 1)[y] > 0).astype(int)))
    return made


def standard(F: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Embeddings with mean squared distance 1 over the first."""
    scale = np.sqrt(2 * F.var(axis=0).sum()) or 1.0
    return [(E - F.mean(axis=0)) / scale for E in (F, *others)]


def mean_precision(
    parts: list[list[np.ndarray]],
    marks: list[np.ndarray],
    models: list[Any],
    costs: tuple[float, ...] = COSTS,
) -> dict[str, float]:
    """Linear machines, one for each label; mean of the average precisions on the last part.

    The model and the cost are those of the highest mean on the second part.
    """
    found: list[tuple[float, float, float, list[float]]] = []
    for model in models:
        if getattr(model, "scoring", "train") == "loo":
            first = model.fit_held_out(parts[0], marks[0])
        else:
            first = model.fit(parts[0], marks[0]).transform(parts[0])
        placed = [first, *map(model.transform, parts[1:])]
        F, V, T = standard(*narrow(placed))
        for cost in costs:
            judges = [LinearSVC(C=cost, class_weight="balanced").fit(F, column) for column in marks[0].T]
            held, test = (precisions(judges, E, L) for E, L in ((V, marks[1]), (T, marks[2])))
            found.append((float(np.mean(held)), cost, first.shape[1], test))
    held, cost, width, test = max(found, key=lambda one: one[0])
    values = {str(c): v for c, v in enumerate(test)}
    return {"mean": float(np.mean(test)), "tuned": held, "C": cost, "columns": width, **values}


def precisions(judges: list[LinearSVC], E: np.ndarray, L: np.ndarray) -> list[float]:
    return [
        float(average_precision_score(column, judge.decision_function(E)))
        for column, judge in zip(L.T, judges)
    ]
