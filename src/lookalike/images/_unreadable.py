"""The one error of this room."""

from __future__ import annotations

import os

from lookalike.errors import LookalikeError


class Unreadable(LookalikeError):
    """A picture that cannot be read: a run sets it aside and goes on.

    Parameters
    ----------
    reason : str
        What is wrong, as the end of the sentence "the picture …".
    path : path or None, default=None
        The file, where there is one.

    Examples
    --------
    >>> str(Unreadable("is empty", "cat.jpg"))
    'cat.jpg cannot be read: the picture is empty.'
    """

    def __init__(self, reason: str, path: str | os.PathLike[str] | None = None) -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason, path)  # both, so that it survives pickling

    def __str__(self) -> str:
        where = "a picture" if self.path is None else printable(self.path)
        return f"{where} cannot be read: the picture {self.reason}."


def printable(path: str | os.PathLike[str]) -> str:
    """A path as text that any terminal and file can hold, whatever bytes its name has.

    Examples
    --------
    >>> printable("caf\\udce9.jpg")
    'caf\\\\xe9.jpg'
    """
    return os.fsencode(os.fspath(path)).decode("utf-8", "backslashreplace")
