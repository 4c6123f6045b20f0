"""How right are answers from few labels? Every method sees the same vectors, labels and questions.

    python -m benchmarks.fewshot [--data PATH] [--folder NAME=PATH ...] [--labels 1 2 5 10 20 60] [--draws 20]

Labels are drawn per class, all other pictures are asked about, and the balanced accuracy is noted. Cells are
kept in ``benchmarks/results``, so a run that was cut short goes on; ``--fresh`` forgets those of the parts.
With ``--write`` the tables go into ``docs/benchmarks/few-labels.md``. ``--parts`` takes some of:

- ``rivals``: learners of scikit-learn, with and without unlabelled pictures;
- ``ours``: `PrototypeClassifier` with the collection, without it, and for pictures that were not in it;
- ``unseen``: a third of the classes held out, and how well they are declined;
- ``fused``: several features at once;
- ``suggest``: labels that `suggest` asks for against labels drawn at random.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import _ours as ours
from benchmarks._fewshot_tables import Cells, Row, tables
from benchmarks._markers import write
from benchmarks._rivals import INDUCTIVE, TRANSDUCTIVE, Rows, Task
from benchmarks._sets import DATA, RESULTS, Pictures, folder_set, known_set, vectors
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import normalize

from lookalike.evaluate import few_label_draws

SETS = ("corel1k", "flowers17", "scene15")
LABELS = (1, 2, 5, 10, 20, 60)
FEWER = 10  # draws of what is asked beside the main comparison
SLOW = ("new images", "unseen classes", "unseen elsewhere", "suggested labels", "fused")
MORE = ("efficientnet-lite0-layers", "hog", "local-binary-patterns", "color-histogram")  # fused with it
ONLY = {"all prototypes": (20, 60), "suggested labels": (1,)}  # labels a class where it is not all of them
Measure = Callable[[Task], Row]


def rival(answer: Callable[[Task], Any]) -> Measure:
    """A rival's accuracy."""

    def measure(task: Task) -> Row:
        said, truth = answer(task), task.rows.classes[task.asked]
        return {"accuracy": 100 * balanced_accuracy_score(truth, said)}

    return measure


PARTS: dict[str, dict[str, Measure]] = {
    "rivals": {name: rival(answer) for name, answer in {**INDUCTIVE, **TRANSDUCTIVE}.items()},
    "ours": {
        "with the collection": ours.with_collection,
        "all prototypes": ours.all_prototypes,
        "labels alone": ours.labels_alone,
        "new images": ours.new_images,
    },
    "unseen": {"unseen classes": ours.unseen_classes, "unseen elsewhere": ours.unseen_elsewhere},
    "fused": {"fused": ours.fused},
    "suggest": {"suggested labels": ours.active_labels},
}


def cell_file(pictures: Pictures, method: str, n: int, draws: int) -> Path:
    """Where a cell is kept."""
    return RESULTS / "fewshot" / f"{pictures.name}-{n}-{draws}-{method.replace(' ', '_')}.json"


def measure(
    pictures: Pictures, labels: list[int], draws: int, methods: dict[str, Measure], fresh: bool = False
) -> Cells:
    """All cells of a set, from the disk where they are known."""
    cells: Cells = {}
    more = {name: vectors(pictures, name) for name in MORE} if "fused" in methods else {}
    rows = Rows(normalize(vectors(pictures)), pictures.classes, more)
    counts = np.unique(pictures.classes, return_counts=True)[1]
    for n in [n for n in labels if counts.min() > n]:
        asked = [m for m in methods if n in ONLY.get(m, (n,))]
        missing = [m for m in asked if fresh or not cell_file(pictures, m, n, draws).exists()]
        tasks = []
        if missing:
            drawn = few_label_draws(pictures.classes, n, draws, random_state=0)
            tasks = [Task(rows, labelled, pictures.classes[labelled], asked) for labelled, asked in drawn]
        for method in missing:
            place = cell_file(pictures, method, n, draws)
            found = [methods[method](task) for task in (tasks[:FEWER] if method in SLOW else tasks)]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(found))
            mean = np.mean([row["accuracy"] for row in found])
            print(f"{pictures.name:>10} {n:>3} {method:<36} {mean:6.2f}", flush=True)
        for method in asked:
            cells[pictures.name, n, method] = json.loads(cell_file(pictures, method, n, draws).read_text())
    return cells


def main() -> None:
    """Measure, print, and write the page when asked."""
    parser = argparse.ArgumentParser(description="Balanced accuracy from few labels, beside other learners.")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LOOKALIKE_DATA", DATA)))
    parser.add_argument("--folder", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--labels", type=int, nargs="+", default=list(LABELS))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument(
        "--fresh", action="store_true", help="forget what earlier runs of these parts measured"
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/few-labels.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = [known_set(name, options.data) for name in SETS] if options.data.is_dir() else []
    for given in options.folder:
        name, _, path = given.partition("=")
        sets.append(folder_set(name, Path(path)))
    if not sets:
        raise SystemExit(f"there is no data in {options.data}: name it by --data, or folders by --folder.")
    methods = {name: f for part in options.parts for name, f in PARTS[part].items()}
    cells: Cells = {}
    for pictures in sets:
        cells |= measure(pictures, options.labels, options.draws, methods, options.fresh)
    for name, text in tables(cells).items():
        print(f"\n{name}\n")
        if options.write:
            write("benchmarks/few-labels.md", name, text)
        else:
            print(text)


if __name__ == "__main__":
    main()
