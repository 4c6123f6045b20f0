"""Support vector machines on a combination of kernels: the rivals of boosted kernels under one face."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lookalike.learn._fusion._base import BlockEstimator, mean_distances, similarities
from lookalike.learn._fusion._mkl import (
    _dual,
    align_weights,
    alignf_weights,
    combined,
    easy_mkl,
    geometric_mean,
    lp_beta,
    lp_mkl,
    simple_mkl,
)

Array = NDArray[Any]
Machine = tuple[Array, float]  # αy and bias


class MultipleKernelClassifier(ClassifierMixin, BlockEstimator):
    """One-versus-rest support vector machines on kernels of several feature blocks.

    Every kernel is first divided by its mean over the diagonal of the training samples.

    Parameters
    ----------
    combine : str, default="average"
        "average" and "product" (geometric mean) learn no weights; "align" weighs kernels by their centred
        alignment with the labels and "alignf" by the combination of highest alignment [1]_; "easymkl"
        [2]_, "simplemkl" [3]_ and "lpmkl" [4]_ learn weights for each class; "lpbeta" [5]_ weighs the
        scores of one machine per kernel.
    kernel : {"linear", "rbf", "distance", "precomputed"}, default="rbf"
        The kernel of a block: products of centred features; ``exp(−d²/mean d²)``; ``exp(−D/mean D)`` of
        blocks that are distances to the training samples; or blocks that are kernels already.
    C : float, default=10
        Cost of the support vector machines.
    spread : float, default=0.1
        λ of EasyMKL: how much of a class's weight is spread over its samples.
    p : float, default=2
        The norm of lp-MKL: 1 is sparse, large is average.
    nu : float, default=0.5
        ν of LP-β: the share of samples that may lie within the margin.
    blocks : list of (name, columns), default=None
        Cut one matrix into blocks. Not needed where ``fit`` is given a list or a dict of matrices.
    random_state : int, RandomState or None, default=None
        Used for the folds of LP-β.

    Attributes
    ----------
    classes_ : array
    kernel_weights_ : array of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels; None for the product.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh, "Algorithms for learning kernels based on centered
       alignment", Journal of Machine Learning Research 13, 2012.
    .. [2] F. Aiolli, M. Donini, "EasyMKL", Neurocomputing 169, 2015.
    .. [3] A. Rakotomamonjy et al., "SimpleMKL", Journal of Machine Learning Research 9, 2008.
    .. [4] M. Kloft et al., "lp-norm multiple kernel learning", Journal of Machine Learning Research 12, 2011.
    .. [5] P. Gehler, S. Nowozin, "On feature combination for multiclass object classification", ICCV 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> blocks = [X[:, :6] / X[:, :6].std(0), X[:, 6:] / X[:, 6:].std(0)]
    >>> machine = MultipleKernelClassifier(combine="alignf").fit(blocks, y)
    >>> machine.score(blocks, y) > 0.98, machine.kernel_weights_.shape
    (True, (2,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "combine": [
            StrOptions({"average", "product", "align", "alignf", "easymkl", "simplemkl", "lpmkl", "lpbeta"})
        ],
        "kernel": [StrOptions({"linear", "rbf", "distance", "precomputed"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "spread": [Interval(Real, 0, 1, closed="right")],
        "p": [Interval(Real, 1, None, closed="left")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "blocks": [None, list],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        combine: str = "average",
        kernel: str = "rbf",
        C: float = 10.0,
        spread: float = 0.1,
        p: float = 2.0,
        nu: float = 0.5,
        blocks: list[tuple[str, Any]] | None = None,
        random_state: Any = None,
    ) -> None:
        self.combine = combine
        self.kernel = kernel
        self.C = C
        self.spread = spread
        self.p = p
        self.nu = nu
        self.blocks = blocks
        self.random_state = random_state

    kernel_weights_: Array | None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights of the kernels and the machines; ``y`` holds one class per sample."""
        blocks, labels = self._labelled(X, y)
        kernels = self._training_kernels(blocks)
        marks = labels.indicators(slice(None))
        columns = marks.T if marks.shape[1] > 2 else marks.T[1:]
        signs = [np.where(column > 0, 1.0, -1.0) for column in columns]
        learned = {"easymkl": self._easy, "simplemkl": self._simple, "lpmkl": self._lp}
        if self.combine == "lpbeta":
            self._fit_beta(kernels, labels.values, signs)
        elif self.combine in learned:
            found = [learned[self.combine](kernels, sign) for sign in signs]
            self.kernel_weights_ = np.stack([weights for weights, _, _ in found])
            self._machines_ = [(signed, bias) for _, signed, bias in found]
        else:
            self.kernel_weights_ = self._common_weights(kernels, marks)
            total = self._joined(kernels, self.kernel_weights_)
            self._machines_ = [self._machine(total, sign) for sign in signs]
        return self

    def _machine(self, kernel: Array, sign: Array) -> Machine:
        signed, bias, _ = _dual(kernel, sign, self.C)
        return signed, bias

    def _easy(self, kernels: Sequence[Array], sign: Array) -> tuple[Array, Array, float]:
        return easy_mkl(kernels, sign, spread=self.spread)

    def _simple(self, kernels: Sequence[Array], sign: Array) -> tuple[Array, Array, float]:
        return simple_mkl(kernels, sign, self.C)

    def _lp(self, kernels: Sequence[Array], sign: Array) -> tuple[Array, Array, float]:
        return lp_mkl(kernels, sign, self.C, p=self.p)

    def _common_weights(self, kernels: Sequence[Array], marks: Array) -> Array | None:
        if self.combine == "product":
            return None
        if self.combine == "average":
            return np.full(len(kernels), 1 / len(kernels))
        learn: Callable[..., Array] = align_weights if self.combine == "align" else alignf_weights
        return learn(kernels, marks)

    def _joined(self, kernels: Sequence[Array], weights: Array | None) -> Array:
        return geometric_mean(kernels) if weights is None else combined(kernels, weights)

    def _fit_beta(self, kernels: Sequence[Array], y: Array, signs: Sequence[Array]) -> None:
        """One machine per kernel and class, and weights from scores on samples they did not see."""
        several = len(signs) > 1
        scores = np.zeros((len(kernels), len(y), len(self.classes_)))
        n_folds = max(2, min(5, int(np.bincount(y).min())))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        for train, held in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(y[:, None], y):
            for m, kernel in enumerate(kernels):
                inside, across = kernel[np.ix_(train, train)], kernel[np.ix_(held, train)]
                for c, sign in enumerate(signs):
                    signed, bias = self._machine(inside, sign[train])
                    scores[m, held, c if several else 1] = across @ signed + bias
        if not several:
            scores[:, :, 0] = -scores[:, :, 1]
        self.kernel_weights_, self.margin_ = lp_beta(scores, y, nu=self.nu)
        self._parts_ = [[self._machine(kernel, sign) for sign in signs] for kernel in kernels]

    def _training_kernels(self, blocks: list[Array]) -> list[Array]:
        if self.kernel == "distance":
            self.scales_ = mean_distances(blocks)
        elif self.kernel == "linear":
            self.means_ = [b.mean(axis=0) for b in blocks]
            self.samples_ = [b - m for b, m in zip(blocks, self.means_)]
        elif self.kernel == "rbf":
            self.samples_ = blocks
            self.widths_ = [2 * float(b.var(axis=0, dtype=np.float64).sum()) or 1.0 for b in blocks]
        self.sizes_ = [1.0] * len(blocks)
        kernels = self._kernels(blocks)
        for block, kernel in zip(blocks, kernels):
            if kernel.shape[0] != kernel.shape[1]:
                raise ValueError(f"Training needs square {self.kernel} blocks, but one is {block.shape}.")
        self.sizes_ = [float(np.mean(k.diagonal())) or 1.0 for k in kernels]
        return [k / size for k, size in zip(kernels, self.sizes_)]

    def _kernels(self, blocks: list[Array]) -> list[Array]:
        """Kernels between samples and the training samples."""
        if self.kernel == "distance":
            kernels = similarities(blocks, self.scales_)
        elif self.kernel == "linear":
            kernels = [(b - m) @ t.T for b, m, t in zip(blocks, self.means_, self.samples_)]
        elif self.kernel == "rbf":
            kernels = list(map(_gaussian, blocks, self.samples_, self.widths_))
        else:
            kernels = blocks
        return [kernel / size for kernel, size in zip(kernels, self.sizes_)]

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes; of the second class alone where there are two."""
        check_is_fitted(self, "classes_")
        kernels = self._kernels(self._read(X, reset=False))
        if self.combine == "lpbeta":
            assert self.kernel_weights_ is not None
            parts = [
                w * np.stack([k @ signed + bias for signed, bias in machines], axis=1)
                for w, k, machines in zip(self.kernel_weights_, kernels, self._parts_)
            ]
            out: Array = np.sum(parts, axis=0)
        elif self.combine in ("easymkl", "simplemkl", "lpmkl"):
            machines = zip(np.asarray(self.kernel_weights_), self._machines_)
            columns = [combined(kernels, weights) @ signed + bias for weights, (signed, bias) in machines]
            out = np.stack(columns, axis=1)
        else:
            total = self._joined(kernels, self.kernel_weights_)
            out = np.stack([total @ signed + bias for signed, bias in self._machines_], axis=1)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict(self, X: Any) -> Array:
        """The class with the highest score."""
        scores = self.decision_function(X)
        found: Array = self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        return found


def _gaussian(samples: Array, others: Array, width: float) -> Array:
    from sklearn.metrics.pairwise import rbf_kernel

    out: Array = rbf_kernel(samples, others, gamma=1 / width)
    return out
