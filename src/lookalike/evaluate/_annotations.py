"""Measures of words given to pictures, and of one class against the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lookalike.learn import Taxonomy


class AnnotationScores(NamedTuple):
    """How many of the right words were said, and how many of those said were right.

    Examples
    --------
    >>> AnnotationScores(recall=0.5, precision=0.25).precision
    0.25
    """

    recall: float
    precision: float


class OneClassScores(NamedTuple):
    """One class against the rest: share of its members found, of the others refused, and their mean.

    Examples
    --------
    >>> OneClassScores(0.81, 1.0, 0.9, 0.05).geometric_mean
    0.9
    """

    sensitivity: float
    specificity: float
    geometric_mean: float
    error: float


def one_class_scores(y_true: ArrayLike, y_pred: ArrayLike, positive: Any = True) -> OneClassScores:
    """Sensitivity, specificity, the root of their product (3.22), (3.23) of [1]_, and the error.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005.

    Examples
    --------
    >>> scores = one_class_scores([1, 1, 0, 0], [1, 0, 0, 0], positive=1)
    >>> scores.sensitivity, scores.specificity, round(scores.geometric_mean, 3), scores.error
    (0.5, 1.0, 0.707, 0.25)
    """
    true, said = np.asarray(y_true) == positive, np.asarray(y_pred) == positive
    if len(true) != len(said):
        raise ValueError(f"y_true has {len(true)} entries, but y_pred has {len(said)}.")
    sensitivity = float(said[true].mean()) if true.any() else float("nan")
    specificity = float((~said[~true]).mean()) if (~true).any() else float("nan")
    error = float((true != said).mean()) if len(true) else float("nan")
    return OneClassScores(sensitivity, specificity, float(np.sqrt(sensitivity * specificity)), error)


def _as_sets(words: Sequence[str | Iterable[str]]) -> list[set[str]]:
    return [{w} if isinstance(w, str) else set(w) for w in words]


def _spoken(said: set[str], taxonomy: Taxonomy | None) -> set[str]:
    """The words that are meant: a concept stands for every word below it."""
    if taxonomy is None:
        return said
    found: set[str] = set()
    for name in said:
        found.update(taxonomy.words_below(name) if name in taxonomy else [name])
    return found


def annotation_scores(
    predicted: Sequence[str | Iterable[str]],
    true: Sequence[str | Iterable[str]],
    *,
    taxonomy: Taxonomy | None = None,
    siblings: bool = False,
    average: str = "macro",
) -> AnnotationScores:
    """Recall and precision of words over pictures (4.13), (4.14) of [1]_.

    Each word that some picture truly has is a query. Its recall is the share of its pictures that were
    given it, its precision the share of pictures given it that have it (0 for a word never given).

    Parameters
    ----------
    predicted, true : sequences of sets of words (or of single words)
        One entry for each picture.
    taxonomy : Taxonomy, default=None
        With it a predicted concept counts as every word below it.
    siblings : bool, default=False
        A predicted word also counts as right where the picture has one of its siblings.
    average : {"macro", "micro"}, default="macro"
        Mean over words, or all counts together.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 4.4.

    Examples
    --------
    >>> annotation_scores([["sky", "sea"], ["sky"]], [["sky"], ["sea"]])
    AnnotationScores(recall=0.5, precision=0.25)
    """
    if average not in ("macro", "micro"):
        raise ValueError(f"average must be 'macro' or 'micro', but is {average!r}.")
    if len(predicted) != len(true):
        raise ValueError(f"there are words for {len(predicted)} pictures, but {len(true)} have true ones.")
    if siblings and taxonomy is None:
        raise ValueError("siblings are only known with a taxonomy.")
    truth = _as_sets(true)
    said = [_spoken(words, taxonomy) for words in _as_sets(predicted)]
    queries = sorted(set().union(*truth)) if truth else []
    right, asked, given = np.zeros((3, len(queries)))
    for j, word in enumerate(queries):
        kin = {word}
        if siblings and taxonomy is not None and word in taxonomy:
            kin |= {w for name in taxonomy.siblings(word) for w in taxonomy.words_below(name)}
        for words, answer in zip(truth, said):
            # A sibling said for the word finds it; the word said for a sibling is right as well.
            has, says = word in words, word in answer
            asked[j] += has
            given[j] += says
            right[j] += has and bool(kin & answer)
        if siblings:
            given[j] = max(given[j], right[j])
    with np.errstate(invalid="ignore", divide="ignore"):
        if average == "micro":
            recall, precision = right.sum() / asked.sum(), right.sum() / given.sum()
            return AnnotationScores(float(recall), float(np.nan_to_num(precision)))
        recall, precision = right / asked, np.nan_to_num(right / given)
    return AnnotationScores(
        float(np.mean(recall)) if queries else float("nan"),
        float(np.mean(precision)) if queries else float("nan"),
    )


def hierarchical_scores(
    predicted: Sequence[str | Iterable[str]], true: Sequence[str | Iterable[str]], taxonomy: Taxonomy
) -> AnnotationScores:
    """Recall and precision of the sets of all concepts above what was said and above what is true.

    The root is left out, as it is always right. Being wrong about the kind of tree still counts as right
    about the plant.

    Examples
    --------
    >>> tree = Taxonomy.from_edges([("thing", "plant"), ("plant", "oak"), ("plant", "elm"), ("thing", "sky")])
    >>> hierarchical_scores([["oak"]], [["elm"]], tree)
    AnnotationScores(recall=0.5, precision=0.5)
    """
    right = said = asked = 0
    for words, answer in zip(_as_sets(true), _as_sets(predicted), strict=True):
        above = [
            {i for name in names if name in taxonomy for i in taxonomy.path(name)[1:]}
            for names in (words, answer)
        ]
        right += len(above[0] & above[1])
        asked += len(above[0])
        said += len(above[1])
    return AnnotationScores(right / asked if asked else float("nan"), right / said if said else float("nan"))
