"""Fixtures that several rooms share."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # tests that load onnxruntime themselves report nothing either

DATA = Path(os.environ.get("LOOKALIKE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data():
    """The folder of measuring data; a test that needs it skips where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"needs the measuring data in {DATA} (or set LOOKALIKE_DATA)")
    return DATA
