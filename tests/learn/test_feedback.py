"""Searching in rounds, and what other sessions and people say."""

import numpy as np
import pytest

from lookalike.learn import (
    RecursiveBelief,
    RelevanceFeedback,
    TargetSearch,
    association_rules,
    collaborative_votes,
    region_importance,
    shared_feature_weights,
)
from lookalike.learn._feedback import _questions
from lookalike.learn._feedback._session import QUESTIONS
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


@pytest.mark.parametrize("by", QUESTIONS)
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
    middle = _questions.boundary(scores, session.relevant, session.irrelevant)
    gap = {by: np.abs(scores[session.ask(5, by=by)] - middle).mean() for by in ("best", "uncertain")}
    assert gap["uncertain"] < gap["best"]

    def spread(rows):
        return np.linalg.norm(X[rows][:, None] - X[rows], axis=-1).sum()

    assert spread(session.ask(5, by="diverse")) > spread(session.ask(5, by="best"))
    with pytest.raises(ValueError, match="by must be"):
        session.ask(by="luck")


def test_the_rank_asked_about_moves_with_the_answers():
    scores = -np.arange(40.0)
    assert _questions.ranked(5, scores, [0], []) == [1, 2, 3, 4, 5]
    assert _questions.ranked(5, scores, range(6), [6]) == [15, 16, 17, 18, 19]  # surplus 5: rank 10, +-2
    assert _questions.ranked(5, scores, [0], range(1, 9)) == [9, 10, 11, 12, 13]
    assert _questions.ranked(5, scores, range(37), []) == [37, 38, 39]


def test_a_committee_is_asked_where_it_is_split():
    up, down = -np.arange(30.0), np.arange(30.0)
    # Ten likely hits each: both ends have one vote of two, the middle none.
    asked = _questions.committee(30, [up, down], 0, [0])
    assert set(asked[:19]) == {*range(1, 10), *range(20, 30)}
    assert 0 not in asked
    assert _questions.committee(3, [up, up], 0, []) == [0, 1, 2]  # no split: the best


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


def test_features_that_only_the_relevant_share_weigh_most():
    # features: shared by the relevant; shared by all; seen on one alone; never seen
    has = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]], bool)
    weights = shared_feature_weights([([0, 1], [3]), ([1, 2, 1], [3, 4])], has)
    np.testing.assert_allclose(weights, [1.0, 0.5, 0.5, 0.5])
    # 3 relevant pictures, 2 with the feature: 1 pair of 3; 1 of 1 irrelevant with it: 2 of 3 crossed.
    some = np.array([[1], [1], [0], [1]], bool)
    assert shared_feature_weights([([0, 1, 2], [3])], some) == pytest.approx([1 / 3])
    assert shared_feature_weights([], has).tolist() == [0.5] * 4


def test_belief_is_recursive_and_fades():
    X, y = collection()
    a = RecursiveBelief(X, weight=0.3)
    one = a.mark(relevant=[0, 6], irrelevant=[1]).log_odds / 0.3
    two = RecursiveBelief(X, weight=1.0).mark(relevant=[12], irrelevant=[2, 3]).log_odds
    a.mark(relevant=[12], irrelevant=[2, 3])
    np.testing.assert_allclose(a.log_odds, 0.3 * two + 0.7 * 0.3 * one)
    spread = X.astype(float).var(axis=0).sum()

    def log_density(i):
        return -np.log1p(((X.astype(float) - X[i]) ** 2).sum(axis=1) / spread)

    np.testing.assert_allclose(two, log_density(12) - 0.5 * (log_density(2) + log_density(3)))
    clear = X[:, :3]  # the directions in which the classes differ
    good, bad = np.flatnonzero(y == 0)[:3], np.flatnonzero(y != 0)[:10]
    found = RecursiveBelief(clear).mark(relevant=good, irrelevant=bad).show(20)
    assert np.mean(y[found] == 0) > 0.8
    with pytest.raises(ValueError, match="weight must be"):
        RecursiveBelief(X, weight=0)


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
