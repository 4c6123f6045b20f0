"""scikit-learn's own checks, over every estimator of the house that takes flat arrays."""

import importlib
import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

ROOMS = ["bags", "similarity", "neighbors", "learn"]

# Estimators whose input is not one flat array say so with `_flat_input = False`;
# those that need arguments give them by a class method `_for_checks()`; checks that cannot hold stand,
# with the reason, in `_expected_failed_checks`.


def flat_estimators():
    seen = set()
    for room in ROOMS:
        module = importlib.import_module(f"lookalike.{room}")
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if not (inspect.isclass(thing) and issubclass(thing, BaseEstimator)) or thing in seen:
                continue
            seen.add(thing)
            if getattr(thing, "_flat_input", True):
                yield thing._for_checks() if hasattr(thing, "_for_checks") else thing()


ESTIMATORS = list(flat_estimators())

if ESTIMATORS:

    @parametrize_with_checks(
        ESTIMATORS,
        expected_failed_checks=lambda estimator: getattr(estimator, "_expected_failed_checks", {}),
    )
    def test_keeps_scikit_learns_contract(estimator, check):
        check(estimator)

else:

    @pytest.mark.skip(reason="no estimator yet")
    def test_keeps_scikit_learns_contract():
        pass
