"""Lookalike's own learner: with the collection, without it, for new images and for unseen classes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from benchmarks._rivals import Task
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from lookalike.evaluate import accuracy_at_coverage, calibration_error
from lookalike.learn import FusedClassifier, PrototypeClassifier, suggest_labels

Array = NDArray[Any]
Row = dict[str, float]


def judged(model: PrototypeClassifier, rows: Array, truth: Array) -> Row:
    """Accuracy and how much the probabilities are worth."""
    chances = model.predict_proba(rows)
    right, sure = model.classes_[chances.argmax(1)] == truth, chances.max(1)
    return {
        "accuracy": 100 * balanced_accuracy_score(truth, model.classes_[chances.argmax(1)]),
        "calibration": calibration_error(right, sure),
        "all": 100 * right.mean(),
        "surest": 100 * accuracy_at_coverage(right, sure, 0.8),
        "declined": 100 * model.declines(rows).mean(),
    }


def with_collection(task: Task) -> Row:
    """All images are in the collection when it learns."""
    X = task.rows.X
    start = time.perf_counter()
    model = PrototypeClassifier().fit(X[task.labelled], task.y, unlabelled=X[task.asked])
    seconds = time.perf_counter() - start
    kept = float((model.prototypes_ < len(task.y)).sum())
    more = {
        "seconds": seconds,
        "kept": 100 * kept / len(task.y),
        "prototypes": 100 * len(model.prototypes_) / len(task.y),
    }
    return {**judged(model, X[task.asked], task.rows.classes[task.asked]), **more}


def all_prototypes(task: Task) -> Row:
    """The same where every labelled image keeps its vote."""
    X = task.rows.X
    model = PrototypeClassifier(n_prototypes=max(10, int(np.unique(task.y, return_counts=True)[1].max())))
    model.fit(X[task.labelled], task.y, unlabelled=X[task.asked])
    return judged(model, X[task.asked], task.rows.classes[task.asked])


def labels_alone(task: Task) -> Row:
    """Nothing but the labelled images is known."""
    X = task.rows.X
    model = PrototypeClassifier().fit(X[task.labelled], task.y)
    return judged(model, X[task.asked], task.rows.classes[task.asked])


def new_images(task: Task) -> Row:
    """A random half is in the collection, the other half is new; ``inside`` is the accuracy of the first."""
    X = task.rows.X
    known = np.random.default_rng(0).random(len(task.asked)) < 0.5
    inside, outside = task.asked[known], task.asked[~known]
    model = PrototypeClassifier().fit(X[task.labelled], task.y, unlabelled=X[inside])
    truth = task.rows.classes
    within = 100 * balanced_accuracy_score(truth[inside], model.predict(X[inside]))
    return {**judged(model, X[outside], truth[outside]), "inside": within}


def unseen_classes(task: Task) -> Row:
    """A third of the classes has no label, but images in the collection: how well are they told apart?"""
    return _unseen(task, inside=True)


def unseen_elsewhere(task: Task) -> Row:
    """A third of the classes has no label and no image in the collection, but is asked about."""
    return _unseen(task, inside=False)


def _unseen(task: Task, *, inside: bool) -> Row:
    """``area``: under the ROC curve of the decline score, unseen against seen; ``refused`` and ``lost``: the
    shares of unseen and of seen images that are declined.
    """
    X, classes = task.rows.X, task.rows.classes
    names = np.unique(classes)
    seen = np.random.default_rng(int(task.labelled[0])).permutation(names)[: len(names) - len(names) // 3]
    mine, known = np.isin(task.y, seen), np.isin(classes[task.asked], seen)
    others = task.asked if inside else task.asked[known]
    model = PrototypeClassifier().fit(X[task.labelled[mine]], task.y[mine], unlabelled=X[others])
    asked = X[task.asked]
    declined = model.declines(asked)
    truth = classes[task.asked[known]]
    return {
        "accuracy": 100 * balanced_accuracy_score(truth, model.predict(asked[known])),
        "area": float(roc_auc_score(~known, model.strangeness(asked))),
        "refused": 100 * float(declined[~known].mean()),
        "lost": 100 * float(declined[known].mean()),
    }


def fused(task: Task) -> Row:
    """Several features fused, with the collection."""
    blocks = [task.rows.X, *task.rows.more.values()]
    model = FusedClassifier(random_state=0)
    model.fit([b[task.labelled] for b in blocks], task.y, unlabelled=[b[task.asked] for b in blocks])
    said = model.predict([b[task.asked] for b in blocks])
    return {"accuracy": 100 * balanced_accuracy_score(task.rows.classes[task.asked], said)}


ROUNDS, EACH = 10, 5


def active_labels(task: Task) -> Row:
    """Ten rounds of five labels that `suggest_labels` asks for, from none, against five drawn at random.

    A random four fifths of the images are the collection; all without a label are asked about, also those
    of classes that no label has met (which are always wrong).
    """
    rng = np.random.default_rng(int(task.labelled[0]))
    kept = np.flatnonzero(rng.random(len(task.rows.X)) < 0.8)
    X, classes = task.rows.X[kept], task.rows.classes[kept]
    suggested = np.zeros(0, dtype=np.intp)
    half = {}
    for i in range(ROUNDS):
        more = suggest_labels(X, suggested, classes[suggested], EACH).rows
        suggested = np.concatenate([suggested, more])
        if i == ROUNDS // 2 - 1:
            half["suggested, half way"] = _accuracy(X, classes, suggested)
    drawn = rng.permutation(len(X))[: ROUNDS * EACH]
    half["random, half way"] = _accuracy(X, classes, drawn[: len(drawn) // 2])
    return {"accuracy": _accuracy(X, classes, suggested), "random": _accuracy(X, classes, drawn), **half}


def _accuracy(X: Array, classes: Array, labelled: Array) -> float:
    rest = np.setdiff1d(np.arange(len(X)), labelled)
    if len(np.unique(classes[labelled])) < 2:
        return 100.0 / len(np.unique(classes))
    model = PrototypeClassifier().fit(X[labelled], classes[labelled], unlabelled=X[rest])
    return 100 * float(balanced_accuracy_score(classes[rest], model.predict(X[rest])))
