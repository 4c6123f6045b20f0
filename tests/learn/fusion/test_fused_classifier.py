"""Features answer together, calibrated on images the space has not seen."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lookalike.learn import FusedClassifier, PrototypeClassifier


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X.reshape(-1, 8, 8)
    views = [X.sum(1), X.sum(2), X[:, ::2, ::2].reshape(len(X), -1), X[:, 1::2, 1::2].reshape(len(X), -1)]
    order = np.random.default_rng(0).permutation(len(y))
    return [v[order] for v in views], y[order]


@pytest.mark.parametrize("fusion", ["weights", "boosted"])
def test_together_they_beat_the_best_alone(digits, fusion):
    blocks, y = digits
    train, test = slice(0, 300), slice(300, None)
    alone = [PrototypeClassifier().fit(b[train], y[train]).score(b[test], y[test]) for b in blocks]
    model = FusedClassifier(fusion=fusion, random_state=0).fit([b[train] for b in blocks], y[train])
    assert model.score([b[test] for b in blocks], y[test]) > max(alone) + 0.02
    assert model.contributions_.sum() == pytest.approx(1)


@pytest.mark.parametrize("fusion", ["weights", "boosted"])
def test_probabilities_are_those_of_new_images(digits, fusion):
    blocks, y = digits
    train, test = slice(0, 200), slice(200, None)
    model = FusedClassifier(fusion=fusion, random_state=0).fit([b[train] for b in blocks], y[train])
    chances = model.predict_proba([b[test] for b in blocks])
    right = model.predict([b[test] for b in blocks]) == y[test]
    assert abs(chances.max(1).mean() - right.mean()) < 0.05
    if fusion == "weights":
        return
    naive = PrototypeClassifier().fit(model.fusion_.transform([b[train] for b in blocks]), y[train])
    seen = naive.predict_proba(model.fusion_.transform([b[test] for b in blocks]))
    assert abs(seen.max(1).mean() - right.mean()) > abs(chances.max(1).mean() - right.mean())


@pytest.mark.parametrize("fusion", ["weights", "boosted"])
def test_shares_add_up_to_the_score(digits, fusion):
    blocks, y = digits
    names = np.array(list("abcdefghij"))[y]
    flat = np.hstack(blocks)
    model = FusedClassifier(blocks=[("rows", "0:8"), ("rest", "8:48")], fusion=fusion, random_state=0)
    model.fit(flat[:120], names[:120])
    scores = model.decision_function(flat[200:210])
    declined = model.declines(flat[200:210])
    for i, evidence in enumerate(model.explain(flat[200:210])):
        assert evidence.label == model.predict(flat[200 + i : 201 + i])[0]
        assert evidence.shares.sum() == pytest.approx(evidence.score)
        assert evidence.score == pytest.approx(scores[i].max())
        assert evidence.declined == declined[i]
        assert set(evidence.prototypes) <= set(model.prototypes_)


@pytest.mark.parametrize("fusion", ["weights", "boosted"])
def test_one_image_in_a_class_is_enough(digits, fusion):
    blocks, y = digits
    few = np.concatenate([np.flatnonzero(y == c)[:1] for c in range(3)] + [np.flatnonzero(y == 3)[:4]])
    model = FusedClassifier(fusion=fusion).fit([b[few] for b in blocks], y[few])
    assert model.predict([b[few] for b in blocks]).shape == (7,)
    with pytest.raises(ValueError, match="2 classes"):
        FusedClassifier(fusion=fusion).fit([b[:5] for b in blocks], np.zeros(5))


def test_unlabelled_images_help_a_fusion_too(digits):
    blocks, y = digits
    few = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    rest = np.setdiff1d(np.arange(1000), few)
    test = slice(1000, None)
    labelled = [b[few] for b in blocks]
    alone = FusedClassifier(random_state=0).fit(labelled, y[few])
    among = FusedClassifier(random_state=0).fit(labelled, y[few], unlabelled=[b[rest] for b in blocks])
    asked = [b[test] for b in blocks]
    assert among.score(asked, y[test]) > alone.score(asked, y[test]) + 0.03
    assert among.n_unlabelled_ == len(rest)
    evidence = among.explain([b[:1] for b in asked])[0]
    assert evidence.label == among.predict([b[:1] for b in asked])[0]
    assert evidence.shares.sum() == pytest.approx(evidence.score)
    assert (evidence.behind[evidence.prototypes >= len(few), 0] >= 0).all()
    assert among.strangeness(asked).shape == (len(y[test]),)
