"""``PrototypeClassifier``: few labels become answers that show the images behind them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lookalike.arrays import even_steps, row_blocks
from lookalike.learn._calibration import fit_sharpness, log_losses, probabilities
from lookalike.learn._candidates import Candidates
from lookalike.learn._class_weights import class_weights
from lookalike.learn._collective._borrowing import borrow
from lookalike.learn._collective._surroundings import Surroundings
from lookalike.learn._collective._together import CollectiveMap, Together, learn_together
from lookalike.learn._declining import DeclineRule, fit_decline_rule
from lookalike.learn._even_choice import herd
from lookalike.learn._evidence import Evidence
from lookalike.learn._leveraged_vote import leverage
from lookalike.learn._prototype_space import CHOICES, DEFAULT, Space, points, votes
from lookalike.learn._shrinkage_discriminant import FEW, ShrinkageDiscriminant

Floats = NDArray[np.float64]

MOST_UNLABELLED = 8192  # unlabelled images that are looked at; of more, as many evenly spaced ones
MOST_CANDIDATES = 4096  # more labelled images than this are learnt from, but do not become prototypes
# Of each class, tried in this order before all are kept, and the log loss that it may cost.
KEPT_SHARES = ((0.25, 0.0), (0.5, 0.01))
LEAST_KEPT = 10  # of a class, before anything is dropped
USUAL_SHARPNESS = 15.0  # of even votes on network features; what one or two labels a class rely on
STEPS = 100


class PrototypeClassifier(ClassifierMixin, BaseEstimator):
    """A vote of labelled images in a space learnt from the labels.

    1. A `ShrinkageDiscriminant` learns one score per class. Where unlabelled images are given, a linear map
       and the graph of look-alikes among all images teach each other instead ([2]_, [3]_), which tells far
       more from few labels.
    2. Images become points: their scores beside their vectors (see ``closeness``).
    3. Some labelled images become prototypes: as few as lose nothing on held-out images. Each votes for
       its class, with a Gaussian kernel of the distance; where it helps, the votes are leveraged [1]_.
       A class with few labelled images borrows typical unlabelled ones.
    4. Held-out votes calibrate the probabilities and set the threshold of "none of these".

    "Held out" costs no refit: the score that an image would get from a fit without it is known in closed
    form, and its own vote is left out.

    Parameters
    ----------
    n_prototypes : "auto" or int, default="auto"
        How many to keep for each class; ``"auto"`` keeps a quarter, half or all of them.
    leverage : "auto" or bool, default="auto"
        Whether coefficients are learnt by MLNN steps; ``"auto"`` asks held-out halves.
    closeness : "auto" or float, default="auto"
        How much looking alike counts beside scoring alike.
    shrinkage, scaling
        Of the `ShrinkageDiscriminant`.
    max_error : float, default=0.1
        The expected share of errors among the answers that are not declined, where it can be reached.
    class_weight : "balanced", dict or None, default="balanced"
        As in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Chooses candidates where there are more than 4,096 labelled images.

    Attributes
    ----------
    classes_ : array of shape (C,)
    prototypes_ : array of shape (m,)
        Rows of the training data that vote; those of unlabelled images are counted on after the labelled.
    behind_ : array of shape (m, 3) or None
        For each prototype without a label, the labelled rows that gave it one; -1 elsewhere.
    alphas_ : array of shape (m,)
        Their coefficients.
    discriminant_ : ShrinkageDiscriminant or the map learnt from all images
    sharpness_ : float
        The factor that turns scores into log-probabilities.
    threshold_ : float
        The probability below which an answer is declined.
    n_unlabelled_ : int
        How many unlabelled images were learnt from.
    choices_ : list of (str, str)
        What was chosen, in words.
    held_out_loss_ : float
        The log loss of held-out votes; NaN with fewer than three labels in a class.
    held_out_accuracy_ : float
        The balanced accuracy of held-out votes; NaN likewise.

    References
    ----------
    .. [1] P. Piro, "Learning prototype-based classification rules in a boosting framework", thesis, 2010,
       section 5.2.
    .. [2] D. Zhou et al., "Learning with local and global consistency", NIPS 2003.
    .. [3] A. Iscen et al., "Label propagation for deep semi-supervised learning", CVPR 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrototypeClassifier().fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.75)
    True
    >>> evidence = model.explain(X[200:201])[0]
    >>> bool(abs(evidence.shares.sum() - evidence.score) < 1e-9)
    True

    With two labels for each class among all images:

    >>> few = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    >>> rest = np.setdiff1d(np.arange(500), few)
    >>> alone = PrototypeClassifier().fit(X[few], y[few]).score(X[rest], y[rest])
    >>> together = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[rest]).score(X[rest], y[rest])
    >>> bool(together > alone)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_prototypes": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "leverage": [StrOptions({"auto"}), "boolean"],
        "closeness": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "shrinkage": ShrinkageDiscriminant._parameter_constraints["shrinkage"],
        "scaling": ShrinkageDiscriminant._parameter_constraints["scaling"],
        "max_error": [Interval(Real, 0, 1, closed="both")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
    }

    # scikit-learn's checks that cannot hold, and why.
    _expected_failed_checks: ClassVar[dict[str, str]] = {
        "check_sample_weight_equivalence_on_dense_data": (
            "leaving out one of two equal rows is not leaving out one row of weight two, "
            "so what is chosen and calibrated on held-out rows may differ"
        )
    }

    _rule: DeclineRule

    def __init__(
        self,
        *,
        n_prototypes: int | str = "auto",
        leverage: bool | str = "auto",
        closeness: float | str = "auto",
        shrinkage: float | str = "auto",
        scaling: str = "auto",
        max_error: float = 0.1,
        class_weight: Any = "balanced",
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.leverage = leverage
        self.closeness = closeness
        self.shrinkage = shrinkage
        self.scaling = scaling
        self.max_error = max_error
        self.class_weight = class_weight
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> Self:
        """Learn from labelled vectors; two classes at least, one image of each is enough.

        Parameters
        ----------
        X, y, sample_weight
            Labelled images.
        unlabelled : array of shape (u, n_features), default=None
            Other images of the same collection: their statistics and likenesses are used too.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=[np.float32, np.float64])
        others, looked = self._looked_at(unlabelled)
        every = Surroundings.of(np.concatenate([X, others]), self.scaling) if len(others) else None
        return self._fit(X, y, sample_weight, every, len(X) + looked)

    def fit_among(
        self, surroundings: Surroundings, labelled: ArrayLike, y: Any, sample_weight: Any = None
    ) -> Self:
        """Learn from some labelled images of a collection that is known already.

        The same as `fit` with all others as ``unlabelled``, but quicker where it is done again and again.

        Parameters
        ----------
        surroundings : Surroundings
            All images, made with the ``scaling`` of this classifier.
        labelled : array of int
            Which of them are labelled.
        y, sample_weight
            Their labels and how much each counts.
        """
        self._validate_params()
        chosen = np.asarray(labelled, dtype=np.intp)
        every = surroundings.beginning_with(chosen)
        others_are = np.arange(len(chosen), len(every.rows))
        X, y = validate_data(self, every.rows[: len(chosen)], y, dtype=[np.float32, np.float64])
        return self._fit(X, y, sample_weight, every if len(others_are) else None, others_are)

    def _fit(
        self,
        X: NDArray[np.floating],
        y: NDArray[Any],
        sample_weight: Any,
        every: Surroundings | None,
        others_are: NDArray[np.intp],
    ) -> Self:
        """Learn; ``every`` holds the labelled images and then the others, which are counted as it is told."""
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        given = np.flatnonzero(weights > 0)  # an image without weight is not there
        n_rows = len(X)
        X, y, weights = X[given], y[given], weights[given]
        self.classes_, truth = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"the only class is {self.classes_[0]!r}, and 1 class leaves nothing to choose: "
                "label images of a second class."
            )
        rows = self._candidates(truth)
        self.n_unlabelled_ = 0 if every is None else len(every.rows) - n_rows
        if every is None:
            known = self._known_alone(X, y, truth, weights, rows)
            self._fit_votes(known, given[rows])
        else:
            others = every.rows[n_rows:]
            if len(given) < n_rows:
                every = Surroundings.of(np.concatenate([X, others]), self.scaling)
            balanced = class_weights(self.class_weight, y, weights)
            together = learn_together(every, truth, balanced)
            known = self._known_together(together, X, balanced, rows)
            self._fit_votes(known, given[rows])
            self._borrow(together, others, others_are, given)
            self._rule = self._rule.among(self._class_scores(others))
        self.choices_ = self._say_choices(len(truth))
        return self

    def _say_choices(self, n_labelled: int) -> list[tuple[str, str]]:
        """What was chosen and why, for people."""
        why = "" if np.isfinite(self.held_out_loss_) else " (usual: too few labels to compare others)"
        among = f" and {self.n_unlabelled_} unlabelled images" if self.n_unlabelled_ else ""
        borrowed = 0 if self.behind_ is None else int((self.behind_[:, 0] >= 0).sum())
        more = f", and {borrowed} unlabelled ones like them" if borrowed else ""
        return [
            ("space", f"class scores learnt from the labels{among}"),
            (
                "neighbourhood",
                f"looks count {self._space.closeness:g} beside scores, width {self._space.bandwidth:g}{why}",
            ),
            ("prototypes", f"{len(self.prototypes_) - borrowed} of {n_labelled} labelled images{more}"),
            ("votes", "leveraged: held-out images gain from it" if self._leveraged else "even in each class"),
        ]

    def _looked_at(self, unlabelled: Any) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
        """The unlabelled rows that are learnt from, and which these are."""
        if unlabelled is None or not len(unlabelled):
            return np.zeros((0, self.n_features_in_)), np.zeros(0, dtype=np.intp)
        looked = even_steps(len(unlabelled), MOST_UNLABELLED)
        rows = check_array(
            np.asarray(unlabelled)[looked], dtype=[np.float32, np.float64], input_name="unlabelled"
        )
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"unlabelled has {rows.shape[1]} features, but X has {self.n_features_in_}: "
                "give vectors of the same feature."
            )
        return rows, looked

    def _known_alone(
        self,
        X: NDArray[np.floating],
        y: NDArray[Any],
        truth: NDArray[np.intp],
        weights: Floats,
        rows: NDArray[np.intp],
    ) -> Candidates:
        discriminant = ShrinkageDiscriminant(
            shrinkage=self.shrinkage, scaling=self.scaling, class_weight=self.class_weight
        ).fit(X, y, weights)
        self.discriminant_: ShrinkageDiscriminant | CollectiveMap = discriminant
        weights = class_weights(self.class_weight, y, weights)
        held_out = discriminant.held_out_scores_[rows]
        return Candidates(discriminant, X[rows], held_out, truth[rows], weights[rows])

    def _known_together(
        self, together: Together, X: NDArray[np.floating], weights: Floats, rows: NDArray[np.intp]
    ) -> Candidates:
        self.discriminant_ = together.map
        held_out = together.found.scores[rows] if together.held_out is None else together.held_out[rows]
        level = together.level if together.held_out is None else None
        truth = together.truth[rows]
        return Candidates(together.map, X[rows], held_out.astype(np.float64), truth, weights[rows], level)

    def _candidates(self, truth: NDArray[np.intp]) -> NDArray[np.intp]:
        if len(truth) <= MOST_CANDIDATES:
            return np.arange(len(truth))
        shuffled = check_random_state(self.random_state).permutation(len(truth))
        # The first few of each class in a random order: rare classes keep all of theirs.
        place = np.zeros(len(shuffled), dtype=np.int64)
        for c in range(len(self.classes_)):
            mine = truth[shuffled] == c
            place[mine] = np.arange(mine.sum())
        return np.sort(shuffled[np.argsort(place, kind="stable")[:MOST_CANDIDATES]])

    def _fit_votes(self, known: Candidates, rows: NDArray[np.intp]) -> None:
        enough = bool(np.bincount(known.truth).min() >= FEW)
        self._space, held_out = self._choose_space(known, enough)
        kept, alphas = self._choose_prototypes(known, held_out, enough)
        even = alphas
        if enough and self.leverage in ("auto", True):
            alphas = self._choose_leverage(known, held_out, kept, even)
        self._leveraged = alphas is not even
        self.prototypes_, self.alphas_ = rows[kept], alphas
        self.behind_: NDArray[np.intp] | None = None
        self._labels = known.truth[kept]
        self._points = points(self._space, known.scores[kept], known.vectors[kept])

        scores = _scores(held_out[:, kept], alphas, known.truth[kept], len(self.classes_))
        if enough:
            self.held_out_accuracy_ = float(balanced_accuracy_score(known.truth, scores.argmax(1)))
            self.sharpness_, self.held_out_loss_ = fit_sharpness(
                scores, known.truth, prior=self._usual_sharpness(known, scores), prior_strength=5.0
            )
        else:
            self.sharpness_, self.held_out_loss_ = USUAL_SHARPNESS, float("nan")
            self.held_out_accuracy_ = float("nan")
        self._rule = fit_decline_rule(
            probabilities(scores, self.sharpness_), scores, known.truth, self.max_error, enough
        )
        self.threshold_ = self._rule.threshold

    def _borrow(
        self,
        together: Together,
        others: NDArray[np.floating],
        rows: NDArray[np.intp],
        given: NDArray[np.intp],
    ) -> None:
        """Typical unlabelled images join the vote of classes that have few prototypes."""
        counts = np.bincount(self._labels, minlength=len(self.classes_))
        most = LEAST_KEPT if self.n_prototypes == "auto" else int(self.n_prototypes)
        borrowed = borrow(together, self._space, others, np.maximum(most - counts, 0))
        if not len(borrowed.rows):
            return
        # Each class keeps its say: the sure ones count nearly like labelled images.
        own = np.bincount(self._labels, weights=self.alphas_, minlength=len(self.classes_))
        each = own / np.maximum(counts, 1)
        alphas = np.concatenate([self.alphas_, each[borrowed.classes] * borrowed.sureness])
        self._labels = np.concatenate([self._labels, borrowed.classes])
        total = np.bincount(self._labels, weights=alphas, minlength=len(self.classes_))
        self.alphas_ = alphas * (own / np.where(total > 0, total, 1.0))[self._labels]
        self.prototypes_ = np.concatenate([self.prototypes_, rows[borrowed.rows]])
        self._points = np.concatenate([self._points, borrowed.places])
        behind = np.where(borrowed.behind >= 0, given[borrowed.behind], -1)
        none = np.full((len(self.prototypes_) - len(behind), behind.shape[1]), -1, dtype=behind.dtype)
        self.behind_ = np.concatenate([none, behind])

    def _choose_space(self, known: Candidates, enough: bool) -> tuple[Space, Floats]:
        choices = list(CHOICES) if enough else [DEFAULT]
        if self.closeness != "auto":
            choices = sorted({(float(self.closeness), bandwidth) for _, bandwidth in choices}, reverse=True)
        even = _even_alphas(known, np.arange(len(known.truth)))
        first = known.space(*choices[0])
        best, best_kernel = first, known.held_out_votes(first)
        if not enough:
            return best, best_kernel

        def losses(kernel: Floats) -> Floats:
            scores = _scores(kernel, even, known.truth, len(self.classes_))
            return log_losses(scores, known.truth, fit_sharpness(scores, known.truth)[0])

        best_losses = losses(best_kernel)
        for closeness, bandwidth in choices[1:]:
            space = known.space(closeness, bandwidth)
            kernel = known.held_out_votes(space)
            gains = best_losses - (new := losses(kernel))
            # The first choice is the safest: leave it for a gain that luck does not explain.
            if gains.mean() > 2 * gains.std() / np.sqrt(len(gains)):
                best, best_kernel, best_losses = space, kernel, new
        return best, best_kernel

    def _usual_sharpness(self, known: Candidates, scores: Floats) -> float:
        """What the sharpness would be if these scores were as telling as those of network features."""
        usual = known.held_out_votes(known.space(*DEFAULT))
        even = _even_alphas(known, np.arange(len(known.truth)))
        before = np.ptp(_scores(usual, even, known.truth, len(self.classes_)), axis=1).mean()
        now = np.ptp(scores, axis=1).mean()
        return float(USUAL_SHARPNESS * before / now) if now > 0 else USUAL_SHARPNESS

    def _choose_prototypes(
        self, known: Candidates, held_out: Floats, enough: bool
    ) -> tuple[NDArray[np.intp], Floats]:
        n_classes = len(self.classes_)
        everyone = np.arange(len(known.truth))
        counts = np.bincount(known.truth, minlength=n_classes)

        def chosen(sizes: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats]:
            kept = np.sort(np.concatenate([order[c][: sizes[c]] for c in range(n_classes)]))
            return kept, _even_alphas(known, kept)

        if self.n_prototypes == "auto" and (not enough or counts.max() <= LEAST_KEPT):
            return everyone, _even_alphas(known, everyone)
        wanted = counts if self.n_prototypes == "auto" else np.full(n_classes, int(self.n_prototypes))
        own = points(self._space, known.scores, known.vectors)
        members = [np.flatnonzero(known.truth == c) for c in range(n_classes)]
        order = [m[herd(votes(self._space, own[m], own[m]), w)] for m, w in zip(members, wanted)]
        if self.n_prototypes != "auto":
            return chosen(np.minimum(counts, wanted))

        def loss(selection: tuple[NDArray[np.intp], Floats]) -> float:
            kept, alphas = selection
            scores = _scores(held_out[:, kept], alphas, known.truth[kept], n_classes)
            return fit_sharpness(scores, known.truth)[1]

        whole = chosen(counts)
        least = loss(whole)
        for share, cost in KEPT_SHARES:
            fewer = chosen(np.minimum(counts, np.maximum(LEAST_KEPT, np.ceil(share * counts)).astype(int)))
            if loss(fewer) <= max(1.02 * least, least + cost):
                return fewer
        return whole

    def _choose_leverage(
        self, known: Candidates, held_out: Floats, kept: NDArray[np.intp], even: Floats
    ) -> Floats:
        n_classes = len(self.classes_)
        scores = _scores(held_out[:, kept], even, known.truth[kept], n_classes)
        sharpness, _ = fit_sharpness(scores, known.truth)
        start = even * sharpness
        same = known.truth[:, None] == known.truth[kept]
        # The label factor of (5.19): 1/(C-1) for the same class, -1/(C-1)² for another.
        edges = held_out[:, kept] * np.where(same, 1.0, -1.0 / (n_classes - 1)) / (n_classes - 1)
        if self.leverage == "auto":
            half = np.empty(len(known.truth), dtype=np.int64)
            # Images of one class often stand together: deal them out one by one.
            half[np.argsort(known.truth, kind="stable")] = np.arange(len(half)) % 2
            gains = np.empty(len(half))
            for ask in (0, 1):
                learnt = leverage(edges[half != ask], known.weights[half != ask], start, STEPS)
                asked = half == ask
                kernel, labels = held_out[np.ix_(asked, kept)], known.truth[kept]
                before, after = (_scores(kernel, a, labels, n_classes) for a in (start, learnt))
                truth = known.truth[asked]
                gains[asked] = log_losses(before, truth, 1.0) - log_losses(after, truth, 1.0)
            if gains.mean() <= 2 * gains.std() / np.sqrt(len(gains)):
                return even
        return leverage(edges, known.weights, start, STEPS) / sharpness

    # -- answering ---------------------------------------------------------------------------------

    def _rows(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self)
        rows: NDArray[np.floating] = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        return rows

    def _votes(self, rows: NDArray[np.floating]) -> tuple[Floats, Floats]:
        """What each prototype says of each row, and how familiar the row is (1 where that is not known)."""
        centred = self.discriminant_.scale(rows)
        scores = self.discriminant_.scores(centred)
        familiarity = np.ones(len(rows))
        if isinstance(self.discriminant_, CollectiveMap):
            familiarity = self.discriminant_.familiarity(centred)
        return votes(self._space, points(self._space, scores, centred), self._points), familiarity

    def _answers(self, X: Any) -> tuple[Floats, Floats]:
        """Class scores and familiarity, in blocks."""
        rows = self._rows(X)
        scores, familiarity = np.empty((len(rows), len(self.classes_))), np.empty(len(rows))
        for block in row_blocks(len(rows), 8 * (len(self.prototypes_) + 3 * rows.shape[1])):
            kernel, familiarity[block] = self._votes(rows[block])
            scores[block] = _scores(kernel, self.alphas_, self._labels, len(self.classes_))
        return scores, familiarity

    def _class_scores(self, X: Any) -> Floats:
        return self._answers(X)[0]

    def decision_function(self, X: Any) -> Floats:
        """The score of each class; of the second class alone where there are two."""
        scores = self._class_scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities."""
        return probabilities(self._class_scores(X), self.sharpness_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score, declined or not (see `declines`)."""
        best = self._class_scores(X).argmax(1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def declines(self, X: Any) -> NDArray[np.bool_]:
        """Where the answer is "none of these"."""
        scores, familiarity = self._answers(X)
        return self._rule.declines(probabilities(scores, self.sharpness_), scores, familiarity)

    def strangeness(self, X: Any) -> Floats:
        """How little each row is like anything learnt, in any class: large for classes never seen.

        It asks for a low best score and, where the classifier knows the collection, for images that no label
        reaches: the larger of the two, each around its usual value and in its usual unit.
        """
        scores, familiarity = self._answers(X)
        return self._rule.strangeness(scores, familiarity)

    def explain(self, X: Any) -> list[Evidence]:
        """The answer for each row with the prototypes that decided it, the largest share first."""
        rows = self._rows(X)
        answers: list[Evidence] = []
        for block in row_blocks(len(rows), 24 * (len(self.prototypes_) + rows.shape[1])):
            answers += self._explain_block(rows[block])
        return answers

    def _explain_block(self, rows: NDArray[np.floating]) -> list[Evidence]:
        n_classes = len(self.classes_)
        kernel, familiarity = self._votes(rows)
        scores = _scores(kernel, self.alphas_, self._labels, n_classes)
        chances = probabilities(scores, self.sharpness_)
        best = scores.argmax(1)
        declined = self._rule.declines(chances, scores, familiarity)
        side = np.where(best[:, None] == self._labels, 1.0, -1.0 / (n_classes - 1))
        shares = kernel * (self.alphas_ * side)
        order = np.argsort(-shares, axis=1, kind="stable")
        shares = np.take_along_axis(shares, order, 1)
        who = self.prototypes_[order]
        behind = None if self.behind_ is None else self.behind_[order]
        return [
            Evidence(
                self.classes_[c],
                float(shares[i].sum()),
                who[i],
                shares[i],
                bool(declined[i]),
                chances[i, c],
                None if behind is None else behind[i],
            )
            for i, c in enumerate(best)
        ]


def _even_alphas(known: Candidates, kept: NDArray[np.intp]) -> Floats:
    """Each class has the say that its weight gives it (balanced: one), shared by its prototypes."""
    totals = np.bincount(known.truth, weights=known.weights)
    totals = totals * (len(totals) / totals.sum())
    truth, weights = known.truth[kept], known.weights[kept]
    even: Floats = weights * (totals / np.bincount(truth, weights=weights))[truth]
    return even


def _scores(kernel: Floats, alphas: Floats, labels: NDArray[np.intp], n_classes: int) -> Floats:
    """h_c = sum of alpha_j K y_jc, with y_jc = 1 for the own class and -1/(C-1) for others: (5.12)."""
    own = np.zeros((len(labels), n_classes))
    own[np.arange(len(labels)), labels] = alphas
    mass = kernel @ own
    total = mass.sum(1, keepdims=True)
    return (n_classes * mass - total) / (n_classes - 1)
