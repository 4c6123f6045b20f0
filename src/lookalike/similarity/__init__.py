"""Two representations become a number, or a map that makes a kernel a dot product."""

from lookalike.similarity._additive_kernel_pca import AdditiveKernelPCA
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
from lookalike.similarity._contextual import contextual_histograms, contextual_similarity, smoothed_kl
from lookalike.similarity._gaussians import gaussian_cross_entropy, gaussian_kl, gaussian_probability_product
from lookalike.similarity._histogram_kernels import additive_kernel, exponential_kernel
from lookalike.similarity._kernel_pca_map import KernelPCAMap
from lookalike.similarity._knn_divergence import knn_cross_entropy, knn_entropy, knn_jensen_shannon, knn_kl
from lookalike.similarity._mixture_kernels import (
    kl_kernel,
    mean_bandwidth,
    mixture_kl,
    probability_product,
    symmetric_kl,
)
from lookalike.similarity._mixture_supervector import MixtureSupervector
from lookalike.similarity._patch_dissimilarity import PatchDissimilarity
from lookalike.similarity._random_fourier_map import RandomFourierMap
from lookalike.similarity._set_kernels import set_kernel, transport_distance
from lookalike.similarity._similarity_vectors import SimilarityVectors
from lookalike.similarity._square_root_map import SquareRootMap

__all__ = [
    "AdditiveKernelPCA",
    "BregmanDivergence",
    "KernelPCAMap",
    "MixtureSupervector",
    "PatchDissimilarity",
    "RandomFourierMap",
    "SimilarityVectors",
    "SquareRootMap",
    "additive_kernel",
    "bregman_divergence",
    "bregman_pairwise",
    "contextual_histograms",
    "contextual_similarity",
    "exponential_kernel",
    "gaussian_cross_entropy",
    "gaussian_kl",
    "gaussian_probability_product",
    "kl_kernel",
    "knn_cross_entropy",
    "knn_entropy",
    "knn_jensen_shannon",
    "knn_kl",
    "mahalanobis",
    "mean_bandwidth",
    "mixed_divergence",
    "mixture_kl",
    "natural_parameters",
    "probability_product",
    "set_kernel",
    "smooth_histograms",
    "smoothed_kl",
    "symmetric_kl",
    "symmetrised_centroid",
    "transport_distance",
]
