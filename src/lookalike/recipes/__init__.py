"""Named chains from image to answer: fit, answer, explain, save, load."""

from lookalike.recipes._learning import Learned, labelled_rows, learn_collection
from lookalike.recipes._looking import look
from lookalike.recipes._model import Answer, Model, Vote
from lookalike.recipes._presets import get_recipe, list_recipes
from lookalike.recipes._recipe import Recipe

__all__ = [
    "Answer",
    "Learned",
    "Model",
    "Recipe",
    "Vote",
    "get_recipe",
    "labelled_rows",
    "learn_collection",
    "list_recipes",
    "look",
]
