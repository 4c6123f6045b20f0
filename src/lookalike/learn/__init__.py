"""Labels become classifiers, embeddings and ensembles; arrays in, arrays out."""

from lookalike.learn._distance._discriminant import DistanceDiscriminant
from lookalike.learn._distance._nearest import NearestMarginClassifier

__all__ = ["DistanceDiscriminant", "NearestMarginClassifier"]
