"""``WeightedConcatenation``: features beside each other, each as heavy as held-out images ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import even_steps
from lookalike.learn._calibration import fit_sharpness, log_losses
from lookalike.learn._class_weights import class_weights
from lookalike.learn._fusion._base import BlockEstimator
from lookalike.learn._row_scaling import Scale, column_scale, scale_rows, unit_rows, usual_scaling
from lookalike.learn._shrinkage_discriminant import FEW, SHRINKAGES, ShrinkageDiscriminant
from lookalike.neighbors import exact_neighbors

Array = NDArray[Any]

WEIGHTS = (0.03, 0.1, 0.3, 1.0)  # what a feature may weigh beside the best one
LEAST_GAIN = 0.01  # the share of the loss that a change must save
SURE, SURE_OF_FEW = 1.0, 2.0  # how many standard errors that must be above nothing
MANY = 20  # images of the rarest class
MOST_JUDGED = 600  # more labelled images than these say no more about the weights
COMPARED, MOST_COMPARED = 10, 2048  # look-alikes of so many images, in which features may agree
HALF = 0.5  # of the look-alikes shared, from which a feature counts like the first
TRUSTED = 0.1  # the weight of every feature after the first where labels are too few to ask


class WeightedConcatenation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BlockEstimator):
    """Blocks beside each other, with the weights under which held-out images are told apart best.

    Where other images of the collection are given, they decide, and no label is needed for it: the first
    block counts 1, and each other one as much as it agrees with the first about who looks like whom
    (its weight is the square of twice the share of common look-alikes beyond chance, and at most 1).

    From labels alone it boosts the kernels of whole blocks: it starts with the best block alone; in each
    round the block and weight that lower the loss of held-out images most join the sum, until no change
    saves a hundredth of the loss and more than luck explains. The loss is that of exact leave-one-out scores
    of a ridge regression on the classes, so no round refits anything. Where a class has fewer than three
    images, nothing can be held out: the first block, taken for the most trusted, then counts ten times as
    much as each other.

    Parameters
    ----------
    blocks : list of (name, columns), default=None
        Cut one matrix into blocks. Not needed where ``fit`` is given a list or a dict of matrices.

    Attributes
    ----------
    classes_ : array
    feature_weights_ : array of shape (n_blocks,)
        The weight of each block's kernel; 1 for the heaviest, and 0 for blocks that are left out.
    losses_ : array of shape (n_blocks,)
        The held-out log loss of each block alone; NaN where nothing was held out.
    loss_ : float
        That of the weighted blocks together.
    contributions_ : array of shape (n_blocks,)
        The share of each block in the agreement of the scores with the labels.
    reason_ : str
        What decided the weights, for people.
    scalings_ : list of str
        How the rows of each block are scaled (see `ShrinkageDiscriminant`).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> joined = WeightedConcatenation(blocks=[("acids", "0:6"), ("colours", "6:13")]).fit(X, y)
    >>> joined.transform(X).shape, bool(joined.loss_ <= joined.losses_.min())
    ((178, 13), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"blocks": [None, list]}

    def __init__(self, *, blocks: list[tuple[str, Any]] | None = None) -> None:
        self.blocks = blocks

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, *, unlabelled: Any = None) -> Self:
        """Choose the weights from one matrix or several, and one class for each row.

        ``unlabelled`` are other images of the same collection, given like ``X``.
        """
        blocks, labels = self._labelled(X, y)
        truth = labels.values
        self._together = unlabelled is not None
        every = blocks
        if self._together:
            others = self._read(unlabelled, reset=False)
            every = [np.concatenate(pair) for pair in zip(blocks, others)]
            self._scale(every, [usual_scaling(block) for block in every])
        else:
            self._scale(blocks, [ShrinkageDiscriminant().fit(block, truth).scaling_ for block in blocks])
        judged = evenly_chosen(truth, MOST_JUDGED)
        kernels = [part @ part.T for part in self._scaled(blocks, judged)]
        judge = HeldOutJudge(truth[judged])
        self.losses_ = np.full(len(blocks), np.nan)
        rarest = np.bincount(truth).min()
        if self._together:
            compared = even_steps(len(every[0]), MOST_COMPARED)
            self.feature_weights_ = agreements(self._scaled(every, compared))
            self.reason_ = "how far they agree about who looks like whom"
        elif rarest >= FEW:
            sure = SURE if rarest >= MANY else SURE_OF_FEW
            self.feature_weights_, self.losses_ = boosted_weights(kernels, judge, sure)
            self.reason_ = "what tells held-out images apart best"
        else:
            self.feature_weights_ = np.array([1.0] + [TRUSTED] * (len(blocks) - 1))
            self.reason_ = "usual: too few labels to compare them"
        self.loss_, self.contributions_ = judge.shares(kernels, self.feature_weights_)
        self._n_features_out = sum(d for d, w in zip(self.block_dims_, self.feature_weights_) if w)
        return self

    def _scale(self, blocks: list[Array], scalings: list[str]) -> None:
        """Learn to bring blocks to one scale: around their means and with unit mean square."""
        self.scalings_ = scalings
        self._scales: list[Scale] = []
        self.means_: list[Array] = []
        self.sizes_: list[float] = []
        for block, scaling in zip(blocks, scalings):
            self._scales.append(column_scale(block, scaling))
            rows = scale_rows(block, scaling, self._scales[-1]).astype(np.float64)
            self.means_.append(rows.mean(axis=0))
            rows -= self.means_[-1]
            self.sizes_.append(float(np.sqrt(np.mean(np.sum(rows**2, axis=1)))) or 1.0)

    def _scaled(self, blocks: list[Array], rows: Array) -> list[Array]:
        """Some rows of each block."""
        return [self._block(b, block[rows]) for b, block in enumerate(blocks)]

    def _block(self, b: int, block: Array) -> Array:
        rows = scale_rows(block, self.scalings_[b], self._scales[b]) - self.means_[b].astype(block.dtype)
        # Among the other images of a collection only the direction from their mean tells.
        out: Array = unit_rows(rows) if self._together else rows / self.sizes_[b]
        return out

    def transform(self, X: Any) -> Array:
        """The weighted blocks; those of weight 0 are left out."""
        check_is_fitted(self, "feature_weights_")
        blocks = self._read(X, reset=False)
        dtype = np.result_type(*blocks)
        parts = []
        for b, weight in enumerate(self.feature_weights_):
            if weight:
                parts.append((self._block(b, blocks[b]) * np.sqrt(weight)).astype(dtype))
        return np.concatenate(parts, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def evenly_chosen(truth: Array, most: int) -> Array:
    """At most so many rows: the first of each class, the second of each, and so on."""
    if len(truth) <= most:
        return np.arange(len(truth))
    place = np.zeros(len(truth), dtype=np.intp)
    for c in np.unique(truth):
        mine = truth == c
        place[mine] = np.arange(mine.sum())
    return np.sort(np.argsort(place, kind="stable")[:most])


class HeldOutJudge:
    """Leave-one-out scores of a kernel ridge regression on the classes, every class with the same weight.

    With the weighted and centred kernel ``K``, ``M = (K + ρ)⁻¹`` and targets ``Y``, the residual of a row
    left out is ``ρ (M Y)_i / (ρ M_ii − w_i)``, where ``w_i`` is what the mean takes of the row.
    """

    def __init__(self, truth: Array) -> None:
        self.truth = truth
        marks = np.eye(int(truth.max()) + 1)[truth]
        weights = class_weights("balanced", truth, np.ones(len(truth)))
        self.share = weights / weights.sum()
        self.root = np.sqrt(weights)
        self.targets = marks - self.share @ marks
        self.shrinkage = 1.0

    def losses(self, kernel: Array) -> Array:
        """The log losses of the held-out scores of a kernel."""
        return self._losses(self.centred(kernel), self.shrinkage)

    def _losses(self, centred: Array, shrinkage: float) -> Array:
        scores = self.scores(centred, shrinkage)[0]
        weights = self.root**2
        sharpness = fit_sharpness(scores, self.truth, weights=weights)[0]
        return log_losses(scores, self.truth, sharpness) * weights

    def tuned(self, kernel: Array) -> Array:
        """The same with the shrinkage that is best nearby, which is kept for what is judged next."""
        centred = self.centred(kernel)
        at, now = self.shrinkage, self._losses(centred, self.shrinkage)
        for near in (SHRINKAGES[SHRINKAGES.index(at) + 1 :], SHRINKAGES[: SHRINKAGES.index(at)][::-1]):
            for shrinkage in near:
                found = self._losses(centred, shrinkage)
                if not found.mean() < now.mean():
                    break
                self.shrinkage, now = shrinkage, found
            if self.shrinkage != at:
                break
        return now

    def centred(self, kernel: Array) -> Array:
        """The kernel around its weighted mean, its rows and columns by the square roots of the weights."""
        rows = kernel @ self.share
        middle = kernel - rows - rows[:, None] + self.share @ rows
        out: Array = middle * self.root * self.root[:, None]
        return out

    def scores(self, centred: Array, shrinkage: float) -> tuple[Array, Array]:
        """Held-out scores, and the coefficients of the regression on weighted rows."""
        n = len(self.truth)
        ridge = max(shrinkage * np.trace(centred) / np.sum(self.root**2), np.finfo(float).tiny)
        raised = centred.copy()
        raised[np.diag_indices(n)] += ridge
        inverse = inverted(raised)
        coefficients = inverse @ (self.root[:, None] * self.targets)
        free = np.maximum(ridge * inverse.diagonal() - self.share, 1e-9)
        missed = ridge * coefficients / (self.root * free)[:, None]
        return self.targets - missed, coefficients

    def shares(self, kernels: Sequence[Array], weights: Array) -> tuple[float, Array]:
        """The loss of the weighted sum, and each kernel's share in the agreement of scores and labels."""
        total = np.sum([w * k for w, k in zip(weights, kernels)], axis=0)
        loss = float(self.tuned(total).mean())
        coefficients = self.scores(self.centred(total), self.shrinkage)[1]
        goal = self.root[:, None] * self.targets
        agreed = [
            w * float(np.sum(goal * (self.centred(k) @ coefficients))) if w else 0.0
            for w, k in zip(weights, kernels)
        ]
        brought = np.maximum(agreed, 0.0)
        return loss, brought / (brought.sum() or 1.0)


def inverted(matrix: Array) -> Array:
    """The inverse of a positive definite matrix, at a third of the work of solving for it."""
    inverse, failed = dpotri(np.asfortranarray(cholesky(matrix, lower=True)), lower=1)
    if failed:
        raise np.linalg.LinAlgError("The kernel of the features is not positive definite.")
    out: Array = np.tril(inverse) + np.tril(inverse, -1).T
    return out


def agreements(blocks: Sequence[Array]) -> Array:
    """A weight for each block: 1 for the first, and more for others that share more look-alikes with it.

    Features that see the same things, each in its way, place the same images near each other; one that sees
    something else does not, whatever the classes are. A block that shares half of the look-alikes counts
    as much as the first, one that shares a tenth a twenty-fifth. What chance makes them share is left out.
    """
    others = len(blocks[0]) - 1
    k = min(COMPARED, others // 2)  # if all others were look-alikes, everything would agree
    if k < 1:
        return np.ones(len(blocks))
    near = [exact_neighbors(unit_rows(block), n_neighbors=k)[1] for block in blocks]
    shared = np.array([np.mean((other[:, :, None] == near[0][:, None, :]).any(1)) for other in near])
    chance = k / others  # what a feature shares that knows nothing; much where images are few
    beyond = np.maximum(shared - chance, 0.0) / (1.0 - chance)
    weights: Array = np.minimum(1.0, (beyond / HALF) ** 2)
    return weights


def boosted_weights(
    kernels: Sequence[Array], judge: HeldOutJudge, sure: float = SURE, *, most_rounds: int = 20
) -> tuple[Array, Array]:
    """Weights of a sum of kernels by greedy descent of the held-out loss, and the loss of each alone.

    A change must save a share of the loss, and more than luck would: ``sure`` standard errors of the mean.
    """
    alone = np.array([judge.tuned(kernel).mean() for kernel in kernels])
    weights = np.zeros(len(kernels))
    first = int(np.argmin(alone))
    weights[first], total = 1.0, kernels[first].copy()
    now = judge.tuned(total)
    for _ in range(most_rounds):
        best: tuple[float, int, float] = (0.0, 0, 0.0)
        for b in range(len(kernels)):
            for w in (0.0, *WEIGHTS):
                if b == first or w == weights[b]:
                    continue
                gains = now - judge.losses(total + (w - weights[b]) * kernels[b])
                if gains.mean() > max(sure * gains.std() / np.sqrt(len(gains)), LEAST_GAIN * now.mean()):
                    best = max(best, (float(gains.mean()), b, w))
        gained, b, w = best
        if not gained:
            break
        total += (w - weights[b]) * kernels[b]
        weights[b] = w
        now = judge.tuned(total)
    return weights, alone
