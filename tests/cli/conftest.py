"""Small collections for the commands: three colours, a fast feature."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from lookalike.cli._app import app

COLOURS = {"red": (200, 30, 30), "green": (30, 180, 40), "blue": (30, 40, 200)}


class Terminal:
    """Run commands in this process; JSON comes back as data."""

    def __init__(self):
        self.runner = CliRunner()

    def __call__(self, *words, status=0):
        result = self.runner.invoke(app, [str(word) for word in words], prog_name="lookalike")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == status, result.output
        return result

    def json(self, *words):
        return json.loads(self(*words, "--json").stdout)

    def error(self, *words, status=1):
        """The one line on standard error."""
        result = self(*words, status=status)
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1 or status == 2, result.stderr
        return result.stderr


def paint(path, colour, seed):
    rng = np.random.default_rng(seed)
    pixels = np.clip(rng.normal(colour, 25, (24, 32, 3)), 0, 255).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKALIKE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("LOOKALIKE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def terminal():
    return Terminal()


@pytest.fixture
def pictures(tmp_path):
    """Four pictures of each colour in sub-folders, and a broken one."""
    folder = tmp_path / "pictures"
    for i, (name, colour) in enumerate(COLOURS.items()):
        for j in range(4):
            paint(folder / name / f"{j}.png", colour, 10 * i + j)
    (folder / "broken.jpg").write_bytes(b"")
    return folder


@pytest.fixture
def labelled(collection, terminal):
    """The same with a label for each picture, and a model called "colours"."""
    terminal("label", "from-folders")
    terminal("learn", "--recipe", "colors", "--name", "colours", "--folds", 2)
    return collection


@pytest.fixture
def collection(pictures, terminal, monkeypatch):
    """The same, indexed, and the terminal is in its folder."""
    terminal("index", pictures, "--feature", "color-histogram")
    monkeypatch.chdir(pictures)
    return pictures
