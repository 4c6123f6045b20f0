"""Write ``python.md``: every public name of every room with its first sentence.

python docs/reference/python.py
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

ROOMS = {
    "images": "Pictures on disk become pixels.",
    "features": "A picture becomes a vector or a bag.",
    "bags": "Bags become comparable things.",
    "similarity": "Divergences, kernels, and maps that make a kernel a dot product.",
    "neighbors": "Who is near.",
    "learn": "Labels become classifiers, embeddings and ensembles; all follow scikit-learn.",
    "evaluate": "How good it is: measures, protocols, pages with pictures.",
    "collection": "A folder's memory.",
    "recipes": "Named chains from picture to answer, and models.",
    "parallel": "Who does the work.",
}

HEAD = """# Names in Python

Every public class and function with its first sentence; `help(NAME)` has its parameters and an example that
runs.
What is used most can be taken from `lookalike` itself: {front}.

"""


def first_sentence(thing: object) -> str:
    """The first paragraph of a docstring in one line."""
    text = inspect.getdoc(thing) or ""
    sentence = " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
    return re.sub(r":\w+:`", "`", sentence).replace("``", "`")


def names_of(module: ModuleType) -> list[str]:
    """What a room offers; in a module without a list, what it defines itself."""
    own = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    ]
    return sorted(getattr(module, "__all__", own))


def page() -> str:
    """The whole text."""
    import lookalike

    front = ", ".join(f"`{name}`" for name in lookalike.__all__ if not name.startswith("_"))
    text = HEAD.format(front=front)
    for room, about in ROOMS.items():
        module = importlib.import_module(f"lookalike.{room}")
        text += f"## lookalike.{room}\n\n{about}\n\n| name | what it is |\n|---|---|\n"
        for name in names_of(module):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                text += f"| `{name}` | {first_sentence(thing)} |\n"
        text += "\n"
    return text.rstrip() + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(page(), encoding="utf-8")
