"""``LatentSemanticIndex``: pictures and words in the leading singular directions of both together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._modes._base import Calibrating, unit_rows

Array = NDArray[Any]


class LatentSemanticIndex(Calibrating):
    """Latent semantic indexing across modes: features beside words, as two languages stand side by side.

    Each training picture is one row of features and word counts, both blocks scaled to one Frobenius
    norm. In the leading singular directions a picture without words and words without a picture can be
    compared ([1]_, section 1.2; fold-in as in [2]_).

    Parameters
    ----------
    n_components : int, default=50
        Singular directions, at most.
    folds : int or None, default=5
        Of the held-out scores that probabilities are fitted to; None does without probabilities.
    min_count : int, default=1
        Words on fewer pictures are left out.

    Attributes
    ----------
    words_ : list of str
        The vocabulary.
    singular_values_ : array

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005.
    .. [2] S. Deerwester et al., "Indexing by latent semantic analysis", JASIS 41, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import LatentSemanticIndex
    >>> X = np.array([[1.0, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]])
    >>> model = LatentSemanticIndex(2, folds=None).fit(X, ["sky", "sky", "sea", "sea"])
    >>> [i for i, _ in model.search("sea", X, top=2)]
    [2, 3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "folds": [Interval(Integral, 2, None, closed="left"), None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components: int = 50, *, folds: int | None = 5, min_count: int = 1) -> None:
        self.n_components = n_components
        self.folds = folds
        self.min_count = min_count

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Learn from pictures' vectors and their words."""
        self._fit_words(X, y)
        return self

    def _learn(self, X: Array, matrix: Array) -> None:
        words = matrix.astype(float)
        self._scale = float(np.linalg.norm(words) / (np.linalg.norm(X) or 1.0))
        both = np.concatenate([X * self._scale, words], axis=1)
        _, values, rows = np.linalg.svd(both, full_matrices=False)
        k = min(self.n_components, int((values > 1e-10 * values[0]).sum()))
        self.singular_values_ = values[:k]
        # Coordinates are those of rows of U S. Dividing by S would bring out the small directions, in which
        # a picture and its words are opposed.
        self._fold = np.ascontiguousarray(rows[:k].T)

    def embed_pictures(self, X: Any) -> Array:
        """Pictures without words, in the common space."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray((X * self._scale) @ self._fold[: X.shape[1]])

    def embed_words(self, words: str | Iterable[str]) -> Array:
        """Words without a picture, together one row of the common space."""
        check_is_fitted(self)
        return np.asarray(self._fold[len(self._fold) - len(self.words_) :][self._known(words)].sum(axis=0))[
            None
        ]

    def word_scores(self, X: Any) -> Array:
        """Cosine between pictures and single words."""
        words = self._fold[len(self._fold) - len(self.words_) :] if hasattr(self, "_fold") else None
        pictures = unit_rows(self.embed_pictures(X))
        assert words is not None
        return np.asarray(pictures @ unit_rows(words).T)

    def query_scores(self, words: Sequence[str], X: Any) -> Array:
        """Cosine between pictures and all the words together."""
        return np.asarray(unit_rows(self.embed_pictures(X)) @ unit_rows(self.embed_words(words))[0])
