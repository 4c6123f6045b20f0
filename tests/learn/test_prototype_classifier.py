import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lookalike.learn import PrototypeClassifier
from lookalike.learn import _prototype_classifier as module
from lookalike.learn._declining import fit_decline_rule
from lookalike.learn._even_choice import herd
from lookalike.learn._leveraged_vote import leverage


def blobs(n, d, classes, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(classes, d))[y], y


problems = st.tuples(st.integers(6, 60), st.integers(1, 80), st.integers(2, 5), st.integers(0, 999))


@given(problems)
@settings(max_examples=15)
def test_shares_add_up_to_the_score_and_the_score_is_the_classes(problem):
    X, y = blobs(*problem)
    model = PrototypeClassifier().fit(X, y)
    scores = model.decision_function(X)
    if len(model.classes_) == 2:
        scores = np.column_stack([-scores, scores])
    chances = model.predict_proba(X)
    for i, evidence in enumerate(model.explain(X)):
        c = model.classes_.tolist().index(evidence.label)
        assert evidence.shares.sum() == pytest.approx(evidence.score, abs=1e-12)
        assert evidence.score == pytest.approx(scores[i].max(), rel=1e-9, abs=1e-12)
        assert evidence.probability == pytest.approx(chances[i, c], rel=1e-9)
        assert set(evidence.prototypes) == set(model.prototypes_)
        assert (np.diff(evidence.shares) <= 0).all(), "the largest share comes first"
    assert model.predict(X).tolist() == [e.label for e in model.explain(X)]


@given(problems)
@settings(max_examples=15)
def test_without_its_strongest_prototype_the_score_is_lower(problem):
    X, y = blobs(*problem)
    model = PrototypeClassifier().fit(X, y)
    for x, evidence in zip(X[:5], model.explain(X[:5])):
        strongest = np.flatnonzero(model.prototypes_ == evidence.prototypes[0])[0]
        rest = np.delete(np.arange(len(model.prototypes_)), strongest)
        kept = (model.prototypes_, model.alphas_, model._labels, model._points)
        model.prototypes_, model.alphas_, model._labels, model._points = (part[rest] for part in kept)
        c = model.classes_.tolist().index(evidence.label)
        without = model._class_scores(x[None])[0, c]
        model.prototypes_, model.alphas_, model._labels, model._points = kept
        assert without < evidence.score
        assert evidence.score - without == pytest.approx(evidence.shares[0], rel=1e-6, abs=1e-12)


def test_held_out_votes_are_those_of_refits_where_the_map_stands_still():
    # With one column and no scaling chosen anew, a refit differs from the closed form by its map alone.
    X, y = load_iris(return_X_y=True)
    settings = {"shrinkage": 1.0, "scaling": "standard", "closeness": 0.5, "leverage": False}
    model = PrototypeClassifier(n_prototypes=50, **settings).fit(X, y)
    agree, close = 0, []
    for i in range(0, 150, 5):
        rest = np.delete(np.arange(150), i)
        other = PrototypeClassifier(n_prototypes=50, **settings).fit(X[rest], y[rest])
        agree += other.predict(X[[i]])[0] == model.predict(X[[i]])[0]
        close.append(abs(other.predict_proba(X[[i]]) - model.predict_proba(X[[i]])).max())
    assert agree >= 28
    assert np.median(close) < 0.05


def test_one_label_for_each_class_answers_and_admits_it():
    X, y = load_digits(return_X_y=True)
    first = [int(np.flatnonzero(y == c)[0]) for c in range(10)]
    model = PrototypeClassifier().fit(X[first], y[first])
    nearest = KNeighborsClassifier(1).fit(X[first], y[first])
    assert model.score(X, y) > nearest.score(X, y) - 0.02
    assert np.isnan(model.held_out_loss_)
    assert sorted(model.prototypes_) == list(range(10))


def test_holds_beside_strong_learners_and_keeps_few_prototypes():
    X, y = load_digits(return_X_y=True)
    # The digits stand in the order of their writers: mix them.
    learn, ask = np.split(np.random.default_rng(1).permutation(len(y)), [400])
    model = PrototypeClassifier().fit(X[learn], y[learn])
    logistic = LogisticRegression(max_iter=2000).fit(X[learn] / 16, y[learn])
    assert model.score(X[ask], y[ask]) >= logistic.score(X[ask] / 16, y[ask]) - 0.01
    assert len(model.prototypes_) < len(learn)
    sure = ~model.declines(X[ask])
    assert (model.predict(X[ask]) == y[ask])[sure].mean() > model.score(X[ask], y[ask])


def test_declines_classes_it_never_saw():
    X, y = load_digits(return_X_y=True)
    known = np.flatnonzero(y < 6)[:300]
    model = PrototypeClassifier().fit(X[known], y[known])
    seen = np.flatnonzero(y < 6)[300:]
    new = np.flatnonzero(y >= 6)
    assert model.declines(X[new]).mean() > 2 * model.declines(X[seen]).mean() + 0.1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        np.zeros_like,
        lambda X: np.repeat(X[:1], len(X), axis=0),
        lambda X: np.repeat(X[:6], 5, axis=0),
        lambda X: X * 1e30,
        lambda X: X * 1e-30,
        lambda X: X[:, :1],
        lambda X: np.asfortranarray(X.astype(np.float32)),
    ],
    ids=["zeros", "one point", "repeated", "huge", "tiny", "one column", "float32"],
)
def test_stands_degenerate_data(make, classes):
    X, y = blobs(30, 5, classes, seed=3)
    X = make(X)
    model = PrototypeClassifier().fit(X, y)
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    assert chances.sum(1) == pytest.approx(1)
    assert np.isfinite(model.decision_function(X)).all()
    for evidence in model.explain(X[:3]):
        assert evidence.shares.sum() == pytest.approx(evidence.score, abs=1e-12)


def test_rare_classes_keep_their_candidates_where_labels_are_many(monkeypatch):
    monkeypatch.setattr(module, "MOST_CANDIDATES", 60)
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(300, int), np.ones(300, int), np.full(10, 2)]
    X = rng.normal(size=(610, 4)) + 3 * np.eye(3, 4)[y]
    model = PrototypeClassifier(n_prototypes=20, random_state=0).fit(X, y)
    labels = y[model.prototypes_]
    assert np.bincount(labels).tolist() == [20, 20, 10]
    again = PrototypeClassifier(n_prototypes=20, random_state=0).fit(X, y)
    assert np.array_equal(model.prototypes_, again.prototypes_)
    assert model.score(X, y) > 0.8


def test_says_what_to_do_with_one_class():
    with pytest.raises(ValueError, match="label images of a second class"):
        PrototypeClassifier().fit([[0.0], [1.0]], ["cat", "cat"])


def test_rows_without_weight_are_not_there():
    X, y = blobs(40, 5, 3, seed=1)
    weights = np.ones(40)
    weights[30:] = 0
    a = PrototypeClassifier().fit(X, y, sample_weight=weights)
    b = PrototypeClassifier().fit(X[:30], y[:30])
    assert np.array_equal(a.prototypes_, b.prototypes_)
    assert a.predict_proba(X) == pytest.approx(b.predict_proba(X))


@given(st.integers(1, 40), st.integers(0, 999))
def test_herding_represents_the_whole_better_than_chance(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2))
    kept = max(1, n // 3)
    chosen = herd(K, kept)
    assert len(set(chosen)) == kept

    def gap(rows):
        return K.mean() - 2 * K[rows].mean() + K[np.ix_(rows, rows)].mean()

    chance = np.mean([gap(rng.choice(n, kept, replace=False)) for _ in range(30)])
    assert gap(chosen) <= chance + 1e-9
    assert sorted(herd(K, n)) == list(range(n))


@given(st.integers(0, 999))
def test_leveraging_never_raises_the_risk(seed):
    rng = np.random.default_rng(seed)
    edges, weights = rng.normal(size=(30, 8)), rng.uniform(0.1, 1, 30)
    start = rng.uniform(0.1, 1, 8)
    risks = [weights @ np.exp(-edges @ leverage(edges, weights, start, t)) for t in range(12)]
    # A Newton step is not a line search, but half steps of a convex risk bound it: allow rounding alone.
    assert risks[-1] <= risks[0] * (1 + 1e-12)
    assert (leverage(edges, weights, start, 50) >= 0).all()


def test_the_threshold_keeps_its_promise_on_what_it_was_fitted_to():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.4, 1, 2000)
    right = rng.uniform(size=2000) < confidence
    chances = np.column_stack([confidence, 1 - confidence])
    truth = np.where(right, chances.argmax(1), chances.argmin(1))
    rule = fit_decline_rule(chances, np.log(chances), truth, 0.1, enough=True)
    accepted = ~rule.declines(chances, np.log(chances))
    wrong = chances.argmax(1) != truth
    assert wrong[accepted].mean() <= 0.1
    assert accepted.mean() > 0.3
