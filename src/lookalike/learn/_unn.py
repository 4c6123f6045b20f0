"""UNN: leveraged nearest neighbours, one class against the rest."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from lookalike.learn import _leverage as core
from lookalike.learn._leveraged import Electorate, LeveragedClassifier
from lookalike.neighbors import KNNGraph


class UNNClassifier(LeveragedClassifier):
    """Nearest neighbours with boosted votes, learned for each class against the rest.

    The rule is ``h_c(x) = Σ_j α_jc y_jc`` over the k nearest of the prototypes of class c's own problem
    ([1]_ (4.10)). For each class boosting chooses prototypes and coefficients that lower the surrogate
    risk ``mean ψ(y_ic h_c(x_i))`` ([1]_ Alg. 3 and 5). :class:`MLNNClassifier` learns one set of
    prototypes for all classes instead, and takes a C-th of the time.

    Parameters
    ----------
    n_neighbors : int, default=11
        k.
    learning_neighbors : int, default=None
        As in :class:`MLNNClassifier`.
    n_prototypes : int or float, default=None
        How many prototypes to keep for each class's problem, or what part of the training set; None: all
        that earn a vote.
    labels : {"pm1", "symmetric"}, default="pm1"
        Class vectors of ±1; or of 1 and −1/(C−1) with the steps that are exact for them. (The thesis
        prints the second with the steps of the first, which can raise the risk for C > 2.)
    kernel : {"uniform", "gaussian", "adaptive", "intersection", "precomputed"} or callable
        How much a neighbour counts; 1 by default, as the thesis has it.
    sigma, sigma_rule, loss, chooser, selection, drop_negative, learning_rate, n_rounds, metric, \
class_weight, early_stopping, validation_fraction, calibration_folds, reject, n_jobs, random_state
        As in :class:`MLNNClassifier`.
    smoothing : {"needed", "always", "normalised"}, default="normalised"
        As in :class:`MLNNClassifier`; with "needed" the pseudo-examples weigh 1/m of an example, as the
        thesis has it ([1]_ (4.15)).

    Attributes
    ----------
    prototypes_ : integer array of shape (P,)
        Those of any class, as indices into the training set, sorted.
    alphas_ : array of shape (P, C)
        Their coefficients in each class's problem, 0 where not chosen. With two classes the two problems
        are one, and the columns are equal.
    risks_ : list of arrays
        For each class the surrogate risk before the first round and after each.
    reject_losses_ : array of shape (P, C)
        ``min(w⁺, w⁻)/(w⁺ + w⁻)`` when chosen.
    classes_ : array of shape (C,)

    References
    ----------
    .. [1] P. Piro, "Learning prototype-based classification rules in a boosting framework: application
       to real-world and medical image categorization", PhD thesis, Université de Nice, 2010, ch. 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = UNNClassifier(n_neighbors=5, n_prototypes=0.4, random_state=0).fit(X, y)
    >>> model.alphas_.shape[1], model.score(X, y) > 0.9
    (3, True)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **LeveragedClassifier._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "labels": [StrOptions({"pm1", "symmetric"})],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 11,
        learning_neighbors: int | None = None,
        n_prototypes: float | None = None,
        labels: str = "pm1",
        kernel: Any = "uniform",
        sigma: float = 0.25,
        sigma_rule: str = "sqrt2_rho",
        loss: str = "exponential",
        chooser: str = "once",
        selection: str = "prefix",
        drop_negative: bool = True,
        smoothing: str = "normalised",
        learning_rate: float = 1.0,
        n_rounds: int | None = None,
        metric: Any = "euclidean",
        class_weight: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        calibration_folds: int | None = 3,
        reject: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_neighbors=n_neighbors,
            learning_neighbors=learning_neighbors,
            n_prototypes=n_prototypes,
            kernel=kernel,
            sigma=sigma,
            sigma_rule=sigma_rule,
            loss=loss,
            chooser=chooser,
            selection=selection,
            drop_negative=drop_negative,
            smoothing=smoothing,
            learning_rate=learning_rate,
            n_rounds=n_rounds,
            metric=metric,
            class_weight=class_weight,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            calibration_folds=calibration_folds,
            reject=reject,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.labels = labels

    def _electorates(
        self,
        graph: KNNGraph,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        share: float | int | None,
    ) -> list[Electorate]:
        near = graph.truncate(self._learning_size(self.n_neighbors))
        kernel = self._neighbour_weights(near.distances)
        n_classes, m = len(self.classes_), len(codes)
        epsilon = 1.0 / m if self.smoothing == "needed" else 1.0
        electorates = []
        for c in [1] if n_classes == 2 else range(n_classes):
            member = codes == c
            edges = core.binary_edges(near.indices, member, n_classes, kernel, labels=self.labels)
            size = np.where(member, 1.0, edges.down) if self.labels == "symmetric" else None
            chosen = self._boost(edges, weights, share, epsilon=epsilon, key_scale=size)
            electorates.append(Electorate(self.n_neighbors, *chosen))
        if not any(len(e.members) for e in electorates):
            # Nobody earned a vote: every point votes, and the nearest decides.
            everyone = (np.arange(m), np.ones(m), np.full(m, 0.5))
            electorates = [Electorate(1, *everyone, e.risks) for e in electorates]
        return electorates

    def _sign(self, label: int, classes: NDArray[np.int64]) -> NDArray[np.float64]:
        """y_jc of prototypes of these classes in the problem of a label."""
        n_classes = len(self.classes_)
        against = 1.0 / (n_classes - 1) if self.labels == "symmetric" and n_classes > 1 else 1.0
        return np.where(classes == label, 1.0, -against)

    def _totals(
        self, vote: int, classes: NDArray[np.int64], votes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        n_classes = len(self.classes_)
        scores = np.zeros((len(votes), n_classes))
        own = 1 if n_classes == 2 else vote
        scores[:, own] = (votes * self._sign(own, classes)).sum(axis=1)
        if n_classes == 2:
            scores[:, 0] = -scores[:, 1]
        return scores

    def _decides(self, vote: int, label: int) -> bool:
        return len(self.classes_) <= 2 or vote == label

    def _share(self, vote: int, label: int, classes: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._sign(label, classes)

    def _table(self, name: str) -> NDArray[np.float64]:
        table = np.zeros((len(self._kept), len(self.electorates_)))
        for c, places in enumerate(self._places):
            table[places, c] = getattr(self.electorates_[c], name)
        return np.repeat(table, 2, axis=1) if len(self.classes_) == 2 else table

    @property
    def prototypes_(self) -> NDArray[np.int64]:
        return self._kept

    @property
    def alphas_(self) -> NDArray[np.float64]:
        return self._table("alphas")

    @property
    def reject_losses_(self) -> NDArray[np.float64]:
        return self._table("losses")

    @property
    def risks_(self) -> list[NDArray[np.float64]]:
        risks = [e.risks for e in self.electorates_]
        return risks * 2 if len(self.classes_) == 2 else risks
