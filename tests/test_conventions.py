"""What holds for the whole house: every public name is documented, exemplified and findable."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import lookalike

ROOT = Path(__file__).parents[1]
ROOMS = [
    "bags",
    "collection",
    "evaluate",
    "features",
    "images",
    "learn",
    "neighbors",
    "recipes",
    "similarity",
]


def public_things():
    for room in ROOMS:
        module = importlib.import_module(f"lookalike.{room}")
        for name in getattr(module, "__all__", []):
            yield pytest.param(getattr(module, name), id=f"{room}.{name}")


@pytest.mark.parametrize("thing", list(public_things()))
def test_every_public_class_and_function_has_a_docstring_with_an_example(thing):
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        pytest.skip("neither a class nor a function")
    doc = inspect.getdoc(thing) or ""
    assert ">>> " in doc, "needs a runnable example"


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_it_offers(room):
    module = importlib.import_module(f"lookalike.{room}")
    offered = getattr(module, "__all__", [])
    assert offered == sorted(offered), "keep __all__ in order"


def test_the_front_offers_its_names_lazily():
    code = "import lookalike, sys; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
    for name in lookalike.__all__:
        assert getattr(lookalike, name) is not None


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        lookalike.Nothing
