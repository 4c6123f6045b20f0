"""Ensembles that give a picture words: by the hierarchy, one per class, by votes, by frequency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._nearest import NearestMarginClassifier
from lookalike.learn._words._sigmoid import fit_sigmoid, sigmoid
from lookalike.learn._words._taxonomy import Taxonomy
from lookalike.parallel import LocalEngine, n_workers

Array = NDArray[Any]


class Word(NamedTuple):
    """A concept for a picture: its probability there, and the score it was ranked by."""

    name: str
    probability: float
    score: float


def word_matrix(labels: Sequence[str | Iterable[str]], words: Sequence[str]) -> Array:
    """Which observation carries which word; a label may be one word or several."""
    number = {word: j for j, word in enumerate(words)}
    found = np.zeros((len(labels), len(words)), bool)
    for i, label in enumerate(labels):
        for word in [label] if isinstance(label, str) else label:
            if word in number:
                found[i, number[word]] = True
    return found


def vocabulary(labels: Sequence[str | Iterable[str]], min_count: int) -> list[str]:
    """All words that occur on at least so many observations, in their order."""
    counts: dict[str, int] = {}
    for label in labels:
        for word in {label} if isinstance(label, str) else set(label):
            counts[str(word)] = counts.get(str(word), 0) + 1
    return sorted(word for word, count in counts.items() if count >= min_count)


def default_estimator() -> Any:
    """The base classifier of [1]: DDA and the nearest neighbour's margin.

    Two steps of DDA: more fit the training set too well (see the page on discriminants).
    """
    return make_pipeline(DistanceDiscriminant(max_iter=2, huber=3.0), NearestMarginClassifier())


@dataclass(slots=True)
class Calibrated:
    """A binary classifier with the sigmoid of its held-out scores; a constant where there was no problem."""

    estimator: Any
    a: float
    b: float

    def scores(self, X: Array) -> Array:
        """The raw score of the positive class."""
        return raw_scores(self.estimator, X) if self.estimator is not None else np.zeros(len(X))

    def probabilities(self, X: Array) -> Array:
        """The calibrated probability of the positive class."""
        return sigmoid(self.scores(X), self.a, self.b)


def raw_scores(estimator: Any, X: Array) -> Array:
    """Decision values, or the log odds of a classifier that only gives probabilities."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    p = np.clip(estimator.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12)
    return np.asarray(np.log(p / (1 - p)))


def fit_calibrated(
    estimator: Any, X: Array, positive: Array, *, folds: int, smooth: bool, seed: int
) -> Calibrated:
    """Fit a classifier to all observations and a sigmoid to its scores on held-out ones (4.9)-(4.12)."""
    count = min(int(positive.sum()), int((~positive).sum()))
    n = len(positive)
    if count < 2:
        rate = float(np.clip(positive.mean() if n else 0.5, 1 / (n + 2), 1 - 1 / (n + 2)))
        return Calibrated(None, 0.0, float(np.log((1 - rate) / rate)))
    splitter = StratifiedKFold(min(folds, count), shuffle=True, random_state=seed)
    method = "decision_function" if hasattr(estimator, "decision_function") else "predict_proba"
    out = cross_val_predict(clone(estimator), X, positive, cv=splitter, method=method)
    if method == "predict_proba":
        p = np.clip(out[:, 1], 1e-12, 1 - 1e-12)
        out = np.log(p / (1 - p))
    a, b, _ = fit_sigmoid(out, positive, smooth=smooth)
    return Calibrated(clone(estimator).fit(X, positive), a, b)


class _WordEnsemble(BaseEstimator):
    """What all of them share: labels that are sets of words, and answers that are ranked words."""

    _flat_input = False  # its labels are sets of words

    min_count: int
    n_jobs: int | None

    def _labels(self, X: Any, y: Sequence[str | Iterable[str]]) -> tuple[Array, Array]:
        X = validate_data(self, X, dtype=np.float64)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows, but there are words for {len(y)}.")
        self.words_ = vocabulary(y, self.min_count)
        if not self.words_:
            raise ValueError(f"no word occurs on {self.min_count} observations; lower min_count.")
        matrix = word_matrix(y, self.words_)
        self.counts_ = matrix.sum(axis=0)
        return X, matrix

    def _each(self, function: Any, items: Iterable[Any]) -> list[Any]:
        return list(LocalEngine(n_workers(self.n_jobs)).map(function, items))

    def word_scores(self, X: Any) -> Array:
        """Scores of shape (n, words), larger for words that fit better; columns as in ``words_``."""
        raise NotImplementedError

    def word_probabilities(self, X: Any) -> Array:
        """Probabilities of the words, of shape (n, words)."""
        raise NotImplementedError

    def annotate(self, X: Any, *, top: int = 5) -> list[list[Word]]:
        """The best words for each observation, with their probabilities."""
        check_is_fitted(self)
        scores, p = self.word_scores(X), self.word_probabilities(X)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return [
            [Word(self.words_[j], float(p[i, j]), float(scores[i, j])) for j in row]
            for i, row in enumerate(best)
        ]


class HierarchicalEnsemble(_WordEnsemble):
    """Hierarchical ensemble of classifiers (HSE): words from a taxonomy, as many as are safe.

    Each concept has one binary classifier with a fitted sigmoid. The posterior of a concept is the
    product of those on its path (4.1), and it is weighed with how much a concept tells: general ones are
    easy to be right about and say little (4.2)-(4.4). What beats the root is said; there may be many
    words or none [1]_.

    Parameters
    ----------
    taxonomy : Taxonomy or None, default=None
        The concepts above the words; None puts every word under one root.
    estimator : binary classifier, default=None
        With ``decision_function`` or ``predict_proba``; None is DDA with the nearest neighbour's margin.
    negatives : {"global", "parent"}, default="global"
        Who is against a concept: all that lack it, or only those among them that have its parent.
    folds : int, default=10
        Of the cross-validation whose scores the sigmoids are fitted to.
    smooth : bool, default=True
        Platt's targets for the sigmoids rather than 0 and 1.
    min_count : int, default=2
        Words on fewer observations are left out.
    n_jobs : int, default=None
        Concepts learned at a time (-1 is one for each core).
    random_state : int, default=0
        Of the folds.

    Attributes
    ----------
    words_ : list of str
        The vocabulary.
    concepts_ : list of str
        Names of the concepts that have a word of the vocabulary below, the root first.
    specificity_ : array of shape (concepts,)
        ``P(C | k)`` of each concept (4.2).

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import HierarchicalEnsemble, Taxonomy
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.repeat(["oak", "elm", "sky"], 20)
    >>> centres = {"oak": [0, 0], "elm": [0, 3], "sky": [9, 0]}
    >>> X = np.array([centres[k] for k in kinds]) + rng.normal(size=(60, 2))
    >>> tree = Taxonomy.from_edges([("tree", "oak"), ("tree", "elm"), ("thing", "tree"), ("thing", "sky")])
    >>> model = HierarchicalEnsemble(tree).fit(X, [[k] for k in kinds])
    >>> model.annotate([[9.0, 0.0], [0.0, 3.0]], top=1)[0][0].name
    'sky'
    >>> [word.name for word in model.describe([[0.0, 3.0]])[0]]
    ['elm', 'tree']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "taxonomy": [Taxonomy, None],
        "estimator": [HasMethods(["fit"]), None],
        "negatives": [StrOptions({"global", "parent"})],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "smooth": ["boolean"],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        estimator: Any = None,
        *,
        negatives: str = "global",
        folds: int = 10,
        smooth: bool = True,
        min_count: int = 2,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.estimator = estimator
        self.negatives = negatives
        self.folds = folds
        self.smooth = smooth
        self.min_count = min_count
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Learn from observations and the words each carries (a word, or several)."""
        X, matrix = self._labels(X, y)
        tree = self.taxonomy if self.taxonomy is not None else Taxonomy.flat(self.words_)
        cover = tree.cover(self.words_)
        known = {self.words_[j] for j in np.flatnonzero(cover[1:].any(axis=0))}
        missing = [word for word in self.words_ if word not in known]
        if missing:
            raise ValueError(f"the taxonomy has no place for {missing[0]!r}: build it from these labels.")
        used = np.flatnonzero(cover.any(axis=1))
        place = {int(node): i for i, node in enumerate(used)}
        self.concepts_ = [tree.names[i] for i in used]
        self._parents = np.array([place.get(int(tree.parents[i]), -1) for i in used])
        self._cover = cover[used]
        self._word_concepts = np.array([place[tree.words[w]] for w in self.words_])
        carries = (matrix.astype(np.int64) @ self._cover.T.astype(np.int64)) > 0
        base = self.estimator if self.estimator is not None else default_estimator()

        def learn(node: int) -> Calibrated:
            rows = np.ones(len(X), bool)
            if self.negatives == "parent":
                rows = carries[:, self._parents[node]]
            return fit_calibrated(
                base,
                X[rows],
                carries[rows, node],
                folds=self.folds,
                smooth=self.smooth,
                seed=self.random_state,
            )

        self.classifiers_ = [None, *self._each(learn, range(1, len(used)))]
        self.specificity_ = specificity(
            self._cover, self.counts_, tree.sizes[used], tree.sizes[[tree.words[w] for w in self.words_]]
        )
        return self

    def node_probabilities(self, X: Any) -> Array:
        """The calibrated answer of each concept's own classifier, of shape (n, concepts); 1 for the root."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        found = np.ones((len(X), len(self.concepts_)))

        def ask(node: int) -> Array:
            classifier = self.classifiers_[node]
            assert classifier is not None
            return classifier.probabilities(X)

        for node, p in enumerate(self._each(ask, range(1, len(self.concepts_))), start=1):
            found[:, node] = p
        return found

    def log_posterior(self, X: Any) -> Array:
        """Logarithm of the product along each concept's path (4.1), of shape (n, concepts)."""
        own = np.log(np.maximum(self.node_probabilities(X), 1e-300))
        for node in range(1, len(self.concepts_)):  # a parent comes before its children
            own[:, node] += own[:, self._parents[node]]
        return own

    def log_relevance(self, X: Any) -> Array:
        """Logarithm of posterior times specificity (4.5): what concepts are ranked and cut by."""
        return np.asarray(self.log_posterior(X) + np.log(self.specificity_))

    def word_scores(self, X: Any) -> Array:
        """Relevance of the words' own concepts."""
        return self.log_relevance(X)[:, self._word_concepts]

    def word_probabilities(self, X: Any) -> Array:
        """Path posterior of the words' own concepts."""
        return np.asarray(np.exp(self.log_posterior(X)[:, self._word_concepts]))

    def describe(self, X: Any, *, prune: bool = False, at_least: float | None = None) -> list[list[Word]]:
        """All concepts that beat the root, the most relevant first; there may be none.

        ``prune`` leaves out a concept where one below it is said as well. ``at_least`` cuts by the
        posterior instead: all concepts of that probability.
        """
        posterior = self.log_posterior(X)
        relevance = posterior + np.log(self.specificity_)
        found = []
        for p, r in zip(posterior, relevance):
            said = r > r[0] if at_least is None else p >= np.log(max(at_least, 1e-300))
            above = [int(j) for j in np.argsort(-r, kind="stable") if said[j] and j > 0]
            if prune:
                covered = {int(self._parents[j]) for j in above}
                while more := {int(self._parents[j]) for j in covered if j > 0} - covered:
                    covered |= more
                above = [j for j in above if j not in covered]
            found.append([Word(self.concepts_[j], float(np.exp(p[j])), float(r[j])) for j in above])
        return found

    def predict(self, X: Any) -> list[list[str]]:
        """The names that :meth:`describe` gives."""
        return [[word.name for word in words] for words in self.describe(X)]


def specificity(cover: Array, counts: Array, sizes: Array, word_sizes: Array) -> Array:
    """``P(C | k)`` of every concept (4.2)-(4.4), from words covered, their counts and sizes."""
    prior = cover @ counts / counts.sum()
    smallest = np.array([word_sizes[row].min() for row in cover])
    chance = np.minimum(1.0, smallest / np.maximum(sizes, 1))
    product = chance * prior
    return np.asarray(product / product.sum())


class OnePerClassEnsemble(_WordEnsemble):
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: HierarchicalEnsemble._parameter_constraints[name]
        for name in ("estimator", "folds", "smooth", "min_count", "n_jobs", "random_state")
    }

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
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
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
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.stack(self._each(lambda c: c.probabilities(X), self.classifiers_), axis=1)

    def word_scores(self, X: Any) -> Array:
        """The same probabilities."""
        return self.word_probabilities(X)


class MaxWinsEnsemble(_WordEnsemble):
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
        name: HierarchicalEnsemble._parameter_constraints[name]
        for name in ("estimator", "min_count", "n_jobs")
    }

    def __init__(self, estimator: Any = None, *, min_count: int = 2, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.min_count = min_count
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
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
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
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


class FrequentWords(_WordEnsemble):
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
        "min_count": [Interval(Integral, 1, None, closed="left")],
    }
    n_jobs = None

    def __init__(self, *, min_count: int = 1) -> None:
        self.min_count = min_count

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Count the words."""
        X, _ = self._labels(X, y)
        self._n = len(X)
        return self

    def word_probabilities(self, X: Any) -> Array:
        """The words' shares of the training set."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.tile(self.counts_ / self._n, (len(X), 1))

    def word_scores(self, X: Any) -> Array:
        """The same shares."""
        return self.word_probabilities(X)
