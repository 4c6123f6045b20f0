"""Named chains from image to answer: fit, answer, explain, save, load."""

from lookalike.recipes._fusing import fused_recipe, usual_recipe
from lookalike.recipes._labelled import Known, known_rows, labelled_rows
from lookalike.recipes._learning import Learned, learn_collection
from lookalike.recipes._looking import look
from lookalike.recipes._model import Answer, Model, Vote
from lookalike.recipes._others import Others
from lookalike.recipes._presets import get_recipe, list_recipes
from lookalike.recipes._reading import missing_features, parts_of, row_blocks_of, rows_of
from lookalike.recipes._recipe import Recipe
from lookalike.recipes._similar import Found, find_similar, list_similarities
from lookalike.recipes._suggesting import Doubt, Suggestion, doubtful_labels, suggest_images
from lookalike.recipes._words import Tag, WordModel, learn_words, read_taxonomy, search_words

__all__ = [
    "Answer",
    "Doubt",
    "Found",
    "Known",
    "Learned",
    "Model",
    "Others",
    "Recipe",
    "Suggestion",
    "Tag",
    "Vote",
    "WordModel",
    "doubtful_labels",
    "find_similar",
    "fused_recipe",
    "get_recipe",
    "known_rows",
    "labelled_rows",
    "learn_collection",
    "learn_words",
    "list_recipes",
    "list_similarities",
    "look",
    "missing_features",
    "parts_of",
    "read_taxonomy",
    "row_blocks_of",
    "rows_of",
    "search_words",
    "suggest_images",
    "usual_recipe",
]
