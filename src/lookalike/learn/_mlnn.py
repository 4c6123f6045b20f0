"""MLNN: multi-class leveraged nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.learn import _leverage as core
from lookalike.learn._leveraged import Electorate, LeveragedClassifier
from lookalike.neighbors import KNNGraph


class MLNNClassifier(LeveragedClassifier):
    """Nearest neighbours that keep a vote only where boosting gave them one, for all classes at once.

    The rule is ``h_c(x) = Σ_j α_j K(x, x_j) y_jc`` over the k nearest prototypes, with class vectors
    y of 1 and −1/(C−1) ([1]_ (5.12), [2]_ (2)). Boosting chooses the prototypes and their coefficients
    α so that the surrogate risk ``mean ψ(ρ_i)`` of the edges ``ρ_i = 1/C Σ_c y_ic h_c(x_i)`` falls as it
    can ([1]_ Alg. 4 and 6). Only prototypes are searched at the end: fewer of them answer faster.

    Parameters
    ----------
    n_neighbors : int or several, default=11
        k. With several, one set of prototypes is learned for each and their scores are added ([1]_ §5.3).
    learning_neighbors : int, default=None
        Boost on at least so many neighbours, though only k prototypes vote: choices from a wider view are
        better where k is small. None: on k, as the documents have it.
    n_prototypes : int or float, default=None
        How many prototypes to keep, or what part of the training set; None: all that earn a vote.
    kernel : {"uniform", "gaussian", "adaptive", "intersection", "precomputed"} or callable
        How much a neighbour counts: 1 (MLNN); ``exp(−d²/2σ²)`` with a fixed ``sigma`` (WMLNN) or one that
        follows the distance to the k-th neighbour (AdaWMLNN, the default); the intersection of unit
        histograms ([1]_ (5.34)); entries of a matrix of similarities given instead of vectors; or a
        function from distances to weights. With ``n_neighbors`` at or above the number of points the
        kernel is not truncated; that takes memory quadratic in them.
    sigma : float, default=0.25
        Width of the fixed Gaussian.
    sigma_rule : {"sqrt2_rho", "rho", "sqrt_2rho"}, default="sqrt2_rho"
        Width of the adaptive one: √2·ρ, ρ, or √(2ρ) (which depends on the unit of the vectors).
    loss : {"exponential", "logistic", "squared", "matsushita"}, default="exponential"
        ψ. The last is an extension: the thesis does not have it.
    chooser : {"once", "boosting", "decrease", "lazy", "random", "by-class"}, default="once"
        How the next prototype is chosen: the largest step δ, each at most once; the same with repeats;
        the largest decrease of the risk; or every point in turn, in three orders.
    selection : {"prefix", "top"}, default="prefix"
        Stop at ``n_prototypes``; or go on to the end and keep the largest coefficients.
    drop_negative : bool, default=True
        Prototypes with a negative coefficient lose their vote.
    smoothing : {"needed", "always", "normalised"}, default="normalised"
        Two pseudo-examples keep steps finite: only in columns of one sign (as the thesis has it), in all,
        or in all and as heavy as the mean example is at the time. With "needed" the few first coefficients
        may outweigh all others, since the weights of points that are answered well vanish.
    learning_rate : float, default=1.0
        What part of each step is taken.
    n_rounds : int, default=None
        At most so many rounds; as many as points by default. It matters where choices repeat.
    metric : str or callable, default="euclidean"
        Any of :class:`lookalike.neighbors.ExactIndex`, or ``"precomputed"``: matrices of distances.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    early_stopping : bool, default=False
        Choose the number of prototypes on a held-out part of the training set.
    validation_fraction : float, default=0.2
        How large that part is.
    calibration_folds : int or None, default=3
        Folds whose held-out answers calibrate the probabilities. None saves their time.
    reject : float in [0, 0.5], default=None
        Evidence whose voters have a mean reject loss above this is declined.
    n_jobs : int, default=-1
        Threads of the search.
    random_state : int, RandomState or None
        For folds and random orders.

    Attributes
    ----------
    prototypes_ : integer array of shape (P,)
        Indices into the training set, in the order of their choice. With several k: all of them, sorted.
    alphas_ : array of shape (P,)
        Their coefficients. With several k: of shape (P, number of k), 0 where not chosen.
    risks_ : array
        The surrogate risk before the first round and after each. With several k: a list of these.
    reject_losses_ : array
        ``min(w⁺, w⁻)/(w⁺ + w⁻)`` of each prototype when it was chosen.
    classes_ : array of shape (C,)
    sharpness_ : float
        What scores are multiplied with before the soft-max.

    Notes
    -----
    Where no point earns a positive coefficient (one example for each class, say), every point votes and
    the nearest decides. The scores of an answer add up to zero over the classes.

    References
    ----------
    .. [1] P. Piro, "Learning prototype-based classification rules in a boosting framework: application
       to real-world and medical image categorization", PhD thesis, Université de Nice, 2010, ch. 5.
    .. [2] P. Piro, R. Nock, F. Nielsen, M. Barlaud, "Multi-class leveraged k-NN for image
       classification", ACCV 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLNNClassifier(n_neighbors=5, n_prototypes=0.4, random_state=0).fit(X, y)
    >>> len(model.prototypes_), model.score(X, y) > 0.9
    (60, True)
    >>> evidence = model.explain(X[:1])[0]
    >>> int(evidence.label), bool(abs(evidence.shares.sum() - evidence.score) < 1e-9)
    (0, True)
    """

    def _electorates(
        self,
        graph: KNNGraph,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        share: float | int | None,
    ) -> list[Electorate]:
        electorates = []
        for k in self._sizes():
            near = graph.truncate(self._learning_size(k))
            kernel = self._neighbour_weights(near.distances)
            edges = core.multiclass_edges(near.indices, codes, len(self.classes_), kernel)
            members, alphas, losses, risks = self._boost(edges, weights, share)
            if len(members) == 0:
                m = len(codes)
                members, alphas, losses = np.arange(m), np.ones(m), np.full(m, 0.5)
                k = 1
            electorates.append(Electorate(k, members, alphas, losses, risks))
        return electorates

    def _totals(
        self, vote: int, classes: NDArray[np.int64], votes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return core.symmetric_scores(core.class_totals(classes, votes, len(self.classes_)))

    def _decides(self, vote: int, label: int) -> bool:
        return True

    def _share(self, vote: int, label: int, classes: NDArray[np.int64]) -> NDArray[np.float64]:
        others = -1.0 / max(1, len(self.classes_) - 1)
        return np.where(classes == label, 1.0, others)

    def _gather(self, name: str) -> Any:
        parts = [getattr(e, name) for e in self.electorates_]
        if len(parts) == 1:
            return parts[0]
        table = np.zeros((len(self._kept), len(parts)))
        for column, (places, part) in enumerate(zip(self._places, parts)):
            table[places, column] = part
        return table

    @property
    def prototypes_(self) -> NDArray[np.int64]:
        return self.electorates_[0].members if len(self.electorates_) == 1 else self._kept

    @property
    def alphas_(self) -> NDArray[np.float64]:
        alphas: NDArray[np.float64] = self._gather("alphas")
        return alphas

    @property
    def reject_losses_(self) -> NDArray[np.float64]:
        losses: NDArray[np.float64] = self._gather("losses")
        return losses

    @property
    def risks_(self) -> Any:
        risks = [e.risks for e in self.electorates_]
        return risks[0] if len(risks) == 1 else risks
