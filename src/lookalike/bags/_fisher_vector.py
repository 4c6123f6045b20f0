"""Fisher vectors: how an image would change the universal mixture."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import Bags
from lookalike.bags._base import BagsTransformer, check_bags
from lookalike.bags._em import Encoder, weighted_sums
from lookalike.bags._pyramid import cells, check_pyramid, power_l2
from lookalike.bags._universal_gmm import UniversalGMM, universal_of


class FisherVector(BagsTransformer):
    """Gradient of an image's log-likelihood by the means and variances of the universal mixture.

    Equations 16 to 18 of [1]_, with the signed square root and the Euclidean norm of [2]_. A linear
    classifier on these vectors is a strong one for local descriptors. With a pyramid, the vectors of all
    cells stand side by side, each of length 1, and the whole has length 1.

    Parameters
    ----------
    universal : UniversalGMM or None, default=None
        A fitted one is used as it is; any other is cloned and fitted. None makes one from the
        last two parameters.
    power : float, default=0.5
        Exponent of the signed power; 1 leaves the values.
    weights : bool, default=False
        Also take the gradient by the weights (N more numbers per cell).
    pyramid : list of (rows, columns), default=((1, 1),)
        Cells of the image; more than one needs positions.
    n_positions : int, default=0
        The last so many columns of the descriptors are positions x, y (from 0 to 1), and no part of
        the mixture.
    n_components : int, default=64
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    universal_ : UniversalGMM

    References
    ----------
    .. [1] J. Sánchez, F. Perronnin, T. Mensink, J. Verbeek, "Image classification with the Fisher
       vector: theory and practice", IJCV 105, 2013.
    .. [2] F. Perronnin, J. Sánchez, T. Mensink, "Improving the Fisher kernel for large-scale image
       classification", ECCV 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Bags, FisherVector, UniversalGMM
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(30, 3)) for _ in range(4)])
    >>> FisherVector(UniversalGMM(n_components=2)).fit_transform(bags).shape
    (4, 12)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "universal": [None, HasMethods(["fit"])],
        "power": [Interval(Real, 0, 1, closed="right")],
        "weights": ["boolean"],
        "pyramid": ["array-like"],
        "n_positions": [Interval(Integral, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        universal: Any = None,
        *,
        power: float = 0.5,
        weights: bool = False,
        pyramid: Any = ((1, 1),),
        n_positions: int = 0,
        n_components: int = 64,
        random_state: Any = None,
    ) -> None:
        self.universal = universal
        self.power = power
        self.weights = weights
        self.pyramid = pyramid
        self.n_positions = n_positions
        self.n_components = n_components
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the universal mixture, where it is not fitted yet."""
        check_pyramid(self.pyramid, self.n_positions)
        bags = check_bags(X)
        d = bags.dim - self.n_positions
        universal = self.universal
        if universal is None:
            universal = UniversalGMM(n_components=self.n_components, random_state=self.random_state)
        self.universal_ = universal_of(universal, Bags(bags.values[:, :d], bags.offsets))
        self.n_features_in_ = bags.dim
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """One vector per bag; an empty bag (or cell) gives zeros."""
        check_is_fitted(self)
        bags = check_bags(X, dim=self.n_features_in_)
        d = bags.dim - self.n_positions
        levels = check_pyramid(self.pyramid, self.n_positions)
        encoder = Encoder(self.universal_.mixture_, bags.values.dtype)
        n_cells = sum(rows * columns for rows, columns in levels)
        width = len(encoder.weights) * (2 * d + self.weights)
        out = np.zeros((len(bags), n_cells, width), bags.values.dtype)
        for i, bag in enumerate(bags):
            if len(bag) == 0:
                continue
            lifted = encoder.lift(bag[:, :d])
            posterior, norm, _ = encoder.unnormalised(lifted)
            for k, mask in enumerate(cells(bag[:, d:], levels)):
                if mask is None:
                    sums, count = weighted_sums(posterior, lifted, norm), len(bag)
                else:
                    sums = weighted_sums(posterior[mask], lifted[mask], norm[mask])
                    count = int(mask.sum())
                if count:
                    out[i, k] = self._gradient(encoder, sums, count)
        flat = out.reshape(len(bags), n_cells * width)
        power_l2(flat, self.power, width)
        return flat if n_cells == 1 else power_l2(flat, 1, n_cells * width)

    def _gradient(self, encoder: Encoder, sums: NDArray[Any], count: int) -> NDArray[Any]:
        counts, first, second = encoder.split(sums)
        counts = counts[:, None]
        means, variances = encoder.means, encoder.variances
        root = np.sqrt(encoder.weights)[:, None] * count
        by_mean = (first - counts * means) / (np.sqrt(variances) * root)
        by_variance = (second - 2 * means * first + counts * (means**2 - variances)) / (
            np.sqrt(2) * variances * root
        )
        parts = [by_mean.ravel(), by_variance.ravel()]
        if self.weights:
            parts.insert(0, ((counts - count * encoder.weights[:, None]) / root).ravel())
        return np.concatenate(parts)
