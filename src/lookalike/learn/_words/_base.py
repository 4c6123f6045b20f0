"""What ensembles of words share: labels that are sets of words, and answers that are ranked words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.parallel import LocalEngine, n_workers

Array = NDArray[Any]
Labels = Sequence[str | Iterable[str]]

CONSTRAINTS: dict[str, list[Any]] = {
    "estimator": [HasMethods(["fit"]), None],
    "folds": [Interval(Integral, 2, None, closed="left")],
    "smooth": ["boolean"],
    "min_count": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": [Interval(Integral, 0, None, closed="left")],
}


class Word(NamedTuple):
    """A concept for a picture: its probability there, and the score it was ranked by."""

    name: str
    probability: float
    score: float


def word_matrix(labels: Labels, words: Sequence[str]) -> Array:
    """Which observation carries which word; a label may be one word or several."""
    number = {word: j for j, word in enumerate(words)}
    found = np.zeros((len(labels), len(words)), bool)
    for i, label in enumerate(labels):
        for word in [label] if isinstance(label, str) else label:
            if word in number:
                found[i, number[word]] = True
    return found


def vocabulary(labels: Labels, min_count: int) -> list[str]:
    """All words that occur on at least so many observations, in their order."""
    counts: dict[str, int] = {}
    for label in labels:
        for word in {label} if isinstance(label, str) else set(label):
            counts[str(word)] = counts.get(str(word), 0) + 1
    return sorted(word for word, count in counts.items() if count >= min_count)


class WordEnsemble(BaseEstimator):
    """An estimator whose labels are sets of words."""

    _flat_input = False

    min_count: int
    n_jobs: int | None

    def _labels(self, X: Any, y: Labels) -> tuple[Array, Array]:
        X = validate_data(self, X, dtype=np.float64)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows, but there are words for {len(y)}.")
        self.words_ = vocabulary(y, self.min_count)
        if not self.words_:
            raise ValueError(f"no word occurs on {self.min_count} observations; lower min_count.")
        matrix = word_matrix(y, self.words_)
        self.counts_ = matrix.sum(axis=0)
        return X, matrix

    def _new(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _each(self, function: Any, items: Iterable[Any]) -> list[Any]:
        return list(LocalEngine(n_workers(self.n_jobs)).map(function, items))

    def word_scores(self, X: Any) -> Array:
        """Scores of shape (n, words), larger for words that fit better; columns as in ``words_``."""
        return self.word_probabilities(X)

    def word_probabilities(self, X: Any) -> Array:
        """Probabilities of the words, of shape (n, words)."""
        raise NotImplementedError

    def annotate(self, X: Any, *, top: int = 5) -> list[list[Word]]:
        """The best words for each observation, with their probabilities."""
        scores, p = self.word_scores(X), self.word_probabilities(X)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return [
            [Word(self.words_[j], float(p[i, j]), float(scores[i, j])) for j in row]
            for i, row in enumerate(best)
        ]
