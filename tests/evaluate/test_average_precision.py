import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from lookalike.evaluate import class_average_precision


@pytest.mark.parametrize(
    ("method", "value"), [("eleven-point", 0.7694805195), ("area", 0.7678571429), ("mean", 0.7470238095)]
)
def test_golden_values(method, value):
    relevant = [1, 0, 1, 1, 0, 0, 1, 0]
    ours = class_average_precision(relevant, np.arange(8, 0, -1), method=method)
    assert ours == pytest.approx(value, abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_agrees_with_scikit_learn_and_stays_in_order(relevant):
    scores = np.arange(len(relevant), 0, -1)
    mean = class_average_precision(relevant, scores, method="mean")
    if not any(relevant):
        assert np.isnan(mean)
        return
    assert mean == pytest.approx(average_precision_score(relevant, scores))
    assert class_average_precision(relevant, scores) >= mean - 1e-12
    assert 0 < class_average_precision(relevant, scores, method="eleven-point") <= 1


def test_what_is_ignored_is_not_ranked():
    ours = class_average_precision([0, 1, 0, 1], [4, 3, 2, 1], ignore=[1, 0, 1, 0])
    assert ours == 1
    with pytest.raises(ValueError, match="equally long"):
        class_average_precision([0, 1], [1])
    with pytest.raises(ValueError, match="NaN"):
        class_average_precision([0, 1], [1, np.nan])
    with pytest.raises(ValueError, match="method"):
        class_average_precision([0, 1], [1, 2], method="other")
