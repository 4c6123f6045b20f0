import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from lookalike.evaluate import (
    ReportContents,
    ReportedPrototype,
    cross_validate,
    few_label_draws,
    folds,
    write_report,
)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=40), st.integers(2, 6))
def test_folds_ask_every_image_of_a_class_with_two_once(y, n):
    y = np.array(y)
    counts = np.bincount(y)
    if counts.max() < 2:
        with pytest.raises(ValueError, match="no class has two images"):
            folds(y, n)
        return
    asked = np.concatenate([ask for _, ask in folds(y, n)])
    assert sorted(asked) == np.flatnonzero(counts[y] > 1).tolist()
    for learn, ask in folds(y, n):
        assert not set(learn) & set(ask)
        assert set(y[learn]) == set(y), "every class is learnt from in every fold"


def test_draws_label_as_many_of_each_class_and_repeat_with_their_seed():
    y = np.repeat([0, 1, 2], [5, 9, 4])
    first = list(few_label_draws(y, 3, 4, random_state=1))
    again = list(few_label_draws(y, 3, 4, random_state=1))
    for (a, b), (c, d) in zip(first, again, strict=True):
        assert np.bincount(y[a]).tolist() == [3, 3, 3]
        assert sorted([*a, *b]) == list(range(len(y)))
        assert np.array_equal(a, c)
        assert np.array_equal(b, d)
    with pytest.raises(ValueError, match=r"has 4 images"):
        next(few_label_draws(y, 4, 1))
    with pytest.raises(ValueError, match="at least 1"):
        next(few_label_draws(y, 0, 1))


def test_cross_validation_equals_scikit_learns_on_the_same_folds():
    X, y = load_iris(return_X_y=True)
    judged = cross_validate(KNeighborsClassifier(3), X, y)
    right = np.zeros(len(y), bool)
    for learn, ask in folds(y):
        right[ask] = KNeighborsClassifier(3).fit(X[learn], y[learn]).predict(X[ask]) == y[ask]
    assert np.array_equal(judged.correct, right)
    assert judged.rows.tolist() == list(range(150))
    assert judged.confusion.sum() == 150
    assert judged.summary()["balanced_accuracy"] == pytest.approx(judged.per_class.mean())


def test_a_class_with_one_image_is_learnt_but_not_judged_and_said_so():
    X = np.arange(7.0)[:, None]
    y = np.array(["a", "a", "a", "b", "b", "b", "c"])
    judged = cross_validate(DummyClassifier(), X, y)
    assert judged.rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(judged.per_class[2])
    assert "c has one image only" in judged.notes[0]


def test_the_report_holds_everything_in_one_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["<setosa>", "versicolor & co", "virginica"])[y]
    judged = cross_validate(KNeighborsClassifier(3), X, names)
    contents = ReportContents(
        "Irises <1>",
        "150 flowers",
        [f"flower {i}" for i in range(150)],
        lambda row: b"\x89PNG" if row % 2 else None,
        [ReportedPrototype(3, "<setosa>", 1.0)],
        {"plain k-NN": 0.95},
        [("labels", "3")],
    )
    page = write_report(tmp_path / "deep" / "report.html", judged, contents).read_text()
    assert page.count("<svg") == 3
    assert "<setosa>" not in page, "names are escaped"
    assert "&lt;setosa&gt;" in page
    for outside in ("<script", 'src="http', 'href="http', "@import"):
        assert outside not in page
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["report.html"]
    again = write_report(tmp_path / "again.html", judged, contents).read_text()
    assert again == page, "the same judgement gives the same file"
