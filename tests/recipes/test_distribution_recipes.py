"""Each recipe on images as distributions learns, answers, and comes back from a file the same."""

import numpy as np
import pytest

from lookalike.bags import Bags
from lookalike.recipes import Model, Recipe, get_recipe

NAMES = ["gmm-klk", "gmm-ppk", "mom-ppk", "mom-kl", "context-kl", "bov-chi2", "bov-addkpca", "fisher"]


def small(recipe):
    """The same chain with sizes that a test can afford."""
    steps = []
    for name, settings in recipe.steps:
        settings = dict(settings)
        for key, value in {"n_components": 4, "n_words": 6}.items():
            if key in settings:
                settings[key] = value
        steps.append((name, settings))
    return Recipe(recipe.name, recipe.feature, recipe.feature_settings, steps, recipe.about)


def bags_and_labels(n=16):
    rng = np.random.default_rng(0)
    labels = np.array(["sea", "town"])[np.arange(n) % 2]
    bags = []
    for label in labels:
        # Histograms, as local descriptors are: "sea" has more in the first bins.
        values = rng.gamma([4, 4, 4, 1, 1, 1] if label == "sea" else [1, 1, 1, 4, 4, 4], size=(25, 6))
        bags.append(np.concatenate([values, rng.uniform(size=(25, 2))], axis=1))
    return Bags.from_list(bags), labels


@pytest.mark.parametrize("name", NAMES)
def test_learns_answers_and_is_saved(name, tmp_path):
    recipe = small(get_recipe(name))
    rows, labels = bags_and_labels()
    model = Model.fit(recipe, rows, labels, uris=[f"{i}.jpg" for i in range(len(labels))])
    answers = model.answer_rows(rows, votes=3)
    assert [a.best for a in answers] == labels.tolist()
    if "SparseLogisticRegression" in dict(recipe.steps):
        assert model.explains
        assert 1 <= len(answers[0].votes) <= 3
    again = Model.load(model.save(tmp_path / name))
    for a, b in zip(answers, again.answer_rows(rows)):
        assert a.probability == pytest.approx(b.probability, rel=1e-6)
