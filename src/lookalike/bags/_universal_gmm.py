"""One Gaussian mixture for the content of any image."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import Bags
from lookalike.bags._base import BagsTransformer, check_bags, sample_descriptors
from lookalike.bags._em import Encoder, maximise, split_heaviest
from lookalike.bags._mixtures import Mixture
from lookalike.progress import Progress, Step, silent

_MIN_COUNT = 1e-2  # a component that owns less than this of one descriptor is empty


class UniversalGMM(BagsTransformer):
    """A mixture of diagonal Gaussians trained on the descriptors of many images.

    It is trained once on varied images and need not match the images it later serves. EM starts from
    one Gaussian; all Gaussians are split in two by a small shift of the mean, several iterations
    follow, until there are ``n_components`` (equations 4.1 to 4.5 of [1]_). An empty component takes
    half of the heaviest one; variances have a floor.

    Three ways lead to a model: ``fit`` on bags in memory (or on a sample of them), ``fit_batches`` on
    anything that can be read several times, batch by batch, and ``partial_fit`` for a stream that is
    seen once (stepwise EM [2]_).

    Parameters
    ----------
    n_components : int, default=128
    n_iter : int, default=10
        EM iterations after each splitting, at most.
    tol : float, default=1e-4
        A level ends when the log-likelihood gains less than this share.
    split : float, default=0.2
        Shift of the two halves of a split Gaussian, in its standard deviations.
    variance_floor : float, default=1e-3
        No variance is below this share of the variance of all descriptors.
    max_descriptors : int or None, default=1_000_000
        ``fit`` learns from at most so many descriptors, drawn at random.
    warm_start : bool, default=False
        ``fit`` and ``fit_batches`` go on from the present mixture, at the place where it stands.
    random_state : int, RandomState or None, default=None
        Draws the sample of descriptors.

    Attributes
    ----------
    weights_, means_, variances_ : arrays of shape (n_components,), (n_components, d), (n_components, d)
    log_likelihood_ : float
        Mean log-likelihood of a descriptor before the last M-step.
    global_mean_, global_variance_ : arrays of shape (d,)
        Moments of the descriptors that started the training.
    n_iter_ : int
        Iterations done at the present number of components.
    n_seen_ : int
        Batches seen by ``partial_fit``.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 4.2.1.
    .. [2] O. Cappé, E. Moulines, "On-line expectation-maximization algorithm for latent data models",
       JRSS B 71, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Bags, UniversalGMM
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(rng.choice([-3, 3]), 1, (50, 2)) for _ in range(20)])
    >>> gmm = UniversalGMM(n_components=2).fit(bags)
    >>> np.sort(gmm.means_[:, 0]).round()
    array([-3.,  3.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "split": [Interval(Real, 0, None, closed="neither")],
        "variance_floor": [Interval(Real, 0, None, closed="neither")],
        "max_descriptors": [None, Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    _reference_variance: NDArray[Any] | None = None

    def __init__(
        self,
        *,
        n_components: int = 128,
        n_iter: int = 10,
        tol: float = 1e-4,
        split: float = 0.2,
        variance_floor: float = 1e-3,
        max_descriptors: int | None = 1_000_000,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_iter = n_iter
        self.tol = tol
        self.split = split
        self.variance_floor = variance_floor
        self.max_descriptors = max_descriptors
        self.warm_start = warm_start
        self.random_state = random_state

    @property
    def mixture_(self) -> Mixture:
        """The three arrays as one `Mixture`."""
        check_is_fitted(self)
        return Mixture(self.weights_, self.means_, self.variances_)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from bags in memory, or from a random sample of their descriptors."""
        bags = check_bags(X)
        sample = sample_descriptors(bags, self.max_descriptors, self.random_state)
        return self.fit_batches([Bags(sample, [0, len(sample)])])

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_batches(
        self,
        batches: Iterable[Any],
        *,
        progress: Progress = silent,
        on_iteration: Callable[[Self], None] | None = None,
    ) -> Self:
        """Exact EM over batches of bags that are read again in every iteration.

        Parameters
        ----------
        batches : iterable of Bags
            Anything that can be iterated several times, for instance an object that reads files; a
            generator, which is empty the second time, is refused.
        progress : callable
        on_iteration : callable or None
            Is given the estimator after every iteration, for instance to save its arrays; with
            ``warm_start=True`` a later call goes on from them.
        """
        if iter(batches) is batches:
            raise ValueError(
                "batches must be readable several times: give a list or an object with __iter__."
            )
        if not (self.warm_start and hasattr(self, "weights_")):
            self._start(*_moments(batches))
        report = _Reporter(self.n_components, self.n_iter, progress)
        while True:
            self._level(batches, report, on_iteration)
            n_now = len(self.weights_)
            if n_now >= self.n_components:
                return self
            self._set(
                *split_heaviest(*self.mixture_, n_new=min(n_now, self.n_components - n_now), split=self.split)
            )
            self._open_level()

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """One step of stepwise EM on a batch of bags; the first batch is learned in full by splitting."""
        bags = check_bags(X, dim=getattr(self, "n_features_in_", None))
        if len(bags.values) == 0:
            return self
        if not hasattr(self, "running_"):
            if not hasattr(self, "weights_"):
                self.fit(bags)
            self.n_seen_ = 0
            self.running_ = self._expect(bags)[0] / len(bags.values)
        fresh, loglik = self._expect(bags)
        fresh /= len(bags.values)
        step = (self.n_seen_ + 2.0) ** -0.6
        self.running_ = (1 - step) * self.running_ + step * fresh
        self.n_seen_ += 1
        self.log_likelihood_ = loglik / len(bags.values)
        self._maximise(self.running_ * len(bags.values))
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Mean posterior of each component over each bag: the soft histogram of equation 2.9."""
        check_is_fitted(self)
        bags = check_bags(X, dim=self.n_features_in_)
        encoder = Encoder(self.mixture_, bags.values.dtype)
        out = np.zeros((len(bags), len(self.weights_)), bags.values.dtype)
        for i, bag in enumerate(bags):
            if len(bag):
                out[i] = encoder.statistics(bag)[0].counts / len(bag)
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of a descriptor."""
        bags = check_bags(X, dim=self.n_features_in_)
        if len(bags.values) == 0:
            raise ValueError("there are no descriptors to score: every bag is empty.")
        return self._expect(bags)[1] / len(bags.values)

    def _start(self, count: int, mean: NDArray[Any], variance: NDArray[Any]) -> None:
        if count < self.n_components:
            raise ValueError(
                f"{count} descriptors cannot train {self.n_components} Gaussians: "
                "give more images or ask for fewer components."
            )
        # A dimension that never varies gets a floor of the size of rounding, not 0.
        least = 1e-12 * max(float(variance.max()), float(np.abs(mean).max()) ** 2, 1e-18)
        self.global_mean_, self.global_variance_ = mean, np.maximum(variance, least)
        self.n_features_in_ = len(mean)
        self._set(np.ones(1), mean[None], self.global_variance_[None].copy())
        self.log_likelihood_ = -np.inf
        self._open_level()
        for name in ("running_", "n_seen_"):
            if hasattr(self, name):
                delattr(self, name)

    def _open_level(self) -> None:
        self.n_iter_ = 0
        self.level_done_ = False

    def _level(
        self, batches: Iterable[Any], report: _Reporter, on_iteration: Callable[[Self], None] | None
    ) -> None:
        while self.n_iter_ < self.n_iter and not self.level_done_:
            sums: Any = 0.0
            loglik, count = 0.0, 0
            for batch in batches:
                bags = check_bags(batch, dim=self.n_features_in_)
                if len(bags.values):
                    part, value = self._expect(bags)
                    sums = sums + part
                    loglik += value
                    count += len(bags.values)
            before, self.log_likelihood_ = self.log_likelihood_, loglik / count
            self._maximise(sums)
            self.n_iter_ += 1
            gain = self.log_likelihood_ - before
            self.level_done_ = self.n_iter_ > 1 and gain < self.tol * abs(self.log_likelihood_)
            report(len(self.weights_), self.n_iter_, self.log_likelihood_)
            if on_iteration is not None:
                on_iteration(self)

    @property
    def _frame(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.global_mean_, np.sqrt(self.global_variance_)

    def _expect(self, bags: Bags) -> tuple[NDArray[Any], float]:
        """Sums for one M-step, columns (z², z, 1) in the fixed frame, and the log-likelihood."""
        stats, loglik = Encoder(self.mixture_, bags.values.dtype, self._frame).statistics(bags.values)
        return np.concatenate([stats.second, stats.first, stats.counts[:, None]], axis=1), loglik

    def _maximise(self, sums: NDArray[Any]) -> None:
        encoder = Encoder(self.mixture_, frame=self._frame)
        # One image's mixture takes its floor from the variance over many images.
        reference = self.global_variance_ if self._reference_variance is None else self._reference_variance
        floor = self.variance_floor * (reference / self.global_variance_)
        weights, means, variances = maximise(
            encoder.split(sums),
            floor=floor,
            split=self.split,
            min_count=_MIN_COUNT,
        )
        self._set(weights, *encoder.restore(means, variances))

    def _set(self, weights: NDArray[Any], means: NDArray[Any], variances: NDArray[Any]) -> None:
        self.weights_, self.means_, self.variances_ = weights, means, variances


class _Reporter:
    """Turns (components, iteration) into one count of work that grows evenly."""

    def __init__(self, n_components: int, n_iter: int, progress: Progress) -> None:
        levels = [1]
        while levels[-1] < n_components:
            levels.append(min(2 * levels[-1], n_components))
        self.before = {n: n_iter * sum(levels[:k]) for k, n in enumerate(levels)}
        self.total = n_iter * sum(levels)
        self.n_iter = n_iter
        self.progress = progress

    def __call__(self, n_now: int, iteration: int, loglik: float) -> None:
        done = self.before.get(n_now, 0) + n_now * iteration
        self.progress(Step("mixture", done, self.total, f"{n_now} Gaussians, {loglik:.3f} a descriptor"))


def _moments(batches: Iterable[Any]) -> tuple[int, NDArray[Any], NDArray[Any]]:
    """Number, mean and variance of all descriptors, by the pairwise update of Chan et al."""
    count, mean, spread = 0, np.zeros(0), np.zeros(0)
    for batch in batches:
        X = check_bags(batch).values
        if len(X) == 0:
            continue
        part_mean = X.mean(0, dtype=np.float64)
        part = np.zeros(X.shape[1])
        for start in range(0, len(X), 65536):
            part += ((X[start : start + 65536] - part_mean) ** 2).sum(0)
        if count == 0:
            count, mean, spread = len(X), part_mean, part
            continue
        delta, total = part_mean - mean, count + len(X)
        mean = mean + delta * len(X) / total
        spread = spread + part + delta**2 * count * len(X) / total
        count = total
    if count == 0:
        raise ValueError("there are no descriptors to learn from: every bag is empty.")
    return count, mean, spread / count


def universal_of(universal: Any, bags: Bags) -> Any:
    """The fitted universal mixture: as given where it is fitted, else a clone fitted now."""
    return universal if hasattr(universal, "weights_") else clone(universal).fit(bags)
