import pytest


@pytest.fixture(autouse=True, scope="session")
def no_files_of_the_user(tmp_path_factory):
    """Tests write neither to the user's cache nor to the user's settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOKALIKE_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("LOOKALIKE_CONFIG", str(tmp_path_factory.mktemp("config")))
        yield
