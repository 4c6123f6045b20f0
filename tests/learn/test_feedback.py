"""Searching in rounds, and what other sessions and people say."""

import numpy as np
import pytest

from lookalike.learn import (
    RelevanceFeedback,
    TargetSearch,
    association_rules,
    collaborative_votes,
    region_importance,
)
from lookalike.learn._feedback._strategies import STRATEGIES, move_query


def collection(seed=0, n=300, d=20):
    """Classes that differ in three directions of small variance among many of large variance."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 6
    X = rng.normal(size=(n, d)) * np.r_[np.full(3, 0.5), np.full(d - 3, 1.5)]
    X[:, :3] += 2.2 * np.random.default_rng(7).normal(size=(6, 3))[y]
    return X.astype(np.float32), y


def precision(session, y, wanted, top=20):
    found = [f.picture for f in session.results(top)]
    return np.mean(y[found] == wanted)


def run(strategy, rounds, seed=0):
    X, y = collection()
    values = []
    for query in range(0, 60, 5):
        session = RelevanceFeedback(X, query=query, strategy=strategy, random_state=seed)
        for _ in range(rounds):
            shown = session.ask(5)
            session.mark(
                relevant=[i for i in shown if y[i] == y[query]],
                irrelevant=[i for i in shown if y[i] != y[query]],
            )
        values.append(precision(session, y, y[query]))
    return np.mean(values)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_beats_no_feedback(strategy):
    assert run(strategy, 4) > run(strategy, 0) + 0.1


def test_learned_spaces_beat_a_moved_query():
    moved = run("rocchio", 4)
    assert max(run("discriminant", 4), run("biasmap", 4)) > moved


def test_without_marks_it_is_a_plain_search():
    X, _ = collection()
    for query in (3, X[3]):
        session = RelevanceFeedback(X, query=query)
        order = [f.picture for f in session.results(10)]
        expected = np.argsort(np.linalg.norm(X - X[3], axis=1), kind="stable")[:10]
        assert order == expected.tolist()


def test_the_moved_query_stays_without_marks_and_nears_the_good():
    q, good, bad = np.zeros(2), np.array([[4.0, 0.0]]), np.array([[0.0, 4.0]])
    none = np.zeros((0, 2))
    np.testing.assert_array_equal(move_query(q, none, none), q)
    moved = move_query(q, good, bad)
    assert np.linalg.norm(moved - good) < 4
    assert moved[1] < 0


def test_marks_move_replace_and_are_taken_back():
    X, _ = collection()
    session = RelevanceFeedback(X, query=0)
    session.mark(relevant=[1, 2], irrelevant=[3])
    session.mark(relevant=[3], irrelevant=[2])
    assert (session.relevant, session.irrelevant) == ([0, 1, 3], [2])
    assert 2 not in [f.picture for f in session.results(300)]
    assert [f.picture for f in session.results(3)] == [0, 1, 3]
    assert [f.mark for f in session.results(4)][:3] == [True] * 3
    assert not {0, 1, 3} & {f.picture for f in session.results(50, marked=False)}
    assert session.undo().irrelevant == [3]
    assert session.undo().relevant == [0]
    assert session.undo().relevant == [0]


@pytest.mark.parametrize("by", ["best", "uncertain", "diverse"])
def test_questions_are_new_and_as_many_as_asked(by):
    X, _ = collection()
    session = RelevanceFeedback(X, query=0).mark(relevant=[6, 12], irrelevant=[1])
    asked = session.ask(5, by=by)
    assert len(set(asked)) == 5
    assert not set(asked) & {0, 6, 12, 1}


def test_uncertain_questions_lie_nearer_the_boundary_and_diverse_ones_apart():
    X, _ = collection()
    session = RelevanceFeedback(X, query=0, strategy="svm").mark(relevant=[6, 12], irrelevant=[1, 2])
    scores = session.scores()
    middle = session._boundary(scores)
    gap = {by: np.abs(scores[session.ask(5, by=by)] - middle).mean() for by in ("best", "uncertain")}
    assert gap["uncertain"] < gap["best"]

    def spread(rows):
        return np.linalg.norm(X[rows][:, None] - X[rows], axis=-1).sum()

    assert spread(session.ask(5, by="diverse")) > spread(session.ask(5, by="best"))
    with pytest.raises(ValueError, match="by must be"):
        session.ask(by="luck")


def test_small_collections_and_only_bad_marks():
    X = np.array([[0.0], [1.0], [9.0]])
    session = RelevanceFeedback(X).mark(irrelevant=[0])
    assert [f.picture for f in session.results(5)] == [2, 1]
    assert len(session.ask(9)) == 2
    assert RelevanceFeedback(X).results(3)[0].score == 0
    for strategy in STRATEGIES:
        one = RelevanceFeedback(X, query=0, strategy=strategy).mark(relevant=[1], irrelevant=[2])
        assert [f.picture for f in one.results(3)] == [0, 1]


def test_state_is_plain_data():
    X, _ = collection()
    a = RelevanceFeedback(X, query=X[5] + 1, strategy="rocchio").mark(relevant=[4], irrelevant=[9])
    b = RelevanceFeedback.from_dict(a.to_dict(), X)
    np.testing.assert_allclose(a.scores(), b.scores())


def test_wrong_input_is_told():
    X, _ = collection()
    with pytest.raises(ValueError, match="strategy must be one of"):
        RelevanceFeedback(X, strategy="luck")
    with pytest.raises(IndexError, match="no picture 300"):
        RelevanceFeedback(X, query=300)
    with pytest.raises(ValueError, match="finite vectors of 20"):
        RelevanceFeedback(X, query=np.zeros(3))
    with pytest.raises(ValueError, match="marked as both"):
        RelevanceFeedback(X).mark(relevant=[1], irrelevant=[1])
    with pytest.raises(ValueError, match="matrix with rows"):
        RelevanceFeedback(np.zeros((0, 2)))


# --- other sessions, other people, parts ---


def test_rules_are_counts():
    rules = association_rules([[1, 2, 3], [1, 2], [2, 3], [4]], min_support=2)
    table = {(r.given, r.then): (r.support, r.confidence) for r in rules}
    assert table == {(1, 2): (2, 1.0), (2, 1): (2, 2 / 3), (2, 3): (2, 2 / 3), (3, 2): (2, 1.0)}
    assert association_rules([]) == []
    assert len(association_rules([[1, 2]], min_support=1, min_confidence=1.0)) == 2


def test_a_clone_is_copied_up_to_its_shift():
    votes = np.array([[1, 5, 3, np.nan], [2, 6, 4, 8.0], [5, 1, 3, np.nan], [4, 4, 4, 0]])
    assert collaborative_votes(votes, 0)[3] == pytest.approx(7.0)
    assert collaborative_votes(votes[[0, 3]], 0)[3] == pytest.approx(3.0)  # no variance, no weight
    with pytest.raises(ValueError, match="no vote"):
        collaborative_votes([[np.nan, np.nan], [1, 2]], 0)


def test_importance_sums_to_one():
    similar = np.random.default_rng(0).random((5, 30)) < 0.3
    assert region_importance(similar, [0, 3, 4]).sum() == pytest.approx(1.0)
    assert region_importance(np.ones((2, 4)), [0]).tolist() == [0.5, 0.5]


def test_the_target_becomes_the_most_probable():
    X, _ = collection()
    target = 17
    search = TargetSearch(X, sharpness=4)
    rng = np.random.default_rng(0)
    before = search.posterior[target]
    for _ in range(25):
        shown = rng.choice(300, 6, replace=False)
        search.choose(int(shown[np.linalg.norm(X[shown] - X[target], axis=1).argmin()]), shown=shown)
    assert search.posterior.sum() == pytest.approx(1.0)
    assert search.posterior[target] > 5 * before
    assert target in search.show(30)
