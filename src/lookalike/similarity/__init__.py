"""Two representations become a number, or a map that makes a kernel a dot product."""

from lookalike.similarity._bregman import (
    BregmanDivergence,
    bregman_divergence,
    bregman_pairwise,
    mahalanobis,
    mixed_divergence,
    natural_parameters,
    smooth_histograms,
    symmetrised_centroid,
)

__all__ = [
    "BregmanDivergence",
    "bregman_divergence",
    "bregman_pairwise",
    "mahalanobis",
    "mixed_divergence",
    "natural_parameters",
    "smooth_histograms",
    "symmetrised_centroid",
]
