"""The recipes that come with Lookalike."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from lookalike.errors import LookalikeError
from lookalike.features import list_features
from lookalike.recipes._recipe import Recipe

DEFAULT = "default"

# Features that tell different things quickly, the most trusted one first, with their columns.
_BEST = [
    ("efficientnet-lite0", "0:1280"),
    ("efficientnet-lite0-layers", "1280:4608"),
    ("hog", "4608:6372"),
    ("local-binary-patterns", "6372:6549"),
    ("color-histogram", "6549:6805"),
]

_PRESETS = [
    Recipe(
        DEFAULT,
        "efficientnet-lite0",
        steps=[("PrototypeClassifier", {})],
        about="Network features and a vote of prototypes: the best start for pictures of any kind.",
    ),
    Recipe(
        "best",
        "joined",
        {"features": [name for name, _ in _BEST]},
        steps=[("FusedClassifier", {"blocks": [list(span) for span in _BEST], "random_state": 0})],
        about="What five features see, weighed: a few points better, at 2.5 times the time a picture.",
    ),
    Recipe(
        "colors",
        "color-histogram",
        steps=[("PrototypeClassifier", {})],
        about="Colours alone; seconds for thousands of pictures.",
    ),
    Recipe(
        "scenes",
        "gist",
        steps=[("PrototypeClassifier", {})],
        about="The layout of a scene, without a network.",
    ),
    Recipe(
        "logistic",
        "efficientnet-lite0",
        steps=[("Normalizer", {}), ("LogisticRegression", {"C": 30.0, "max_iter": 1000})],
        about="Network features and logistic regression: a strong rival that shows no evidence.",
    ),
]

# The systems of a thesis on images as distributions (Y. Liu, 2010), and a neighbour of theirs; they look at
# local descriptors alone and need no network.
_LOCAL = "dense-sift"
_ADAPTED: list[tuple[str, dict[str, Any]]] = [
    ("DescriptorPCA", {"n_components": 50, "random_state": 0}),
    ("AdaptedGMM", {"n_components": 64, "random_state": 0}),
]
_SPARSE: tuple[str, dict[str, Any]] = ("SparseLogisticRegression", {"penalty": 0.003, "images": True})
_WORDS = {"n_words": 1000, "max_descriptors": 200_000, "random_state": 0}

_PRESETS += [
    Recipe(
        "gmm-klk",
        _LOCAL,
        steps=[*_ADAPTED, ("SimilarityVectors", {"kernel": "kl", "own": "largest"}), _SPARSE],
        about="Images as adapted mixtures, compared by their divergence; shows the images that decided.",
    ),
    Recipe(
        "gmm-ppk",
        _LOCAL,
        steps=[*_ADAPTED, ("SimilarityVectors", {"kernel": "probability-product"}), _SPARSE],
        about="Images as adapted mixtures, compared by their overlap; shows the images that decided.",
    ),
    Recipe(
        "mom-ppk",
        _LOCAL,
        steps=[
            *_ADAPTED,
            (
                "MixtureOfReferences",
                {"scaled": True, "sqrt_weights": True, "sharpness": 0.3, "n_iter": 1, "power": 0.5},
            ),
            _SPARSE,
        ],
        about="Images as mixtures of the training images, by their overlap.",
    ),
    Recipe(
        "mom-kl",
        _LOCAL,
        steps=[
            *_ADAPTED,
            (
                "MixtureOfReferences",
                {"objective": "kl", "scaled": True, "exclude_self": "largest", "sharpness": 0.3},
            ),
            _SPARSE,
        ],
        about="Images as mixtures of the training images, by their divergence.",
    ),
    Recipe(
        "context-kl",
        _LOCAL,
        steps=[
            *_ADAPTED,
            ("SimilarityVectors", {"kernel": "context", "settings": {"n_iter": 1}, "own": "largest"}),
            _SPARSE,
        ],
        about="How much of an image is another one, and how much is what everything looks like.",
    ),
    Recipe(
        "bov-chi2",
        _LOCAL,
        steps=[
            _ADAPTED[0],
            ("BagOfWords", {**_WORDS, "assignment": "soft"}),
            ("SimilarityVectors", {"kernel": "chi2"}),
            _SPARSE,
        ],
        about="Histograms of visual words, compared by the chi-square kernel.",
    ),
    Recipe(
        "bov-addkpca",
        _LOCAL,
        steps=[
            _ADAPTED[0],
            ("BagOfWords", _WORDS),
            ("AdditiveKernelPCA", {"random_state": 0}),
            ("LogisticRegression", {"C": 100.0, "max_iter": 1000}),
        ],
        about="Histograms of visual words, with the chi-square kernel as a dot product: for many images.",
    ),
    Recipe(
        "fisher",
        _LOCAL,
        {"step": 8, "positions": True},
        steps=[
            ("DescriptorPCA", {"n_components": 64, "n_positions": 2, "root": True, "random_state": 0}),
            (
                "FisherVector",
                {
                    "n_components": 64,
                    "random_state": 0,
                    "n_positions": 2,
                    "pyramid": [[1, 1], [2, 2], [3, 1]],
                },
            ),
            ("LogisticRegression", {"C": 100.0, "max_iter": 1000}),
        ],
        about="Fisher vectors of dense descriptors in a pyramid: the strongest without a network.",
    ),
]

# The systems of a thesis on leveraged neighbours (P. Piro, 2010, chapters 5 and 6).
_PRESETS += [
    Recipe(
        "mlnn-gist",
        "gist",
        steps=[
            ("PCA", {"n_components": 128, "random_state": 0}),
            ("MLNNClassifier", {"n_neighbors": 11, "random_state": 0}),
        ],
        about="The layout of a scene, and neighbours that vote where boosting gave them a weight.",
    ),
    Recipe(
        "radiographs",
        "dense-sift",
        {"cells": [2, 4, 6, 8], "step": 10, "scales": 1},
        steps=[
            ("BagOfWords", {"n_words": 500, "random_state": 0}),
            ("MLNNClassifier", {"n_neighbors": 10, "kernel": "intersection", "random_state": 0}),
        ],
        about="Histograms of visual words and leveraged neighbours: for parts of the body in X-rays.",
    ),
]

SMP_KL = Recipe(
    "smp-kl",
    "sparse-multiscale-patches",
    steps=[("PatchDissimilarity", {"preselect": "sample"})],
    about="Multiscale patches by their divergence, in two steps; for search, not for labels.",
)
_FOR_SEARCH = [SMP_KL]


def list_recipes() -> list[Recipe]:
    """The recipes that come with Lookalike and give labels.

    Examples
    --------
    >>> list_recipes()[0].name
    'default'
    """
    return list(_PRESETS)


def get_recipe(name: str | Path = DEFAULT, *, feature: str | None = None) -> Recipe:
    """A recipe by its name or by the path of a JSON file; ``feature`` takes the place of its own.

    Examples
    --------
    >>> get_recipe("colors").feature
    'color-histogram'
    >>> get_recipe(feature="gist").feature
    'gist'
    """
    if str(name).endswith(".json"):
        recipe = Recipe.read(name)
    else:
        found = [r for r in [*_PRESETS, *_FOR_SEARCH] if r.name == name]
        if not found:
            names = [r.name for r in _PRESETS]
            close = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names)}."
            raise LookalikeError(f"there is no recipe called {str(name)!r}: {hint}")
        recipe = found[0]
    if feature is None:
        return recipe
    known = {info.name for info in list_features()}
    if feature not in known:
        raise LookalikeError(f"there is no feature called {feature!r}: see 'lookalike feature list'.")
    return Recipe(recipe.name, feature, {}, recipe.steps, recipe.about)
