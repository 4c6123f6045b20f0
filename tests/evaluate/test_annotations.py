"""Measures of words and of one class, by hand."""

import numpy as np
import pytest

from lookalike.evaluate import annotation_scores, hierarchical_scores, one_class_scores
from lookalike.learn import FrequentWords, Taxonomy

TREE = Taxonomy.from_edges([("thing", "plant"), ("plant", "oak"), ("plant", "elm"), ("thing", "sky")])


def test_recall_and_precision_by_hand():
    true = [["oak", "sky"], ["oak"], ["elm"]]
    said = [["oak"], ["elm", "sky"], ["elm"]]
    recall, precision = annotation_scores(said, true)
    assert recall == pytest.approx((1 / 2 + 0 + 1) / 3)  # oak, sky, elm
    assert precision == pytest.approx((1 + 0 + 1 / 2) / 3)
    micro = annotation_scores(said, true, average="micro")
    assert micro == pytest.approx((2 / 4, 2 / 4))


def test_a_concept_counts_as_every_word_below():
    recall, precision = annotation_scores([["plant"], ["sky"]], [["oak"], ["elm"]], taxonomy=TREE)
    assert recall == pytest.approx(0.5)
    assert precision == pytest.approx((1 + 0) / 2)


def test_siblings_may_stand_for_each_other():
    strict = annotation_scores([["elm"]], [["oak"]], taxonomy=TREE)
    kind = annotation_scores([["elm"]], [["oak"]], taxonomy=TREE, siblings=True)
    assert strict == (0.0, 0.0)
    assert kind.recall == 1.0
    with pytest.raises(ValueError, match="only known with a taxonomy"):
        annotation_scores([["elm"]], [["oak"]], siblings=True)


def test_the_same_five_words_for_all_recall_five_words():
    """T15: the figure that fixes how the thesis averages."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(31)]
    true = [[words[i % 31], *rng.choice(words[:5], 2, replace=False)] for i in range(254)]
    model = FrequentWords().fit(np.zeros((254, 1)), true)
    said = [[w.name for w in row] for row in model.annotate(np.zeros((254, 1)), top=5)]
    assert annotation_scores(said, true).recall == pytest.approx(5 / 31)


def test_one_class_scores_on_edges():
    assert np.isnan(one_class_scores([0, 0], [0, 1], positive=1).sensitivity)
    assert one_class_scores(["a", "b"], ["a", "b"], "a") == (1.0, 1.0, 1.0, 0.0)


def test_hierarchical_scores_share_what_lies_above():
    assert hierarchical_scores([["plant"]], [["oak"]], TREE) == (0.5, 1.0)
    assert hierarchical_scores([["sky"]], [["oak"]], TREE) == (0.0, 0.0)
    assert np.isnan(hierarchical_scores([[]], [["oak"]], TREE).precision)
