"""``FrequentWords``: the same words for every picture."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context

from lookalike.learn._words._base import CONSTRAINTS, Labels, WordEnsemble

Array = NDArray[Any]


class FrequentWords(WordEnsemble):
    """The most frequent words of the training set for every picture: what any ensemble must beat.

    Parameters
    ----------
    min_count : int, default=1
        Words on fewer observations are left out.

    Attributes
    ----------
    words_ : list of str
        The vocabulary.

    Examples
    --------
    >>> from lookalike.learn import FrequentWords
    >>> model = FrequentWords().fit([[0.0], [1.0], [2.0]], [["sky", "sea"], ["sky"], ["sun"]])
    >>> [word.name for word in model.annotate([[7.0]], top=2)[0]]
    ['sky', 'sea']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_count": CONSTRAINTS["min_count"],
    }
    n_jobs = None

    def __init__(self, *, min_count: int = 1) -> None:
        self.min_count = min_count

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Labels) -> Self:
        """Count the words."""
        X, _ = self._labels(X, y)
        self._n = len(X)
        return self

    def word_probabilities(self, X: Any) -> Array:
        """The words' shares of the training set."""
        X = self._new(X)
        return np.tile(self.counts_ / self._n, (len(X), 1))
