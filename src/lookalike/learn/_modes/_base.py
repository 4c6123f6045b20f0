"""What every cross-modal model answers: words for pictures, and pictures for words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from lookalike.errors import LookalikeError
from lookalike.learn._words._base import WordEnsemble, word_matrix
from lookalike.learn._words._sigmoid import fit_sigmoid, sigmoid

Array = NDArray[Any]


def unit_rows(x: Array) -> Array:
    """Rows of length 1; zero rows stay zero."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1.0))


class CrossModal(WordEnsemble):
    """A model of pictures and their words; subclasses write ``_learn`` and ``query_scores``."""

    n_jobs = None

    def _learn(self, X: Any, matrix: Array) -> None:
        raise NotImplementedError

    def query_scores(self, words: Sequence[str], X: Any) -> Array:
        """How well each picture fits all the words together, of shape (n,)."""
        raise NotImplementedError

    def _known(self, words: str | Iterable[str]) -> list[int]:
        """Numbers of the words that the model knows; an error where it knows none."""
        wanted = [words] if isinstance(words, str) else list(words)
        number = {word: j for j, word in enumerate(self.words_)}
        found = [number[w] for w in wanted if w in number]
        if not found:
            raise LookalikeError(
                f"none of the words {', '.join(map(repr, wanted)) or '(none)'} was learned: "
                "label pictures with them first, or ask for one of the known words."
            )
        return found

    def search(self, words: str | Iterable[str], X: Any, *, top: int = 20) -> list[tuple[int, float]]:
        """The pictures of ``X`` that fit the words best: their numbers and scores, best first."""
        check_is_fitted(self)
        self._known(words)
        scores = self.query_scores([words] if isinstance(words, str) else list(words), X)
        best = np.argsort(-scores, kind="stable")[:top]
        return [(int(i), float(scores[i])) for i in best]


class Calibrating(CrossModal):
    """A model of similarities; one sigmoid, fitted to held-out pictures, makes them probabilities."""

    folds: int | None

    def _fit_words(self, X: Any, y: Sequence[str | Iterable[str]]) -> None:
        X, matrix = self._labels(X, y)
        if self.folds is not None:
            count = min(self.folds, len(X))
            scores, truth = [], []
            if count > 1:
                for train, test in KFold(count, shuffle=True, random_state=0).split(X):
                    part = clone(self).set_params(folds=None, min_count=1)
                    part.fit(X[train], [y[i] for i in train])
                    scores.append(part.word_scores(X[test]).ravel())
                    truth.append(word_matrix([y[i] for i in test], part.words_).ravel())
                self._a, self._b, _ = fit_sigmoid(np.concatenate(scores), np.concatenate(truth))
            else:
                self._a, self._b = 0.0, 0.0
        self._learn(X, matrix)

    def word_probabilities(self, X: Any) -> Array:
        """Calibrated probabilities of the words, of shape (n, words)."""
        check_is_fitted(self)
        if self.folds is None:
            raise ValueError("probabilities need held-out scores: give a number of folds.")
        return sigmoid(self.word_scores(X), self._a, self._b)
