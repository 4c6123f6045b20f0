"""What one would otherwise take for few labels: learners of scikit-learn, with and without unlabelled rows.

Each rival is a function ``(task) → the classes of the rows that are asked about``. All rows have length one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, kneighbors_graph
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

Array = NDArray[Any]
KS = (1, 3, 5, 11, 21)
COSTS = (1.0, 10.0, 100.0)
WIDTHS = (0.5, 1.0, 2.0)


@dataclass
class Rows:
    """All vectors of a set, labelled or not, and what several draws can share."""

    X: Array
    classes: Array
    more: dict[str, Array] = field(default_factory=dict)  # vectors of other features

    @cached_property
    def centred(self) -> Array:
        """Rows around their mean, of length one again."""
        return normalize(self.X - self.X.mean(0))

    @cached_property
    def reduced(self) -> Array:
        """256 principal components of all rows."""
        return PCA(min(256, *self.X.shape), random_state=0).fit_transform(self.X).astype(np.float32)

    def graph(self, k: int) -> Any:
        """The k-NN graph in scikit-learn's form for label spreading."""
        return self._graphs.setdefault(k, kneighbors_graph(self.X, k, mode="connectivity", include_self=True))

    @cached_property
    def _graphs(self) -> dict[int, Any]:
        return {}


@dataclass
class Task:
    """One draw: which rows have which label, and which are asked about."""

    rows: Rows
    labelled: Array
    y: Array
    asked: Array

    @cached_property
    def learn(self) -> Array:
        """The labelled rows, turned into their own span where that is smaller: no distance changes."""
        return self._turned[0]

    @cached_property
    def ask(self) -> Array:
        """The rows that are asked about, turned alike."""
        return self._turned[1]

    @cached_property
    def _turned(self) -> tuple[Array, Array, Array]:
        X = self.rows.X
        if len(self.labelled) >= X.shape[1]:
            return X[self.labelled], X[self.asked], X
        _, _, axes = np.linalg.svd(X[self.labelled], full_matrices=False)
        turned = X @ axes.T
        return turned[self.labelled], turned[self.asked], turned

    @property
    def everything(self) -> Array:
        """All rows, turned alike."""
        return self._turned[2]

    @cached_property
    def coded(self) -> Array:
        """The classes as numbers, -1 where unlabelled."""
        codes = np.full(len(self.rows.X), -1)
        codes[self.labelled] = np.unique(self.y, return_inverse=True)[1]
        return codes

    def folds(self) -> StratifiedKFold | None:
        """Folds within the labelled rows; None where a class has one row."""
        fewest = int(np.unique(self.y, return_counts=True)[1].min())
        return StratifiedKFold(min(3, fewest), shuffle=True, random_state=0) if fewest > 1 else None

    @cached_property
    def logistic(self) -> Any:
        """Logistic regression, C by cross-validation; the middle of the grid with one label a class."""
        model = LogisticRegression(C=COSTS[1], max_iter=300, tol=1e-3)
        folds = self.folds()
        if folds is None:
            return model.fit(self.learn, self.y)
        return GridSearchCV(model, {"C": COSTS}, cv=folds).fit(self.learn, self.y).best_estimator_


def nearest(k: int) -> Callable[[Task], Array]:
    """k-NN with at most k neighbours."""

    def answer(task: Task) -> Array:
        return KNeighborsClassifier(min(k, len(task.y))).fit(task.learn, task.y).predict(task.ask)

    return answer


def centroid(task: Task) -> Array:
    """The nearest class mean."""
    with np.errstate(invalid="ignore"):  # one label a class has no variance
        return NearestCentroid().fit(task.learn, task.y).predict(task.ask)


def logistic(task: Task) -> Array:
    """Logistic regression, C by cross-validation."""
    return task.logistic.predict(task.ask)


def discriminant(task: Task) -> Array:
    """Linear discriminant analysis with Ledoit and Wolf's shrinkage, in the span of the labelled rows."""
    if len(task.y) <= len(np.unique(task.y)):
        return centroid(task)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return model.fit(task.learn, task.y).predict(task.ask)


def machine(task: Task) -> Array:
    """A support vector machine with a Gaussian kernel, C and width by cross-validation."""
    apart = _squared(task.learn, task.learn)
    folds, best = task.folds(), (-1.0, COSTS[1], WIDTHS[1])
    if folds is not None:
        for width in WIDTHS:
            kernel = np.exp(-width * apart)
            search = GridSearchCV(SVC(kernel="precomputed"), {"C": COSTS}, cv=folds, refit=False)
            search.fit(kernel, task.y)
            best = max(best, (search.best_score_, search.best_params_["C"], width))
    _, cost, width = best
    model = SVC(C=cost, kernel="precomputed").fit(np.exp(-width * apart), task.y)
    return model.predict(np.exp(-width * _squared(task.ask, task.learn)))


def forest(task: Task) -> Array:
    """300 trees."""
    rows = task.rows.X
    model = RandomForestClassifier(300, random_state=0).fit(rows[task.labelled], task.y)
    return model.predict(rows[task.asked])


def propagation(k: int) -> Callable[[Task], Array]:
    """scikit-learn's label propagation over the k-NN graph."""

    def answer(task: Task) -> Array:
        def kernel(a: Array, b: Array | None = None) -> Any:
            return task.rows.graph(k)

        model = LabelPropagation(kernel=kernel, max_iter=200).fit(task.rows.X, task.coded)
        return np.unique(task.y)[model.transduction_[task.asked]]

    return answer


def spreading(k: int, alpha: float) -> Callable[[Task], Array]:
    """scikit-learn's label spreading over the k-NN graph."""

    def answer(task: Task) -> Array:
        def kernel(a: Array, b: Array | None = None) -> Any:
            return task.rows.graph(k)

        model = LabelSpreading(kernel=kernel, alpha=alpha, max_iter=100).fit(task.rows.X, task.coded)
        return np.unique(task.y)[model.transduction_[task.asked]]

    return answer


def self_training(task: Task) -> Array:
    """Logistic regression that takes its own sure answers for labels; 256 principal components."""
    model = SelfTrainingClassifier(LogisticRegression(C=COSTS[2], max_iter=100, tol=1e-2), max_iter=5)
    said = model.fit(task.rows.reduced, task.coded).predict(task.rows.reduced[task.asked])
    return np.unique(task.y)[said]


def soft_centroids(task: Task) -> Array:
    """Class means of all rows, each counted by how near it is; labels stay as they are."""
    rows, n_classes = task.rows.centred, len(np.unique(task.y))
    given = np.eye(n_classes)[task.coded[task.labelled]]
    shares = np.zeros((len(rows), n_classes))
    shares[task.labelled] = given
    for _ in range(15):
        centres = normalize(shares.T @ rows)
        shares = softmax(10.0 * rows @ centres.T, axis=1)
        shares[task.labelled] = given
    return np.unique(task.y)[shares[task.asked].argmax(1)]


def smoothed_logistic(task: Task) -> Array:
    """Probabilities of logistic regression, smoothed over the graph of ten neighbours."""
    first = task.logistic.predict_proba(task.everything)
    graph = task.rows.graph(11)
    graph = graph.maximum(graph.T)
    graph = graph.multiply(1.0 / graph.sum(1)).tocsr()
    smooth = first
    for _ in range(20):
        smooth = 0.5 * first + 0.5 * (graph @ smooth)
    return np.unique(task.y)[smooth[task.asked].argmax(1)]


INDUCTIVE: dict[str, Callable[[Task], Array]] = {
    **{f"{k}-NN": nearest(k) for k in KS},
    "nearest centroid": centroid,
    "random forest": forest,
    "shrinkage LDA": discriminant,
    "logistic regression": logistic,
    "RBF-SVM": machine,
}

# Those that look at the unlabelled rows too.
TRANSDUCTIVE: dict[str, Callable[[Task], Array]] = {
    "label propagation, k = 7": propagation(8),
    "label spreading, k = 7": spreading(8, 0.2),
    "label spreading, k = 10, α = 0.9": spreading(11, 0.9),
    "self-training": self_training,
    "soft centroids": soft_centroids,
    "smoothed logistic": smoothed_logistic,
}


def _squared(a: Array, b: Array) -> Array:
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T, 0.0)
