"""``MaxWinsEnsemble``: a vote of classifiers for pairs of words."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone

from lookalike.learn._words._base import CONSTRAINTS, Labels, WordEnsemble
from lookalike.learn._words._calibrated import default_estimator, raw_scores

Array = NDArray[Any]


class MaxWinsEnsemble(WordEnsemble):
    """A classifier for each pair of words; a word's score is the number of pairs it wins.

    Observations that carry both words of a pair are left out of its training; equal numbers of wins are
    told apart by the summed margins.

    Parameters
    ----------
    estimator, min_count, n_jobs
        As in :class:`HierarchicalEnsemble`.

    Attributes
    ----------
    words_ : list of str
        The vocabulary.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import MaxWinsEnsemble
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.1]])
    >>> model = MaxWinsEnsemble().fit(X, ["sky", "sky", "sea", "sea", "sun", "sun"])
    >>> model.annotate([[5.1]], top=1)[0][0].name
    'sea'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: CONSTRAINTS[name] for name in ("estimator", "min_count", "n_jobs")
    }

    def __init__(self, estimator: Any = None, *, min_count: int = 2, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.min_count = min_count
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Labels) -> Self:
        """Learn from observations and the words each carries."""
        X, matrix = self._labels(X, y)
        base = self.estimator if self.estimator is not None else default_estimator()

        def learn(pair: tuple[int, int]) -> Any:
            i, j = pair
            rows = matrix[:, i] != matrix[:, j]
            positive = matrix[rows, i]
            if not positive.any() or positive.all():
                return None  # they always occur together: no picture tells them apart
            return clone(base).fit(X[rows], positive)

        n = len(self.words_)
        self._pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        self.classifiers_ = self._each(learn, self._pairs)
        return self

    def word_scores(self, X: Any) -> Array:
        """Wins, and below one the summed margins as a share."""
        X = self._new(X)
        wins, margins = np.zeros((2, len(X), len(self.words_)))
        answers = self._each(lambda c: None if c is None else raw_scores(c, X), self.classifiers_)
        for (i, j), f in zip(self._pairs, answers):
            if f is not None:
                wins[:, i] += f > 0
                wins[:, j] += f <= 0
                margins[:, i] += f
                margins[:, j] -= f
        largest = np.abs(margins).max(initial=0.0) or 1.0
        return np.asarray(wins + 0.5 * margins / (largest * 1.001))

    def word_probabilities(self, X: Any) -> Array:
        """Share of its pairs that a word wins."""
        scores = np.clip(np.round(self.word_scores(X)), 0, None)
        return np.asarray(np.minimum(1.0, scores / max(1, len(self.words_) - 1)))
