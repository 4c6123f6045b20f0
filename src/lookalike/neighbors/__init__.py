"""Who is near: exact search, Bregman trees, the k-NN graph."""

from lookalike.neighbors._exact import ExactIndex, exact_neighbors
from lookalike.neighbors._graph import KNNGraph

__all__ = ["ExactIndex", "KNNGraph", "exact_neighbors"]
