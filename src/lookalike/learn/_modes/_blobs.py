"""Models of words given quantised regions: translation, co-occurrence, and cross-media relevance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import _fit_context
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_is_fitted

from lookalike.arrays import Bags, row_blocks
from lookalike.learn._modes._base import CrossModal
from lookalike.learn._words._base import vocabulary, word_matrix

Array = NDArray[Any]


def as_bags(X: Any) -> Bags:
    """Bags as they are; a matrix is one region for each picture."""
    if isinstance(X, Bags):
        return X
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        return Bags.from_list(X)
    X = check_array(X, dtype=np.float64)
    return Bags(X, np.arange(len(X) + 1))


def translation_step(blobs: Array, words: Array, table: Array) -> tuple[Array, float]:
    """One step of expectation-maximisation of (1.7): a new table t(w | b), and the log likelihood before.

    ``blobs`` (n, B) counts the blobs of each picture and ``words`` (n, W) says which words it has. A word
    comes from each of its picture's regions with equal prior probability.
    """
    share = blobs / np.maximum(blobs.sum(axis=1, keepdims=True), 1)
    mixed = share @ table  # p(w | picture)
    ratio = np.divide(words, mixed, out=np.zeros_like(mixed), where=mixed > 0)
    likelihood = float(np.log(mixed[(words > 0) & (mixed > 0)]).sum())
    expected = table * (share.T @ ratio)
    total = expected.sum(axis=1, keepdims=True)
    # A blob that explains no word keeps what it said.
    return np.where(total > 0, expected / np.where(total > 0, total, 1.0), table), likelihood


class _BlobModel(CrossModal):
    """What the three share: regions are quantised to blobs, pictures become counts of blobs."""

    n_blobs: int
    random_state: int

    def _fit_blobs(self, X: Any, y: Sequence[str | Iterable[str]]) -> tuple[Array, Array]:
        bags = as_bags(X).compact()
        if len(bags) != len(y):
            raise ValueError(f"X has {len(bags)} pictures, but there are words for {len(y)}.")
        if not len(bags.values):
            raise ValueError("no picture has a region.")
        self.words_ = vocabulary(y, self.min_count)
        if not self.words_:
            raise ValueError(f"no word occurs on {self.min_count} observations; lower min_count.")
        self.n_features_in_ = bags.dim
        values = np.asarray(bags.values, np.float64)
        count = min(self.n_blobs, len(np.unique(values, axis=0)))
        self.centres_ = (
            MiniBatchKMeans(count, n_init=3, random_state=self.random_state, batch_size=4096)
            .fit(values)
            .cluster_centers_
        )
        matrix = word_matrix(y, self.words_)
        self.counts_ = matrix.sum(axis=0)
        return self._counts(bags), matrix.astype(float)

    def _counts(self, bags: Bags) -> Array:
        bags = bags.compact()
        if bags.dim != self.n_features_in_:
            raise ValueError(
                f"X has {bags.dim} columns, but the model was fitted with {self.n_features_in_}."
            )
        owners, found = bags.owners, np.zeros((len(bags), len(self.centres_)))
        for part in row_blocks(len(bags.values), 8 * len(self.centres_)):
            blobs = cdist(np.asarray(bags.values[part], np.float64), self.centres_).argmin(axis=1)
            np.add.at(found, (owners[part], blobs), 1.0)
        return found

    def word_probabilities(self, X: Any) -> Array:
        """``p(w | picture)``, of shape (n, words); rows sum to 1 (or less where words were left out)."""
        check_is_fitted(self)
        return self._probabilities(self._counts(as_bags(X)))

    def _probabilities(self, counts: Array) -> Array:
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        table: Array = self.table_
        return np.asarray(share @ table)

    def word_scores(self, X: Any) -> Array:
        """The same probabilities."""
        return self.word_probabilities(X)

    def query_scores(self, words: Sequence[str], X: Any) -> Array:
        """Log probability of all the words together."""
        p = self.word_probabilities(X)[:, self._known(words)]
        return np.asarray(np.log(np.maximum(p, 1e-300)).sum(axis=1))


_BLOB_CONSTRAINTS: dict[str, list[Any]] = {
    "n_blobs": [Interval(Integral, 1, None, closed="left")],
    "min_count": [Interval(Integral, 1, None, closed="left")],
    "random_state": [Interval(Integral, 0, None, closed="left")],
}


class TranslationModel(_BlobModel):
    """Annotation as translation from regions into words [1]_.

    Regions are quantised to blobs, and the probability of each word given a blob is found by expectation-
    maximisation over the unknown alignments ((1.7) of [2]_).

    Parameters
    ----------
    n_blobs : int, default=200
        Clusters of regions, at most.
    n_iter : int, default=50
        Steps of expectation-maximisation.
    min_count : int, default=1
        Words on fewer pictures are left out.
    random_state : int, default=0
        Of the clustering.

    Attributes
    ----------
    table_ : array of shape (blobs, words)
        ``t(w | b)``; rows sum to 1.
    log_likelihoods_ : list of float
        Before each step; never decreasing.
    centres_ : array
        The blobs.
    words_ : list of str
        The vocabulary.

    References
    ----------
    .. [1] P. Duygulu, K. Barnard, J. de Freitas, D. Forsyth, "Object recognition as machine translation",
       ECCV 2002.
    .. [2] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import TranslationModel
    >>> sky, sea, sand = [[0.0, 9]], [[5.0, 5]], [[9.0, 0]]
    >>> pictures = [np.array(sky + sea), np.array(sea + sand), np.array(sky + sand)]
    >>> model = TranslationModel(3).fit(pictures, [["sky", "sea"], ["sea", "sand"], ["sky", "sand"]])
    >>> model.annotate([np.array(sand)], top=1)[0][0].name
    'sand'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BLOB_CONSTRAINTS,
        "n_iter": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self, n_blobs: int = 200, *, n_iter: int = 50, min_count: int = 1, random_state: int = 0
    ) -> None:
        self.n_blobs = n_blobs
        self.n_iter = n_iter
        self.min_count = min_count
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Learn from bags of regions (or one vector for each picture) and words."""
        blobs, words = self._fit_blobs(X, y)
        self.table_ = np.full((blobs.shape[1], words.shape[1]), 1.0 / words.shape[1])
        self.log_likelihoods_: list[float] = []
        for _ in range(self.n_iter):
            self.table_, likelihood = translation_step(blobs, words, self.table_)
            self.log_likelihoods_.append(likelihood)
        return self


class CooccurrenceModel(_BlobModel):
    """Words of the pictures whose regions look alike [1]_: every region inherits all words of its picture.

    Parameters
    ----------
    n_blobs, min_count, random_state
        As in :class:`TranslationModel`.

    Attributes
    ----------
    table_ : array of shape (blobs, words)
        Shares of the words in each cluster.

    References
    ----------
    .. [1] Y. Mori, H. Takahashi, R. Oka, "Image-to-word transformation based on dividing and vector
       quantizing images with words", MISRM 1999.

    Examples
    --------
    >>> from lookalike.learn import CooccurrenceModel
    >>> model = CooccurrenceModel(2).fit([[0.0], [0.1], [9.0]], [["sky"], ["sky"], ["sea"]])
    >>> model.annotate([[8.0]], top=1)[0][0].name
    'sea'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = dict(_BLOB_CONSTRAINTS)

    def __init__(self, n_blobs: int = 200, *, min_count: int = 1, random_state: int = 0) -> None:
        self.n_blobs = n_blobs
        self.min_count = min_count
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Learn from bags of regions (or one vector for each picture) and words."""
        blobs, words = self._fit_blobs(X, y)
        pooled = blobs.T @ words
        total = pooled.sum(axis=1, keepdims=True)
        self.table_ = np.where(total > 0, pooled / np.where(total > 0, total, 1.0), 1.0 / words.shape[1])
        return self


class CrossMediaRelevanceModel(_BlobModel):
    """Words and blobs drawn together from training pictures that resemble the new one [1]_.

    Parameters
    ----------
    smoothing : float, default=0.1
        Share of the whole collection's frequencies in those of each training picture.
    n_blobs, min_count, random_state
        As in :class:`TranslationModel`.

    References
    ----------
    .. [1] J. Jeon, V. Lavrenko, R. Manmatha, "Automatic image annotation and retrieval using cross-media
       relevance models", SIGIR 2003.

    Examples
    --------
    >>> from lookalike.learn import CrossMediaRelevanceModel
    >>> model = CrossMediaRelevanceModel(2).fit([[0.0], [0.1], [9.0]], [["sky"], ["sky"], ["sea"]])
    >>> model.annotate([[8.0]], top=1)[0][0].name
    'sea'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_BLOB_CONSTRAINTS,
        "smoothing": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self, n_blobs: int = 200, *, smoothing: float = 0.1, min_count: int = 1, random_state: int = 0
    ) -> None:
        self.n_blobs = n_blobs
        self.smoothing = smoothing
        self.min_count = min_count
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Learn from bags of regions (or one vector for each picture) and words."""
        blobs, words = self._fit_blobs(X, y)

        def smoothed(counts: Array) -> Array:
            own = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            whole = counts.sum(axis=0) / max(counts.sum(), 1.0)
            return (1.0 - self.smoothing) * own + self.smoothing * whole

        self._log_blobs = np.log(np.maximum(smoothed(blobs), 1e-300))
        self._words_given = smoothed(words)
        return self

    def _probabilities(self, counts: Array) -> Array:
        found = np.empty((len(counts), len(self.words_)))
        for part in row_blocks(len(counts), 8 * len(self._log_blobs)):
            log = counts[part] @ self._log_blobs.T  # log p(blobs | training picture)
            weights = np.exp(log - log.max(axis=1, keepdims=True))
            found[part] = (weights / weights.sum(axis=1, keepdims=True)) @ self._words_given
        return found
