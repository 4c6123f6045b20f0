"""Many diagonal Gaussian mixtures of one size, kept as three arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state


class Mixture(NamedTuple):
    """One mixture of Gaussians with diagonal covariances.

    Examples
    --------
    >>> import numpy as np
    >>> Mixture(np.ones(1), np.zeros((1, 2)), np.ones((1, 2))).means.shape
    (1, 2)
    """

    weights: NDArray[Any]
    means: NDArray[Any]
    variances: NDArray[Any]


class Mixtures(Sequence[Mixture]):
    """A list of Gaussian mixtures with diagonal covariances, all with the same number of components.

    It slices and fancy-indexes like a list, so scikit-learn can split it. One-to-one similarities
    compare component ``i`` of one image with component ``i`` of another; they have a meaning where
    all mixtures were adapted from one universal mixture.

    Parameters
    ----------
    weights : array of shape (n, n_components)
        Non-negative; each row sums to 1.
    means : array of shape (n, n_components, d)
    variances : array of shape (n, n_components, d)
        Positive.
    universal : Mixture or None
        What all of them were adapted from, where there is such a thing: the context of
        `contextual_similarity`.

    Examples
    --------
    >>> import numpy as np
    >>> m = Mixtures(np.full((3, 2), 0.5), np.zeros((3, 2, 4)), np.ones((3, 2, 4)))
    >>> m
    Mixtures(3 mixtures of 2 Gaussians in 4 dimensions)
    >>> len(m[1:]), m[0].means.shape
    (2, (2, 4))
    """

    __slots__ = ("means", "universal", "variances", "weights")

    def __init__(
        self,
        weights: ArrayLike,
        means: ArrayLike,
        variances: ArrayLike,
        *,
        universal: Mixture | None = None,
    ) -> None:
        means = np.asarray(means)
        if means.dtype not in (np.float32, np.float64):
            means = means.astype(np.float64)
        weights = np.asarray(weights, dtype=means.dtype)
        variances = np.asarray(variances, dtype=means.dtype)
        if means.ndim != 3 or weights.shape != means.shape[:2] or variances.shape != means.shape:
            raise ValueError(
                "weights, means and variances must have shapes (n, N), (n, N, d) and (n, N, d), "
                f"but have {weights.shape}, {means.shape} and {variances.shape}."
            )
        if not all(np.isfinite(a.sum(dtype=np.float64)) for a in (weights, means, variances)):
            raise ValueError("a mixture holds NaN or infinity.")
        if weights.size and (weights.min() < 0 or np.abs(weights.sum(1, dtype=np.float64) - 1).max() > 1e-3):
            raise ValueError("the weights of each mixture must be non-negative and sum to 1.")
        if variances.size and variances.min() <= 0:
            raise ValueError("every variance must be positive.")
        self.weights = weights
        self.means = means
        self.variances = variances
        self.universal = universal

    @classmethod
    def from_list(cls, mixtures: Iterable[Any]) -> Self:
        """Join (weights, means, variances) triples of one shape."""
        parts = list(mixtures)
        if not parts:
            raise ValueError("a list of no mixtures has no shape: give at least one.")
        return cls(*(np.stack([np.asarray(part[k]) for part in parts]) for k in range(3)))

    @property
    def n_components(self) -> int:
        """How many Gaussians each mixture has."""
        return int(self.means.shape[1])

    @property
    def dim(self) -> int:
        """The dimension of the descriptors."""
        return int(self.means.shape[2])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of mixtures and of components: what scikit-learn asks of its input."""
        return len(self), self.n_components

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision that computations on these mixtures use."""
        return self.means.dtype

    def __len__(self) -> int:
        return len(self.means)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # how scikit-learn takes rows of whatever has a shape
        if isinstance(index, int | np.integer):
            i = range(len(self))[index]
            return Mixture(self.weights[i], self.means[i], self.variances[i])
        if not isinstance(index, slice):
            index = np.asarray(index)
            index = index if index.size else index.astype(np.intp)
        # What was valid stays valid: no second look at the numbers.
        part = object.__new__(Mixtures)
        part.weights, part.means = self.weights[index], self.means[index]
        part.variances, part.universal = self.variances[index], self.universal
        return part

    def __iter__(self) -> Iterator[Mixture]:
        for i in range(len(self)):
            yield self[i]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixtures):
            return NotImplemented
        names = ("weights", "means", "variances")
        return all(np.array_equal(getattr(self, k), getattr(other, k)) for k in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Mixtures({len(self)} mixtures of {self.n_components} Gaussians in {self.dim} dimensions)"


def check_mixtures(X: Any, *, like: Mixtures | None = None, matched: bool = False) -> Mixtures:
    """Mixtures (or a list of triples made into them) that can be compared with those of ``like``."""
    mixtures = X if isinstance(X, Mixtures) else Mixtures.from_list(X)
    if like is not None and mixtures.dim != like.dim:
        raise ValueError(f"mixtures in {mixtures.dim} dimensions cannot be compared with {like.dim}.")
    if like is not None and matched and mixtures.n_components != like.n_components:
        raise ValueError(
            f"one-to-one needs equal numbers of components, but these have {mixtures.n_components} and "
            f"{like.n_components}: adapt both from one universal mixture, or compare one-to-many."
        )
    return mixtures


def sample_mixture(mixture: Any, n_samples: int, random_state: Any = None) -> NDArray[Any]:
    """Draw descriptors from one mixture: a component by its weight, then its Gaussian.

    Parameters
    ----------
    mixture : Mixture or (weights, means, variances)
    n_samples : int
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> one = Mixture(np.ones(1), np.full((1, 2), 3.0), np.full((1, 2), 1e-6))
    >>> sample_mixture(one, 4, random_state=0).round(1).tolist()[0]
    [3.0, 3.0]
    """
    weights, means, variances = (np.asarray(a, dtype=np.float64) for a in mixture)
    rng = check_random_state(random_state)
    component = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
    noise = rng.standard_normal((n_samples, means.shape[1]))
    return np.asarray(means[component] + noise * np.sqrt(variances[component]))
