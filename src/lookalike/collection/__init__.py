"""All that is known of a set of images, on disk."""

from lookalike.collection._collection import Collection
from lookalike.collection._duplicates import DuplicateGroup, Duplicates
from lookalike.collection._index import IndexReport
from lookalike.collection._search import Hit
from lookalike.collection._shards import FeatureColumn
from lookalike.collection._status import Status

__all__ = [
    "Collection",
    "DuplicateGroup",
    "Duplicates",
    "FeatureColumn",
    "Hit",
    "IndexReport",
    "Status",
]
