"""What UNN and MLNN share: neighbours, prototypes that vote, calibration, and the evidence of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lookalike.learn import _leverage as core
from lookalike.learn._calibration import fit_sharpness, probabilities
from lookalike.learn._evidence import Evidence
from lookalike.neighbors import ExactIndex, KNNGraph
from lookalike.neighbors._exact import smallest

CALIBRATION_ROWS = 10_000  # more held-out answers do not change one number


@dataclass(frozen=True, slots=True, eq=False)
class Electorate:
    """The prototypes of one vote: who they are (in the training set), their coefficients and losses."""

    n_neighbors: int
    members: NDArray[np.int64]
    alphas: NDArray[np.float64]
    losses: NDArray[np.float64]
    risks: NDArray[np.float64]


class LeveragedClassifier(ClassifierMixin, BaseEstimator):
    """Shared machinery; see :class:`MLNNClassifier` and :class:`UNNClassifier`."""

    _kept: NDArray[np.int64]
    _codes: NDArray[np.int64]

    # Points share the places among neighbours: one of weight 2 takes one place, its two copies take two.
    _expected_failed_checks = {  # noqa: RUF012
        "check_sample_weight_equivalence_on_dense_data": "two copies of a point are two neighbours"
    }

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "learning_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_prototypes": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "kernel": [
            StrOptions({"uniform", "gaussian", "adaptive", "intersection", "precomputed"}),
            callable,
        ],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "sigma_rule": [StrOptions({"sqrt2_rho", "rho", "sqrt_2rho"})],
        "loss": [StrOptions(set(core.LOSSES))],
        "chooser": [StrOptions(set(core.CHOOSERS))],
        "selection": [StrOptions({"prefix", "top"})],
        "drop_negative": ["boolean"],
        "smoothing": [StrOptions(set(core.SMOOTHINGS))],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "n_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "calibration_folds": [Interval(Integral, 2, None, closed="left"), None],
        "reject": [Interval(Real, 0, 0.5, closed="both"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_neighbors: Any = 11,
        learning_neighbors: int | None = None,
        n_prototypes: float | None = None,
        kernel: Any = "adaptive",
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
        self.n_neighbors = n_neighbors
        self.learning_neighbors = learning_neighbors
        self.n_prototypes = n_prototypes
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_rule = sigma_rule
        self.loss = loss
        self.chooser = chooser
        self.selection = selection
        self.drop_negative = drop_negative
        self.smoothing = smoothing
        self.learning_rate = learning_rate
        self.n_rounds = n_rounds
        self.metric = metric
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.calibration_folds = calibration_folds
        self.reject = reject
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed" or self.kernel == "precomputed"
        return tags

    # -- what a subclass says ------------------------------------------------------------------------

    def _electorates(
        self,
        graph: KNNGraph,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        share: float | int | None,
    ) -> list[Electorate]:
        """Boost on a graph; one electorate for each vote."""
        raise NotImplementedError

    def _totals(
        self, vote: int, classes: NDArray[np.int64], votes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The scores of all classes from the votes of one electorate."""
        raise NotImplementedError

    def _decides(self, vote: int, label: int) -> bool:
        """Whether an electorate says something about a label."""
        raise NotImplementedError

    def _share(self, vote: int, label: int, classes: NDArray[np.int64]) -> NDArray[np.float64]:
        """What a vote of weight 1 by prototypes of these classes adds to the score of the label."""
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        graph: KNNGraph | None = None,
    ) -> Self:
        """Choose the prototypes and their coefficients.

        Parameters
        ----------
        X : array of shape (m, d), or (m, m) with a precomputed metric or kernel
            Training vectors.
        y : array of shape (m,)
            Their labels.
        sample_weight : array of shape (m,), optional
            How much each counts.
        graph : KNNGraph, optional
            The neighbours of the same points, if they are known: nothing is searched then.
        """
        self._validate_params()
        points: NDArray[Any]
        points, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        codes = codes.astype(np.int64)
        weights = self._weights(points, codes, sample_weight)
        sizes = self._sizes()
        if graph is not None and len(graph) != len(points):
            raise ValueError(f"the graph has {len(graph)} points, but X has {len(points)} rows.")
        inside = np.flatnonzero(weights > 0)
        if len(inside) < len(points):  # an example that does not count is nobody's neighbour either
            points = points[np.ix_(inside, inside)] if self._pairwise else points[inside]
            codes, weights = codes[inside], weights[inside]
            graph = None if graph is None else graph.subset(inside)
        if graph is None:
            graph = self._search_graph(points, self._learning_size(max(sizes)))
        self._codes = codes
        self._rng_seed = check_random_state(self.random_state).randint(2**31 - 1)
        share: float | int | None = self.n_prototypes
        if self.early_stopping and len(self.classes_) > 1:
            share = self._stop_early(points, graph, codes, weights)
        self.electorates_ = self._elect(graph, codes, weights, share)
        self._keep(points)
        self.sharpness_ = self._calibrate(points, graph, codes, weights, share)
        if len(inside) < len(np.asarray(y)):
            self.electorates_ = [replace(e, members=inside[e.members]) for e in self.electorates_]
            self._kept = inside[self._kept]
        return self

    def _weights(
        self, X: NDArray[Any], codes: NDArray[np.int64], sample_weight: ArrayLike | None
    ) -> NDArray[np.float64]:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            seen = (
                compute_class_weight(
                    self.class_weight, classes=self.classes_, y=self.classes_[codes], sample_weight=weights
                )
                if self.class_weight == "balanced"
                else compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
            )
            weights = weights * seen[codes]
        return weights

    def _sizes(self) -> list[int]:
        sizes = [self.n_neighbors] if isinstance(self.n_neighbors, Integral) else list(self.n_neighbors)
        if not sizes or not all(isinstance(k, Integral) and int(k) >= 1 for k in sizes):
            raise ValueError(
                f"n_neighbors must be a positive number or several, but is {self.n_neighbors!r}."
            )
        return [int(k) for k in sizes]

    def _learning_size(self, k: int) -> int:
        """How many neighbours boosting looks at where k of them will vote."""
        return max(k, self.learning_neighbors or 0)

    @property
    def _metric(self) -> Any:
        return "intersection" if self.kernel == "intersection" else self.metric

    @property
    def _pairwise(self) -> bool:
        return self.metric == "precomputed" or self.kernel == "precomputed"

    def _search_graph(self, X: NDArray[Any], k: int) -> KNNGraph:
        folds = self.calibration_folds
        # Some neighbours more, so that rows keep enough of them when a fold is taken away.
        spare = k + 3 if folds is None else int(np.ceil(k * folds / (folds - 1))) + 3
        if self._pairwise:
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed matrix must be square in fit, but has shape {X.shape}.")
            distances = -X if self.kernel == "precomputed" else X
            return KNNGraph.build(distances, n_neighbors=spare, metric="precomputed")
        return KNNGraph.build(X, n_neighbors=spare, metric=self._metric, n_jobs=self.n_jobs)

    def _elect(
        self,
        graph: KNNGraph,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        share: float | int | None,
    ) -> list[Electorate]:
        if len(self.classes_) == 1:  # nothing to decide: all vote alike
            m = len(codes)
            count = min(m, core.count_of(share, m) or m)
            nothing = np.zeros(count)
            return [
                Electorate(k, np.arange(count), np.ones(count), nothing, nothing[:1]) for k in self._sizes()
            ]
        return self._electorates(graph, codes, weights, share)

    def _boost(
        self,
        edges: core.Edges,
        weights: NDArray[np.float64],
        share: float | int | None,
        *,
        epsilon: float = 1.0,
        key_scale: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Members, coefficients, losses and risks of one problem, after the selection."""
        m = len(edges.codes)
        count = core.count_of(share, m)
        prefix = self.selection == "prefix"
        rounds = core.boost(
            edges,
            loss=self.loss,
            chooser=self.chooser,
            n_prototypes=count if prefix else None,
            n_rounds=self.n_rounds,
            smoothing=self.smoothing,
            epsilon=epsilon,
            learning_rate=self.learning_rate,
            sample_weight=weights,
            key_scale=key_scale,
            random_state=self._rng_seed,
        )
        members, alphas = rounds.coefficients()
        losses = np.zeros(m)
        losses[rounds.chosen[::-1]] = rounds.losses[::-1]  # those of the first choice
        if self.drop_negative:
            members, alphas = members[alphas > 0], alphas[alphas > 0]
        if not prefix and count is not None and count < len(members):
            best = np.sort(np.argsort(-np.abs(alphas), kind="stable")[:count])
            members, alphas = members[best], alphas[best]
        return members, alphas, losses[members], rounds.risks

    def _neighbour_weights(self, distances: NDArray[Any]) -> NDArray[np.float64] | None:
        return core.neighbour_weights(self.kernel, distances, sigma=self.sigma, sigma_rule=self.sigma_rule)

    # -- held-out answers ----------------------------------------------------------------------------

    def _held_out(
        self,
        X: NDArray[Any],
        graph: KNNGraph,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        out: NDArray[np.bool_],
        share: float | int | None,
    ) -> Self:
        """The model of the points that are not ``out``, on what the graph says of them."""
        inside = np.flatnonzero(~out)
        part = graph.subset(inside)
        other = type(self)(**self.get_params(deep=False))
        other.classes_ = self.classes_
        other._rng_seed = self._rng_seed
        other._codes = codes
        fitted = other._elect(part, codes[inside], weights[inside], share)
        other.electorates_ = [replace(e, members=inside[e.members]) for e in fitted]
        other._keep(X)
        return other

    def _calibrate(
        self,
        X: NDArray[Any],
        graph: KNNGraph,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        share: float | int | None,
    ) -> float:
        """How sharply scores turn into probabilities, from answers about held-out examples."""
        rng = np.random.RandomState(self._rng_seed)
        n_classes = len(self.classes_)
        if n_classes == 1:
            return 1.0
        scores, truths, masses = [], [], []
        if self.calibration_folds is not None:
            parts = core.stratified_folds(codes, self.calibration_folds, rng)
            large = len(codes) > 2 * CALIBRATION_ROWS
            for fold in range(1 if large else self.calibration_folds):
                out = parts == fold
                rows = np.flatnonzero(out)
                known = np.isin(codes[rows], codes[~out])
                rows = rows[known]
                if large and len(rows) > CALIBRATION_ROWS:
                    rows = np.sort(rng.choice(rows, CALIBRATION_ROWS, replace=False))
                if len(rows) == 0:
                    continue
                model = self._held_out(X, graph, codes, weights, out, share)
                scores.append(model._scores(X[rows]))
                truths.append(codes[rows])
                masses.append(weights[rows])
        # What to lean on: the mean winner of the training set gets a cautious majority.
        top = self._scores(X[:CALIBRATION_ROWS]).max(axis=1).mean()
        gap = top * n_classes / (n_classes - 1)
        cautious = float(np.log(n_classes + 1.0) / gap) if gap > 0 else 1.0
        if not scores:
            return cautious
        held_out = (np.concatenate(scores), np.concatenate(truths))
        return fit_sharpness(*held_out, prior=cautious, prior_strength=1.0, weights=np.concatenate(masses))[0]

    def _stop_early(
        self, X: NDArray[Any], graph: KNNGraph, codes: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> float | int | None:
        """The share of prototypes that answers best about held-out examples, the smallest of equals."""
        folds = max(2, round(1 / self.validation_fraction))
        out = core.stratified_folds(codes, folds, np.random.RandomState(self._rng_seed)) == 0
        rows = np.flatnonzero(out)
        rows = rows[np.isin(codes[rows], codes[~out])]
        if len(rows) == 0:
            return self.n_prototypes
        model = self._held_out(X, graph, codes, weights, out, self.n_prototypes)
        inside = len(codes) - int(out.sum())
        longest = max(len(e.members) for e in model.electorates_)
        counts = np.unique(np.ceil(longest * np.linspace(0.05, 1.0, 20)).astype(int))
        rates = []
        for scores in model._staged_scores(X[rows], counts):
            right = (scores.argmax(axis=1) == codes[rows]) * weights[rows]
            rates.append(right.sum() / weights[rows].sum())
        self.validation_counts_, self.validation_rates_ = counts, np.array(rates)
        return min(1.0, float(counts[int(np.argmax(rates))] / inside))

    # -- prototypes and their votes ------------------------------------------------------------------

    def _keep(self, X: NDArray[Any]) -> None:
        """Keep the vectors of all prototypes, once."""
        chosen = [e.members for e in self.electorates_]
        self._kept = np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)
        self._kept_codes = self._codes[self._kept]
        self._places = [np.searchsorted(self._kept, e.members) for e in self.electorates_]
        self._vectors = None if self._pairwise else np.ascontiguousarray(X[self._kept])

    def _voters(
        self, X: NDArray[Any], vote: int, first: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Who votes in one electorate (places in it, their classes) and with what weight α·K."""
        electorate = self.electorates_[vote]
        places = self._places[vote][:first]
        if len(places) == 0:
            nobody = np.zeros((len(X), 0), np.int64)
            return nobody, nobody, np.zeros((len(X), 0))
        # By index, so that equal distances are told apart as everywhere.
        order = np.argsort(places, kind="stable")
        if self._pairwise:
            columns = X[:, self._kept[places[order]]]
            near = smallest(-columns if self.kernel == "precomputed" else columns, electorate.n_neighbors)
        else:
            assert self._vectors is not None
            everyone = len(places) == len(self._vectors)
            base = self._vectors if everyone else self._vectors[places[order]]
            index = ExactIndex(base, metric=self._metric)
            near = index.query(X, n_neighbors=electorate.n_neighbors, n_jobs=self.n_jobs)
        distances, found = near
        found = order[found]
        weights = electorate.alphas[found]
        kernel = self._neighbour_weights(distances)
        return found, self._kept_codes[places[found]], weights if kernel is None else weights * kernel

    def _scores(self, X: NDArray[Any], first: int | None = None) -> NDArray[np.float64]:
        n_classes = len(self.classes_)
        scores = np.zeros((len(X), n_classes))
        classes = np.zeros((len(X), 0), np.int64)
        for vote in range(len(self.electorates_)):
            _, classes, votes = self._voters(X, vote, first)
            scores += self._totals(vote, classes, votes)
        if n_classes == 1 or (scores.max(axis=1) > scores.min(axis=1)).all():
            top = np.partition(scores, -2, axis=1)[:, -2:] if n_classes > 1 else None
            if top is None or (top[:, 0] < top[:, 1]).all():
                return scores
        return core.break_ties(scores, self._ballot(X, first), n_classes)

    def _ballot(self, X: NDArray[Any], first: int | None = None) -> NDArray[np.int64]:
        """The classes of the nearest prototypes of any electorate, nearest first: they break ties."""
        places = np.unique(np.concatenate([p[:first] for p in self._places]))
        k = max(e.n_neighbors for e in self.electorates_)
        if len(places) == 0:
            return np.zeros((len(X), 0), np.int64)
        if self._pairwise:
            columns = X[:, self._kept[places]]
            found = smallest(-columns if self.kernel == "precomputed" else columns, k)[1]
        else:
            assert self._vectors is not None
            index = ExactIndex(self._vectors[places], metric=self._metric)
            found = index.query(X, n_neighbors=k, n_jobs=self.n_jobs)[1]
        return self._kept_codes[places[found]]

    def _staged_scores(self, X: NDArray[Any], counts: ArrayLike) -> Iterator[NDArray[np.float64]]:
        for count in np.asarray(counts):
            yield self._scores(X, int(count))

    # -- answers -------------------------------------------------------------------------------------

    def _checked(self, X: ArrayLike) -> NDArray[Any]:
        check_is_fitted(self, "electorates_")
        checked: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        return checked

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The score of each class; for two classes that of the second alone."""
        scores = self._scores(self._checked(X))
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def staged_decision_function(
        self, X: ArrayLike, counts: ArrayLike | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """The scores with only the first prototypes of each vote, for growing numbers of them.

        Without ``counts`` there are up to 20 stages, evenly spaced.
        """
        X = self._checked(X)
        longest = max(len(e.members) for e in self.electorates_)
        if counts is None:
            counts = np.unique(np.ceil(longest * np.linspace(0.05, 1.0, 20)).astype(int))
        for scores in self._staged_scores(X, counts):
            yield scores[:, 1] if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the highest score; ties by plain votes, then by the nearest prototype."""
        winners = self._scores(self._checked(X)).argmax(axis=1)
        answers: NDArray[Any] = self.classes_[winners]
        return answers

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities: scores through a soft-max whose sharpness was fitted on held-out answers."""
        scores = self._scores(self._checked(X))
        return probabilities(scores, self.sharpness_)

    def explain(self, X: ArrayLike) -> list[Evidence]:
        """For each row the answer and the prototypes that made it; their shares add up to its score.

        An answer is declined where ``reject`` is set and the voters' mean reject loss, weighted by the
        size of their shares, is above it; or where nobody votes.
        """
        X = self._checked(X)
        scores = self._scores(X)
        labels = scores.argmax(axis=1)
        chances = probabilities(scores, self.sharpness_)
        rows = np.arange(len(X))
        voters = [self._voters(X, v) for v in range(len(self.electorates_))]
        return [
            self._evidence(int(i), int(labels[i]), voters, float(scores[i, labels[i]]), chances[i])
            for i in rows
        ]

    def _evidence(
        self,
        row: int,
        label: int,
        voters: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]],
        score: float,
        chances: NDArray[np.float64],
    ) -> Evidence:
        who, what, losses = [], [], []
        for vote, (found, classes, weights) in enumerate(voters):
            if self._decides(vote, label):
                electorate = self.electorates_[vote]
                who.append(electorate.members[found[row]])
                what.append(weights[row] * self._share(vote, label, classes[row]))
                losses.append(electorate.losses[found[row]])
        members, place = np.unique(np.concatenate(who), return_inverse=True)
        given = np.concatenate(what)
        shares = np.bincount(place, weights=given, minlength=len(members)).astype(np.float64)
        order = np.lexsort((members, -shares))
        size = np.abs(given).sum()
        doubt = float(np.abs(given) @ np.concatenate(losses) / size) if size > 0 else 0.5
        declined = len(members) == 0 or (self.reject is not None and doubt > self.reject)
        return Evidence(
            label=self.classes_[label],
            score=score,
            prototypes=members[order],
            shares=shares[order],
            declined=bool(declined),
            probability=float(chances[label]),
        )
