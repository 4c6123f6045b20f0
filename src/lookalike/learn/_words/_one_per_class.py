"""``OnePerClassEnsemble``: a calibrated classifier for each word."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context

from lookalike.learn._words._base import CONSTRAINTS, Labels, WordEnsemble
from lookalike.learn._words._calibrated import Calibrated, default_estimator, fit_calibrated

Array = NDArray[Any]


class OnePerClassEnsemble(WordEnsemble):
    """One calibrated classifier for each word against the rest; words are ranked by their probability.

    Parameters
    ----------
    estimator, folds, smooth, min_count, n_jobs, random_state
        As in :class:`HierarchicalEnsemble`.

    Attributes
    ----------
    words_ : list of str
        The vocabulary.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import OnePerClassEnsemble
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> model = OnePerClassEnsemble().fit(X, ["sky", "sky", "sky", "sea", "sea", "sea"])
    >>> model.annotate([[5.1]], top=1)[0][0].name
    'sea'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    def __init__(
        self,
        estimator: Any = None,
        *,
        folds: int = 10,
        smooth: bool = True,
        min_count: int = 2,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.folds = folds
        self.smooth = smooth
        self.min_count = min_count
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Labels) -> Self:
        """Learn from observations and the words each carries."""
        X, matrix = self._labels(X, y)
        base = self.estimator if self.estimator is not None else default_estimator()

        def learn(word: int) -> Calibrated:
            return fit_calibrated(
                base, X, matrix[:, word], folds=self.folds, smooth=self.smooth, seed=self.random_state
            )

        self.classifiers_ = self._each(learn, range(len(self.words_)))
        return self

    def word_probabilities(self, X: Any) -> Array:
        """Calibrated probabilities of the words."""
        X = self._new(X)
        return np.stack(self._each(lambda c: c.probabilities(X), self.classifiers_), axis=1)
