import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lookalike.evaluate import accuracy_at_coverage, calibration_error, reliability, risk_coverage

answers = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        arrays(bool, n), arrays(float, n, elements=st.sampled_from([0.0, 0.2, 0.5, 0.77, 1.0]))
    )
)


@given(answers)
def test_calibration_error_equals_its_definition(pair):
    correct, sure = pair
    gap = 0.0
    for b in range(15):
        inside = np.minimum(np.floor(sure * 15), 14) == b
        if inside.any():
            gap += inside.mean() * abs(correct[inside].mean() - sure[inside].mean())
    assert calibration_error(correct, sure) == pytest.approx(gap)
    assert reliability(correct, sure).counts.sum() == len(correct)


@given(answers)
def test_risk_is_the_error_among_all_at_least_as_sure(pair):
    correct, sure = pair
    curve = risk_coverage(correct, sure)
    for value in np.unique(sure):
        kept = sure >= value
        assert curve.risk[kept.sum() - 1] == pytest.approx((~correct[kept]).mean())
    assert curve.risk[-1] == pytest.approx((~correct).mean())
    assert accuracy_at_coverage(correct, sure, 1.0) == pytest.approx(correct.mean())


def test_a_perfect_ranking_has_the_smallest_area():
    correct = np.array([True] * 6 + [False] * 4)
    sure = np.linspace(1, 0, 10)
    areas = [risk_coverage(correct, np.random.default_rng(s).permutation(sure)).area for s in range(20)]
    assert risk_coverage(correct, sure).area <= min(areas)


def test_nothing_to_judge_is_nan_and_bad_input_is_told():
    assert np.isnan(calibration_error([], []))
    assert np.isnan(risk_coverage([], []).area)
    with pytest.raises(ValueError, match="2 answers have 1 confidences"):
        reliability([True, False], [0.5])
    with pytest.raises(ValueError, match="finite"):
        risk_coverage([True], [np.nan])
