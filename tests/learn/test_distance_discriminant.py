"""The estimators around distance-based discriminant analysis."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lookalike.errors import LookalikeWarning
from lookalike.learn import DistanceDiscriminant, NearestMarginClassifier


def xor(seed, n=30):
    rng = np.random.default_rng(seed)
    centres = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    return np.repeat(centres, n, axis=0) + 0.35 * rng.normal(size=(4 * n, 2)), np.repeat([0, 0, 1, 1], n)


def noisy_blobs(seed=0, n=90, m=20, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, m))
    X[:, 12:] *= 8
    X[np.arange(n), 1 + y] += 4
    return X, y


def test_components_reproduce_the_learned_distances():
    X, y = noisy_blobs()
    dda = DistanceDiscriminant(max_iter=30, threshold=0).fit(X, y)
    z = dda.transform(X)
    diff = X[3] - X[40]
    assert diff @ dda.metric_ @ diff == pytest.approx(((z[3] - z[40]) ** 2).sum(), rel=1e-9)
    assert (dda.singular_values_**2).sum() == pytest.approx(20, rel=1e-8)
    gram = dda.components_ @ dda.components_.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(gram)), dda.singular_values_[: len(gram)], atol=1e-9)


def test_dimension_is_what_the_spectrum_says_and_both_routes_agree():
    X, y = noisy_blobs()
    full = DistanceDiscriminant(floor=0.3, targets="all but widest", max_iter=400, tol=1e-9).fit(X, y)
    k = len(full.components_)
    assert k == int((full.singular_values_ > 0.01 * full.singular_values_[0]).sum()) < 20
    direct = DistanceDiscriminant(k, floor=0.3, targets="all but widest", max_iter=400, tol=1e-9).fit(X, y)
    # The thesis's two routes to a dimension: cut the whole solution, or seek that many columns.
    assert direct.criteria_[-1] == pytest.approx(full.criteria_[-1], abs=1e-3)


def test_it_undoes_a_misleading_scale():
    X, y = noisy_blobs(1)
    Xt, yt = noisy_blobs(2)
    plain = KNeighborsClassifier(1).fit(X, y).score(Xt, yt)
    learned = make_pipeline(DistanceDiscriminant(early_stopping=3, random_state=0), NearestMarginClassifier())
    assert learned.fit(X, y).score(Xt, yt) > plain + 0.2


def test_early_stopping_notes_every_step_and_keeps_the_best():
    X, y = noisy_blobs(3)
    dda = DistanceDiscriminant(early_stopping=3, max_iter=12, random_state=0).fit(X, y)
    errors = dda.held_out_errors_
    assert len(errors) == 13
    spread = np.sqrt(errors.min() * (1 - errors.min()) / len(X))
    assert errors[dda.n_iter_].min() <= errors.min() + 0.5 * spread + 1e-12
    assert len(dda.criteria_) == dda.n_iter_ + 1


def test_no_step_is_plain_nearest_neighbours():
    X, y = noisy_blobs(4)
    z = DistanceDiscriminant(max_iter=0, threshold=0).fit(X, y).transform(X)
    assert np.linalg.norm(z[0] - z[1]) == pytest.approx(np.linalg.norm(X[0] - X[1]))


def test_targets_and_labels():
    X, y = noisy_blobs(5)
    names = np.array(["oak", "elm", "ash"])[y]
    assert DistanceDiscriminant(targets="elm", max_iter=2).fit(X, names).targets_.tolist() == ["elm"]
    assert DistanceDiscriminant(targets=[0, 2], max_iter=2).fit(X, y).targets_.tolist() == [0, 2]
    X[y == 1] *= 5
    assert DistanceDiscriminant(targets="all but widest", max_iter=2).fit(X, y).targets_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="targets must be classes"):
        DistanceDiscriminant(targets="pine").fit(X, names)


def test_left_out_class_may_be_relabelled():
    X, y = noisy_blobs(6)
    a = DistanceDiscriminant(targets=[0], max_iter=5).fit(X, y)
    b = DistanceDiscriminant(targets=[0], max_iter=5).fit(X, np.where(y == 0, 0, 3 - y))
    assert a.criteria_ == pytest.approx(b.criteria_)


def test_landmarks_state_their_loss():
    X, y = noisy_blobs(7, n=300)
    dda = DistanceDiscriminant(max_points=150, max_iter=10, random_state=0).fit(X, y)
    assert len(dda.landmarks_) == 150
    assert np.bincount(y[dda.landmarks_]).tolist() == [50, 50, 50]
    assert dda.landmark_loss_ > 0  # unseen observations fit less well than those it was fitted to
    assert dda.landmark_loss_ < 3.0
    assert DistanceDiscriminant(max_iter=1).fit(X, y).landmarks_ is None


def test_one_observation_with_two_labels_is_told():
    X, y = noisy_blobs(8)
    X[1] = X[0]
    with pytest.warns(LookalikeWarning, match="1 observations occur under two labels"):
        DistanceDiscriminant(max_iter=3).fit(X, y)


def test_wrong_input_is_refused():
    X, y = noisy_blobs(9)
    with pytest.raises(ValueError, match="all observations are equal"):
        DistanceDiscriminant().fit(np.ones((4, 2)), [0, 0, 0, 1])
    with pytest.raises(ValueError, match="at least two classes"):
        DistanceDiscriminant().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="init must be a matrix with 20 rows"):
        DistanceDiscriminant(init=np.eye(3)).fit(X, y)
    with pytest.raises(ValueError, match="maps every difference"):
        DistanceDiscriminant(init=np.zeros((20, 2))).fit(X, y)
    with pytest.raises(ValueError, match="early_stopping needs at least two"):
        DistanceDiscriminant(early_stopping=3).fit(X, np.r_[y[:-1], 7])


def test_a_class_of_one_observation_has_no_within_part():
    X, y = noisy_blobs(10)
    y = np.r_[y[:-1], 7]
    dda = DistanceDiscriminant(max_iter=5).fit(X, y)
    assert np.isfinite(dda.criteria_).all()


def test_xor_is_separated_where_lda_fails():
    """T23."""
    ours, theirs = [], []
    for seed in range(6):
        X, y = xor(seed)
        Xt, yt = xor(100 + seed, 250)
        dda = DistanceDiscriminant(targets=[0], max_iter=30).fit(X, y)
        ours.append(1 - KNeighborsClassifier(1).fit(dda.transform(X), y).score(dda.transform(Xt), yt))
        lda = LinearDiscriminantAnalysis().fit(X, y)
        theirs.append(1 - KNeighborsClassifier(1).fit(lda.transform(X), y).score(lda.transform(Xt), yt))
    assert max(ours) < 0.08
    assert np.mean(theirs) > 4 * np.mean(ours)


# --- the nearest neighbour's margin ---


def test_margin_is_the_sign_of_the_nearest_neighbour():
    X, y = noisy_blobs(11, classes=2)
    Xt, _ = noisy_blobs(12, classes=2)
    model = NearestMarginClassifier().fit(X, y)
    plain = KNeighborsClassifier(1, algorithm="brute").fit(X, y)
    np.testing.assert_array_equal(model.predict(Xt), plain.predict(Xt))
    np.testing.assert_array_equal(model.decision_function(Xt) > 0, plain.predict(Xt) == 1)


def test_margins_of_several_classes_agree_with_the_prediction():
    X, y = noisy_blobs(13)
    Xt, _ = noisy_blobs(14)
    model = NearestMarginClassifier().fit(X, y)
    scores = model.decision_function(Xt)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(Xt))
    assert np.all((scores > 0).sum(axis=1) == 1)


def test_training_scores_leave_the_observation_out():
    model = NearestMarginClassifier().fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(model.training_scores(), [1 - 5, 1 - 4, 4 - 2, 6 - 2])


def test_the_literal_margin_is_the_distance_of_the_one_neighbour():
    model = NearestMarginClassifier(margin="literal").fit([[0.0], [4.0]], [0, 1])
    assert model.decision_function([[1.0], [3.5]]).tolist() == [-1.0, 0.5]
