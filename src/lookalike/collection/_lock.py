"""One writer at a time, by a lock that the system takes back when its process ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from lookalike.errors import LookalikeError


def _try_lock(file: IO[Any]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(2**30)  # far behind what is written, so that others can read it
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Lock:
    """Hold a file for oneself, in a ``with`` statement.

    Parameters
    ----------
    path : Path
        The file of the lock; it stays when the lock is given back.
    what : str
        What is held, for the error: "the collection in …".
    wait : float
        Seconds to wait for another holder before the error.
    """

    def __init__(self, path: Path, what: str, *, wait: float = 0.0) -> None:
        self._path, self._what, self._wait = path, what, wait
        self._file: IO[Any] | None = None

    def __enter__(self) -> Lock:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise LookalikeError(f"{self._what} cannot be written: {self._path}: {reason}.") from None
        end = time.monotonic() + self._wait
        while not _try_lock(file):
            if time.monotonic() >= end:
                file.seek(0)
                holder = file.read(20).strip()
                file.close()
                who = f"process {holder}" if holder else "another process"
                raise LookalikeError(f"{self._what} is being written by {who}: wait until it has ended.")
            time.sleep(0.05)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()  # closing gives the lock back
            self._file = None
