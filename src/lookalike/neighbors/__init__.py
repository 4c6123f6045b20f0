"""Who is near: exact search, Bregman trees, the k-NN graph."""

from lookalike.neighbors._bregman_ball_tree import BregmanBallTree
from lookalike.neighbors._bregman_brute import BregmanBruteForce, RandomSampleSearch
from lookalike.neighbors._bregman_neighbors import BregmanNeighbors
from lookalike.neighbors._bregman_vp_tree import BregmanVPTree
from lookalike.neighbors._exact import ExactIndex, exact_neighbors
from lookalike.neighbors._graph import KNNGraph

__all__ = [
    "BregmanBallTree",
    "BregmanBruteForce",
    "BregmanNeighbors",
    "BregmanVPTree",
    "ExactIndex",
    "KNNGraph",
    "RandomSampleSearch",
    "exact_neighbors",
]
