"""``lookalike search --feedback``: a search in rounds, in a terminal or from lines on standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.collection import Collection, Hit
    from lookalike.features import Feature

NEAREST = 5000  # pictures that a session looks at: those nearest to the examples; what bounds its memory

HELP = (
    "Numbers of right results, like '1 3-5'; a minus for wrong ones, like '-2 -7'. "
    "'u' takes the last round back; an empty line ends."
)


def parse_marks(line: str, shown: int) -> tuple[list[int], list[int]]:
    """Positions (from 0) that are right and wrong in a line like ``1 3-5 -2``; ValueError says what is not.

    Examples
    --------
    >>> parse_marks("1 3-5 -2", 20)
    ([0, 2, 3, 4], [1])
    """
    right: list[int] = []
    wrong: list[int] = []
    for word in line.replace(",", " ").split():
        target, text = (wrong, word[1:]) if word.startswith("-") else (right, word)
        first, dash, last = text.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{word!r} is not a number.")
        span = range(int(first), int(last or first) + 1)
        if not span or span[0] < 1 or span[-1] > shown:
            raise ValueError(f"{word!r} is not among the results 1 to {shown}.")
        target += [i - 1 for i in span]
    if set(right) & set(wrong):
        raise ValueError(f"{min(set(right) & set(wrong)) + 1} is marked as right and wrong.")
    return right, wrong


def refine(
    collection: Collection, wanted: Any, unwanted: Any, feature: Feature, k: int, leave_out: set[str]
) -> list[Hit]:
    """Ask for marks and show better results until the person is content; the last results."""
    import numpy as np

    from lookalike.cli._output import note, shown
    from lookalike.learn import RelevanceFeedback

    near = collection.search(
        wanted,
        not_=unwanted,
        k=min(NEAREST, len(collection)) + len(leave_out),
        feature=feature,
        include_examples=True,
    )
    near = [hit for hit in near if hit.uri not in leave_out][:NEAREST]
    if not near:
        return []
    _, rows = collection.vectors(feature, uris=[hit.uri for hit in near])
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    mean = np.mean(np.atleast_2d(wanted), axis=0)
    session = RelevanceFeedback(
        rows / np.where(length > 0, length, 1.0), query=mean / (np.linalg.norm(mean) or 1.0)
    )
    order = list(range(min(k, len(near))))  # before the first mark: the plain search
    note(HELP)
    while True:
        for place, i in enumerate(order, start=1):
            sign = {True: "+", False: "-", None: " "}[mark_of(session, i)]
            note(f"{place:4d} {sign} {shown(near[i].uri)}")
        marks = ask_marks(len(order))
        if marks is None:
            return [near[i] for i in order]
        if isinstance(marks, str):  # "u"
            session.undo()
        else:
            right, wrong = marks
            session.mark(relevant=[order[i] for i in right], irrelevant=[order[i] for i in wrong])
        marked = session.relevant or session.irrelevant
        order = [found.picture for found in session.results(k)] if marked else list(range(min(k, len(near))))


def ask_marks(shown: int) -> tuple[list[int], list[int]] | str | None:
    """The next line that can be understood: positions that are right and wrong, "u", or None at the end."""
    from lookalike.cli._output import note

    while True:
        print("marks> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline().strip()
        if line in ("", "u"):
            return line or None
        try:
            return parse_marks(line, shown)
        except ValueError as error:
            note(str(error))


def mark_of(session: Any, i: int) -> bool | None:
    """How a picture is marked in a session."""
    return True if i in session.relevant else False if i in session.irrelevant else None
