"""Additive kernels as dot products, learned one dimension at a time."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.similarity._histogram_kernels import ADDITIVE, check_histograms

_RANK = 1e-12  # eigenvalues below this share of the largest of their dimension are rounding
_WHOLE = 1e-7  # one direction that leaves less than this share of a dimension is all of it

_KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "bhattacharyya": lambda x, z: np.sqrt(x * z),
    "chi2": lambda x, z: 2 * x * z / np.maximum(x + z, 1e-300),
    "intersection": np.minimum,
}


class AdditiveKernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Kernel PCA of each dimension of an additive kernel; the main directions of all of them are kept.

    Section 7.4 and equation 7.6 of [1]_. An additive kernel is a sum over dimensions of kernels of two
    numbers, so its map can be learned from little matrices, and applied by looking up functions of one
    number. A word that does not occur gives zeros: sparse histograms stay sparse. The tables lie evenly on
    the square root of the number, where these functions are smooth.

    Parameters
    ----------
    kernel : {"chi2", "intersection", "bhattacharyya"}, default="chi2"
    n_components : int or None, default=None
        Outputs at most, over all dimensions; None is twice the number of dimensions.
    n_samples : int, default=128
        Images drawn for the matrices.
    max_per_dimension : int, default=10
        Outputs of one dimension at most.
    n_bins : int, default=100
        Bins of a table; 0 computes without tables, exactly and slowly.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    starts_ : array of shape (n_features + 1,)
        Dimension d has the outputs ``starts_[d]`` to ``starts_[d + 1]``.
    eigenvalues_ : array of shape (n_components,)
    largest_ : array of shape (n_features,)
        Where each table ends; larger numbers get its last value.
    tables_ : array
    points_, projections_, spans_ : arrays
        The sample's positive numbers, their eigenvectors over square roots of eigenvalues, and where each
        dimension's begin: what the map is without tables.

    Notes
    -----
    A word that no drawn image holds would be lost; it takes the largest number of the training data as its
    only sample instead. One direction per dimension is nearly the square root of the number, and for
    "bhattacharyya" it is exactly that.

    References
    ----------
    .. [1] Y. Liu, thesis, Ecole Centrale de Lyon, 2010, section 7.4.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.similarity import AdditiveKernelPCA, additive_kernel
    >>> X = np.random.default_rng(0).dirichlet(np.ones(5), 30)
    >>> Z = AdditiveKernelPCA(n_components=20).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - additive_kernel(X)).max() < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(ADDITIVE))],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "max_per_dimension": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "chi2",
        n_components: int | None = None,
        n_samples: int = 128,
        max_per_dimension: int = 10,
        n_bins: int = 100,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.n_samples = n_samples
        self.max_per_dimension = max_per_dimension
        self.n_bins = n_bins
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Decompose each dimension's kernel matrix and fill the tables."""
        X = check_histograms(validate_data(self, X, dtype=[np.float64, np.float32]))
        rng = check_random_state(self.random_state)
        n, n_dimensions = X.shape
        rows = np.sort(rng.permutation(n)[: self.n_samples])
        self.largest_ = X.max(0).astype(np.float64)
        columns = self._columns(X[rows].astype(np.float64))
        values, vectors = [], []
        for column in columns:
            value, vector = self._decompose(column)
            values.append(value)
            vectors.append(vector)
        kept = self._select(values, self.n_components or 2 * n_dimensions)
        self.starts_ = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        self.spans_ = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.int64)
        self.points_ = np.concatenate(columns) if columns else np.zeros(0)
        self.eigenvalues_ = np.concatenate([v[:k] for v, k in zip(values, kept)])
        # Columns of one dimension side by side; the widths differ, so one flat array holds them all.
        self.projections_ = np.concatenate([(v[:, :k]).ravel() for v, k in zip(vectors, kept)])
        self.tables_ = self._fill()
        self._n_features_out = int(self.starts_[-1])
        return self

    def _columns(self, sample: NDArray[Any]) -> list[NDArray[Any]]:
        """The positive numbers of each dimension; zeros give zeros whatever the direction."""
        columns = [column[column > 0] for column in sample.T]
        return [c if len(c) else np.array([m] if m > 0 else []) for c, m in zip(columns, self.largest_)]

    def _decompose(self, column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        if len(column) == 0:
            return np.zeros(0), np.zeros((0, 0))
        K = _KERNELS[self.kernel](column[:, None], column[None])
        values, vectors = np.linalg.eigh(K)
        order = np.argsort(-values, kind="stable")[: self.max_per_dimension]
        order = order[values[order] > _RANK * values[order[0]]]
        if values[order[0]] >= (1 - _WHOLE) * np.trace(K):
            order = order[:1]
        values, vectors = values[order], vectors[:, order]
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(len(order))])
        return values, vectors / np.sqrt(values)

    @staticmethod
    def _select(values: list[NDArray[Any]], wanted: int) -> NDArray[np.int64]:
        """How many directions each dimension keeps: those with the largest eigenvalues of all."""
        owner = np.repeat(np.arange(len(values)), [len(v) for v in values])
        together = np.concatenate(values)
        chosen = np.argsort(-together, kind="stable")[:wanted]
        return np.bincount(owner[chosen], minlength=len(values))

    def _dimension(self, d: int, z: NDArray[Any]) -> NDArray[np.float64]:
        """The outputs of one dimension at the numbers ``z``, without a table (equation 7.6)."""
        width = int(self.starts_[d + 1] - self.starts_[d])
        points = self.points_[self.spans_[d] : self.spans_[d + 1]]
        sizes = np.diff(self.spans_[: d + 1]) * np.diff(self.starts_[: d + 1])
        start = int(sizes.sum())
        projection = self.projections_[start : start + len(points) * width].reshape(len(points), width)
        z = np.minimum(np.asarray(z, dtype=np.float64), self.largest_[d])
        return np.asarray(_KERNELS[self.kernel](z[:, None], points[None]) @ projection)

    def _fill(self) -> NDArray[Any]:
        if self.n_bins == 0:
            return np.zeros(0)
        nodes = (np.arange(self.n_bins + 1) / self.n_bins) ** 2
        tables = np.zeros(int(self.starts_[-1]) * (self.n_bins + 1))
        offset = 0
        for d, largest in enumerate(self.largest_):
            width = int(self.starts_[d + 1] - self.starts_[d])
            points = self.points_[self.spans_[d] : self.spans_[d + 1]]
            projection = self.projections_[offset : offset + len(points) * width]
            offset += len(points) * width
            if width:
                at = self.starts_[d] * (self.n_bins + 1)
                values = _KERNELS[self.kernel](nodes[:, None] * largest, points[None])
                values = values @ projection.reshape(len(points), width)
                tables[at : at + values.size] = values.ravel()
        return tables

    def transform(self, X: Any) -> NDArray[Any]:
        """Coordinates whose dot products approach the kernel."""
        check_is_fitted(self)
        X = check_histograms(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))
        out = np.zeros((len(X), self._n_features_out), X.dtype)
        if self.n_bins == 0:
            for d in range(X.shape[1]):
                if self.starts_[d] < self.starts_[d + 1]:
                    out[:, self.starts_[d] : self.starts_[d + 1]] = self._dimension(d, X[:, d])
            return out
        from lookalike.similarity._table_loops import look_up

        with np.errstate(divide="ignore"):
            per_root = np.where(self.largest_ > 0, self.n_bins / np.sqrt(self.largest_), 0).astype(X.dtype)
        look_up(X, per_root, self.n_bins, self.tables_.astype(X.dtype), self.starts_, out)
        return out
