"""Where this user's cached files and settings are."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def _base(xdg: str, unix: str, mac: str, windows: str) -> Path:
    if os.environ.get(xdg):
        return Path(os.environ[xdg])
    if sys.platform == "darwin":
        return Path.home() / mac
    if sys.platform == "win32":
        return Path(os.environ.get(windows) or Path.home() / "AppData" / "Local")
    return Path.home() / unix


def cache_folder() -> Path:
    """The folder of files that can be made again (``LOOKALIKE_CACHE`` overrides it).

    Examples
    --------
    >>> import os
    >>> os.environ["LOOKALIKE_CACHE"] = "/tmp/elsewhere"
    >>> cache_folder().name
    'elsewhere'
    >>> del os.environ["LOOKALIKE_CACHE"]
    """
    if os.environ.get("LOOKALIKE_CACHE"):
        return Path(os.environ["LOOKALIKE_CACHE"])
    return _base("XDG_CACHE_HOME", ".cache", "Library/Caches", "LOCALAPPDATA") / "lookalike"


def config_folder() -> Path:
    """The folder of the user's settings (``LOOKALIKE_CONFIG`` overrides it).

    Examples
    --------
    >>> import os
    >>> os.environ["LOOKALIKE_CONFIG"] = "/tmp/mine"
    >>> config_folder().name
    'mine'
    >>> del os.environ["LOOKALIKE_CONFIG"]
    """
    if os.environ.get("LOOKALIKE_CONFIG"):
        return Path(os.environ["LOOKALIKE_CONFIG"])
    return _base("XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA") / "lookalike"
