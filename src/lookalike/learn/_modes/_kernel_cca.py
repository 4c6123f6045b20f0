"""``KernelCCA``: directions in which pictures and their words are most correlated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.learn._distance._gram import KERNEL_CONSTRAINTS, Kernel
from lookalike.learn._modes._base import Calibrating, unit_rows

Array = NDArray[Any]


def incomplete_cholesky(
    column: Callable[[int], Array], diagonal: Array, *, max_rank: int, tol: float = 1e-6
) -> tuple[Array, Array]:
    """A thin factor ``L`` with ``K ~ L L'`` and its pivots, from single columns of ``K``.

    The pivot is always the largest residual; it ends at ``max_rank``, or where the residual trace is
    below ``tol`` times the whole one.
    """
    residual = np.array(diagonal, float)
    n, whole = len(residual), float(residual.sum())
    factor = np.zeros((n, min(max_rank, n)))
    pivots: list[int] = []
    for k in range(factor.shape[1]):
        p = int(residual.argmax())
        if residual[p] <= 0 or residual.clip(0).sum() <= tol * whole:
            break
        root = np.sqrt(residual[p])
        factor[:, k] = (column(p) - factor[:, :k] @ factor[p, :k]) / root
        factor[pivots, k] = 0.0
        factor[p, k] = root
        residual -= factor[:, k] ** 2
        pivots.append(p)
        residual[pivots] = 0.0
    return factor[:, : len(pivots)], np.array(pivots, np.intp)


class View:
    """One of the two sides: centred coordinates of its kernel, with shrunk directions."""

    def __init__(self, points: Array, regularization: float) -> None:
        self.mean = points.mean(axis=0)
        u, s, vt = np.linalg.svd(points - self.mean, full_matrices=False)
        kept = s > 1e-8 * s[0] if s[0] > 0 else np.zeros(len(s), bool)
        self.left, squares = u[:, kept], s[kept] ** 2
        self.kappa = regularization * float(squares.mean()) if len(squares) else 1.0
        self.shrink = squares / (squares + self.kappa)
        self.back = vt[kept].T * (s[kept] / (squares + self.kappa))

    def project(self, points: Array, directions: Array) -> Array:
        """The canonical variables of points."""
        return np.asarray((points - self.mean) @ (self.back @ directions))


class KernelCCA(Calibrating):
    """Kernel canonical correlation analysis between pictures and words.

    Pairs of directions, one in the kernel's space of the pictures and one over the words, along which
    the two are most correlated, regularised so that they are not perfectly so by chance ((1.8) of [1]_;
    the squared, shifted kernels as in [2]_). A picture and words are compared by the cosine of their
    canonical variables, each weighted with its correlation.

    Parameters
    ----------
    n_components : int, default=30
        Pairs of directions, at most.
    kernel, gamma, degree, coef0
        Of the pictures; words have the linear kernel of their unit rows.
    regularization : float, default=1.0
        The shift of the kernels, in units of their mean eigenvalue.
    max_rank : int, default=500
        Of the incomplete Cholesky factor of the pictures' kernel: what bounds time and memory.
    folds : int or None, default=5
        Of the held-out scores that probabilities are fitted to; None does without probabilities.
    min_count : int, default=1
        Words on fewer pictures are left out.

    Attributes
    ----------
    correlations_ : array
        Of each pair on the training set, shrunk; none exceeds 1.
    pivots_ : array
        Training pictures whose kernel functions span the factor.
    words_ : list of str
        The vocabulary.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005.
    .. [2] D. Hardoon, S. Szedmak, J. Shawe-Taylor, "Canonical correlation analysis: an overview with
       application to learning methods", Neural Computation 16, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import KernelCCA
    >>> X = np.array([[1.0, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]])
    >>> model = KernelCCA(folds=None).fit(X, ["sky", "sky", "sea", "sea"])
    >>> sorted(i for i, _ in model.search("sea", X, top=2))
    [2, 3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
        "folds": [Interval(Integral, 2, None, closed="left"), None],
        "min_count": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 30,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        regularization: float = 1.0,
        max_rank: int = 500,
        folds: int | None = 5,
        min_count: int = 1,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.regularization = regularization
        self.max_rank = max_rank
        self.folds = folds
        self.min_count = min_count

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Sequence[str | Iterable[str]]) -> Self:
        """Learn from pictures' vectors and their words."""
        if self.kernel == "precomputed":
            raise ValueError("kernel must work on vectors here; 'precomputed' cannot be held out.")
        self._fit_words(X, y)
        return self

    def _learn(self, X: Array, matrix: Array) -> None:
        self._kernel = Kernel.of(self, X)
        diagonal = np.array([float(self._kernel(x[None], x[None])[0, 0]) for x in X])
        factor, self.pivots_ = incomplete_cholesky(
            lambda p: self._kernel(X, X[p : p + 1])[:, 0], diagonal, max_rank=self.max_rank
        )
        self._landmarks, self._triangle = X[self.pivots_], factor[self.pivots_]
        self._pictures = View(factor, self.regularization)
        self._texts = View(unit_rows(matrix.astype(float)), self.regularization)
        cross = (
            self._pictures.shrink[:, None] * (self._pictures.left.T @ self._texts.left) * self._texts.shrink
        )
        p, rho, qt = np.linalg.svd(cross, full_matrices=False)
        k = min(self.n_components, int((rho > 1e-10).sum()))
        self.correlations_ = rho[:k]
        self._p, self._q = p[:, :k], qt[:k].T

    def embed_pictures(self, X: Any) -> Array:
        """Canonical variables of pictures, each times the root of its correlation."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        # Rows of the factor for new pictures: forward substitution in the pivots' triangle.
        rows = solve_triangular(self._triangle, self._kernel(X, self._landmarks).T, lower=True).T
        return self._pictures.project(rows, self._p) * np.sqrt(self.correlations_)

    def _embed_counts(self, counts: Array) -> Array:
        return self._texts.project(unit_rows(counts), self._q) * np.sqrt(self.correlations_)

    def embed_words(self, words: str | Iterable[str]) -> Array:
        """Canonical variables of words, together one row."""
        check_is_fitted(self)
        counts = np.zeros((1, len(self.words_)))
        counts[0, self._known(words)] = 1.0
        return self._embed_counts(counts)

    def word_scores(self, X: Any) -> Array:
        """Cosine between pictures and single words."""
        pictures = unit_rows(self.embed_pictures(X))
        return np.asarray(pictures @ unit_rows(self._embed_counts(np.eye(len(self.words_)))).T)

    def query_scores(self, words: Sequence[str], X: Any) -> Array:
        """Cosine between pictures and all the words together."""
        return np.asarray(unit_rows(self.embed_pictures(X)) @ unit_rows(self.embed_words(words))[0])
