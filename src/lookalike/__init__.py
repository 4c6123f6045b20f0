"""Lookalike: teach a computer the classes of your own pictures from a handful of labels.

The rooms, in the order data passes through them: ``images``, ``features``, ``bags``, ``similarity``,
``neighbors``, ``learn``, ``evaluate``, ``collection``, ``recipes``; and two doors, ``cli`` and ``server``.
The names below load their room only when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from lookalike._version import __version__

_HOME = {
    "Bags": "lookalike.bags",
    "LookalikeError": "lookalike.errors",
    "LookalikeWarning": "lookalike.errors",
}

__all__ = ["Bags", "LookalikeError", "LookalikeWarning", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
