"""Reproduce the measurements of "Boosted kernel for image categorization" with features of our own.

    python benchmarks/reproduction/boosted_kernels.py [PART ...] [--data PATH] [--cache PATH]

Parts: ``features`` describes the flowers (two minutes); ``flowers`` and ``rounds`` are the document's
Flowers-17 tables, ``labels`` its multi-label table, ``deep`` the fusion of deep and
classical features; ``write`` puts the tables into docs/reproduction/boosted-kernels.md. Each part keeps what
it measured in the cache and goes on where it stopped, so that a long run may be cut (``--seconds``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import boosted_kernels_features as flowers_features
from boosted_kernels_labels import labels, standard
from boosted_kernels_store import Store
from boosted_kernels_tables import write_document
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from _sets import known_set, vectors
from lookalike.learn import (
    BlockConcatenation,
    BoostedKernel,
    FusedClassifier,
    MultipleKernelClassifier,
    OneShotKernel,
    PrototypeClassifier,
)

ROOT = Path(__file__).parents[2]
COSTS = (1.0, 10.0, 100.0)
WIDTHS = (0.5, 1.0, 2.0)
ROUNDS = (50, 100, 200, 300, 400, 500)
CAPS = (16, 32, 64, 128, 256)


def describe_flowers(data: Path, store: Store) -> list[np.ndarray]:
    """The seven χ² distance matrices."""
    tables = flowers_features.flower_tables(data, store)
    return [
        store.array(f"chi2-{i}", lambda t=t: flowers_features.chi2_distances(t)) for i, t in enumerate(tables)
    ]


def flower_split(groups: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """40 / 20 / 20 images of each class; near-identical pictures stay on one side as far as counts allow."""
    rng = np.random.default_rng(seed)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for c in range(17):
        members = np.arange(80 * c, 80 * c + 80)
        rank = dict(zip(np.unique(groups[members]), rng.permutation(80)))
        order = members[np.argsort([rank[g] for g in groups[members]], kind="stable")]
        for part, chosen in zip(parts, np.split(order, [40, 60])):
            part.extend(chosen.tolist())
    train, held, test = (np.array(part) for part in parts)
    return train, held, test


def across(matrices: list[np.ndarray], rows: np.ndarray, columns: np.ndarray) -> list[np.ndarray]:
    return [m[np.ix_(rows, columns)] for m in matrices]


def gaussian(A: np.ndarray, B: np.ndarray, width: float) -> np.ndarray:
    squares = (A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T
    return np.exp(-width * np.maximum(squares, 0))


def machine_accuracy(parts: list[np.ndarray], labels: list[np.ndarray]) -> dict[str, float]:
    """One-versus-rest Gaussian machines on embeddings: tuned on the second part, judged on the third."""
    F, V, T = standard(*parts)
    y, y_held, y_test = labels
    best: tuple[float, float, float] = (-1.0, 0.0, 0.0)
    for width in WIDTHS:
        inside, held = gaussian(F, F, width), gaussian(V, F, width)
        for cost in COSTS:
            model = MultipleKernelClassifier(kernel="precomputed", C=cost).fit([inside], y)
            best = max(best, (model.score([held], y_held), -cost, -width))
    cost, width = -best[1], -best[2]
    model = MultipleKernelClassifier(kernel="precomputed", C=cost).fit([gaussian(F, F, width)], y)
    return {"test": model.score([gaussian(T, F, width)], y_test), "C": cost, "width": width}


def kernel_accuracy(
    blocks: list[list[np.ndarray]], labels: list[np.ndarray], combine: str
) -> dict[str, float]:
    """A combination of kernels of distances: its cost (or λ, or ν) tuned on the second part."""
    options: list[dict[str, float]] = [{"C": cost} for cost in COSTS]
    if combine == "easymkl":
        options = [{"spread": spread} for spread in (0.01, 0.1, 0.5)]
    elif combine == "lpbeta":
        options = [{"C": 10.0, "nu": nu} for nu in (0.1, 0.3, 0.6)]
    best: tuple[float, Any, Any] = (-1.0, None, None)
    for option in options:
        model = MultipleKernelClassifier(combine=combine, kernel="distance", random_state=0, **option)
        model.fit(blocks[0], labels[0])
        score = model.score(blocks[1], labels[1])
        if score > best[0]:
            best = (score, option, model)
    return {"test": best[2].score(blocks[2], labels[2]), **best[1]}


BOOSTED: dict[str, dict[str, Any]] = {
    "boosted, eigenvectors first": {},
    "boosted, capacities first": {"order": "level_first"},
    "boosted, best candidate": {"select": "best"},
    "boosted, best candidate, ridge 0.1": {"select": "best", "ridge": 0.1},
    "convex optimum of 64 dimensions": {"solver": "convex", "levels": [64]},
}
HELD_OUT: dict[str, dict[str, Any]] = {
    "boosted, held out": {"scoring": "loo", "ridge": 0.1},
    "boosted, held out, best candidate": {"scoring": "loo", "ridge": 0.1, "select": "best"},
}
COMBINED = ["average", "product", "align", "alignf", "easymkl", "simplemkl", "lpmkl", "lpbeta"]
MIXED = " + product kernel"
SHARES = (0.3, 0.6)  # of the product kernel in a mixture


class Split:
    """One division of the flowers: distances, labels, and similarities in their principal components."""

    def __init__(self, data: Path, store: Store, seed: int) -> None:
        D = describe_flowers(data, store)
        groups = store.array("twins", lambda: flowers_features.twins(flowers_features.flower_paths(data)))
        parts = flower_split(groups, seed)
        y = np.arange(1360) // 80
        self.labels = [y[part] for part in parts]
        self.distances = [across(D, part, parts[0]) for part in parts]

    @cached_property
    def product(self) -> list[np.ndarray]:
        """The product kernel between every part and the training images: ``exp(−mean D)``."""
        scales = [b.mean() for b in self.distances[0]]
        return [np.exp(-np.mean([b / s for b, s in zip(part, scales)], axis=0)) for part in self.distances]

    @cached_property
    def similar(self) -> list[list[np.ndarray]]:
        """``exp(−D / mean D)``, the rows of every feature."""
        scales = [b.mean() for b in self.distances[0]]
        return [[np.exp(-b / s) for b, s in zip(part, scales)] for part in self.distances]

    @cached_property
    def components(self) -> list[list[np.ndarray]]:
        """The same in 339 principal components: as many as "auto" would take from 680 samples.

        ``BoostedKernel(metric="precomputed")`` learns the same model from the distances, more slowly.
        """
        made: list[list[np.ndarray]] = [[], [], []]
        for s in range(len(self.similar[0])):
            mean = self.similar[0][s].mean(axis=0)
            axes = np.linalg.svd(self.similar[0][s] - mean, full_matrices=False)[2][:339].T
            for part, blocks in zip(made, self.similar):
                part.append((blocks[s] - mean) @ axes)
        return made


LAST = "boosted, held out" + MIXED  # of the methods of a split


def flowers(data: Path, store: Store, splits: int) -> None:
    """Every method on the same seven distance matrices."""
    for seed in range(splits):
        if f"methods|{seed}|{LAST}" in store.results:
            continue
        split = Split(data, store, seed)
        for key, measure in flower_measures(split):
            store.once(f"methods|{seed}|{key}", measure)


def flower_measures(split: Split) -> Iterator[tuple[str, Callable[[], Any]]]:
    for s, name in enumerate(flowers_features.NAMES):
        alone = [[part[s]] for part in split.distances]
        yield f"single {name}", partial(kernel_accuracy, alone, split.labels, "average")
    for combine in COMBINED:
        yield combine, partial(kernel_accuracy, split.distances, split.labels, combine)
    mean = [-np.log(k) for k in split.product]
    eight = [[*part, d] for part, d in zip(split.distances, mean)]
    for combine in ("alignf", "lpbeta"):  # the product kernel is not a sum of the others
        yield combine + MIXED, partial(kernel_accuracy, eight, split.labels, combine)
    yield "one-shot ridge", partial(one_shot, split)
    yield "concatenation", partial(concatenated, split)
    for name, options in BOOSTED.items():
        yield name, partial(boosted, split, options)
    for name, options in HELD_OUT.items():
        yield name, partial(boosted, split, options, held_out=True)
    yield LAST, partial(mixed, split, HELD_OUT["boosted, held out"])


def one_shot(split: Split) -> dict[str, Any]:
    """One ridge regression on all similarities, in the principal components of them together."""
    joined = BlockConcatenation(standardize=False).fit(split.similar[0])
    wide = [joined.transform(part) for part in split.similar]
    axes = np.linalg.svd(wide[0], full_matrices=False)[2].T
    parts = [part @ axes for part in wide]
    best = (-1.0, 0.0)
    for ridge in (0.01, 0.1, 1.0):
        model = OneShotKernel(ridge=ridge).fit([parts[0]], split.labels[0])
        F, V = standard(model.transform([parts[0]]), model.transform([parts[1]]))
        judge = MultipleKernelClassifier(kernel="precomputed").fit([gaussian(F, F, 1.0)], split.labels[0])
        best = max(best, (judge.score([gaussian(V, F, 1.0)], split.labels[1]), -ridge))
    model = OneShotKernel(ridge=-best[1]).fit([parts[0]], split.labels[0])
    embedded = [model.transform([part]) for part in parts]
    return {**machine_accuracy(embedded, split.labels), "ridge": -best[1], "alignment": model.alignment_}


def concatenated(split: Split) -> dict[str, Any]:
    """Similarities of all features side by side, each block with the same weight."""
    joined = BlockConcatenation(standardize=False).fit(split.similar[0])
    return machine_accuracy([joined.transform(part) for part in split.similar], split.labels)


def embedded(split: Split, options: dict[str, Any], held_out: bool) -> tuple[BoostedKernel, list[np.ndarray]]:
    """A boosted kernel and the three parts in its space, the first perhaps as left out of it."""
    model = BoostedKernel(**options)
    if held_out:
        first = model.fit_held_out(split.components[0], split.labels[0])
    else:
        first = model.fit(split.components[0], split.labels[0]).transform(split.components[0])
    return model, [first, *map(model.transform, split.components[1:])]


def boosted(split: Split, options: dict[str, Any], held_out: bool = False) -> dict[str, Any]:
    model, parts = embedded(split, options, held_out)
    return {
        **machine_accuracy(parts, split.labels),
        "functions": model.n_rounds_,
        "alignment": float(model.alignments_[-1]),
        "contributions": model.contributions_.round(4).tolist(),
        "stop": model.stop_reason_,
    }


def mixed(split: Split, options: dict[str, Any]) -> dict[str, Any]:
    """A machine on a mixture of the Gaussian kernel of the learned space and the product kernel."""
    F, V, T = standard(*embedded(split, options, held_out=True)[1])
    y, y_held, y_test = split.labels
    found: list[tuple[float, dict[str, float]]] = []
    for width in WIDTHS:
        learned = [gaussian(part, F, width) for part in (F, V, T)]
        for share in SHARES:
            inside, held, outside = ((1 - share) * a + share * b for a, b in zip(learned, split.product))
            for cost in COSTS:
                judge = MultipleKernelClassifier(kernel="precomputed", C=cost).fit([inside], y)
                values = {"test": judge.score([outside], y_test), "C": cost, "width": width, "share": share}
                found.append((judge.score([held], y_held), values))
    return max(found, key=lambda pair: pair[0])[1]


def rounds(data: Path, store: Store, splits: int) -> None:
    """Accuracy over the number of functions and the largest dimension (the document's Fig. 3)."""
    for seed in range(splits):
        if f"rounds|{seed}|eigen_first|{CAPS[-1]}" in store.results:
            continue
        split = Split(data, store, seed)
        for order in ("level_first", "eigen_first"):
            for cap in CAPS:
                store.once(f"rounds|{seed}|{order}|{cap}", partial(one_cap, split, order, cap))


def one_cap(split: Split, order: str, cap: int) -> dict[str, Any]:
    levels = [k for k in CAPS if k <= cap]
    inside, _, outside = split.components
    y, _, y_test = split.labels
    model = BoostedKernel(order=order, levels=levels).fit(inside, y)
    F, T = model.transform(inside), model.transform(outside)
    out: dict[str, Any] = {"functions": model.n_rounds_}
    for t in ROUNDS:
        if t > model.n_rounds_:
            break
        A, B = standard(F[:, :t], T[:, :t])
        judge = MultipleKernelClassifier(kernel="precomputed", C=10.0).fit([gaussian(A, A, 1.0)], y)
        out[str(t)] = judge.score([gaussian(B, A, 1.0)], y_test)
        out[f"dim {t}"] = float(model.selected_["dim"][:t].mean())
    return out


# -- deep and classical features ----------------------------------------------------------------------

CLASSICAL = ("color-histogram", "hog", "local-binary-patterns", "gist")
SETS = {
    "flowers17": CLASSICAL,
    "corel1k": CLASSICAL,
    "scene15": CLASSICAL[1:],  # its pictures have no colours
}
DEEP = "efficientnet-lite0"


def deep(data: Path, store: Store, splits: int) -> None:
    """Deep vectors and classical features together against the best of them alone."""
    for seed in range(splits):
        for name in store.sets:
            pictures = known_set(name, data)
            blocks = {feature: vectors(pictures, feature) for feature in (DEEP, *SETS[name])}
            for per_class in (20, 60):
                for key, measure in deep_measures(blocks, pictures.classes, per_class, seed):
                    store.once(f"deep|{name}|{per_class}|{seed}|{key}", measure)


def deep_measures(
    blocks: dict[str, np.ndarray], y: np.ndarray, per_class: int, seed: int
) -> Iterator[tuple[str, Callable[[], Any]]]:
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:per_class] for c in np.unique(y)])
    test = np.setdiff1d(np.arange(len(y)), train)
    inside, outside = [b[train] for b in blocks.values()], [b[test] for b in blocks.values()]

    def voted(F: np.ndarray, T: np.ndarray, **options: Any) -> dict[str, float]:
        return {"test": PrototypeClassifier(**options).fit(F, y[train]).score(T, y[test])}

    for feature, F, T in zip(blocks, inside, outside):
        yield feature, partial(voted, F, T)

    def logistic() -> dict[str, float]:
        F, T = (normalize(part[0]) for part in (inside, outside))
        judge = LogisticRegression(C=30.0, max_iter=300, tol=1e-3).fit(F, y[train])
        return {"test": float(judge.score(T, y[test]))}

    def joined() -> dict[str, float]:
        model = BlockConcatenation(standardize=False).fit(inside)
        return voted(model.transform(inside), model.transform(outside))

    def weighed() -> dict[str, Any]:
        model = FusedClassifier(random_state=0).fit(inside, y[train])
        weights = dict(zip(blocks, model.fusion_.feature_weights_.tolist()))
        return {"test": model.score(outside, y[test]), "weights": weights}

    def boosted_space() -> dict[str, float]:
        model = BoostedKernel(scoring="loo", ridge=0.1, n_rounds=200, keep_moments=False)
        return voted(model.fit_held_out(inside, y[train]), model.transform(outside))

    yield "deep, logistic", logistic
    yield "concatenation", joined
    yield "boosted", boosted_space
    yield "fused", weighed


PARTS: dict[str, Callable[..., Any]] = {
    "features": lambda data, store, splits: describe_flowers(data, store),
    "flowers": flowers,
    "rounds": rounds,
    "labels": labels,
    "deep": deep,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=[*PARTS, "write"])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=ROOT / "benchmarks" / "results" / "boosted-kernels")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after so long")
    given = parser.parse_args()
    store = Store(given.cache, given.seconds)
    store.sets = given.sets
    for part in given.parts:
        if part == "write":
            write_document(store.results, ROOT / "docs" / "reproduction" / "boosted-kernels.md")
        else:
            PARTS[part](given.data, store, given.splits)


if __name__ == "__main__":
    main()
