"""Measures of rankings: what a search by example found, and how early."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RetrievalEvaluation:
    """Rankings judged by labels: one row for each query, the query itself left out.

    Made by :func:`evaluate_retrieval`.

    Attributes
    ----------
    relevant : array of bool, shape (m, n)
        Whether the answer at each rank has the query's label.
    n_relevant : array of shape (m,)
        How many relevant images the collection holds, ranked or not.
    labels : array of shape (m,)
        The queries' labels.

    Examples
    --------
    >>> found = RetrievalEvaluation(
    ...     np.array([[True, False, True]]), np.array([2]), np.array(["cat"])
    ... )
    >>> found.precision(1), found.recall(1), found.average_precision().round(3)
    (array([1.]), array([0.5]), array([0.833]))
    """

    relevant: NDArray[np.bool_]
    n_relevant: NDArray[np.int64]
    labels: NDArray[Any]

    def precision(self, k: int) -> Floats:
        """The share of relevant images among the first ``k``; ranks that do not exist count as wrong."""
        _positive(k)
        return np.asarray(self.relevant[:, :k].sum(axis=1) / k)

    def precision_with_query(self, k: int) -> Floats:
        """The same where the query counts as its own first answer, as many publications have it."""
        _positive(k)
        return np.asarray((1 + self.relevant[:, : k - 1].sum(axis=1)) / k)

    def recall(self, k: int) -> Floats:
        """The share of all relevant images that is among the first ``k``; NaN where there are none."""
        _positive(k)
        return _share(self.relevant[:, :k].sum(axis=1), self.n_relevant)

    def average_precision(self) -> Floats:
        """The mean of the precisions at the ranks of relevant images; those not ranked count as 0."""
        ranks = np.arange(1, self.relevant.shape[1] + 1)
        precisions = np.cumsum(self.relevant, axis=1) / ranks
        return _share((precisions * self.relevant).sum(axis=1), self.n_relevant)

    def mean_average_precision(self) -> float:
        """The mean over queries that have something to find."""
        return float(np.nanmean(self.average_precision())) if len(self.relevant) else float("nan")

    def ns_score(self) -> float:
        """The mean number of right answers among the first four, the query being the first: at most 4."""
        return float(np.mean(1 + self.relevant[:, :3].sum(axis=1))) if len(self.relevant) else float("nan")

    def by_class(self, values: ArrayLike) -> dict[Hashable, float]:
        """The mean of one value per query within each class of queries, in the order of the classes."""
        values = np.asarray(values, float)
        return {c.item(): float(np.nanmean(values[self.labels == c])) for c in np.unique(self.labels)}

    def precision_recall(self, label: Any = None, *, levels: int = 11) -> tuple[Floats, Floats]:
        """The mean interpolated precision at equally spaced recalls, of all queries or of one class.

        Interpolated: the highest precision at this recall or a greater one.

        Returns
        -------
        recalls, precisions : arrays of shape (levels,)
        """
        relevant, total = self._of(label)
        precisions = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
        best = np.maximum.accumulate(precisions[:, ::-1], axis=1)[:, ::-1]
        recalls = np.linspace(0, 1, levels)
        curve = np.zeros(levels)
        for row, marks, n in zip(best, np.cumsum(relevant, axis=1), total):
            first = np.searchsorted(marks, np.ceil(recalls * n - 1e-9))
            curve += np.append(row, 0.0)[np.minimum(first, len(row))]
        return recalls, curve / max(len(relevant), 1)

    def roc(self, label: Any = None) -> tuple[Floats, Floats]:
        """The mean rates of false and of true positives at each rank, of all queries or of one class.

        Returns
        -------
        false_positives, true_positives : arrays of shape (n + 1,), beginning with 0 and 0
        """
        relevant, total = self._of(label)
        hits = np.cumsum(relevant, axis=1)
        misses = np.cumsum(~relevant, axis=1)
        true = _share(hits, total[:, None]).mean(axis=0)
        false = _share(misses, misses[:, -1:]).mean(axis=0)
        return np.concatenate([[0.0], false]), np.concatenate([[0.0], true])

    def recall_against_errors(self, ranks: Sequence[int] = range(1, 10)) -> tuple[Floats, Floats]:
        """One less precision, and recall, averaged over queries at each rank: the "ROC" of [1]_.

        References
        ----------
        .. [1] P. Piro, PhD thesis, Université de Nice - Sophia Antipolis, 2010, section 2.4.3.
        """
        errors = np.array([1 - self.precision(k).mean() for k in ranks])
        return errors, np.array([np.nanmean(self.recall(k)) for k in ranks])

    def _of(self, label: Any) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        chosen = self.n_relevant > 0
        if label is not None:
            chosen &= self.labels == label
        if not chosen.any():
            raise ValueError(f"no query of class {label!r} has anything to find.")
        return self.relevant[chosen], self.n_relevant[chosen]


def evaluate_retrieval(
    order: ArrayLike,
    query_labels: ArrayLike,
    labels: ArrayLike,
    *,
    queries: ArrayLike | None = None,
) -> RetrievalEvaluation:
    """Judge rankings of a collection by labels.

    Parameters
    ----------
    order : array of int, shape (m, n)
        For each query the positions of images, the best first. All of them, or only the first few: then what
        is not ranked counts as not found.
    query_labels : array of shape (m,)
    labels : array of shape (size of the collection,)
    queries : array of int, shape (m,), optional
        The position of each query in the collection, where it is one of its images: it is left out of its own
        ranking.

    Returns
    -------
    RetrievalEvaluation

    Examples
    --------
    >>> order = [[0, 1, 2], [1, 2, 0], [2, 1, 0]]
    >>> found = evaluate_retrieval(order, ["a", "b", "a"], ["a", "b", "a"], queries=[0, 1, 2])
    >>> found.precision(1).tolist(), found.n_relevant.tolist()
    ([0.0, 0.0, 0.0], [1, 0, 1])
    """
    order, labels, asked = np.asarray(order), np.asarray(labels), np.asarray(query_labels)
    if order.ndim != 2 or len(order) != len(asked):
        raise ValueError(f"order must have a row for each of the {len(asked)} queries.")
    if order.size and (order.min() < 0 or order.max() >= len(labels)):
        raise ValueError(f"order must hold positions from 0 to {len(labels) - 1}.")
    relevant = labels[order] == asked[:, None]
    totals = np.array([np.count_nonzero(labels == label) for label in asked], np.int64)
    if queries is not None:
        own = order == np.asarray(queries)[:, None]
        # A ranking without its query loses its last place instead, so that all keep one length.
        own[~own.any(axis=1), -1:] = True
        relevant = relevant[~own].reshape(len(order), max(order.shape[1] - 1, 0))
        totals -= labels[np.asarray(queries)] == asked
    return RetrievalEvaluation(relevant, totals, asked)


def _positive(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, but is {k}.")


def _share(part: ArrayLike, whole: ArrayLike) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.asarray(part, float) / np.where(np.asarray(whole) > 0, whole, np.nan))
