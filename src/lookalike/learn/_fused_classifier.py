"""``FusedClassifier``: several features of the same images answer together, with their evidence."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lookalike.learn._boosted_kernel import BoostedKernel
from lookalike.learn._calibration import fit_sharpness, probabilities
from lookalike.learn._declining import fit_decline_rule
from lookalike.learn._evidence import Evidence
from lookalike.learn._fusion._base import BlockEstimator
from lookalike.learn._prototype_classifier import PrototypeClassifier
from lookalike.learn._shrinkage_discriminant import FEW
from lookalike.learn._weighted_concatenation import WeightedConcatenation

Array = NDArray[Any]


class FusedClassifier(ClassifierMixin, BlockEstimator):
    """Several features place images in one space, and a `PrototypeClassifier` votes there.

    The space is a `WeightedConcatenation`, whose weights held-out images choose, or the space of a
    `BoostedKernel` [1]_, which mixes the features anew for every direction between classes. The first
    needs fewer labels and is better where one feature is far stronger than the others, as vectors of a
    network are; the second is better where many features of about the same strength meet.

    A boosted space is learned from the labels, so the images it was learned from look better in it than new
    ones will. The vote therefore sees them where functions learned without them place them, and its
    probabilities and the threshold of "none of these" come from cross-validation, in which the space is
    learned anew each time.

    Parameters
    ----------
    blocks : list of (name, columns), default=None
        Cut one matrix into features; columns are a slice, a text like "0:256", positions or names. Not
        needed where ``fit`` is given a list or a dict of matrices.
    fusion : {"weights", "boosted"}, default="weights"
    ridge, select, order
        Of the `BoostedKernel`.
    n_folds : int, default=5
        Parts of the cross-validation of a boosted space; fewer where a class has fewer images. With one
        image in a class there is none, and the probabilities are those of the `PrototypeClassifier`.
    max_error : float, default=0.1
        The expected share of errors among the answers that are not declined, where it can be reached.
    random_state : int, RandomState or None, default=None
        Draws the parts.

    Attributes
    ----------
    classes_ : array
    fusion_ : WeightedConcatenation or BoostedKernel
    vote_ : PrototypeClassifier
    contributions_ : array of shape (n_blocks,)
        The share of each feature in the agreement with the labels; they add up to 1.
    prototypes_, alphas_ : arrays
        Of the vote.
    n_unlabelled_ : int
    choices_ : list of (str, str)
        See `PrototypeClassifier`.
    threshold_ : float
        The probability below which an answer is declined.

    References
    ----------
    .. [1] A. Lechervy, P.-H. Gosselin, F. Precioso, "Boosted kernel for image categorization",
       Multimedia Tools and Applications, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> X = X / X.std(axis=0)
    >>> model = FusedClassifier(blocks=[("acids", "0:6"), ("colours", "6:13")], random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.contributions_.shape
    (True, (2,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "blocks": [None, list],
        "fusion": [StrOptions({"weights", "boosted"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "select": [StrOptions({"first", "best"})],
        "order": [StrOptions({"eigen_first", "level_first", "space_first"})],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "max_error": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        blocks: list[tuple[str, Any]] | None = None,
        fusion: str = "weights",
        ridge: float = 0.1,
        select: str = "first",
        order: str = "eigen_first",
        n_folds: int = 5,
        max_error: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.blocks = blocks
        self.fusion = fusion
        self.ridge = ridge
        self.select = select
        self.order = order
        self.n_folds = n_folds
        self.max_error = max_error
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, *, unlabelled: Any = None) -> Self:
        """Learn the space and the vote from one matrix or several; one class per image.

        ``unlabelled`` are other images of the same collection, given like ``X``: see `PrototypeClassifier`.
        """
        blocks, labels = self._labelled(X, y)
        others = None if unlabelled is None else self._read(unlabelled, reset=False)
        self.fusion_, self.vote_ = self._pair(blocks, labels.values, others)
        self.threshold_ = self.vote_.threshold_
        if self.fusion == "boosted":
            self._calibrate(blocks, labels.values)
        self.contributions_ = self.fusion_.contributions_
        self.prototypes_, self.alphas_ = self.vote_.prototypes_, self.vote_.alphas_
        self.n_unlabelled_ = self.vote_.n_unlabelled_
        self.choices_ = [*self._say_weights(), *self.vote_.choices_]
        return self

    def _say_weights(self) -> list[tuple[str, str]]:
        """How much each feature counts and why, for people."""
        if not isinstance(self.fusion_, WeightedConcatenation):
            return []
        weights = zip(self.block_names_, self.fusion_.feature_weights_)
        said = ", ".join(f"{name} {weight:.2g}" for name, weight in weights)
        return [("how much each feature counts", f"{said} ({self.fusion_.reason_})")]

    def _pair(
        self, blocks: list[Array], y: Array, others: list[Array] | None = None
    ) -> tuple[WeightedConcatenation | BoostedKernel, PrototypeClassifier]:
        if self.fusion == "weights":
            joined = WeightedConcatenation()
            place = joined.fit(blocks, y, unlabelled=others).transform(blocks)
            vote = PrototypeClassifier(scaling="none", max_error=self.max_error)
            return joined, vote.fit(place, y, unlabelled=None if others is None else joined.transform(others))
        enough = np.bincount(y).min() >= FEW  # to leave one out
        boosted = BoostedKernel(
            ridge=self.ridge,
            select=self.select,
            order=self.order,
            scoring="loo" if enough else "train",
            keep_moments=False,
            n_rounds=200,
        )
        place = boosted.fit_held_out(blocks, y) if enough else boosted.fit(blocks, y).transform(blocks)
        unlabelled = None if others is None else boosted.transform(others)
        return boosted, PrototypeClassifier(max_error=self.max_error).fit(place, y, unlabelled=unlabelled)

    def _calibrate(self, blocks: list[Array], y: Array) -> None:
        """Sharpness and threshold from images that the space was learned without."""
        n_folds = min(self.n_folds, int(np.bincount(y).min()))
        if n_folds < 2:
            return
        scores = np.empty((len(y), len(self.classes_)))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        for train, held in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y, y):
            fusion, vote = self._pair([b[train] for b in blocks], y[train])
            scores[held] = vote._class_scores(fusion.transform([b[held] for b in blocks]))
        vote = self.vote_
        vote.sharpness_, vote.held_out_loss_ = fit_sharpness(scores, y)
        vote._rule = fit_decline_rule(probabilities(scores, vote.sharpness_), scores, y, self.max_error, True)
        self.threshold_ = vote.threshold_ = vote._rule.threshold

    def place(self, X: Any) -> Array:
        """Where the space places images: the rows that the vote looks at."""
        check_is_fitted(self, "vote_")
        return self.fusion_.transform(self._read(X, reset=False))

    def _asked(self, X: Any, what: str) -> Any:
        placed = self.place(X)  # says so where nothing was learnt yet
        return getattr(self.vote_, what)(placed)

    def decision_function(self, X: Any) -> Array:
        """The score of each class; of the second class alone where there are two."""
        scores: Array = self._asked(X, "decision_function")
        return scores

    def predict_proba(self, X: Any) -> Array:
        """Calibrated probabilities."""
        chances: Array = self._asked(X, "predict_proba")
        return chances

    def predict(self, X: Any) -> Array:
        """The class of the highest score, declined or not (see `declines`)."""
        best = self._asked(X, "predict")
        found: Array = self.classes_[best]
        return found

    def declines(self, X: Any) -> NDArray[np.bool_]:
        """Where the answer is "none of these"."""
        declined: NDArray[np.bool_] = self._asked(X, "declines")
        return declined

    def strangeness(self, X: Any) -> Array:
        """How little each row is like anything learnt, in any class."""
        strange: Array = self._asked(X, "strangeness")
        return strange

    def explain(self, X: Any) -> list[Evidence]:
        """The answer for each row with the prototypes that decided it, the largest share first."""
        found = self._asked(X, "explain")
        return [replace(evidence, label=self.classes_[evidence.label]) for evidence in found]
