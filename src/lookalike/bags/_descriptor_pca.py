"""Fewer, uncorrelated dimensions for local descriptors."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lookalike.arrays import Bags, row_blocks
from lookalike.bags._base import BagsTransformer, check_bags, sample_descriptors


class DescriptorPCA(BagsTransformer):
    """Project every local descriptor on the main directions of a sample of them.

    Mixtures with diagonal covariances want uncorrelated dimensions; the thesis takes 128 dimensions
    of orientations, or 96 of colour, to 50 [1]_. The sign of each direction is fixed, so that equal
    data give equal projections.

    Parameters
    ----------
    n_components : int, default=50
        Dimensions kept; never more than the descriptors have.
    root : bool, default=False
        First take the square roots of the descriptors, which must not be negative, and bring each to length
        1. Of dense SIFT this makes RootSIFT [2]_: the dot product of two is then the overlap of
        histograms, and no large number outweighs the others.
    whiten : bool, default=False
        Divide by the standard deviations.
    max_descriptors : int or None, default=1_000_000
        Learn from at most so many descriptors, drawn at random.
    n_positions : int, default=0
        The last so many columns are positions in the image: they are passed on untouched, after the
        projected columns.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    mean_ : array of shape (d,)
    components_ : array of shape (n_components, d)
        Orthonormal rows.
    explained_variance_ : array of shape (n_components,)

    References
    ----------
    .. [1] Y. Liu, "Representations and Similarities of Images for Visual Classification", thesis,
       Ecole Centrale de Lyon, 2010, section 4.3.
    .. [2] R. Arandjelović, A. Zisserman, "Three things everyone should know to improve object retrieval",
       CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.bags import Bags, DescriptorPCA
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(20, 5)) * [3, 2, 1, 0, 0] for _ in range(4)])
    >>> DescriptorPCA(n_components=2).fit_transform(bags).dim
    2
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "root": ["boolean"],
        "whiten": ["boolean"],
        "max_descriptors": [None, Interval(Integral, 1, None, closed="left")],
        "n_positions": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_components: int = 50,
        root: bool = False,
        whiten: bool = False,
        max_descriptors: int | None = 1_000_000,
        n_positions: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.root = root
        self.whiten = whiten
        self.max_descriptors = max_descriptors
        self.n_positions = n_positions
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and directions from a sample of the descriptors."""
        bags = check_bags(X)
        d = bags.dim - self.n_positions
        sample = sample_descriptors(bags, self.max_descriptors, self.random_state)[:, :d]
        if len(sample) == 0 or d < 1:
            raise ValueError("there are no descriptors to learn from: every bag is empty.")
        if self.root:
            sample = rooted(sample)
        mean = sample.mean(0, dtype=np.float64)
        covariance = np.zeros((d, d))
        for block in row_blocks(len(sample), 8 * d):
            centred = sample[block] - mean
            covariance += centred.T @ centred
        values, vectors = np.linalg.eigh(covariance / len(sample))
        order = np.argsort(-values, kind="stable")[: min(self.n_components, d)]
        components = vectors[:, order].T
        signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(1)])
        self.mean_ = mean
        self.components_ = components * signs[:, None]
        self.explained_variance_ = np.maximum(values[order], 0)
        self.n_features_in_ = bags.dim
        return self

    def transform(self, X: Any) -> Bags:
        """The bags with projected descriptors."""
        check_is_fitted(self)
        bags = check_bags(X, dim=self.n_features_in_)
        d, k = len(self.mean_), len(self.components_)
        matrix = self.components_.T
        if self.whiten:
            floor = 1e-12 * max(float(self.explained_variance_[0]), 1e-300)
            matrix = matrix / np.sqrt(np.maximum(self.explained_variance_, floor))
        dtype = bags.values.dtype
        matrix, mean = matrix.astype(dtype), self.mean_.astype(dtype)
        out = np.empty((len(bags.values), k + self.n_positions), dtype)
        for block in row_blocks(len(out), 8 * bags.dim):
            values = bags.values[block, :d]
            out[block, :k] = ((rooted(values) if self.root else values) - mean) @ matrix
        out[:, k:] = bags.values[:, d:]
        return Bags(out, bags.offsets)


def rooted(values: NDArray[Any]) -> NDArray[Any]:
    """Square roots, each row of length 1; a row of zeros stays."""
    if values.size and values.min() < 0:
        raise ValueError("root=True takes square roots, but some descriptors have negative numbers.")
    roots = np.sqrt(values)
    # The squares of the roots are the numbers themselves.
    roots /= np.sqrt(np.maximum(values.sum(1, keepdims=True), np.finfo(roots.dtype).tiny))
    return roots
