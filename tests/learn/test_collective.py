"""Learning from labelled images among all images of a collection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from lookalike.learn import PrototypeClassifier, suggest_labels, suspect_labels
from lookalike.learn._collective._graph import shares, similarity_graph, spread
from lookalike.learn._collective._rows import CollectionSpace, _leading
from lookalike.learn._collective._soft_labels import RIDGE, Ridge, soft_labels
from lookalike.learn._collective._surroundings import Surroundings
from lookalike.learn._collective._together import learn_together


def clusters(n, classes, d=20, seed=0, spread=0.4):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return (rng.normal(size=(classes, d))[y] + spread * rng.normal(size=(n, d))).astype(np.float32), y


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def first_of_each(y, n=1):
    return np.concatenate([np.flatnonzero(y == c)[:n] for c in np.unique(y)])


def test_the_graph_is_that_of_a_literal_transcription():
    points = unit(clusters(30, 3)[0].astype(np.float64))
    cosines = points @ points.T
    np.fill_diagonal(cosines, -np.inf)
    weights = np.zeros((30, 30))
    for i, row in enumerate(cosines):
        for j in np.argsort(-row)[:4]:
            weights[i, j] = max(row[j], 0.0) ** 3
    weights += weights.T
    roots = np.sqrt(weights.sum(1))
    np.testing.assert_allclose(
        similarity_graph(points, 4).toarray(), weights / np.outer(roots, roots), atol=1e-6
    )


def test_spreading_comes_to_the_solution_of_the_linear_system():
    points = unit(clusters(40, 4)[0].astype(np.float64))
    graph = similarity_graph(points, 5)
    start = np.random.default_rng(1).random((40, 3)).astype(np.float32)
    exact = np.linalg.solve(np.eye(40) - 0.7 * graph.toarray(), start)
    np.testing.assert_allclose(spread(graph, start, 0.7, 60), exact, rtol=1e-4)


def test_who_hears_nothing_is_undecided():
    np.testing.assert_allclose(shares(np.array([[0.0, 0.0], [1.0, 3.0]])), [[0.5, 0.5], [0.25, 0.75]])


def test_axes_are_the_same_whether_rows_or_columns_are_more():
    rng = np.random.default_rng(0)
    wide = (rng.normal(size=(40, 90)) * np.linspace(3, 0.2, 90)).astype(np.float32)
    few, many = CollectionSpace.fit(wide, "none"), CollectionSpace.fit(np.tile(wide, (3, 1)), "none")
    a, b = few.points(wide), many.points(wide)
    assert a.shape == b.shape
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-4)
    np.testing.assert_allclose(few.spread[:20], many.spread[:20], rtol=1e-3)


def test_learning_among_known_surroundings_is_fitting_with_all_others_unlabelled():
    X, y = load_digits(return_X_y=True)
    rows, labelled = X[:300], np.arange(0, 300, 6)
    rest = np.setdiff1d(np.arange(300), labelled)
    weights = np.where(np.arange(len(labelled)) == 3, 0.0, 1.0)
    surroundings = Surroundings.of(rows)
    for say in (None, weights):
        plain = PrototypeClassifier().fit(rows[labelled], y[labelled], say, unlabelled=rows[rest])
        quick = PrototypeClassifier().fit_among(surroundings, labelled, y[labelled], say)
        np.testing.assert_array_equal(quick.prototypes_, plain.prototypes_)
        np.testing.assert_allclose(quick.predict_proba(rows), plain.predict_proba(rows), atol=2e-3)
    everything = PrototypeClassifier().fit_among(surroundings, np.arange(300), y[:300])
    assert everything.n_unlabelled_ == 0
    np.testing.assert_allclose(
        everything.predict_proba(rows), PrototypeClassifier().fit(rows, y[:300]).predict_proba(rows)
    )


def test_the_ridge_is_that_of_the_normal_equations():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(50, 6)), rng.random((50, 3))
    labelled, extra = np.array([3, 7, 11]), np.array([9.0, 4.0, 0.5])
    ridge = Ridge(points, points.T @ points, labelled, extra)
    components, scores = ridge.fit(labels)
    w = np.ones(50)
    w[labelled] += extra
    centred = points - (w @ points) / w.sum()
    moments = centred.T @ (w[:, None] * centred)
    moments += RIDGE * np.trace(moments) / 6 * np.eye(6)
    wanted = np.linalg.solve(moments, centred.T @ (w[:, None] * (labels - (w @ labels) / w.sum())))
    np.testing.assert_allclose(components, wanted, rtol=1e-8)
    np.testing.assert_allclose(scores, centred @ wanted, atol=1e-8)


def test_leading_axes_span_those_of_the_whole_decomposition():
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(120, 120)))
    power = np.concatenate([np.linspace(10, 5, 20), np.full(100, 0.01)])
    moments = (basis * power) @ basis.T
    found, axes = _leading(moments, 20)
    assert np.degrees(subspace_angles(axes, basis[:, :20]).max()) < 0.1
    np.testing.assert_allclose(found, power[:20], rtol=1e-6)


def test_labelled_points_keep_their_labels_and_all_shares_add_up_to_one():
    X, y = clusters(60, 3)
    together = learn_together(Surroundings.of(X), y[:6], np.ones(6))
    np.testing.assert_allclose(together.found.labels.sum(1), 1.0, rtol=1e-5)
    assert (together.found.labels[:6].argmax(1) == y[:6]).all()
    assert together.held_out is None, "two labels a class are too few to hold any out"
    more = learn_together(Surroundings.of(X), y[:12], np.ones(12))
    assert more.held_out.shape == (12, 3)
    assert (more.held_out.argmax(1) == y[:12]).mean() > 0.8


def test_the_scores_of_the_map_are_those_that_were_learnt():
    X, y = clusters(60, 3)
    together = learn_together(Surroundings.of(X), y[:6], np.ones(6))
    scores = together.map.scores(together.map.scale(X))
    np.testing.assert_allclose(scores, together.found.scores, atol=2e-4)


def test_unlabelled_images_tell_what_few_labels_cannot():
    X, y = load_digits(return_X_y=True)
    few = first_of_each(y[:600])
    rest = np.setdiff1d(np.arange(len(y)), few)
    alone = PrototypeClassifier().fit(X[few], y[few]).score(X[rest], y[rest])
    together = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[rest])
    assert together.score(X[rest], y[rest]) > alone + 0.1
    # New images, which the collection did not have, gain nearly as much.
    half = rest[::2]
    new = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[half])
    assert new.score(X[rest[1::2]], y[rest[1::2]]) > alone + 0.05


@given(st.integers(2, 4), st.integers(1, 4), st.integers(1, 60), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_shares_add_up_and_unlabelled_prototypes_show_who_is_behind_them(classes, per_class, others, seed):
    X, y = clusters(classes * per_class + others, classes, seed=seed)
    few = first_of_each(y, per_class)
    if len(np.unique(y[few])) < 2:
        return
    rest = np.setdiff1d(np.arange(len(y)), few)
    model = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[rest])
    scores = model._class_scores(X)
    for i, evidence in enumerate(model.explain(X)):
        assert evidence.shares.sum() == pytest.approx(evidence.score, abs=1e-9)
        assert evidence.score == pytest.approx(scores[i].max(), abs=1e-9)
        for row, behind in zip(evidence.prototypes, evidence.behind if evidence.behind is not None else []):
            named = behind[behind >= 0]
            assert (row >= len(few)) == (len(named) > 0)
            assert len(set(y[few][named])) <= 1, "of one class"
    assert model.prototypes_.max() < len(X)


@pytest.mark.parametrize(
    "make",
    [
        np.zeros_like,
        lambda X: np.repeat(X[:1], len(X), axis=0),
        lambda X: np.repeat(X[:4], 10, axis=0),
        lambda X: X * 1e25,
        lambda X: X * 1e-25,
        lambda X: X[:, :1],
        lambda X: X.astype(np.float64),
    ],
    ids=["zeros", "one point", "repeated", "huge", "tiny", "one column", "double"],
)
def test_odd_collections_give_finite_answers(make):
    X, y = clusters(40, 2)
    X = make(X)
    model = PrototypeClassifier().fit(X[:8], y[:8], unlabelled=X[8:])
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.strangeness(X)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0)


def test_one_unlabelled_image_and_none_are_fine():
    X, y = clusters(9, 2)
    assert PrototypeClassifier().fit(X[:8], y[:8], unlabelled=X[8:]).n_unlabelled_ == 1
    assert PrototypeClassifier().fit(X[:8], y[:8], unlabelled=X[8:8]).n_unlabelled_ == 0


def test_vectors_of_another_feature_are_refused():
    X, y = clusters(9, 2)
    with pytest.raises(ValueError, match="unlabelled has 5 features, but X has 20"):
        PrototypeClassifier().fit(X[:8], y[:8], unlabelled=X[8:, :5])


def test_the_order_of_the_collection_does_not_matter():
    X, y = clusters(80, 4)
    few = first_of_each(y, 2)
    rest = np.setdiff1d(np.arange(80), few)
    one = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[rest]).predict_proba(X[rest])
    other = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[rest[::-1]]).predict_proba(X[rest])
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("inside", [True, False])
def test_classes_that_nobody_labelled_are_strange(inside):
    X, y = clusters(300, 6, d=40)
    few = first_of_each(y, 5)
    few = few[y[few] < 4]
    rest = np.setdiff1d(np.arange(300), few)
    collection = rest if inside else rest[y[rest] < 4]
    model = PrototypeClassifier().fit(X[few], y[few], unlabelled=X[collection])
    strange, unseen = model.strangeness(X[rest]), y[rest] >= 4
    assert np.median(strange[unseen]) > np.quantile(strange[~unseen], 0.9)
    assert model.declines(X[rest])[unseen].mean() > 0.5
    assert model.declines(X[rest])[~unseen].mean() < 0.2


def test_suggestions_find_every_kind_before_any_label_and_go_on_where_labels_are_missing():
    X, y = clusters(120, 6, spread=0.2)
    found = suggest_labels(X, [], [], n=6)
    assert sorted(y[found.rows]) == list(range(6))
    np.testing.assert_allclose(found.stands_for, 1 / 6, atol=0.03)
    known = np.flatnonzero(y < 3)[:9]
    more = suggest_labels(X, known, y[known], n=3)
    assert set(y[more.rows]) == {3, 4, 5}
    assert not set(more.rows) & set(known)
    assert len(suggest_labels(X[:4], [0], [y[0]], n=10).rows) == 3, "no more than there are"


def test_a_wrong_label_is_suspected_first():
    X, y = clusters(120, 4, spread=0.3)
    known = np.arange(0, 120, 2)
    said = y[known].copy()
    said[10] = (said[10] + 2) % 4
    suspect = suspect_labels(X, known, said)[0]
    assert (suspect.row, suspect.given, suspect.likely) == (known[10], said[10], y[known[10]])
    assert suspect.probability > suspect.probability_given
    assert suspect_labels(X, known[:4], said[:4]) == [], "too few to hold any out"


def test_a_collection_of_one_kind_of_image_has_a_space():
    space = CollectionSpace.fit(np.ones((5, 70), np.float32))
    assert np.isfinite(space.points(np.ones((2, 70), np.float32))).all()
    graph = csr_array((3, 3), dtype=np.float32)
    found = soft_labels(np.eye(3, dtype=np.float32), graph, np.array([0, 1]), np.array([0, 1]), np.ones(2), 2)
    np.testing.assert_allclose(found.labels[2], [0.5, 0.5], atol=0.2)
