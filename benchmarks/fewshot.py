"""How right are answers from few labels? Every method sees the same vectors, labels and questions.

    python -m benchmarks.fewshot [--data PATH] [--folder NAME=PATH ...] [--labels 1 5 20 60] [--draws 10]

Labels are drawn per class, all other pictures are asked about, and the balanced accuracy is noted. Each cell
is kept in ``benchmarks/results``, so a run that was cut short goes on; ``--fresh`` forgets them. With
``--write`` the table goes into ``docs/benchmarks/few-labels.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._pages import DOCS, markdown, write_between
from benchmarks._sets import DATA, RESULTS, Pictures, folder_set, known_set, vectors
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

import lookalike
from lookalike.evaluate import calibration_error, few_label_draws
from lookalike.learn import PrototypeClassifier

KS = (1, 3, 5, 11, 21)
SETS = ("corel1k", "flowers17", "scene15")
Answer = tuple[np.ndarray, dict[str, float]]


def tuned(make: Any, grid: dict[str, list[float]], X: np.ndarray, y: np.ndarray) -> Any:
    """The best of a grid by cross-validation; the middle of it where one label a class allows none."""
    fewest = int(np.unique(y, return_counts=True)[1].min())
    if fewest < 2:
        return make.set_params(**{k: v[len(v) // 2] for k, v in grid.items()}).fit(X, y)
    folds = StratifiedKFold(min(3, fewest), shuffle=True, random_state=0)
    return GridSearchCV(make, grid, cv=folds).fit(X, y)


def nearest(k: int) -> Callable[..., Answer]:
    """k-NN with at most k neighbours."""

    def answer(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
        return KNeighborsClassifier(min(k, len(y))).fit(X, y).predict(Q), {}

    return answer


def centroid(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
    """The nearest class mean."""
    with np.errstate(invalid="ignore"):  # one label a class has no variance
        return NearestCentroid().fit(X, y).predict(Q), {}


def logistic(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
    """Logistic regression, C by cross-validation."""
    return tuned(LogisticRegression(max_iter=200), {"C": [1.0, 10.0, 100.0]}, X, y).predict(Q), {}


def discriminant(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
    """Linear discriminant analysis with Ledoit and Wolf's shrinkage, in the span of the labelled vectors."""
    if len(y) <= len(np.unique(y)):
        return centroid(X, y, Q)
    # The scores are those of the full space: shrinkage towards the identity is blind to rotations.
    _, _, axes = np.linalg.svd(X - X.mean(0), full_matrices=False)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return model.fit(X @ axes.T, y).predict(Q @ axes.T), {}


def machine(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
    """A support vector machine with a Gaussian kernel, C and width by cross-validation."""
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [0.5, 1.0, 2.0]}
    return tuned(SVC(), grid, X, y).predict(Q), {}


def forest(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
    """300 trees."""
    return RandomForestClassifier(300, random_state=0).fit(X, y).predict(Q), {}


def prototypes(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> Answer:
    """Lookalike's, with its defaults."""
    start = time.perf_counter()
    model = PrototypeClassifier().fit(X, y)
    seconds = time.perf_counter() - start
    chances = model.predict_proba(Q)
    more = {"kept": len(model.prototypes_) / len(y), "seconds": seconds, "declined": model.declines(Q).mean()}
    return model.classes_[chances.argmax(1)], {**more, "confidence": chances.max(1)}


METHODS: dict[str, Callable[..., Answer]] = {
    **{f"{k}-NN": nearest(k) for k in KS},
    "nearest centroid": centroid,
    "random forest": forest,
    "shrinkage LDA": discriminant,
    "logistic regression": logistic,
    "RBF-SVM": machine,
    "PrototypeClassifier": prototypes,
}


def measure(
    name: str, method: str, X: np.ndarray, y: np.ndarray, n: int, draws: int
) -> list[dict[str, float]]:
    """One cell: a method with n labels a class, over the draws."""
    rows = []
    for labelled, asked in few_label_draws(y, n, draws, random_state=0):
        said, more = METHODS[method](X[labelled], y[labelled], X[asked])
        row = {"accuracy": 100 * balanced_accuracy_score(y[asked], said)}
        if "confidence" in more:
            row["calibration"] = calibration_error(said == y[asked], more.pop("confidence"))
        rows.append({**row, **{k: float(v) for k, v in more.items()}})
    print(f"{name:>10} {n:>3} {method:<20} {np.mean([r['accuracy'] for r in rows]):6.2f}", flush=True)
    return rows


def cell_file(pictures: Pictures, method: str, n: int, draws: int) -> Path:
    """Where a cell is kept."""
    return RESULTS / "fewshot" / f"{pictures.name}-{n}-{draws}-{method.replace(' ', '_')}.json"


def run(sets: list[Pictures], labels: list[int], draws: int, fresh: bool) -> dict[tuple[str, int, str], Any]:
    """All cells, from the disk where they are known."""
    table = {}
    for pictures in sets:
        X = normalize(vectors(pictures))  # kinder to the rivals than the vectors as they are
        for n in labels:
            if np.unique(pictures.classes, return_counts=True)[1].min() <= n:
                continue
            for method in METHODS:
                place = cell_file(pictures, method, n, draws)
                if fresh or not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(
                        json.dumps(measure(pictures.name, method, X, pictures.classes, n, draws))
                    )
                table[pictures.name, n, method] = json.loads(place.read_text())
    return table


def report(table: dict[tuple[str, int, str], Any], draws: int) -> str:
    """The page's tables."""
    sets = list(dict.fromkeys(key[0] for key in table))
    labels = sorted({key[1] for key in table})
    cells = [(s, n) for s in sets for n in labels if (s, n, "1-NN") in table]

    def mean(s: str, n: int, method: str, what: str = "accuracy") -> float:
        return float(np.mean([row[what] for row in table[s, n, method]]))

    rows = []
    for method in [*METHODS, "best k-NN"]:
        row = [f"**{method}**" if method == "PrototypeClassifier" else method]
        for s, n in cells:
            if method == "best k-NN":
                row.append(f"{max(mean(s, n, f'{k}-NN') for k in KS):.1f}")
            else:
                spread = np.std([r["accuracy"] for r in table[s, n, method]])
                row.append(f"{mean(s, n, method):.1f} ± {spread:.1f}")
        average = np.mean(
            [
                max(mean(s, n, f"{k}-NN") for k in KS) if method == "best k-NN" else mean(s, n, method)
                for s, n in cells
            ]
        )
        rows.append([*row, f"{average:.2f}"])
    main = markdown(["method", *(f"{s}, {n}" for s, n in cells), "mean"], rows)
    ours = "PrototypeClassifier"
    facts = [
        [
            f"{s}, {n}",
            f"{mean(s, n, ours, 'calibration'):.3f}",
            f"{100 * mean(s, n, ours, 'kept'):.0f}",
            f"{100 * mean(s, n, ours, 'declined'):.0f}",
            f"{mean(s, n, ours, 'seconds'):.2f}",
        ]
        for s, n in cells
    ]
    heads = [
        "set, labels a class",
        "calibration error",
        "prototypes kept, %",
        "declined, %",
        "seconds to learn",
    ]
    more = markdown(heads, facts)
    return (
        f"Balanced accuracy in %, mean ± standard deviation over {draws} draws.\n\n{main}\n\n"
        f"The prototype classifier's other figures:\n\n{more}"
    )


def main() -> None:
    """Measure, print, and write the page when asked."""
    parser = argparse.ArgumentParser(description="Balanced accuracy from few labels, beside other learners.")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LOOKALIKE_DATA", DATA)))
    parser.add_argument("--folder", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--labels", type=int, nargs="+", default=[1, 5, 20, 60])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs measured")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/few-labels.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    sets = [known_set(name, options.data) for name in SETS] if options.data.is_dir() else []
    for given in options.folder:
        name, _, path = given.partition("=")
        sets.append(folder_set(name, Path(path)))
    if not sets:
        raise SystemExit(f"there is no data in {options.data}: name it by --data, or folders by --folder.")
    text = report(run(sets, options.labels, options.draws, options.fresh), options.draws)
    print(text)
    if options.write:
        text = f"Measured with Lookalike {lookalike.__version__}.\n\n{text}"
        write_between(DOCS / "benchmarks" / "few-labels.md", "fewshot", text)


if __name__ == "__main__":
    main()
