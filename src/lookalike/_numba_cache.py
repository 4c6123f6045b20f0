"""A place for compiled code: numba refuses to import where it may write nowhere, as in a sealed container."""

from __future__ import annotations

import os


def ensure_place(package: str = os.path.dirname(__file__)) -> None:  # noqa: PTH120  pathlib costs start-up
    """Give numba a folder of this process alone where neither the package nor the user's cache is writable.

    Compiled code is then made anew in each run. A folder that others could write to would not be safe.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~")  # noqa: PTH111
    if "NUMBA_CACHE_DIR" in os.environ or _can_write(package) or _can_write(cache):
        return
    import atexit
    import contextlib
    import shutil
    import tempfile

    with contextlib.suppress(OSError):
        folder = tempfile.mkdtemp(prefix="lookalike-")
        os.environ["NUMBA_CACHE_DIR"] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _can_write(folder: str) -> bool:
    """Whether a folder, or the nearest one above it that is there, may be written to."""
    while not os.path.exists(folder) and os.path.dirname(folder) != folder:  # noqa: PTH110, PTH120
        folder = os.path.dirname(folder)  # noqa: PTH120
    return os.access(folder, os.W_OK)
