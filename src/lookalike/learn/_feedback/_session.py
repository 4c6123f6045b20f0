"""``RelevanceFeedback``: a search in rounds over any vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.learn._feedback import _questions
from lookalike.learn._feedback._strategies import STRATEGIES, negative_distances

Array = NDArray[Any]

QUESTIONS = ("best", "uncertain", "diverse", "ranked", "committee")


class Found(NamedTuple):
    """One picture of a result: its number, its score (larger is nearer), and how it was marked."""

    picture: int
    score: float
    mark: bool | None


class RelevanceFeedback:
    """A search in rounds: mark some results as relevant or not, and the next results follow.

    It keeps its state as plain data, so the same object serves a terminal, a web page, or a program.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The collection; it is read, never copied.
    query : int, array or sequence of these, default=None
        What is searched for: the number of a picture in the collection, a vector, or several. Pictures of
        the collection count as relevant. None starts from marks alone.
    strategy : {"discriminant", "biasmap", "rocchio", "gaussian", "svm"}, default="discriminant"
        What the marks do: a distance-based discriminant or a biased one is learned from them; the query
        is moved (Rocchio); relevant ones become a Gaussian and irrelevant ones penalties; or a support
        vector machine separates them.
    random_state : int, default=0
        Of the unmarked pictures that stand in for irrelevant ones.

    Attributes
    ----------
    relevant, irrelevant : lists of int
        The marks so far, in their order.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.2 and chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import RelevanceFeedback
    >>> vectors = np.array([[0.0, 0], [1, 0], [0, 1], [1, 5], [0, 9.0]])
    >>> session = RelevanceFeedback(vectors, query=0, strategy="rocchio")
    >>> [found.picture for found in session.results(3)]
    [0, 1, 2]
    >>> session.mark(relevant=[2], irrelevant=[1])
    RelevanceFeedback(5 pictures, 2 relevant, 1 irrelevant, 'rocchio')
    >>> [found.picture for found in session.results(2)]
    [0, 2]
    """

    def __init__(
        self, vectors: ArrayLike, *, query: Any = None, strategy: str = "discriminant", random_state: int = 0
    ) -> None:
        self.vectors = np.asarray(vectors)
        if self.vectors.ndim != 2 or not len(self.vectors):
            raise ValueError(f"vectors must be a matrix with rows, but have shape {self.vectors.shape}.")
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, but is {strategy!r}.")
        self.strategy = strategy
        self.random_state = random_state
        self.relevant: list[int] = []
        self.irrelevant: list[int] = []
        self._given: list[Array] = []
        self._rounds: list[tuple[list[int], list[int]]] = []
        self._scores: Array | None = None
        self._ask_first(query)

    def _ask_first(self, query: Any) -> None:
        if query is None:
            return
        if isinstance(query, int | np.integer):
            query = [query]
        array = np.asarray(query)
        if array.ndim == 1 and array.dtype.kind in "iu":
            self.relevant = [self._number(i) for i in array]
            return
        rows = np.atleast_2d(array).astype(np.float64)
        if rows.shape[1] != self.vectors.shape[1] or not np.isfinite(rows).all():
            raise ValueError(
                f"a query must be finite vectors of {self.vectors.shape[1]} numbers, "
                f"but has shape {array.shape}."
            )
        self._given = list(rows)

    def _number(self, index: Any) -> int:
        number = int(index)
        if not 0 <= number < len(self.vectors):
            raise IndexError(f"there is no picture {number}: there are {len(self.vectors)}.")
        return number

    def mark(self, *, relevant: Iterable[int] = (), irrelevant: Iterable[int] = ()) -> Self:
        """Mark pictures; a new mark replaces an old one of the same picture."""
        good = [self._number(i) for i in relevant]
        bad = [self._number(i) for i in irrelevant]
        if set(good) & set(bad):
            raise ValueError(f"picture {min(set(good) & set(bad))} is marked as both.")
        self._rounds.append((list(self.relevant), list(self.irrelevant)))
        changed = {*good, *bad}
        self.relevant = [i for i in self.relevant if i not in changed] + list(dict.fromkeys(good))
        self.irrelevant = [i for i in self.irrelevant if i not in changed] + list(dict.fromkeys(bad))
        self._scores = None
        return self

    def undo(self) -> Self:
        """Take the last marks back."""
        if self._rounds:
            self.relevant, self.irrelevant = self._rounds.pop()
            self._scores = None
        return self

    def scores(self) -> Array:
        """One score for each picture of the collection; larger is more relevant."""
        if self._scores is None:
            self._scores = self._compute(self.strategy)
        return self._scores

    def _compute(self, strategy: str) -> Array:
        good = np.array(self.relevant, np.intp)
        bad = np.array(self.irrelevant, np.intp)
        start = [*self._given, *self.vectors[good].astype(np.float64)]
        if not start:
            if not len(bad):
                return np.zeros(len(self.vectors))
            # Only what is unwanted is known: be far from it.
            return -negative_distances(self.vectors, self.vectors[bad].astype(np.float64).mean(axis=0))
        # The query is what was asked first; marks that came later are the strategy's.
        query = np.mean(self._given, axis=0) if self._given else start[0]
        if len(start) == 1 and not len(bad):
            return negative_distances(self.vectors, query)
        rng = np.random.RandomState(self.random_state)
        marked = good if self._given else good[1:]
        return STRATEGIES[strategy](self.vectors, query, marked, bad, rng)

    def results(self, top: int = 20, *, marked: bool = True) -> list[Found]:
        """The best pictures, best first; ``marked=False`` leaves out those that have a mark.

        Pictures marked relevant come first, in their order, and those marked irrelevant never.
        """
        scores = self.scores().astype(np.float64, copy=True)
        scores[self.irrelevant] = -np.inf
        best = self.relevant if marked else []
        scores[self.relevant] = -np.inf
        order = np.argsort(-scores, kind="stable")
        rest = [int(i) for i in order[: max(0, top - len(best))] if np.isfinite(scores[i])]
        own = self.scores()
        marks = {**dict.fromkeys(self.relevant, True), **dict.fromkeys(self.irrelevant, False)}
        return [Found(i, float(own[i]), marks.get(i)) for i in [*best, *rest][:top]]

    def ask(self, n: int = 5, *, by: str = "best") -> list[int]:
        """Which pictures to show for the next marks.

        Parameters
        ----------
        n : int, default=5
            How many.
        by : {"best", "uncertain", "diverse", "ranked", "committee"}, default="best"
            The best unmarked results; those nearest to where relevance is undecided (between the scores
            of what is marked relevant and what is not); good results that differ from one another; those
            about a rank that moves on with each surplus of relevant marks; or those that the strategies
            disagree about.
        """
        marked = [*self.relevant, *self.irrelevant]
        if by == "committee":
            members = [self._compute(strategy) for strategy in STRATEGIES]
            return _questions.committee(n, members, len(self.relevant), marked)
        scores = self.scores().astype(np.float64, copy=False)
        if by == "best":
            return _questions.best(n, scores, marked)
        if by == "uncertain":
            return _questions.uncertain(n, scores, self.relevant, self.irrelevant)
        if by == "ranked":
            return _questions.ranked(n, scores, self.relevant, self.irrelevant)
        if by == "diverse":
            return _questions.diverse(n, scores, self.vectors, marked)
        raise ValueError(f"by must be one of {', '.join(QUESTIONS)}, but is {by!r}.")

    def to_dict(self) -> dict[str, Any]:
        """The session without its vectors, as plain data."""
        return {
            "strategy": self.strategy,
            "random_state": self.random_state,
            "relevant": list(self.relevant),
            "irrelevant": list(self.irrelevant),
            "given": [row.tolist() for row in self._given],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], vectors: ArrayLike) -> Self:
        """The session that ``to_dict`` wrote down, over the same vectors."""
        query = np.asarray(data["given"]) if data["given"] else None
        session = cls(vectors, query=query, strategy=data["strategy"], random_state=data["random_state"])
        session.relevant = [session._number(i) for i in data["relevant"]]
        session.irrelevant = [session._number(i) for i in data["irrelevant"]]
        return session

    def __repr__(self) -> str:
        return (
            f"RelevanceFeedback({len(self.vectors)} pictures, {len(self.relevant)} relevant, "
            f"{len(self.irrelevant)} irrelevant, {self.strategy!r})"
        )
