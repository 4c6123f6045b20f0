"""Reproduce the measurements of "Boosted kernel for image categorization" with features of our own.

    python benchmarks/reproduction/boosted_kernels.py [PART ...] [--data PATH] [--cache PATH]

Parts: ``features`` describes the flowers (two minutes); ``flowers`` and ``rounds`` are the document's
Flowers-17 tables, ``labels`` its multi-label table, ``deep`` the fusion of deep and
classical features; ``write`` puts the tables into docs/reproduction/boosted-kernels.md. Each part keeps what
it measured in the cache and goes on where it stopped, so that a long run may be cut (``--seconds``).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import boosted_kernels_features as flowers_features
from boosted_kernels_tables import write_document
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

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
SIZES = (16, 32, 64, 128)
CAPS = (16, 32, 64, 128, 256)


class Store:
    """Results by key in a JSON file, and arrays beside it; a clock that says when to stop."""

    sets: list[str]  # image sets that are asked for

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.end = folder, time.monotonic() + seconds
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "results.json"
        self.results: dict[str, Any] = self._kept()

    def _kept(self) -> dict[str, Any]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def once(self, key: str, measure: Callable[[], Any]) -> Any:
        if key not in self.results:
            if time.monotonic() > self.end:
                sys.exit(f"the time is over before {key}: run again to go on")
            value = measure()
            self.results = self._kept() | {key: value}  # another part may have written meanwhile
            fresh = self.file.with_suffix(".new")
            fresh.write_text(json.dumps(self.results, indent=0))
            fresh.replace(self.file)
            print(key, self.results[key], flush=True)
        return self.results[key]

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        path = self.folder / f"{name}.npy"
        if not path.exists():
            if time.monotonic() > self.end:
                sys.exit(f"the time is over before {name}: run again to go on")
            np.save(path, make())
        return np.load(path)


def flower_paths(data: Path) -> list[Path]:
    return sorted((data / "flowers17" / "images").glob("*.jpg"))


def describe_flowers(data: Path, store: Store) -> list[np.ndarray]:
    """The seven χ² distance matrices."""
    paths = flower_paths(data)
    words = [
        store.array(f"words{b}", lambda b=b: flowers_features.vocabulary(paths, bool(b))) for b in (0, 1)
    ]
    chunks = []
    for start in range(0, len(paths), 170):
        part = paths[start : start + 170]
        made = store.array(
            f"flowers{start}", lambda part=part: np.hstack(flowers_features.histograms(part, words))
        )
        chunks.append(made)
    joined = np.concatenate(chunks)
    dims = [720, 256, 900, 177, 1000, 1000, 1764]
    tables = np.split(joined, np.cumsum(dims)[:-1], axis=1)

    def distances(table: np.ndarray) -> np.ndarray:
        shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12)
        return flowers_features.chi2_distances(shares)

    return [store.array(f"chi2-{i}", lambda t=t: distances(t)) for i, t in enumerate(tables)]


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


def standard(F: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Embeddings with mean squared distance 1 over the first."""
    scale = np.sqrt(2 * F.var(axis=0).sum()) or 1.0
    return [(E - F.mean(axis=0)) / scale for E in (F, *others)]


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
        groups = store.array("twins", lambda: flowers_features.twins(flower_paths(data)))
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


# -- several labels at once ---------------------------------------------------------------------------


def words_of_corel(data: Path, store: Store) -> dict[str, np.ndarray]:
    """Eight histograms as in the document's VOC table: colours and textures, 16 to 128 words each."""
    paths = known_set("corel1k", data).paths
    out = {}
    for kind in ("lab", "sift"):
        table = store.array(f"words-{kind}", lambda k=kind: flowers_features.word_tables(paths, k, SIZES))
        for size, part in zip(SIZES, np.split(table, np.cumsum(SIZES)[:-1], axis=1)):
            out[f"{kind}{size}"] = part
    return out


def mosaics(y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Images of one to three pictures side by side, to train, to tune and to test: members and labels.

    No picture is in two of the parts. The histogram of a mosaic is the mean of those of its pictures.
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
        made.append((share, (share @ np.eye(10)[y] > 0).astype(int)))
    return made


RIDGES = (0.01, 0.1, 1.0)
LABELLED: dict[str, list[Any]] = {
    "concatenation": [BlockConcatenation(standardize=False)],
    "one-shot ridge": [OneShotKernel(ridge=ridge) for ridge in RIDGES],
    "boosted, eigenvectors first": [BoostedKernel()],
    "boosted, capacities first": [BoostedKernel(order="level_first")],
    "boosted, best candidate": [BoostedKernel(select="best")],
    "boosted, held out": [BoostedKernel(scoring="loo", ridge=ridge) for ridge in RIDGES],
    "boosted, held out, best candidate": [
        BoostedKernel(scoring="loo", select="best", ridge=ridge) for ridge in RIDGES
    ],
}

JOINED = "boosted, held out, the concatenation as a ninth block"


def labels(data: Path, store: Store, splits: int) -> None:
    """Several labels for each image, in the manner of the document's VOC table."""
    blocks = words_of_corel(data, store)
    y = known_set("corel1k", data).classes.astype(int)
    for seed in range(splits):
        parts = mosaics(y, seed)
        mixed = [[share @ block for block in blocks.values()] for share, _ in parts]
        marks = [found for _, found in parts]
        for s, name in enumerate(blocks):
            alone = [[part[s]] for part in mixed]
            store.once(
                f"labels|{seed}|{name}", partial(mean_precision, alone, marks, LABELLED["concatenation"])
            )
        for name, models in LABELLED.items():
            store.once(f"labels|{seed}|{name}", partial(mean_precision, mixed, marks, models))
        joined = BlockConcatenation(standardize=False).fit(mixed[0])  # functions that see all features
        nine = [[*part, joined.transform(part)] for part in mixed]
        models = LABELLED["boosted, held out"]
        store.once(f"labels|{seed}|{JOINED}", partial(mean_precision, nine, marks, models))


def mean_precision(
    parts: list[list[np.ndarray]], marks: list[np.ndarray], models: list[Any]
) -> dict[str, float]:
    """Linear machines, one for each label; mean of the average precisions on the last part.

    The model and the cost are those of the highest mean on the second part.
    """
    found: list[tuple[float, float, list[float]]] = []
    for model in models:
        if getattr(model, "scoring", "train") == "loo":
            first = model.fit_held_out(parts[0], marks[0])
        else:
            first = model.fit(parts[0], marks[0]).transform(parts[0])
        F, V, T = standard(first, *map(model.transform, parts[1:]))
        for cost in (0.1, 1.0, 10.0, 100.0):
            judges = [LinearSVC(C=cost, class_weight="balanced").fit(F, column) for column in marks[0].T]
            held, test = (precisions(judges, E, L) for E, L in ((V, marks[1]), (T, marks[2])))
            found.append((float(np.mean(held)), cost, test))
    _, cost, test = max(found, key=lambda one: one[0])
    return {"mean": float(np.mean(test)), "C": cost, **{str(c): v for c, v in enumerate(test)}}


def precisions(judges: list[LinearSVC], E: np.ndarray, L: np.ndarray) -> list[float]:
    return [
        float(average_precision_score(column, judge.decision_function(E)))
        for column, judge in zip(L.T, judges)
    ]


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
