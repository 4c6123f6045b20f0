"""How far a long piece of work is: a callback that anyone may give, and the step it receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One report of progress: ``done`` of ``total`` (None where nobody knows) in a named ``stage``.

    Examples
    --------
    >>> Step("index", 3, 10).fraction
    0.3
    """

    stage: str
    done: int
    total: int | None = None
    note: str = ""

    @property
    def fraction(self) -> float | None:
        """The share that is done, or None where the total is not known."""
        return None if not self.total else self.done / self.total


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Report nothing: the default everywhere below the command line."""
