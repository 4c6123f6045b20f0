"""Named chains from image to answer: fit, answer, explain, save, load."""

from lookalike.recipes._fusing import fused_recipe
from lookalike.recipes._learning import Learned
from lookalike.recipes._learning import labelled_rows
from lookalike.recipes._learning import learn_collection
from lookalike.recipes._looking import look
from lookalike.recipes._model import Answer
from lookalike.recipes._model import Model
from lookalike.recipes._model import Vote
from lookalike.recipes._presets import get_recipe
from lookalike.recipes._presets import list_recipes
from lookalike.recipes._reading import parts_of
from lookalike.recipes._reading import row_blocks_of
from lookalike.recipes._reading import rows_of
from lookalike.recipes._recipe import Recipe
from lookalike.recipes._similar import Found
from lookalike.recipes._similar import find_similar
from lookalike.recipes._similar import list_similarities
from lookalike.recipes._words import Tag
from lookalike.recipes._words import WordModel
from lookalike.recipes._words import learn_words
from lookalike.recipes._words import read_taxonomy
from lookalike.recipes._words import search_words

__all__ = [
    "Answer",
    "Found",
    "Learned",
    "Model",
    "Recipe",
    "Tag",
    "Vote",
    "WordModel",
    "find_similar",
    "fused_recipe",
    "get_recipe",
    "labelled_rows",
    "learn_collection",
    "learn_words",
    "list_recipes",
    "list_similarities",
    "look",
    "parts_of",
    "read_taxonomy",
    "row_blocks_of",
    "rows_of",
    "search_words",
]
