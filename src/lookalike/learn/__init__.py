"""Labels become classifiers, embeddings and ensembles; arrays in, arrays out."""

from lookalike.learn._boosted_kernel import BoostedKernel
from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._nearest import NearestMarginClassifier
from lookalike.learn._evidence import Evidence
from lookalike.learn._fusion._moments import BlockMoments
from lookalike.learn._multiple_kernel_classifier import MultipleKernelClassifier
from lookalike.learn._one_shot_kernel import BlockConcatenation, OneShotKernel
from lookalike.learn._shrinkage_discriminant import ShrinkageDiscriminant

__all__ = [
    "BlockConcatenation",
    "BlockMoments",
    "BoostedKernel",
    "DistanceDiscriminant",
    "Evidence",
    "MultipleKernelClassifier",
    "NearestMarginClassifier",
    "OneShotKernel",
    "ShrinkageDiscriminant",
]
