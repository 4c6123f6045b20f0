"""Histograms of visual words."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import row_blocks
from lookalike.bags._base import BagsTransformer, check_bags, sample_descriptors
from lookalike.bags._em import Encoder
from lookalike.bags._universal_gmm import UniversalGMM, universal_of


class BagOfWords(BagsTransformer):
    """Count how often each visual word occurs in an image.

    Equation 2.9 of [1]_: the mean over the descriptors of an indicator of the nearest word ("hard"), or of
    the posteriors of a Gaussian mixture ("soft"). Each row sums to 1; an empty bag gives a row of zeros.

    Parameters
    ----------
    n_words : int, default=1000
        Size of the vocabulary.
    assignment : {"hard", "soft"}, default="hard"
        "hard" learns words by k-means in mini-batches, "soft" by a `UniversalGMM`.
    universal : UniversalGMM or None, default=None
        The mixture of soft words; a fitted one is used as it is, and ``n_words`` is then its size.
    threshold : float, default=0
        Soft posteriors below this become 0, and the rest of the row is scaled to sum to 1.
    max_descriptors : int or None, default=500_000
        Learn from at most so many descriptors, drawn at random.
    batch_size : int, default=10_000
        Descriptors in one mini-batch of k-means.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    words_ : array of shape (n_words, d)
        The centres.
    universal_ : UniversalGMM
        Only for "soft".

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 2.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import BagOfWords, Bags
    >>> bags = Bags.from_list([[[0.0], [0.1], [5.0]], [[5.1], [4.9]]])
    >>> np.sort(BagOfWords(n_words=2, random_state=0).fit_transform(bags), axis=1).round(2)
    array([[0.33, 0.67],
           [0.  , 1.  ]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "assignment": [StrOptions({"hard", "soft"})],
        "universal": [None, HasMethods(["fit"])],
        "threshold": [Interval(Real, 0, 1, closed="left")],
        "max_descriptors": [None, Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_words: int = 1000,
        assignment: str = "hard",
        universal: Any = None,
        threshold: float = 0.0,
        max_descriptors: int | None = 500_000,
        batch_size: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_words = n_words
        self.assignment = assignment
        self.universal = universal
        self.threshold = threshold
        self.max_descriptors = max_descriptors
        self.batch_size = batch_size
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary."""
        bags = check_bags(X)
        if self.assignment == "soft":
            universal = self.universal
            if universal is None:
                universal = UniversalGMM(
                    n_components=self.n_words,
                    max_descriptors=self.max_descriptors,
                    random_state=self.random_state,
                )
            self.universal_ = universal_of(universal, bags)
            self.words_ = self.universal_.means_
        else:
            sample = sample_descriptors(bags, self.max_descriptors, self.random_state)
            self.words_ = learn_words(sample, self.n_words, self.batch_size, self.random_state)
        self.n_features_in_ = bags.dim
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """One histogram per bag."""
        check_is_fitted(self)
        bags = check_bags(X, dim=self.n_features_in_)
        if self.assignment == "hard":
            return word_counts(nearest_words(bags.values, self.words_), bags.offsets, len(self.words_))
        encoder = Encoder(self.universal_.mixture_, bags.values.dtype)
        out = np.zeros((len(bags), len(self.words_)), np.float32)
        for i, bag in enumerate(bags):
            for block in row_blocks(len(bag), 3 * bag.dtype.itemsize * len(self.words_)):
                posterior = encoder.posteriors(bag[block])[0]
                if self.threshold:
                    posterior[posterior < self.threshold] = 0
                    posterior /= np.maximum(posterior.sum(1, keepdims=True), 1e-30)
                out[i] += posterior.sum(0)
            out[i] /= max(float(out[i].sum()), 1e-30)
        return out


def learn_words(sample: NDArray[Any], n_words: int, batch_size: int, random_state: Any) -> NDArray[Any]:
    """The centres of k-means in mini-batches."""
    from sklearn.cluster import MiniBatchKMeans  # takes long to import, and only training needs it

    if len(sample) < n_words:
        raise ValueError(
            f"{len(sample)} descriptors cannot make {n_words} words: give more images or ask for fewer words."
        )
    means = MiniBatchKMeans(n_words, batch_size=batch_size, n_init=1, random_state=random_state)
    return np.asarray(means.fit(sample).cluster_centers_)


def nearest_words(X: NDArray[Any], words: NDArray[Any]) -> NDArray[np.intp]:
    """The index of the nearest word for each descriptor, by matrix products in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_words(np.array([[0.9], [3.0]]), np.array([[0.0], [1.0], [4.0]])).tolist()
    [1, 2]
    """
    words = np.asarray(words, dtype=np.float64)
    centre = words.mean(0)
    words = words - centre
    matrix = np.ascontiguousarray(words.T, dtype=X.dtype)
    half = (0.5 * (words**2).sum(1)).astype(X.dtype)
    out = np.empty(len(X), np.intp)
    for block in row_blocks(len(X), X.dtype.itemsize * len(words), budget=8 * 2**20):
        score = (X[block] - centre.astype(X.dtype)) @ matrix
        score -= half
        out[block] = score.argmax(1)
    return out


def word_counts(
    labels: NDArray[np.intp], offsets: NDArray[np.int64], n_words: int, *, normalise: bool = True
) -> NDArray[np.float32]:
    """Histograms of the words of each bag; the rows sum to 1, or are counts."""
    out = np.zeros((len(offsets) - 1, n_words), np.float32)
    for i in range(len(out)):
        bag = labels[offsets[i] : offsets[i + 1]]
        if len(bag):
            out[i] = np.bincount(bag, minlength=n_words) / (len(bag) if normalise else 1)
    return out
