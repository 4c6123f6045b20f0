"""Many features become one learned space: boosted kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context, clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
)

from lookalike.errors import LookalikeWarning
from lookalike.learn._fusion._base import BlockEstimator, Thinned, affine, mean_distances, similarities
from lookalike.learn._fusion._boost import Bank, Path, Rules, boost, corrected
from lookalike.learn._fusion._convex import certificates, convex_factors, whitened
from lookalike.learn._fusion._inputs import Labels, checked_blocks, is_blocks
from lookalike.learn._fusion._moments import BlockMoments
from lookalike.learn._fusion._smoothers import (
    Fitted,
    HeldOut,
    LeaveOneOut,
    NeighborMean,
    smoother_bank,
)
from lookalike.learn._fusion._spaces import Geometry, geometry, moment_bank, ridge_learners

Array = NDArray[Any]

SELECTED = np.dtype(
    [
        ("block", np.int32),
        ("dim", np.int32),
        ("ridge", np.float64),
        ("eigenvector", np.int32),
        ("weight", np.float64),
        ("alignment", np.float64),
        ("gain", np.float64),
    ]
)


class BoostedKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BlockEstimator):
    """One kernel for all classes, boosted from weak functions on one or many feature blocks.

    The kernel is a sum of rank-one kernels ``β f(x) f(y)``. In each round a weak learner fits, in one
    feature space, the direction in which the barycentres of the classes are least spread; the function is
    taken when it raises the centred alignment with the labels by more than ``min_gain``. Blocks are tried
    from few principal components to many. The result is a linear map: :meth:`transform` places images in
    a space where any vector method works better than on the features themselves.

    All that is learned comes from moments, gathered in one pass (:meth:`partial_fit`): a round costs the
    same for a thousand samples and for a million, and samples can be taken out again (:meth:`forget`).

    Parameters
    ----------
    n_rounds : int, default=500
        The largest number of functions, and of columns of the embedding.
    min_gain : float, default=3e-4
        The alignment that a function must add (θ of the document).
    levels : "auto", list of int or None, default="auto"
        How many principal components of a block its spaces take. "auto" is 16, 32, … 1024, no more than
        half the number of samples; None takes each block whole.
    ridge : float or list of float, default=0
        Ridge of the least-squares learner, relative to the mean variance of the space. Of several, every
        space is offered with each, the strongest first: which one suits may differ from function to
        function, and ``scoring="loo"`` can tell.
    order : {"eigen_first", "level_first", "space_first"}, default="eigen_first"
        Which loop is outside when candidates are tried: the target direction (Algorithm 1 as printed),
        the capacity of the spaces (as its text says), or the space.
    select : {"first", "best"}, default="first"
        Take the first candidate that gains enough, or the best of all.
    initial : {"first", "best"}, default="first"
        The space of the initial functions: the first, or the one with the highest alignment.
    initial_weight : {"one", "optimal"}, default="one"
        Weight of the initial functions.
    weak_learner : {"ls", "knn"} or regressor, default="ls"
        Least squares; k-NN regression; or any regressor with several outputs, judged by
        cross-validation. Those other than "ls" need the samples in memory.
    scoring : {"train", "loo"}, default="train"
        Judge least-squares candidates by training values or by leave-one-out values.
    solver : {"greedy", "corrective", "convex"}, default="greedy"
        Boosting; boosting whose weights are then all solved again together; or the kernel of highest
        alignment that the blocks can make, which bounds the others.
    metric : {"features", "precomputed"}, default="features"
        "precomputed": every block holds distances to the training samples, and becomes similarities
        ``exp(−D / mean D)``.
    blocks : list of (name, columns), default=None
        Cut one matrix into blocks; columns are a slice, positions, a mask or names. Not needed where
        ``fit`` is given a list or a dict of matrices.
    validation_fraction : float, default=None
        Set this share of the samples aside, keep the number of rounds whose alignment is highest there,
        and fit again on all.
    keep_moments : bool, default=True
        Keep what :meth:`partial_fit`, :meth:`forget` and :meth:`certificate` need: a square array as wide as
        the features. Without it, blocks with more features than samples are learned faster.
    rescale : bool, default=True
        Scale the embedding so that the mean squared distance of two training samples is 1, which is what
        the default costs and widths of classifiers expect.
    random_state : int, RandomState or None, default=None
        Used for the validation split and for cross-validated learners.

    Attributes
    ----------
    classes_ : array
        The classes; the column numbers where y is an indicator matrix.
    block_names_ : list of str
    alignments_ : array of shape (n_rounds_,)
        Centred alignment with the labels after every function.
    selected_ : structured array of shape (n_rounds_,)
        For every function: block, dim, ridge, eigenvector (−1: initial), weight, alignment, gain.
    contributions_ : array of shape (n_blocks,)
        The share of each block in ``⟨K, K*⟩``: what each feature brought.
    means_, weights_ : list of arrays
        The embedding is ``Σ (X_b − means_[b]) @ weights_[b]`` (least squares only).
    moments_ : BlockMoments
    stop_reason_ : str
    validation_alignments_ : array
        Only with ``validation_fraction``.

    References
    ----------
    .. [1] A. Lechervy, P.-H. Gosselin, F. Precioso, "Boosted kernel for image categorization",
       Multimedia Tools and Applications, 2013: eqs. (1)-(16), Algorithms 1 and 2.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> fusion = BoostedKernel().fit([X[:, :6], X[:, 6:]], y)
    >>> fusion.transform([X[:, :6], X[:, 6:]]).shape[0]
    178
    >>> bool(np.all(np.diff(fusion.alignments_[2:]) > 3e-4))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "min_gain": [Interval(Real, 0, 1, closed="neither")],
        "levels": [StrOptions({"auto"}), "array-like", None],
        "ridge": [Interval(Real, 0, None, closed="left"), list],
        "order": [StrOptions({"eigen_first", "level_first", "space_first"})],
        "select": [StrOptions({"first", "best"})],
        "initial": [StrOptions({"first", "best"})],
        "initial_weight": [StrOptions({"one", "optimal"})],
        "weak_learner": [StrOptions({"ls", "knn"}), HasMethods(["fit", "predict"])],
        "scoring": [StrOptions({"train", "loo"})],
        "solver": [StrOptions({"greedy", "corrective", "convex"})],
        "metric": [StrOptions({"features", "precomputed"})],
        "blocks": [None, list],
        "validation_fraction": [None, Interval(Real, 0, 1, closed="neither")],
        "keep_moments": ["boolean"],
        "rescale": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_rounds: int = 500,
        min_gain: float = 3e-4,
        levels: Any = "auto",
        ridge: Any = 0.0,
        order: str = "eigen_first",
        select: str = "first",
        initial: str = "first",
        initial_weight: str = "one",
        weak_learner: Any = "ls",
        scoring: str = "train",
        solver: str = "greedy",
        metric: str = "features",
        blocks: list[tuple[str, Any]] | None = None,
        validation_fraction: float | None = None,
        keep_moments: bool = True,
        rescale: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.min_gain = min_gain
        self.levels = levels
        self.ridge = ridge
        self.order = order
        self.select = select
        self.initial = initial
        self.initial_weight = initial_weight
        self.weak_learner = weak_learner
        self.scoring = scoring
        self.solver = solver
        self.metric = metric
        self.blocks = blocks
        self.validation_fraction = validation_fraction
        self.keep_moments = keep_moments
        self.rescale = rescale
        self.random_state = random_state

    moments_: BlockMoments
    means_: list[Array]
    weights_: list[Array]

    # -- fitting ------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the kernel of one matrix or of several, and the labels: classes or an indicator matrix."""
        self._fit(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_held_out(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Fit, and place every training sample where functions learned without it would place it.

        Functions know the labels of their own training samples, which :meth:`transform` therefore places
        better than it will place others. A classifier that is trained on these places instead sees its
        samples as it will see new ones. For least squares they are exact leave-one-out values.
        """
        spaces, G, held_out = self._fit(X, y, sample_weight)
        if held_out is None:
            raise ValueError("solver='convex' has no held-out places: use 'greedy' or 'corrective'.")
        return held_out(spaces, G)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, HeldOut | None]:
        blocks = self._samples(X, reset=True, least=2)
        labels = Labels(y)
        check_consistent_length(blocks[0], labels)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, blocks[0])
        n_rounds = self.n_rounds
        if self.validation_fraction is not None:
            n_rounds = self._best_number(X, y, labels, weight)
        if self.keep_moments or self.weak_learner != "ls":
            taken = self._learn(self._gather(blocks, labels, weight), n_rounds, blocks, labels, weight)
        else:
            thin = Thinned(blocks, weight)
            moments = self._gather(thin.blocks, labels, weight)
            taken = self._learn(moments, n_rounds, thin.blocks, labels, weight)
            self.means_, self.weights_ = thin.whole(self.means_, self.weights_)
        if not self.keep_moments:
            del self.moments_
        return taken

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, refresh: bool = True
    ) -> Self:
        """Add samples to the moments; they need not be kept.

        ``classes`` names all classes where the first samples do not show each; others may come later.
        With ``refresh=False`` the model itself waits for the next call that refreshes it.
        """
        self._moments_only()
        blocks = self._read(X, reset=not hasattr(self, "moments_"), least=1)
        batch = self._gather(blocks, Labels(y), self._share(sample_weight, blocks))
        if classes is not None:
            listed = list(np.asarray(classes).tolist())
            batch.extend([*listed, *[c for c in batch.classes if c not in set(listed)]])
        moments = self.moments_.merge(batch) if hasattr(self, "moments_") else batch
        moments.extend(sorted(moments.classes))
        if refresh:
            self._learn(moments, self.n_rounds)
        else:
            self.moments_ = moments
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None, refresh: bool = True) -> Self:
        """Take samples out again: the model becomes what it had been without them."""
        check_is_fitted(self, "moments_")
        self._moments_only()
        blocks = self._read(X, reset=False, least=1)
        labels = Labels(y, self.moments_.classes)
        share = self._share(sample_weight, blocks)
        moments = self.moments_.remove(blocks, labels.indicators(slice(None)), share)
        if refresh:
            self._learn(moments, self.n_rounds)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_moments(self, moments: BlockMoments, names: Sequence[str] | None = None) -> Self:
        """Learn from moments that were gathered elsewhere, perhaps on several machines, and merged."""
        self._moments_only()
        self.n_features_in_, self.block_dims_ = moments.n_features, list(moments.dims)
        self.block_names_ = list(names or (f"block{i}" for i in range(len(moments.dims))))
        self._learn(moments.copy(), self.n_rounds)
        return self

    def _moments_only(self) -> None:
        if not self.keep_moments:
            raise ValueError("keep_moments=False leaves nothing to add samples to or to take them from.")
        if self.weak_learner != "ls" or self.scoring != "train" or self.metric != "features":
            raise ValueError(
                "Only least squares judged by training values on features can be learned from moments: "
                "use fit for other weak learners, scoring='loo' or precomputed distances."
            )

    def _samples(self, X: Any, *, reset: bool, least: int = 1) -> list[Array]:
        """The blocks, distances made similarities."""
        blocks = self._read(X, reset=reset, least=least)
        if self.metric == "precomputed":
            if reset:
                self.scales_ = mean_distances(blocks)
            blocks = similarities(blocks, self.scales_)
        return blocks

    def _best_number(self, X: Any, y: Any, labels: Labels, weight: Array | None) -> int:
        """How many rounds align best with samples that were set aside."""
        split = ShuffleSplit if labels.multilabel else StratifiedShuffleSplit
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        cut = split(1, test_size=self.validation_fraction, random_state=seed)
        train, held = next(cut.split(np.zeros(len(labels)), None if labels.multilabel else labels.values))
        y = np.asarray(y)

        def take(rows: Array) -> Any:
            return [b[rows] for b in checked_blocks(X)[1]] if is_blocks(X) else np.asarray(X)[rows]

        if self.metric == "precomputed":
            raise ValueError("validation_fraction needs features, not distances.")
        learner = clone(self).set_params(validation_fraction=None)
        learner.fit(take(train), y[train], None if weight is None else weight[train])
        aside = Labels(y[held], labels.classes.tolist())
        F = learner.transform(take(held)).astype(np.float64)
        moments = BlockMoments([F.shape[1]], labels.classes.tolist())
        moments.update([F], aside.indicators(slice(None)), None if weight is None else weight[held])
        self.validation_alignments_ = prefix_alignments(moments)
        return int(np.argmax(self.validation_alignments_)) + 1

    def _learn(
        self,
        moments: BlockMoments,
        n_rounds: int,
        blocks: list[Array] | None = None,
        labels: Labels | None = None,
        weight: Array | None = None,
    ) -> tuple[Array, Array, HeldOut | None]:
        """From moments (and samples, where they are needed) to the embedding.

        What comes back: the space and the coefficients of every function, and what tells held-out places.
        """
        geo = geometry(moments, self._levels(), np.atleast_1d(self.ridge).tolist())
        self.moments_, self.classes_ = moments, np.array(moments.classes)
        learners = ridge_learners(geo)
        if self.solver == "convex":
            self._check_learner("solver='convex'")
            self._finish_convex(geo)
            return np.zeros(0), np.zeros(0), None
        bank, fitted, held_out = self._bank(geo, learners, blocks, labels, weight)
        rules = Rules(n_rounds, self.min_gain, self.order, self.select, self.initial, self.initial_weight)
        path = boost(bank, [s.level for s in geo.spaces], rules)
        if not path.spaces:
            raise ValueError("No feature block tells the classes apart: every one is constant within them.")
        if self.solver == "corrective":
            path = corrected(bank, path)
        return *self._finish(geo, bank, path, learners, fitted), held_out

    def _bank(
        self,
        geo: Geometry,
        learners: list[Array],
        blocks: list[Array] | None,
        labels: Labels | None,
        weight: Array | None,
    ) -> tuple[Bank, Fitted | None, HeldOut | None]:
        """The base functions of the weak learner, as it is to be judged; held-out values need samples."""
        if self.weak_learner != "ls":
            assert blocks is not None and labels is not None
            make = NeighborMean if self.weak_learner == "knn" else partial(clone, self.weak_learner)
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            return smoother_bank(geo, self.moments_, blocks, labels, make, weights=weight, seed=seed)
        honest: LeaveOneOut | None = None
        if blocks is not None and labels is not None:
            honest = LeaveOneOut(geo, self.moments_, blocks, labels, learners, weight)
        if self.scoring == "loo":
            assert honest is not None
            return honest.bank(), None, honest.held_out
        bank = moment_bank(geo, learners)
        self._warn_of_interpolation(geo, bank)
        return bank, None, honest.held_out if honest is not None else None

    def _levels(self) -> Any:
        return self.levels if isinstance(self.levels, str | None) else [int(k) for k in self.levels]

    def _check_learner(self, what: str) -> None:
        if self.weak_learner != "ls" or self.scoring != "train":
            raise ValueError(f"{what} works with weak_learner='ls' and scoring='train' only.")

    def _warn_of_interpolation(self, geo: Geometry, bank: Bank) -> None:
        import warnings

        explained = np.trace(bank.hit, axis1=1, axis2=2) / bank.shape[1]
        whole = [s for s, share in zip(geo.spaces, explained) if share > 1 - 1e-9]
        if whole and not isinstance(self.levels, str):
            worst = whole[0]
            warnings.warn(
                f"{worst.dim} components of block {self.block_names_[worst.block]!r} fit the labels of the "
                "training samples exactly, so nothing is left to learn: give fewer components in levels, "
                "a ridge, or scoring='loo'.",
                LookalikeWarning,
                stacklevel=4,
            )

    def _finish(
        self, geo: Geometry, bank: Bank, path: Path, learners: list[Array], fitted: Fitted | None
    ) -> tuple[Array, Array]:
        spaces, G = np.array(path.spaces), np.array(path.coefficients)
        betas = np.array(path.betas)
        hits = betas * np.sum(np.einsum("tc,tcd->td", G, bank.hit[spaces]) ** 2, axis=1)
        owner = np.array([geo.spaces[s].block for s in spaces])
        brought = np.bincount(owner, hits, minlength=len(self.block_names_))
        spread = float(betas @ np.einsum("tc,tcd,td->t", G, bank.own[spaces], G))
        self.scale_ = self._scale(spread)
        G = G * (self.scale_ * np.sqrt(betas))[:, None]
        taken = [geo.spaces[s] for s in spaces]
        self._record(path, owner, [s.dim for s in taken], [s.ridge for s in taken], brought)
        self._fitted_ = fitted
        if fitted is not None:
            self._coefficients_ = (spaces, G)
            return spaces, G
        components = np.zeros((len(geo.hits), len(spaces)))
        for t, s in enumerate(spaces):
            components[geo.rows(geo.spaces[s]), t] = learners[s] @ G[t]
        self._place(geo, components)
        return spaces, G

    def _finish_convex(self, geo: Geometry) -> None:
        spread = np.concatenate(geo.variances)
        products, hits = whitened(geo.crossed, geo.hits, spread)
        factors, path = convex_factors(products, hits, geo.parts)
        owner = np.repeat(np.arange(len(factors)), [r.shape[1] for r in factors])
        brought = np.array([np.sum((hits[p].T @ r) ** 2) for p, r in zip(geo.parts, factors)])
        components = np.zeros((len(spread), len(owner)))
        for b, (part, factor) in enumerate(zip(geo.parts, factors)):
            components[part, owner == b] = factor
        self.scale_ = self._scale(float(np.sum(components**2)))
        components *= self.scale_ / np.sqrt(spread)[:, None]
        record = Path([0] * len(owner), [-1] * len(owner), [1.0] * len(owner), [], [path[-1]] * len(owner))
        record.stop_reason = "no block can raise the alignment"
        dims = [geo.parts[b].stop - geo.parts[b].start for b in owner]
        self._fitted_ = None
        self._record(record, owner, dims, [0.0] * len(owner), brought)
        self.sweeps_ = np.array(path)
        self._place(geo, components)

    def _scale(self, spread: float) -> float:
        """What makes the mean squared distance of training samples 1; ``spread`` is the kernel's trace."""
        return float(np.sqrt(self.moments_.weight / (2 * spread))) if self.rescale and spread > 0 else 1.0

    def _record(
        self, path: Path, owner: Array, dims: Sequence[int], ridges: Sequence[float], brought: Array
    ) -> None:
        self.alignments_ = np.array(path.alignments)
        self._taken_ = {
            "block": np.asarray(owner, dtype=np.int32),
            "dim": np.asarray(dims, dtype=np.int32),
            "ridge": np.asarray(ridges, dtype=np.float64),
            "eigenvector": np.asarray(path.eigens, dtype=np.int32),
            "weight": np.asarray(path.betas, dtype=np.float64),
        }
        self.contributions_ = brought / brought.sum()
        self.stop_reason_ = path.stop_reason
        self.n_rounds_ = self._n_features_out = len(owner)

    def _place(self, geo: Geometry, components: Array) -> None:
        cuts = self.moments_.slices()
        self.means_ = [self.moments_.mean[cut] for cut in cuts]
        self.weights_ = [axes @ components[part] for axes, part in zip(geo.axes, geo.parts)]

    @property
    def selected_(self) -> Array:
        """What every function took, as a structured array."""
        out = np.zeros(len(self.alignments_), SELECTED)
        for name, column in self._taken_.items():
            out[name] = column
        out["alignment"] = self.alignments_
        out["gain"] = np.diff(self.alignments_, prepend=0.0)
        return out

    # -- use ----------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Array:
        """Place samples in the learned space; its first columns are the model with fewer rounds."""
        check_is_fitted(self, "alignments_")
        blocks = self._samples(X, reset=False)
        dtype = np.result_type(*blocks)
        if self._fitted_ is not None:
            spaces, G = self._coefficients_
            out = np.zeros((len(blocks[0]), len(spaces)), dtype=dtype)
            for s in np.unique(spaces):
                out[:, spaces == s] = self._fitted_.base(blocks, int(s)) @ G[spaces == s].T
            return out
        return affine(blocks, self.means_, self.weights_)

    def staged_transform(self, X: Any) -> Iterator[Array]:
        """The embedding after one function, after two, and so on: prefixes of :meth:`transform`."""
        whole = self.transform(X)
        for t in range(1, whole.shape[1] + 1):
            yield whole[:, :t]

    def kernel(self, X: Any, Y: Any = None) -> Array:
        """The learned kernel between the samples of ``X`` and of ``Y`` (or of ``X``)."""
        left = self.transform(X)
        return left @ (left if Y is None else self.transform(Y)).T

    def to_matrix(self) -> tuple[Array, Array]:
        """Mean and matrix with ``transform(X) = (joined X − mean) @ matrix``."""
        check_is_fitted(self, "weights_")
        return np.concatenate(self.means_), np.concatenate(self.weights_)

    def compress(self, tolerance: float = 1e-10) -> BoostedKernel:
        """The same kernel with as few columns as it has dimensions in each block.

        The prefix property is lost: columns no longer follow the rounds.
        """
        check_is_fitted(self, "weights_")
        factors = []
        for weights in self.weights_:
            left, size, _ = np.linalg.svd(weights, full_matrices=False)
            keep = size**2 > tolerance * max(size[0] ** 2, np.finfo(float).tiny) if len(size) else []
            factors.append(left[:, keep] * size[keep])
        ends = np.cumsum([0, *(f.shape[1] for f in factors)])
        small = clone(self)
        small.__dict__.update(self.__dict__)
        small.weights_ = []
        for b, factor in enumerate(factors):
            matrix = np.zeros((len(factor), ends[-1]))
            matrix[:, ends[b] : ends[b + 1]] = factor
            small.weights_.append(matrix)
        small.n_rounds_ = small._n_features_out = int(ends[-1])
        return small

    def certificate(self) -> Array:
        """For every block, how steeply it could still raise the alignment; none above 0 proves the optimum.

        The value is the largest eigenvalue of ``U_sᵀ(QQᵀ − S/N² K)U_s``; for boosting it is above 0 as
        long as a better kernel exists than the functions that were found.
        """
        check_is_fitted(self, ["weights_", "moments_"])
        geo = geometry(self.moments_, self._levels())
        spread = np.concatenate(geo.variances)
        products, hits = whitened(geo.crossed, geo.hits, spread)
        factors = [
            np.sqrt(v)[:, None] * (axes.T @ w) for v, axes, w in zip(geo.variances, geo.axes, self.weights_)
        ]
        return certificates(products, hits, geo.parts, factors)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def prefix_alignments(moments: BlockMoments) -> Array:
    """Centred alignments of the kernels of the first column, of the first two, … with the labels.

    ``moments`` are of one block, the embedding, and of the labels.
    """
    from lookalike.learn._fusion._targets import label_root

    d = moments.n_features
    root = label_root(moments.products[d:, d:])
    aligned = np.cumsum(np.sum((moments.products[:d, d:] @ root) ** 2, axis=1))
    squares = moments.products[:d, :d] ** 2
    norm2 = np.cumsum(np.cumsum(squares, axis=0), axis=1).diagonal()
    out: Array = aligned / np.sqrt(root.shape[1] * np.where(norm2 > 0, norm2, 1.0))
    return out
