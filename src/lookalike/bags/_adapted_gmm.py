"""A mixture for each image, adapted from the universal one (named in a patent: see docs/patents.md)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from lookalike.bags._base import BagsTransformer, check_bags
from lookalike.bags._em import Encoder, Statistics, weighted_sums
from lookalike.bags._mixtures import Mixture, Mixtures
from lookalike.bags._universal_gmm import UniversalGMM, universal_of

# The universal mixture as a matrix product, made at the first use. It is no part of what was learned, so it
# is kept beside the estimators: a saved or copied one makes its own.
_ENCODERS: WeakKeyDictionary[Any, tuple[Mixture, Encoder]] = WeakKeyDictionary()


class AdaptedGMM(BagsTransformer):
    """Describe each image by the universal mixture adapted to its descriptors (maximum a posteriori).

    Equations 4.6 to 4.8 of [1]_. Component ``i`` of every image descends from component ``i`` of the
    universal mixture, which is what makes one-to-one similarities possible. The adapted variances need
    no floor: they are at least ``relevance / (n_i + relevance)`` of the universal ones.

    Parameters
    ----------
    universal : UniversalGMM or None, default=None
        A fitted one is used as it is; any other is cloned and fitted by ``fit``. None makes one from the next
        two parameters.
    n_components : int, default=128
    random_state : int, RandomState or None, default=None
    relevance : float, default=10
        How many descriptors the prior of each component weighs (tau). 0 gives maximum likelihood, large
        values give the universal mixture for every image.
    n_iter : int, default=1
        EM iterations, starting at the universal mixture.
    weight_prior : {"uniform", "universal"}, default="uniform"
        Where the prior draws the weights: to 1 / N as equation 4.6 is printed, or to the universal weights.

    Attributes
    ----------
    universal_ : UniversalGMM

    See Also
    --------
    ImageGMM : mixtures without a prior.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 4.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import AdaptedGMM, Bags, UniversalGMM
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(50, 3)) for _ in range(5)])
    >>> universal = UniversalGMM(n_components=4).fit(bags)
    >>> AdaptedGMM(universal, relevance=10).transform(bags)
    Mixtures(5 mixtures of 4 Gaussians in 3 dimensions)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "universal": [None, HasMethods(["fit"])],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "relevance": [Interval(Real, 0, None, closed="left")],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "weight_prior": [StrOptions({"uniform", "universal"})],
    }

    def __init__(
        self,
        universal: Any = None,
        *,
        n_components: int = 128,
        relevance: float = 10.0,
        n_iter: int = 1,
        weight_prior: str = "uniform",
        random_state: Any = None,
    ) -> None:
        self.universal = universal
        self.n_components = n_components
        self.relevance = relevance
        self.n_iter = n_iter
        self.weight_prior = weight_prior
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "universal_") or hasattr(self.universal, "weights_")

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the universal mixture, where it is not fitted yet."""
        bags = check_bags(X)
        universal = self.universal
        if universal is None:
            universal = UniversalGMM(n_components=self.n_components, random_state=self.random_state)
        self.universal_ = universal_of(universal, bags)
        self.n_features_in_ = bags.dim
        return self

    def transform(self, X: Any) -> Mixtures:
        """One adapted mixture per bag; an empty bag gives the prior."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("AdaptedGMM has no universal mixture yet: call fit, or give a fitted one.")
        universal = getattr(self, "universal_", self.universal).mixture_
        bags = check_bags(X, dim=universal.means.shape[1])
        dtype = bags.values.dtype
        first = self._encoder(universal, dtype)
        n, (N, d) = len(bags), universal.means.shape
        weights = np.empty((n, N), dtype)
        means, variances = np.empty((n, N, d), dtype), np.empty((n, N, d), dtype)
        shared = self.weight_prior == "universal"
        for i, bag in enumerate(bags):
            encoder = first
            for step in range(self.n_iter):
                if step:
                    current = Mixture(weights[i], means[i], variances[i])
                    encoder = Encoder(current, dtype, (first.shift, first.scale))
                lifted = encoder.lift(bag)
                if len(bag):
                    posterior, norm, _ = encoder.unnormalised(lifted)
                    sums = weighted_sums(posterior, lifted, norm)
                else:
                    sums = np.zeros((N, 2 * d + 1))
                weights[i], m, v = adapt(
                    encoder.split(sums), first, len(bag), relevance=self.relevance, shared_weights=shared
                )
                means[i], variances[i] = encoder.restore(m, v)
        return Mixtures(weights, means, variances, universal=universal)

    def _encoder(self, universal: Mixture, dtype: Any) -> Encoder:
        known = _ENCODERS.get(self)
        # Training replaces the arrays of a mixture, so the same arrays are the same mixture.
        if known and known[1].dtype == dtype and all(a is b for a, b in zip(known[0], universal)):
            return known[1]
        encoder = Encoder(universal, dtype)
        _ENCODERS[self] = universal, encoder
        return encoder


def adapt(
    stats: Statistics, prior: Encoder, n_descriptors: int, *, relevance: float, shared_weights: bool = False
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """M-step under the conjugate priors (equations 4.6 to 4.8), in the units of ``prior``."""
    n_components = len(prior.weights)
    counts = stats.counts.astype(np.float64)
    mass = counts + relevance
    pull = n_components * prior.weights if shared_weights else 1.0
    total = n_descriptors + n_components * relevance
    if total == 0:  # neither descriptors nor a prior: nothing says more than the universal mixture
        return prior.weights, prior.means, prior.variances
    weights = (counts + relevance * pull) / total
    empty = mass < 1e-8
    if empty.any():  # maximum likelihood without a descriptor: keep the Gaussian, with a tiny weight
        mass = np.where(empty, 1.0, mass)
        weights = np.where(empty, 1e-8, weights)
    weights = weights / weights.sum()
    share = (relevance / mass)[:, None]
    means = stats.first / mass[:, None]
    variances = stats.second / mass[:, None]
    means = means + share * prior.means
    variances = variances + share * (prior.variances + prior.means**2)
    variances -= means**2
    np.maximum(variances, np.maximum(share, 1e-6) * prior.variances, out=variances)
    if empty.any():
        means[empty], variances[empty] = prior.means[empty], prior.variances[empty]
    return weights, means, variances
