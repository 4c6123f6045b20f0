"""``HierarchicalEnsemble``: words from a taxonomy, as many as are safe."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._words._base import CONSTRAINTS, Labels, Word, WordEnsemble
from lookalike.learn._words._calibrated import Calibrated, default_estimator, fit_calibrated
from lookalike.learn._words._taxonomy import Taxonomy

Array = NDArray[Any]


class HierarchicalEnsemble(WordEnsemble):
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
        "negatives": [StrOptions({"global", "parent"})],
        **CONSTRAINTS,
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
    def fit(self, X: Any, y: Labels) -> Self:
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
