"""What earlier sessions, other people and parts of pictures say: small methods from the field of feedback.

References
----------
.. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


class Rule(NamedTuple):
    """Who marked ``given`` as relevant also marked ``then``: in how many sessions, and how surely."""

    given: int
    then: int
    support: int
    confidence: float


def association_rules(
    sessions: Iterable[Iterable[int]], *, min_support: int = 2, min_confidence: float = 0.0
) -> list[Rule]:
    """Pairs of pictures that are marked relevant together, from logged sessions ((1.2) of [1]_).

    The confidence is an estimate of the probability of the second, given the first. Best first.

    Parameters
    ----------
    sessions : iterable of iterables of int
        The pictures marked relevant in each session.
    min_support : int, default=2
        Sessions that must have both.
    min_confidence : float, default=0.0
        Least confidence.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.

    Examples
    --------
    >>> from lookalike.learn import association_rules
    >>> association_rules([[1, 2], [1, 2], [1, 3]])[0]
    Rule(given=2, then=1, support=2, confidence=1.0)
    """
    single: dict[int, int] = {}
    both: dict[tuple[int, int], int] = {}
    for session in sessions:
        marked = sorted({int(i) for i in session})
        for i in marked:
            single[i] = single.get(i, 0) + 1
        for pair in combinations(marked, 2):
            both[pair] = both.get(pair, 0) + 1
    rules = []
    for (i, j), count in both.items():
        if count >= min_support:
            rules += [Rule(a, b, count, count / single[a]) for a, b in ((i, j), (j, i))]
    kept = [rule for rule in rules if rule.confidence >= min_confidence]
    return sorted(kept, key=lambda r: (-r.confidence, -r.support, r.given, r.then))


def shared_feature_weights(sessions: Iterable[tuple[Iterable[int], Iterable[int]]], has: ArrayLike) -> Array:
    """How much each feature tells, from logged sessions: long-term weights ([1]_, after (1.2)).

    A feature counts that relevant pictures of one session share, and that they do not share with the
    irrelevant ones: ``p / (p + q)``, where ``p`` is its share of all pairs of relevant pictures and ``q``
    that of all pairs of a relevant and an irrelevant one. It is a half where nothing is known. As it
    weighs features rather than pictures, it also helps with pictures that nobody has marked.

    Parameters
    ----------
    sessions : iterable of (relevant, irrelevant)
        The pictures marked in each session.
    has : boolean array of shape (pictures, features)
        Which picture has which feature.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.

    Examples
    --------
    >>> from lookalike.learn import shared_feature_weights
    >>> has = [[True, True], [True, False], [False, True]]
    >>> shared_feature_weights([([0, 1], [2])], has).tolist()
    [1.0, 0.0]
    """
    table = np.asarray(has, bool)
    alike, unlike = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    pairs, crossed = 0.0, 0.0
    for relevant, irrelevant in sessions:
        good = table[np.unique(np.fromiter(relevant, np.intp))]
        bad = table[np.unique(np.fromiter(irrelevant, np.intp))]
        count = good.sum(axis=0)
        alike += count * (count - 1) / 2
        unlike += count * bad.sum(axis=0)
        pairs += len(good) * (len(good) - 1) / 2
        crossed += len(good) * len(bad)
    p, q = alike / max(pairs, 1.0), unlike / max(crossed, 1.0)
    return np.divide(p, p + q, out=np.full(len(p), 0.5), where=p + q > 0)


def collaborative_votes(votes: ArrayLike, user: int) -> Array:
    """Votes that a user has not given, from users who vote alike ((1.3)-(1.4) of [1]_).

    Users are weighed by Pearson's correlation over what both have rated; one whose votes there do not
    vary weighs nothing. Given votes are kept.

    Parameters
    ----------
    votes : array of shape (users, items)
        NaN where there is none.
    user : int
        Whose votes are wanted.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import collaborative_votes
    >>> votes = np.array([[1, 5, 3, np.nan], [2, 6, 4, 8.0]])
    >>> collaborative_votes(votes, 0).tolist()
    [1.0, 5.0, 3.0, 7.0]
    """
    table = np.asarray(votes, float)
    rated = ~np.isnan(table)
    if not rated[user].any():
        raise ValueError(f"user {user} has given no vote to compare with.")
    own_mean = table[user][rated[user]].mean()
    top, bottom = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    for other in range(len(table)):
        common = rated[user] & rated[other]
        if other == user or common.sum() < 2:
            continue
        a = table[user, common] - table[user, common].mean()
        b = table[other, common] - table[other, common].mean()
        size = np.sqrt((a @ a) * (b @ b))
        if size == 0:
            continue
        weight = float(a @ b / size)
        # The mean is that over the common items, so that a clone is copied up to its shift.
        mean = table[other, common].mean()
        top[rated[other]] += weight * (table[other, rated[other]] - mean)
        bottom[rated[other]] += abs(weight)
    found = own_mean + np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
    return np.where(rated[user], table[user], found)


def region_importance(similar: ArrayLike, positive: ArrayLike) -> Array:
    """How much each region of a query matters ((1.6) of [1]_): common among positives, rare elsewhere.

    Parameters
    ----------
    similar : boolean array of shape (regions, pictures)
        Which pictures have a region like it.
    positive : array of int
        Pictures marked relevant.

    Returns
    -------
    importance : array of shape (regions,)
        Sums to 1.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.

    Examples
    --------
    >>> from lookalike.learn import region_importance
    >>> region_importance([[True, True, False, False], [True, True, True, True]], [0, 1]).tolist()
    [1.0, 0.0]
    """
    has = np.asarray(similar, bool)
    frequency = has[:, np.asarray(positive, np.intp)].sum(axis=1)
    rarity = np.log(has.shape[1] / np.maximum(has.sum(axis=1), 1))
    weight = frequency * rarity
    total = weight.sum()
    return np.asarray(weight / total if total > 0 else np.full(len(weight), 1.0 / max(1, len(weight))))


class TargetSearch:
    """The posterior over which picture is the one that is looked for ("PicHunter", [1]_ and [2]_).

    In each round some pictures are shown and one is chosen; every picture of the collection becomes more
    likely to be the target the nearer it is to the chosen one, beside the others shown.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The collection.
    sharpness : float, default=1.0
        How surely the nearer picture is chosen; distances are in units of their median.

    Attributes
    ----------
    posterior : array of shape (n,)
        Sums to 1.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.
    .. [2] I. Cox et al., "The Bayesian image retrieval system, PicHunter", IEEE Trans. Image Processing 9,
       2000.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import TargetSearch
    >>> search = TargetSearch(np.array([[0.0], [1.0], [5.0], [6.0]]), sharpness=3)
    >>> search.choose(3, shown=[0, 3]).show(2)
    [3, 2]
    """

    def __init__(self, vectors: ArrayLike, *, sharpness: float = 1.0) -> None:
        self.vectors = np.asarray(vectors, float)
        sample = self.vectors[:: max(1, len(self.vectors) // 300)]
        gaps = np.sqrt(np.maximum(((sample[:, None] - sample[:1]) ** 2).sum(-1), 0))
        self.unit = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
        self.sharpness = sharpness
        self._log = np.zeros(len(self.vectors))

    @property
    def posterior(self) -> Array:
        """The probability of each picture to be the target."""
        p = np.exp(self._log - self._log.max())
        return np.asarray(p / p.sum())

    def choose(self, chosen: int, *, shown: Iterable[int]) -> TargetSearch:
        """One round: of the pictures shown, this one is nearest to the target."""
        rows = list(dict.fromkeys([*shown, chosen]))
        d = (
            np.stack([np.linalg.norm(self.vectors - self.vectors[i], axis=1) for i in rows], axis=1)
            / self.unit
        )
        score = -self.sharpness * d
        top = score.max(axis=1)
        whole = top + np.log(np.exp(score - top[:, None]).sum(axis=1))
        self._log += score[:, rows.index(chosen)] - whole
        return self

    def show(self, n: int = 5) -> list[int]:
        """The most probable pictures."""
        return [int(i) for i in np.argsort(-self._log, kind="stable")[:n]]


class RecursiveBelief:
    """Belief in each picture over rounds of positive and negative examples ((1.5) of [1]_, after [2]_).

    The log odds that a picture's source made the examples of this round rather than those that are not
    wanted, and the belief so far, in shares ``weight`` and ``1 - weight``: what was said long ago fades.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The collection; each picture stands for a long-tailed density about its vector, ``1 / (1 + d^2)``
        in units of the collection's spread. (With Gaussians of one width the odds would be linear, and the
        farthest picture on the right side the best.)
    weight : float, default=0.5
        Share of the newest round.

    Attributes
    ----------
    log_odds : array of shape (n,)
        The belief.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.
    .. [2] N. Vasconcelos, A. Lippman, "Bayesian relevance feedback for content-based image retrieval",
       IEEE Workshop on Content-Based Access of Image and Video Libraries, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.learn import RecursiveBelief
    >>> belief = RecursiveBelief(np.array([[0.0], [1.0], [5.0], [6.0]]))
    >>> belief.mark(relevant=[0], irrelevant=[3]).show(2)
    [0, 1]
    >>> belief.mark(relevant=[3]).mark(relevant=[3]).show(2)
    [3, 2]
    """

    def __init__(self, vectors: ArrayLike, *, weight: float = 0.5) -> None:
        if not 0.0 < weight <= 1.0:
            raise ValueError(f"weight must be above 0 and at most 1, but is {weight!r}.")
        self.vectors = np.asarray(vectors, float)
        self.weight = weight
        self.log_odds = np.zeros(len(self.vectors))
        self._spread = float(self.vectors.var(axis=0).sum()) or 1.0

    def _log_likelihood(self, examples: Iterable[int]) -> Array:
        """Mean log density of the examples given each picture, up to a constant."""
        found = np.zeros(len(self.vectors))
        rows = list(examples)
        for i in rows:
            found -= np.log1p(((self.vectors - self.vectors[i]) ** 2).sum(axis=1) / self._spread) / len(rows)
        return found

    def mark(self, *, relevant: Iterable[int] = (), irrelevant: Iterable[int] = ()) -> RecursiveBelief:
        """One round of examples of what is wanted and what is not."""
        news = self._log_likelihood(relevant) - self._log_likelihood(irrelevant)
        self.log_odds = self.weight * news + (1.0 - self.weight) * self.log_odds
        return self

    def show(self, n: int = 5) -> list[int]:
        """The pictures believed in most."""
        return [int(i) for i in np.argsort(-self.log_odds, kind="stable")[:n]]
