"""Nearest neighbours under a Bregman divergence, as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from lookalike.neighbors._bregman_ball_tree import BregmanBallTree
from lookalike.neighbors._bregman_brute import BregmanBruteForce
from lookalike.neighbors._bregman_vp_tree import BregmanVPTree
from lookalike.similarity._bregman import BregmanDivergence, resolve_divergence

TREE_DIMENSIONS = 8  # above, one matrix product answers sooner than any of the trees (docs/reproduction)
TREE_DIMENSIONS_OF_BOTH = 4  # the same for divergences of both sides, whose bounds cost more
TREE_POINTS = 20_000  # below, too


class BregmanNeighbors(BaseEstimator):
    """Exact nearest neighbours under a Bregman divergence, by a tree or by matrix products.

    Parameters
    ----------
    n_neighbors : int, default=5
    divergence : str or BregmanDivergence, default="sqeuclidean"
        See :class:`BregmanBallTree`.
    side : {"right", "left", "jeffreys", "jensen"}, default="right"
    algorithm : {"auto", "brute", "ball_tree", "vp_tree"}, default="auto"
        ``auto`` takes matrix products except where trees were measured to be faster: many points of few
        dimensions. All give the same answer.
    leaf_size : int, default=50
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    algorithm_ : str
        What ``auto`` became.
    search_ : BregmanBallTree, BregmanVPTree or BregmanBruteForce
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(5), 200)
    >>> near = BregmanNeighbors(n_neighbors=2, divergence="kl").fit(X)
    >>> near.algorithm_, near.kneighbors(X[:2], return_distance=False)[:, 0].tolist()
    ('brute', [0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "divergence": [
            StrOptions({"sqeuclidean", "kl", "itakura_saito", "exponential", "multinomial"}),
            BregmanDivergence,
        ],
        "side": [StrOptions({"right", "left", "jeffreys", "jensen"})],
        "algorithm": [StrOptions({"auto", "brute", "ball_tree", "vp_tree"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        divergence: str | BregmanDivergence = "sqeuclidean",
        side: str = "right",
        algorithm: str = "auto",
        leaf_size: int = 50,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.divergence = divergence
        self.side = side
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Keep the points, in a tree where that pays."""
        self._validate_params()
        given: Any = validate_data(self, X, dtype=[np.float64, np.float32])
        self._fit_X = given
        self.algorithm_ = self.algorithm
        if self.algorithm == "auto":
            most = TREE_DIMENSIONS if self.side in ("left", "right") else TREE_DIMENSIONS_OF_BOTH
            few, many = given.shape[1] <= most, len(given) >= TREE_POINTS
            self.algorithm_ = "vp_tree" if few and many else "brute"
        if self.algorithm_ == "brute":
            self.search_: Any = BregmanBruteForce(given, self.divergence, self.side)
        else:
            tree: Any = BregmanBallTree if self.algorithm_ == "ball_tree" else BregmanVPTree
            self.search_ = tree(
                given,
                self.divergence,
                self.side,
                leaf_size=self.leaf_size,
                held_out=0,
                random_state=self.random_state,
            )
        return self

    def kneighbors(
        self, X: ArrayLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """The nearest points of each query; without queries, of each point, itself excluded.

        Parameters
        ----------
        X : array of shape (m, d), optional
        n_neighbors : int, optional
        return_distance : bool, default=True
            Whether the divergences are returned as well, before the indices.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if X is None:
            values, ids = self._others(k)
        else:
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
            values, ids = self.search_.query(X, min(k, len(self.search_)))
        return (values, ids) if return_distance else ids

    def _others(self, k: int) -> tuple[Any, Any]:
        """Leave-one-out: among equal points it is the one itself that is left out, wherever it stands."""
        others = len(self.search_) - 1
        if k > others:
            raise ValueError(f"each point has {others} others, fewer than n_neighbors={k}.")
        values, ids = self.search_.query(self._fit_X, k + 1)
        own = ids == np.arange(len(ids))[:, None]
        own[~own.any(axis=1), -1] = True  # more than k copies before it
        return values[~own].reshape(-1, k), ids[~own].reshape(-1, k)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = resolve_divergence(self.divergence).positive
        return tags
