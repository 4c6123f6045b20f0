"""Folders of tiny pictures, and their collections."""

import sys
from pathlib import Path

import pytest

from lookalike.collection import Collection

sys.path.insert(0, str(Path(__file__).parent))

from tests_of_collection import Mean, Touchy, png


@pytest.fixture(autouse=True)
def _count():
    Mean.computed = Touchy.computed = 0


@pytest.fixture
def folder(tmp_path):
    """Six pictures in two folders."""
    home = tmp_path / "pictures"
    for i in range(6):
        path = home / ("cats" if i < 3 else "dogs") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(i + 1))
    return home


@pytest.fixture
def collection(folder):
    """Their collection, indexed."""
    collection = Collection.create(folder)
    collection.index([folder], features=[Mean()])
    return collection
