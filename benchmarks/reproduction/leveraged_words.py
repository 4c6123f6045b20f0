"""Bags of words for leveraged_neighbours.py: rates of a fold, over metrics and over numbers of prototypes."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from lookalike.learn import ITML, MLNNClassifier, UNNClassifier, WeightedNeighborsClassifier
from lookalike.neighbors import KNNGraph
from lookalike.similarity import additive_kernel

Curves = dict[str, list[list[float]]]
WORD_COUNTS = [100, 200, 400, 800, 1600, 2400]
# Table 5.3 of the thesis.
THESIS_METRICS = {
    "euclidean|ℓ1": 54.55, "euclidean|none": 57.56, "euclidean|ℓ2": 59.60,
    "manhattan|ℓ1": 64.29, "manhattan|none": 62.09, "manhattan|ℓ2": 53.19,
    "canberra|ℓ1": 60.80, "canberra|none": 59.57, "canberra|ℓ2": 59.81,
    "lorentzian|ℓ1": 64.34, "lorentzian|none": 58.21, "lorentzian|ℓ2": 52.07,
    "manhattan|tf-idf": 64.47, "euclidean|tf-idf": 55.22,
    "euclidean|ℓ1 + sqrt": 62.22, "euclidean|ℓ2 + sqrt": 60.78,
}  # fmt: skip
# Ours: what the thesis has, but for a third of each step ("gentle").
GENTLE = {"learning_rate": 0.3}


def percent(y: np.ndarray, answers: np.ndarray) -> float:
    """The mean of the per-class rates, which the documents call MAP."""
    return float(100 * balanced_accuracy_score(y, answers))


def labels_of(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return classes[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)]


def word_rates(H: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    graph = KNNGraph.build(H[a], n_neighbors=15, metric="intersection")
    rates = {}
    for metric in ("euclidean", "manhattan"):
        knn = WeightedNeighborsClassifier(n_neighbors=10, metric=metric).fit(H[a], y[a])
        rates[f"k-NN, {metric}"] = percent(y[b], knn.predict(H[b]))
    options = {"kernel": "intersection", "n_prototypes": 0.5, "calibration_folds": None}
    for name, model in {
        "MLNN, k = 10": MLNNClassifier(n_neighbors=10, **options),
        "MLNN, k = 5, 10, 15": MLNNClassifier(n_neighbors=[5, 10, 15], **options),
        "MLNN, k = 5, 10, 15, a third of each step": MLNNClassifier(
            n_neighbors=[5, 10, 15], **options, **GENTLE
        ),
        "UNN, k = 10": UNNClassifier(
            n_neighbors=10, metric="intersection", n_prototypes=0.5, calibration_folds=None
        ),
    }.items():
        rates[name] = percent(y[b], model.fit(H[a], y[a], graph=graph).predict(H[b]))
    machine = GridSearchCV(SVC(kernel="precomputed"), {"C": [1.0, 10.0, 100.0]}, cv=3)
    machine.fit(additive_kernel(H[a], kind="intersection"), y[a])
    answers = machine.predict(additive_kernel(H[b], H[a], kind="intersection"))
    rates["SVM, intersection kernel"] = percent(y[b], answers)
    return rates


def word_metrics(H: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """k-NN over the metrics and normalisations of the thesis's Table 5.3."""
    counts = np.array([whole_numbers(h) for h in H])
    length = lambda V: V / np.linalg.norm(V, axis=1, keepdims=True)  # noqa: E731
    rarity = np.log(len(a) / np.maximum(1, (H[a] > 0).sum(axis=0)))
    vectors = {"ℓ1": H, "none": counts, "ℓ2": length(H)}
    more = {"tf-idf": H * rarity, "ℓ1 + sqrt": np.sqrt(H), "ℓ2 + sqrt": np.sqrt(length(H))}
    cases = [
        (m, n, V) for m in ("euclidean", "manhattan", "canberra", "lorentzian") for n, V in vectors.items()
    ]
    cases += [("euclidean", n, V) for n, V in more.items()] + [("manhattan", "tf-idf", more["tf-idf"])]
    rates = {}
    for metric, normalisation, V in cases:
        V = V.astype(np.float32)
        knn = WeightedNeighborsClassifier(n_neighbors=10, metric=metric).fit(V[a], y[a])
        rates[f"{metric}|{normalisation}"] = percent(y[b], knn.predict(V[b]))
    return rates


def whole_numbers(shares: np.ndarray) -> np.ndarray:
    """The counts behind shares of a whole: the smallest numbers that have these ratios."""
    least = shares[shares > 0].min()
    for times in range(1, 20):
        counts = shares * (times / least)
        if np.abs(counts - counts.round()).max() < 0.01:
            break
    return counts.round()


def learned_curve(
    model: MLNNClassifier, graph: KNNGraph, A: np.ndarray, B: np.ndarray, y: np.ndarray, z: np.ndarray
) -> list[list[float]]:
    """Pairs of prototypes and rate of a classifier that learns them."""
    model.fit(A, y, graph=graph)
    most = max(len(e.members) for e in model.electorates_)
    counts = [*(n for n in WORD_COUNTS if n < most), most]
    stages = model.staged_decision_function(B, counts)
    return [[n, percent(z, labels_of(s, model.classes_))] for n, s in zip(counts, stages)]


def random_curve(
    A: np.ndarray, B: np.ndarray, y: np.ndarray, z: np.ndarray, **options: str
) -> list[list[float]]:
    """The same of neighbours among random prototypes."""
    rows = []
    for n in [*(n for n in WORD_COUNTS if n < len(A)), len(A)]:
        knn = WeightedNeighborsClassifier(n_neighbors=10, n_prototypes=n, random_state=0, **options)
        rows.append([n, percent(z, knn.fit(A, y).predict(B))])
    return rows


PLAIN = {"n_neighbors": 10, "calibration_folds": None}


def word_curves(H: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> Curves:
    """Rates over growing numbers of prototypes, in all; UNN's are the most of any class's problem."""
    graph = KNNGraph.build(H[a], n_neighbors=10, metric="intersection")
    data = (H[a], H[b], y[a], y[b])
    return {
        "MLNN": learned_curve(MLNNClassifier(kernel="intersection", **PLAIN), graph, *data),
        "UNN (one-versus-all)": learned_curve(UNNClassifier(metric="intersection", **PLAIN), graph, *data),
        "k-NN, random prototypes": random_curve(*data, metric="manhattan"),
    }


def rival_curves(H: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> Curves:
    """Rivals of the thesis's Gist curves; ITML learns on 128 components of the square roots."""
    graph = KNNGraph.build(H[a], n_neighbors=10, metric="intersection")
    data = (H[a], H[b], y[a], y[b])
    pca = PCA(128, random_state=0).fit(np.sqrt(H[a]))
    A, B = pca.transform(np.sqrt(H[a])), pca.transform(np.sqrt(H[b]))
    itml = ITML(random_state=0, max_iter=20).fit(A, y[a])
    learned = (itml.transform(A), itml.transform(B), y[a], y[b])
    near = KNNGraph.build(learned[0], n_neighbors=10)
    return {
        "AdaWMLNN": learned_curve(MLNNClassifier(metric="intersection", **PLAIN), graph, *data),
        "Wk-NN, random prototypes": random_curve(*data, kernel="intersection", metric="intersection"),
        "ITML, random prototypes": random_curve(*learned),
        "ITML + MLNN": learned_curve(MLNNClassifier(kernel="uniform", **PLAIN), near, *learned),
    }
