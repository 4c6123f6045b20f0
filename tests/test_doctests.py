"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import lookalike

MODULES = [
    m.name for m in pkgutil.walk_packages(lookalike.__path__, "lookalike.") if "__main__" not in m.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.failed == 0, "see the captured output"
