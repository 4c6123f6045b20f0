import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_curve

from lookalike.evaluate import evaluate_retrieval


def rankings(seed, n=40, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    scores = rng.normal(size=(n, n)) + (y[:, None] == y)
    return scores, np.argsort(-scores, axis=1), y


@given(st.integers(0, 10**6))
def test_average_precision_and_roc_are_those_of_scikit_learn(seed):
    scores, order, y = rankings(seed)
    found = evaluate_retrieval(order, y, y, queries=np.arange(len(y)))
    for i in range(5):
        others = np.arange(len(y)) != i
        truth = (y == y[i])[others]
        if not truth.any() or truth.all():
            continue
        want = average_precision_score(truth, scores[i, others])
        assert found.average_precision()[i] == pytest.approx(want)
        false, true, _ = roc_curve(truth, scores[i, others], drop_intermediate=False)
        one = evaluate_retrieval(order[[i]], y[[i]], y, queries=[i])
        got = one.roc()
        assert got[0] == pytest.approx(false) and got[1] == pytest.approx(true)


def test_precision_recall_and_scores_by_hand():
    y = np.array(["a", "a", "b", "a", "b"])
    order = np.array([[0, 1, 2, 3, 4], [2, 3, 1, 0, 4]])
    found = evaluate_retrieval(order, ["a", "b"], y, queries=[0, 2])
    assert found.relevant.tolist() == [[True, False, True, False], [False, False, False, True]]
    assert found.precision(2).tolist() == [0.5, 0.0]
    assert found.precision(10).tolist() == [0.2, 0.1]
    assert found.precision_with_query(2).tolist() == [1.0, 0.5]
    assert found.recall(3).tolist() == [1.0, 0.0]
    assert found.average_precision() == pytest.approx([(1 + 2 / 3) / 2, 1 / 4])
    assert found.mean_average_precision() == pytest.approx(((1 + 2 / 3) / 2 + 1 / 4) / 2)
    assert found.ns_score() == pytest.approx((3 + 1) / 2)
    assert found.by_class(found.precision(1)) == {"a": 1.0, "b": 0.0}
    recalls, precisions = found.precision_recall("a", levels=3)
    assert recalls.tolist() == [0, 0.5, 1] and precisions == pytest.approx([1, 1, 2 / 3])
    errors, recall = found.recall_against_errors([1, 4])
    assert errors == pytest.approx([0.5, 1 - 0.375]) and recall == pytest.approx([0.25, 1.0])


def test_queries_from_outside_and_short_rankings():
    y = np.array([0, 1, 0, 1])
    found = evaluate_retrieval([[0, 1]], [1], y)
    assert found.n_relevant.tolist() == [2] and found.recall(2).tolist() == [0.5]
    assert found.average_precision().tolist() == [0.25]
    # A query that is not in its own short ranking.
    short = evaluate_retrieval([[1, 2, 3]], [0], y, queries=[0])
    assert short.relevant.tolist() == [[False, True]] and short.n_relevant.tolist() == [1]
    nothing = evaluate_retrieval([[0, 1]], [7], y)
    assert np.isnan(nothing.average_precision()).all() and np.isnan(nothing.recall(1)).all()
    with pytest.raises(ValueError, match="anything to find"):
        nothing.roc()
    assert np.isnan(evaluate_retrieval(np.zeros((0, 3), int), [], y).ns_score())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: evaluate_retrieval([[0, 9]], [0], [0, 1]), "positions from 0 to 1"),
        (lambda: evaluate_retrieval([[0, 1]], [0, 1], [0, 1]), "row for each"),
        (lambda: evaluate_retrieval([[0, 1]], [0], [0, 1]).precision(0), "at least 1"),
    ],
)
def test_refuses_what_has_no_meaning(call, says):
    with pytest.raises(ValueError, match=says):
        call()
