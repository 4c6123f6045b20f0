"""Labels become classifiers, embeddings and ensembles; arrays in, arrays out."""

from lookalike.learn._boosted_kernel import BoostedKernel
from lookalike.learn._collective._surroundings import Surroundings
from lookalike.learn._distance._comparators import BiasedDiscriminant, KernelFisherDiscriminant
from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._false_positives import FilteredClassifier, LineTracedClassifier, trace_lines
from lookalike.learn._distance._hyperkernel import HyperkernelDiscriminant
from lookalike.learn._distance._kernel_discriminant import KernelDistanceDiscriminant
from lookalike.learn._distance._nearest import NearestMarginClassifier
from lookalike.learn._evidence import Evidence
from lookalike.learn._feedback._context import (
    RecursiveBelief,
    TargetSearch,
    association_rules,
    collaborative_votes,
    region_importance,
    shared_feature_weights,
)
from lookalike.learn._feedback._session import RelevanceFeedback
from lookalike.learn._fused_classifier import FusedClassifier
from lookalike.learn._fusion._moments import BlockMoments
from lookalike.learn._itml import ITML
from lookalike.learn._kernel_density import KernelDensityClassifier
from lookalike.learn._mlnn import MLNNClassifier
from lookalike.learn._modes._blobs import CooccurrenceModel, CrossMediaRelevanceModel, TranslationModel
from lookalike.learn._modes._kernel_cca import KernelCCA
from lookalike.learn._modes._latent import LatentSemanticIndex
from lookalike.learn._multiple_kernel_classifier import MultipleKernelClassifier
from lookalike.learn._one_shot_kernel import BlockConcatenation, OneShotKernel
from lookalike.learn._planes._analytic_center import AnalyticCenterClassifier
from lookalike.learn._planes._multiple import MultipleHyperplaneClassifier, hyperplane_bound
from lookalike.learn._prototype_classifier import PrototypeClassifier
from lookalike.learn._score_fusion import ScoreFusion
from lookalike.learn._shrinkage_discriminant import ShrinkageDiscriminant
from lookalike.learn._sparse_logistic_regression import SparseLogisticRegression
from lookalike.learn._suggest_labels import Suggestions, Suspect, suggest_labels, suspect_labels
from lookalike.learn._unn import UNNClassifier
from lookalike.learn._weighted_concatenation import WeightedConcatenation
from lookalike.learn._weighted_neighbors import WeightedNeighborsClassifier
from lookalike.learn._words._frequent import FrequentWords
from lookalike.learn._words._hierarchical import HierarchicalEnsemble
from lookalike.learn._words._max_wins import MaxWinsEnsemble
from lookalike.learn._words._one_per_class import OnePerClassEnsemble
from lookalike.learn._words._taxonomy import Taxonomy

__all__ = [  # noqa: RUF022 (plain order, also for names in capitals)
    "AnalyticCenterClassifier",
    "BiasedDiscriminant",
    "BlockConcatenation",
    "BlockMoments",
    "BoostedKernel",
    "CooccurrenceModel",
    "CrossMediaRelevanceModel",
    "DistanceDiscriminant",
    "Evidence",
    "FilteredClassifier",
    "FrequentWords",
    "FusedClassifier",
    "HierarchicalEnsemble",
    "HyperkernelDiscriminant",
    "ITML",
    "KernelCCA",
    "KernelDensityClassifier",
    "KernelDistanceDiscriminant",
    "KernelFisherDiscriminant",
    "LatentSemanticIndex",
    "LineTracedClassifier",
    "MLNNClassifier",
    "MaxWinsEnsemble",
    "MultipleHyperplaneClassifier",
    "MultipleKernelClassifier",
    "NearestMarginClassifier",
    "OnePerClassEnsemble",
    "OneShotKernel",
    "PrototypeClassifier",
    "RecursiveBelief",
    "RelevanceFeedback",
    "ScoreFusion",
    "ShrinkageDiscriminant",
    "SparseLogisticRegression",
    "Suggestions",
    "Surroundings",
    "Suspect",
    "TargetSearch",
    "Taxonomy",
    "TranslationModel",
    "UNNClassifier",
    "WeightedConcatenation",
    "WeightedNeighborsClassifier",
    "association_rules",
    "collaborative_votes",
    "hyperplane_bound",
    "region_importance",
    "shared_feature_weights",
    "suggest_labels",
    "suspect_labels",
    "trace_lines",
]
