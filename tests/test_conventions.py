"""What holds for the whole house: every public name is documented, exemplified and findable."""

import importlib
import inspect
import os
import re
import shutil
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


@pytest.mark.parametrize("thing", list(public_things()))
def test_every_public_class_and_function_is_in_the_reference(thing):
    if inspect.isclass(thing) or inspect.isfunction(thing):
        page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
        assert f"| `{thing.__name__}` | " in page, "run: python docs/reference/python.py"


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_it_offers(room):
    module = importlib.import_module(f"lookalike.{room}")
    offered = getattr(module, "__all__", [])
    assert offered == sorted(offered), "keep __all__ in order"


def test_the_modules_named_in_patents_can_be_deleted(tmp_path):
    """What docs/patents.md promises: without them and the lines that offer them, all else works."""
    source = shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    modules = re.findall(
        r"`lookalike\.(\w+)\.(\w+)` \(`(\w+)`\)", (ROOT / "docs/patents.md").read_text("utf-8")
    )
    assert len(modules) == 4
    for room, module, name in modules:
        (source / "lookalike" / room / f"{module}.py").unlink()
        for offering in (source / "lookalike" / room).glob("_[_r]*.py"):  # __init__ and _registry
            named = re.compile(rf"\b({module}|{name}|patch_bands)\b")
            lines = offering.read_text("utf-8").splitlines(keepends=True)
            offering.write_text("".join(line for line in lines if not named.search(line)), "utf-8")
    code = """
import sys
from PIL import Image
from lookalike.cli._app import app
from lookalike.collection import Collection
from lookalike.recipes import learn_collection
for i in range(6):
    for j, color in enumerate(["red", "blue"]):
        Image.new("RGB", (16 + i, 16), color).save(f"{color}{i}.png")
collection = Collection.create(".")
collection.index(["."], features=["color-histogram"])
collection.set_labels([(f"{c}{i}.png", c) for c in ("red", "blue") for i in range(6)], by="me")
learn_collection(collection, "colors", judge=False)
for words in (["feature", "list"], ["recipe", "list"], ["search", "red0.png"], ["classify", "--all"]):
    try:
        app(words)
    except SystemExit as end:
        assert not end.code, words
assert "lookalike.features._sparse_multiscale_patches" not in sys.modules
"""
    env = {**os.environ, "PYTHONPATH": str(source), "LOOKALIKE_CACHE": str(tmp_path / "cache")}
    (tmp_path / "home").mkdir()
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path / "home", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_front_offers_its_names_lazily():
    code = "import lookalike, sys; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
    for name in lookalike.__all__:
        assert getattr(lookalike, name) is not None


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        lookalike.Nothing


def pages():
    return [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
        (ROOT / "docs").rglob("*.md")
    )


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_every_page_lead_somewhere(page):
    links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_index_of_the_documents_names_every_page():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"]({name})" in index, f"docs/README.md does not lead to {name}"
