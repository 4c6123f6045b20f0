"""The main job on sample images: index, learn from a few labels per class, answer for the rest, report.

    python examples/demo.py [FOLDER] [--labels N]

Without a folder it uses the 1,797 handwritten digits that come with scikit-learn. With one, its sub-folders
are the classes; nothing is written into it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from lookalike.collection import Collection
from lookalike.errors import LookalikeError
from lookalike.features import Feature
from lookalike.images import path_of
from lookalike.progress import Step
from lookalike.recipes import Answer, get_recipe, learn_collection, rows_of

OUTPUT = Path("demo-output")
SIDE = 64  # pixels: the digits are 8 by 8


def digits(folder: Path) -> Path:
    """Write scikit-learn's digits as pictures, a sub-folder for each class."""
    from sklearn.datasets import load_digits

    data = load_digits()
    for i, (image, label) in enumerate(zip(data.images, data.target)):
        place = folder / str(label)
        place.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray((255 - image * 255 / 16).astype(np.uint8))
        picture.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(place / f"{i:04d}.png")
    return folder


def index(source: Path, features: list[Feature], console: Console) -> Collection:
    """A fresh collection of the pictures, with a progress bar."""
    home = OUTPUT / hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:12]
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    collection = Collection.create(home)
    columns = (TextColumn("indexing"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("index", total=None)

        def show(step: Step) -> None:
            bar.update(task, completed=step.done, total=step.total)

        collection.index([source], features=features, progress=show)
    return collection


def choose(classes: np.ndarray, per_class: int) -> np.ndarray:
    """A few images of each class, at random; at most half of a class, so that some are left to ask about."""
    rng = np.random.default_rng(0)
    chosen = []
    for label in np.unique(classes):
        members = np.flatnonzero(classes == label)
        if len(members) < 2:
            sys.exit(f"The class {str(label)!r} has one picture only: add some, or remove its folder.")
        chosen.append(rng.choice(members, min(per_class, len(members) // 2), replace=False))
    return np.concatenate(chosen)


def main() -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description="Index, learn from a few labels, answer for the rest.")
    parser.add_argument("folder", nargs="?", type=Path, help="its sub-folders are the classes")
    parser.add_argument("--labels", type=int, default=10, help="labelled images of each class")
    options = parser.parse_args()
    if options.folder is not None and not options.folder.is_dir():
        sys.exit(f"{options.folder} is not a folder: name one whose sub-folders are the classes.")
    if options.labels < 1:
        sys.exit("--labels must be at least 1.")
    try:
        run(options.folder, options.labels, Console())
    except LookalikeError as error:
        sys.exit(f"{error}")


def run(folder: Path | None, per_class: int, console: Console) -> None:
    """Everything after the arguments."""
    OUTPUT.mkdir(exist_ok=True)
    source = folder or digits(OUTPUT / "digits")
    start = time.perf_counter()
    recipe = get_recipe("best")
    feature = recipe.make_feature()
    collection = index(source, feature.parts, console)
    seconds = time.perf_counter() - start
    collection.label_from_folders(source)
    table = collection.labels()
    label_of = dict(zip(table["uri"].to_pylist(), table["label"].to_pylist()))
    known, rows = rows_of(collection, feature)
    have = np.array([uri in label_of for uri in known])
    uris, X = known[have], rows[have]
    classes = np.array([label_of[uri] for uri in uris])
    console.print(f"indexed {len(collection):,} pictures in {seconds:.0f} s")

    labelled = choose(classes, per_class)
    asked = np.setdiff1d(np.arange(len(uris)), labelled)
    collection.remove_labels(list(uris[asked]))
    learned = learn_collection(collection, recipe, name="demo", judge=per_class > 1)
    start = time.perf_counter()
    answers = learned.model.answer_rows(X[asked], [path_of(uri) for uri in uris[asked]], votes=3)
    seconds = learned.seconds + time.perf_counter() - start
    console.print(f"learnt from {len(labelled)} labels, asked about the other {len(asked):,}:\n")
    kept = len(learned.model.pipeline[-1].prototypes_)
    best = np.array([answer.best for answer in answers])
    rows = [
        ("Lookalike", best, f"{kept}", seconds),
        *rivals(even(X, feature.spans), classes, labelled, asked),
    ]
    shown = Table("method", "right, %", "prototypes", "seconds", box=None, pad_edge=False)
    for name, said, prototypes, took in rows:
        right = 100 * balanced_accuracy_score(classes[asked], said)
        shown.add_row(name, f"{right:.1f}", prototypes, f"{took:.1f}")
    console.print(shown)
    accepted = np.array([not answer.declined for answer in answers])
    if 0 < accepted.sum() < len(accepted):
        right = 100 * (best == classes[asked])[accepted].mean()
        declined = 100 * (1 - accepted.mean())
        console.print(
            f"\nIt declined {declined:.0f} % as “none of these”; {right:.1f} % of the others are right."
        )
    console.print(f"An answer with its evidence: {evidence_line(answers)}", soft_wrap=True)
    if learned.report:
        console.print(f"\nReport: {os.path.relpath(learned.report)}", soft_wrap=True)


def even(X: np.ndarray, spans: list[tuple[str, str]]) -> np.ndarray:
    """The vectors with an even say for each feature."""
    parts = [X[:, slice(*map(int, span.split(":")))] for _, span in spans]
    return normalize(np.hstack([normalize(part) for part in parts]))


def rivals(X: np.ndarray, classes: np.ndarray, labelled: np.ndarray, asked: np.ndarray) -> list[tuple]:
    """What plain learners say from the same vectors and labels."""
    fewest = int(np.unique(classes[labelled], return_counts=True)[1].min())
    k = min(5, fewest)
    learners = {
        f"plain k-NN (k = {k})": (KNeighborsClassifier(k), f"{len(labelled)}"),
        "logistic regression": (LogisticRegression(C=30.0, max_iter=1000), "–"),
    }
    if len(labelled) < X.shape[1]:  # a turn into the span of the labelled vectors is all that both look at
        X = X @ np.linalg.svd(X[labelled], full_matrices=False)[2].T
    rows = []
    for name, (learner, prototypes) in learners.items():
        start = time.perf_counter()
        said = learner.fit(X[labelled], classes[labelled]).predict(X[asked])
        rows.append((name, said, prototypes, time.perf_counter() - start))
    return rows


def evidence_line(answers: list[Answer]) -> str:
    """The surest answer in one line."""
    answer = max(answers, key=lambda a: a.probability)
    votes = [f"{Path(path_of(v.uri)).name} ({v.label}, {v.share / answer.score:.0%})" for v in answer.votes]
    sure = min(answer.probability, 0.99)  # nothing is quite certain
    said = f"{Path(answer.path).name} is {answer.best} ({sure:.0%} sure)"
    return f"{said}, for it is like {', '.join(votes)}"


if __name__ == "__main__":
    main()
