import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lookalike.arrays import Bags
from lookalike.errors import LookalikeError
from lookalike.learn import PrototypeClassifier
from lookalike.learn._prototype_space import Space
from lookalike.recipes._state import pack, unpack

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


def there_and_back(value):
    arrays = {}
    data = pack(value, arrays)
    return unpack(data, load(save(arrays)))


@given(trees)
def test_plain_data_comes_back_as_it_was(tree):
    assert there_and_back(tree) == tree


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 4), np.float32),
        np.array([True, False]),
        np.array(3),
        np.array(["a", "bc"]),
        np.array([["x"], ["y"]], dtype=object),
    ],
    ids=str,
)
def test_arrays_come_back_with_shape_and_type(array):
    back = there_and_back({"here": array})["here"]
    assert back.shape == array.shape
    assert back.dtype == array.dtype or array.dtype.kind == "U"
    assert np.array_equal(back, array)


def test_other_forms_come_back():
    assert there_and_back(Space(0.5, 1.0, 2.0, 3.0)) == Space(0.5, 1.0, 2.0, 3.0)
    bags = Bags.from_list([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])
    assert there_and_back(bags[1:]) == bags[1:]
    assert np.isnan(there_and_back(float("nan")))
    assert there_and_back(np.float64(2.5)) == 2.5


@pytest.mark.parametrize(
    "estimator",
    [
        PrototypeClassifier(max_error=0.2),
        make_pipeline(PCA(2), PrototypeClassifier()),
        make_pipeline(PCA(2), LogisticRegression()),
    ],
    ids=["prototypes", "pca and prototypes", "pca and logistic"],
)
def test_fitted_estimators_answer_the_same(estimator):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    X = rng.normal(size=(60, 5)) + 2 * np.eye(3, 5)[np.arange(60) % 3]
    fitted = estimator.fit(X, y)
    back = there_and_back(fitted)
    assert np.array_equal(back.predict_proba(X), fitted.predict_proba(X))
    assert back.classes_.tolist() == ["a", "b", "c"]


class Stranger(BaseEstimator):
    pass


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Stranger(), "not a step"),
        (print, "not plain data"),
        (np.array([object()]), "array of object"),
        (LogisticRegression(class_weight=lambda: 0), "not plain data"),
    ],
)
def test_what_is_not_plain_is_refused(value, says):
    with pytest.raises(LookalikeError, match=says):
        pack(value, {})


@pytest.mark.parametrize(
    "data",
    [
        {"$": "estimator", "is": "Popen", "with": {}, "state": {}},
        {"$": "estimator", "is": "PCA", "with": {}, "state": {"fit": 1}},
        {"$": "estimator", "is": "PCA", "with": {}, "state": {"__class__": 1}},
        {"$": "estimator", "is": "PCA", "with": {}, "state": {"a b": 1}},
        {"$": "record", "of": "os:system", "fields": {}},
        {"$": "record", "of": "lookalike.recipes._state:pack", "fields": {}},
        {"$": "record", "of": "lookalike.recipes._state:BaseEstimator", "fields": {}},
        {"$": "record", "of": "lookalike.nothing:Here", "fields": {}},
        {"$": "array", "at": "missing"},
        {"$": "spell"},
        {"no": "mark"},
    ],
    ids=str,
)
def test_files_of_strangers_make_nothing_else(data):
    with pytest.raises((ValueError, KeyError, LookalikeError, ImportError)):
        unpack(data, {})
