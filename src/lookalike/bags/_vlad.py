"""Vectors of locally aggregated descriptors."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lookalike.bags._bag_of_words import learn_words, nearest_words
from lookalike.bags._base import BagsTransformer, check_bags, sample_descriptors
from lookalike.bags._pyramid import cells, check_pyramid, power_l2


class VLAD(BagsTransformer):
    """Sum, for each visual word, how its descriptors differ from it [1]_.

    Each word's part is scaled to length 1 ("intra-normalisation" [2]_) where ``intra`` is set, which keeps
    repeated structures from winning; the whole vector has length 1.

    Parameters
    ----------
    n_words : int, default=64
    power : float, default=0.5
        Exponent of the signed power; 1 leaves the values.
    intra : bool, default=True
        Scale each word's part to length 1.
    pyramid : list of (rows, columns), default=((1, 1),)
        Cells of the image; more than one needs positions.
    n_positions : int, default=0
        The last so many columns of the descriptors are positions x, y (from 0 to 1).
    max_descriptors : int or None, default=500_000
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    words_ : array of shape (n_words, d)

    References
    ----------
    .. [1] H. Jégou, M. Douze, C. Schmid, P. Pérez, "Aggregating local descriptors into a compact image
       representation", CVPR 2010.
    .. [2] R. Arandjelović, A. Zisserman, "All about VLAD", CVPR 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import VLAD, Bags
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(30, 3)) for _ in range(4)])
    >>> VLAD(n_words=4, random_state=0).fit_transform(bags).shape
    (4, 12)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, 1, closed="right")],
        "intra": ["boolean"],
        "pyramid": ["array-like"],
        "n_positions": [Interval(Integral, 0, None, closed="left")],
        "max_descriptors": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_words: int = 64,
        power: float = 0.5,
        intra: bool = True,
        pyramid: Any = ((1, 1),),
        n_positions: int = 0,
        max_descriptors: int | None = 500_000,
        random_state: Any = None,
    ) -> None:
        self.n_words = n_words
        self.power = power
        self.intra = intra
        self.pyramid = pyramid
        self.n_positions = n_positions
        self.max_descriptors = max_descriptors
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the words by k-means in mini-batches."""
        check_pyramid(self.pyramid, self.n_positions)
        bags = check_bags(X)
        sample = sample_descriptors(bags, self.max_descriptors, self.random_state)
        sample = sample[:, : bags.dim - self.n_positions]
        self.words_ = learn_words(sample, self.n_words, 10_000, self.random_state)
        self.n_features_in_ = bags.dim
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """One vector per bag; an empty bag gives zeros."""
        check_is_fitted(self)
        bags = check_bags(X, dim=self.n_features_in_)
        n_words, d = self.words_.shape
        levels = check_pyramid(self.pyramid, self.n_positions)
        n_cells = sum(rows * columns for rows, columns in levels)
        words = self.words_.astype(bags.values.dtype)
        labels = nearest_words(np.ascontiguousarray(bags.values[:, :d]), words)
        out = np.zeros((len(bags), n_cells, n_words, d), bags.values.dtype)
        for i, bag in enumerate(bags):
            word = labels[bags.offsets[i] : bags.offsets[i + 1]]
            for k, mask in enumerate(cells(bag[:, d:], levels)):
                chosen = word if mask is None else word[mask]
                local = bag[:, :d] if mask is None else bag[mask, :d]
                np.add.at(out[i, k], chosen, local - words[chosen])
        flat = out.reshape(len(bags), -1)
        power_l2(flat, self.power, d if self.intra else flat.shape[1])
        return power_l2(flat, 1, flat.shape[1])
