"""Words for the pictures of a collection, and pictures for words: learned from its labels when asked."""

from __future__ import annotations

import csv
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from lookalike.collection import Collection
from lookalike.errors import LookalikeError, LookalikeWarning
from lookalike.features import Feature
from lookalike.learn import HierarchicalEnsemble, Taxonomy

Array = NDArray[Any]

DIRECTIONS = 64  # principal directions of the labelled pictures that the concepts are learned in


@dataclass(frozen=True)
class Tag:
    """A word for a picture, and how probable it is.

    Examples
    --------
    >>> Tag("sky", 0.9).word
    'sky'
    """

    word: str
    probability: float


class WordModel:
    """The words of a collection under a taxonomy, with a calibrated classifier for each concept.

    Parameters
    ----------
    taxonomy : Taxonomy
        The concepts.
    folds : int, default=5
        Of the cross-validation that probabilities are fitted to.
    n_jobs : int, default=-1
        Concepts learned at a time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], 10, axis=0) + 0.1 * rng.normal(size=(30, 3))
    >>> tree = Taxonomy.from_edges([("all", "pet"), ("pet", "cat"), ("pet", "dog"), ("all", "car")])
    >>> model = WordModel(tree).fit(X, ["cat"] * 10 + ["dog"] * 10 + ["car"] * 10)
    >>> [tag.word for tag in model.tags(np.array([[0.0, 0, 1]]))[0]]
    ['car']
    >>> [tag.word for tag in model.tags(np.array([[0.5, 0.5, 0]]), at_least=0.8)[0]]
    ['pet']
    """

    def __init__(self, taxonomy: Taxonomy, *, folds: int = 5, n_jobs: int = -1) -> None:
        self.taxonomy = taxonomy
        self.folds = folds
        self.n_jobs = n_jobs

    def fit(self, X: Array, labels: list[Any]) -> WordModel:
        """Learn from vectors and the words (or word) of each picture."""
        width = max(1, min(DIRECTIONS, X.shape[1], len(X) - 1))
        self.space: Pipeline = make_pipeline(Normalizer(), PCA(width, whiten=False, random_state=0))
        self.ensemble = HierarchicalEnsemble(
            self.taxonomy,
            LogisticRegression(C=30.0, max_iter=2000),
            folds=self.folds,
            min_count=1,
            n_jobs=self.n_jobs,
        ).fit(self.space.fit_transform(np.asarray(X, np.float64)), labels)
        return self

    def probabilities(self, X: Array) -> Array:
        """The probability of each concept, of shape (n, concepts); names are in ``ensemble.concepts_``."""
        return np.asarray(
            np.exp(self.ensemble.log_posterior(self.space.transform(np.asarray(X, np.float64))))
        )

    def tags(self, X: Array, *, at_least: float = 0.5, top: int | None = None) -> list[list[Tag]]:
        """The most specific words that are safe: of at least some probability, none below them being so.

        Where no word is safe a more general concept may be, and where none is there is no tag. ``top``
        gives so many of the most probable words instead, safe or not.
        """
        names, parents = self.ensemble.concepts_, self.ensemble._parents
        words = set(self.ensemble._word_concepts.tolist())
        found = []
        for row in self.probabilities(X):
            if top is not None:
                chosen = sorted(words, key=lambda j: -row[j])[:top]
            else:
                safe = [j for j in range(1, len(names)) if row[j] >= at_least]
                above = {int(parents[j]) for j in safe}
                chosen = sorted((j for j in safe if j not in above), key=lambda j: -row[j])
            found.append([Tag(names[j], float(row[j])) for j in chosen])
        return found

    def concepts_of(self, words: list[str]) -> list[int]:
        """The concepts that words or phrases name; one clear error for what was never learned."""
        found: list[int] = []
        for phrase in words:
            parts = phrase.split()
            at = 0
            while at < len(parts) or not parts:
                # The longest part from here on that names a concept: "lily of the valley" before "lily".
                ends = range(len(parts), at, -1)
                hits = ((end, self._concept(" ".join(parts[at:end]))) for end in ends)
                end, concept = next(((e, c) for e, c in hits if c), (0, 0))
                if not concept:
                    raise self._unknown(parts[at] if len(parts) > 1 else phrase)
                found.append(concept)
                at = end
        return found

    def _concept(self, name: str) -> int:
        """The number of the concept of this name, or 0 (the root): nothing was learned about it."""
        node = self.taxonomy.find(name)
        known = self.ensemble.concepts_
        meant = self.taxonomy.names[node] if node is not None else None
        return known.index(meant) if meant in known else 0

    def _unknown(self, word: str) -> LookalikeError:
        known = ", ".join(self.ensemble.words_[:8])
        more = ", …" if len(self.ensemble.words_) > 8 else ""
        return LookalikeError(
            f"nothing was learned about {word!r}, and no picture has that name: "
            f"label pictures with it first; known are {known}{more}."
        )


def read_taxonomy(kind: str, words: list[str]) -> Taxonomy:
    """The taxonomy over some words that is named: "auto", "wordnet", "flat", or a CSV of parent,child.

    "auto" is WordNet where its files are installed, and flat elsewhere.

    Examples
    --------
    >>> read_taxonomy("flat", ["sky", "sea"]).children("entity")
    ['sea', 'sky']
    """
    if kind == "flat":
        return Taxonomy.flat(words)
    if kind in ("auto", "wordnet"):
        try:
            return Taxonomy.from_wordnet(words)
        except LookalikeError:
            if kind == "wordnet":
                raise
            warnings.warn(
                "there is no WordNet here (Debian: 'apt install wordnet-base'), so no words more general "
                "than the labels are known; the taxonomy 'flat' does without them.",
                LookalikeWarning,
                stacklevel=2,
            )
            return Taxonomy.flat(words)
    path = Path(kind)
    if not path.is_file():
        raise LookalikeError(f"{kind} is no taxonomy: say wordnet, flat, or name a CSV file of parent,child.")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines) if row]
    if any(len(row) != 2 for row in rows):
        raise LookalikeError(f"{kind} must have two columns, parent and child, in every line.")
    edges = [(a.strip(), b.strip()) for a, b in rows if (a.strip(), b.strip()) != ("parent", "child")]
    inside = {name for edge in edges for name in edge}
    root = next((a for a, _ in edges if a not in {b for _, b in edges}), "entity")
    edges += [(root, word) for word in words if word not in inside]
    try:
        return Taxonomy.from_edges(edges, words=words)
    except ValueError as error:
        raise LookalikeError(f"{kind}: {error}") from error


def learn_words(
    collection: Collection, feature: Feature | str | None = None, *, taxonomy: str = "auto"
) -> WordModel:
    """Learn the words of a collection from its labels; a picture may have several.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, color in enumerate(["red", "darkred", "crimson", "blue", "navy", "royalblue"]):
    ...         place = Path(folder, "warm" if i < 3 else "cold")
    ...         place.mkdir(exist_ok=True)
    ...         Image.new("RGB", (32, 32), color).save(place / f"{i}.png")
    ...     collection = Collection.create(folder)
    ...     _ = collection.index(features=["color-histogram"])
    ...     _ = collection.label_from_folders()
    ...     model = learn_words(collection, taxonomy="flat")
    >>> model.ensemble.words_
    ['cold', 'warm']
    """
    table = collection.labels()
    words: dict[str, list[str]] = defaultdict(list)
    for uri, label in zip(table["uri"].to_pylist(), table["label"].to_pylist()):
        words[uri].append(label)
    if not words:
        raise LookalikeError(
            f"{collection.where} has no labels: give some with 'lookalike label from-folders' or 'label set'."
        )
    column = collection.column(feature, "vector")
    have = set(collection.vectors(column.name)[0]) if feature is None else set(collection.vectors(feature)[0])
    kept = [uri for uri in words if uri in have]
    vocabulary = sorted({word for uri in kept for word in words[uri]})
    if len(kept) < 2 or len(vocabulary) < 2:
        raise LookalikeError(
            f"words need pictures of at least two labels that have the feature {column.name!r}: label more."
        )
    _, rows = collection.vectors(feature or column.name, uris=kept)
    return WordModel(read_taxonomy(taxonomy, vocabulary)).fit(rows, [words[uri] for uri in kept])


def search_words(
    collection: Collection,
    words: list[str],
    feature: Feature | str | None = None,
    *,
    k: int = 20,
    taxonomy: str = "auto",
) -> list[tuple[str, float]]:
    """The images that words fit best, with the probability that all of them do; labelled ones included.

    Examples
    --------
    >>> search_words.__name__
    'search_words'
    """
    model = learn_words(collection, feature, taxonomy=taxonomy)
    concepts = model.concepts_of(words)
    best: list[tuple[float, str]] = []
    for uris, rows in collection.vector_blocks(feature):
        p = model.probabilities(rows)[:, concepts].prod(axis=1)
        best += zip((-p).tolist(), uris)
        best = sorted(best)[:k]
    return [(uri, -p) for p, uri in best]
