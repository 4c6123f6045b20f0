import os
from pathlib import Path

from lookalike import _numba_cache


def test_numba_gets_a_place_only_where_it_has_none(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "there"))
    _numba_cache.ensure_place("/proc/nowhere")
    assert "NUMBA_CACHE_DIR" not in os.environ, "the user's cache will do"
    monkeypatch.setattr(_numba_cache, "_can_write", lambda folder: False)
    _numba_cache.ensure_place()
    made = os.environ.pop("NUMBA_CACHE_DIR")
    assert Path(made).stat().st_mode & 0o077 == 0, "for this user alone"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    _numba_cache.ensure_place()
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path)
