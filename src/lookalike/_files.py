"""Writing files that others see whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lookalike.errors import LookalikeError


def write_whole(path: Path | str, content: bytes, *, make_folders: bool = True) -> Path:
    """Write a file beside its place and put it there at the end."""
    path = Path(path)
    if path.is_dir():
        raise LookalikeError(f"{path} is a folder: name a file.")
    if make_folders:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path
