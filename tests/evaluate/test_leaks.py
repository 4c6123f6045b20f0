"""Is the label among the attributes? One published figure of 0 % is best explained so."""

import numpy as np
import pytest

from lookalike.evaluate import columns_like_labels


def test_the_label_among_the_attributes_is_found():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 5))
    assert columns_like_labels(X, y) == []
    for column in (y, -y, 10.0 * y + rng.uniform(size=60), (y + 1) % 3):
        assert columns_like_labels(np.column_stack([X[:, :2], column, X[:, 2:]]), y) == [2]
    names = np.array(["a", "b", "c"])[y]
    assert columns_like_labels(np.column_stack([y, X]), names) == [0]


def test_a_single_exception_or_a_shared_value_is_no_label():
    y = np.array([0, 0, 0, 1, 1, 1])
    assert columns_like_labels([[0], [1], [2], [2], [3], [4]], y) == []
    assert columns_like_labels([[0], [1], [9], [5], [6], [7]], y) == []
    assert columns_like_labels(np.zeros((6, 2)), y) == []
    assert columns_like_labels(np.arange(6)[:, None], np.zeros(6)) == []
    with pytest.raises(ValueError, match="3 rows"):
        columns_like_labels(np.zeros((3, 1)), y)
