"""Bags of local descriptors, and what makes two of them comparable."""

from lookalike.arrays import Bags
from lookalike.bags._adapted_gmm import AdaptedGMM
from lookalike.bags._bag_of_words import BagOfWords
from lookalike.bags._descriptor_pca import DescriptorPCA
from lookalike.bags._fisher_vector import FisherVector
from lookalike.bags._image_gmm import ImageGMM
from lookalike.bags._mixture_of_references import MixtureOfReferences
from lookalike.bags._mixtures import Mixture, Mixtures, sample_mixture
from lookalike.bags._universal_gmm import UniversalGMM
from lookalike.bags._vlad import VLAD

__all__ = [  # noqa: RUF022 (plain order, also for names in capitals)
    "AdaptedGMM",
    "BagOfWords",
    "Bags",
    "DescriptorPCA",
    "FisherVector",
    "ImageGMM",
    "Mixture",
    "MixtureOfReferences",
    "Mixtures",
    "UniversalGMM",
    "VLAD",
    "sample_mixture",
]
