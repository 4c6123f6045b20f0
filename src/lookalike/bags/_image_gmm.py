"""A mixture for each image, from its own descriptors alone."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import Bags
from lookalike.bags._base import BagsTransformer, check_bags, sample_descriptors
from lookalike.bags._mixtures import Mixtures
from lookalike.bags._universal_gmm import UniversalGMM


class ImageGMM(BagsTransformer):
    """Describe each image by a mixture of maximum likelihood, trained as `UniversalGMM` trains.

    The baseline of the thesis (section 4.3 of [1]_). The components of two images do not correspond,
    so only one-to-many similarities have a meaning. With one component this is one Gaussian per image.

    Parameters
    ----------
    n_components : int, default=16
    n_iter : int, default=10
        EM iterations after each splitting, at most.
    tol : float, default=1e-4
    split : float, default=0.2
    variance_floor : float, default=1e-3
        No variance is below this share of the variance over the training descriptors.
    max_descriptors : int or None, default=1_000_000
        ``fit`` measures that variance on at most so many descriptors.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    mean_, variance_ : arrays of shape (d,)
        Moments of the training descriptors; an empty bag becomes this one Gaussian, repeated.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Bags, ImageGMM
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(40, 3)) for _ in range(5)])
    >>> ImageGMM(n_components=2).fit_transform(bags)
    Mixtures(5 mixtures of 2 Gaussians in 3 dimensions)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "split": [Interval(Real, 0, None, closed="neither")],
        "variance_floor": [Interval(Real, 0, None, closed="neither")],
        "max_descriptors": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_components: int = 16,
        n_iter: int = 10,
        tol: float = 1e-4,
        split: float = 0.2,
        variance_floor: float = 1e-3,
        max_descriptors: int | None = 1_000_000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_iter = n_iter
        self.tol = tol
        self.split = split
        self.variance_floor = variance_floor
        self.max_descriptors = max_descriptors
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure the variance that sets the floor."""
        bags = check_bags(X)
        sample = sample_descriptors(bags, self.max_descriptors, self.random_state)
        if len(sample) == 0:
            raise ValueError("there are no descriptors to learn from: every bag is empty.")
        self.mean_ = sample.mean(0, dtype=np.float64)
        variance = sample.var(0, dtype=np.float64)
        least = 1e-12 * max(float(variance.max()), float(np.abs(self.mean_).max()) ** 2, 1e-18)
        self.variance_ = np.maximum(variance, least)
        self.n_features_in_ = bags.dim
        return self

    def transform(self, X: Any) -> Mixtures:
        """One mixture per bag."""
        check_is_fitted(self)
        bags = check_bags(X, dim=self.n_features_in_)
        shape = (len(bags), self.n_components, bags.dim)
        weights = np.full(shape[:2], 1 / self.n_components, bags.values.dtype)
        means = np.tile(self.mean_.astype(bags.values.dtype), (*shape[:2], 1))
        variances = np.tile(self.variance_.astype(bags.values.dtype), (*shape[:2], 1))
        for i, bag in enumerate(bags):
            if len(bag):
                weights[i], means[i], variances[i] = self._train(bag)
        return Mixtures(weights, means, variances)

    def _train(self, bag: Any) -> Any:
        # A bag with fewer descriptors than components is repeated: that changes no likelihood ratio.
        bag = np.tile(bag, (-(-self.n_components // len(bag)), 1))
        gmm = UniversalGMM(
            n_components=self.n_components,
            n_iter=self.n_iter,
            tol=self.tol,
            split=self.split,
            variance_floor=self.variance_floor,
            max_descriptors=None,
        )
        gmm._reference_variance = self.variance_
        return gmm.fit(Bags(bag, [0, len(bag)])).mixture_
