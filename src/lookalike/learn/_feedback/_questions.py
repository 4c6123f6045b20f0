"""Which pictures to show for the next marks: each function picks numbers of unmarked pictures.

References
----------
.. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, section 1.1.
.. [2] S. Tong, E. Chang, "Support vector machine active learning for image retrieval", ACM Multimedia 2001.
.. [3] P. H. Gosselin, M. Cord, "RETIN AL: an active learning strategy for image category retrieval",
   ICIP 2004.
.. [4] H. S. Seung, M. Opper, H. Sompolinsky, "Query by committee", COLT 1992.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.learn._feedback._strategies import negative_distances

Array = NDArray[Any]

AHEAD = 2  # places that the rank asked about moves on for each surplus relevant mark


def likely_hits(n_relevant: int, n: int) -> int:
    """How many of ``n`` pictures a search in this state is likely to want."""
    return min(n, 2 * n_relevant + 10)


def best(n: int, scores: Array, marked: Sequence[int]) -> list[int]:
    """The best unmarked results."""
    order = np.argsort(-scores, kind="stable")
    return [int(i) for i in order[: n + len(marked)] if i not in set(marked)][:n]


def uncertain(n: int, scores: Array, relevant: Sequence[int], irrelevant: Sequence[int]) -> list[int]:
    """Those nearest to where relevance is undecided ([2]_ where the scores are a machine's)."""
    gap = np.abs(scores - boundary(scores, relevant, irrelevant))
    gap[[*relevant, *irrelevant]] = np.inf
    order = np.argsort(gap, kind="stable")
    return [int(i) for i in order[:n] if np.isfinite(gap[i])]


def boundary(scores: Array, relevant: Sequence[int], irrelevant: Sequence[int]) -> float:
    """Half way between the marks' scores, or the score of a likely last hit."""
    if relevant and irrelevant:
        return float(0.5 * (np.median(scores[list(relevant)]) + np.median(scores[list(irrelevant)])))
    rank = min(len(scores) - 1, likely_hits(len(relevant), len(scores)))
    return float(np.sort(scores)[::-1][rank])


def ranked(n: int, scores: Array, relevant: Sequence[int], irrelevant: Sequence[int]) -> list[int]:
    """Those about a rank that moves on while more answers are relevant than not, and back otherwise.

    A boundary learned from few marks is unstable; the order of the results is less so ([3]_).
    """
    marked = {*relevant, *irrelevant}
    free = [int(i) for i in np.argsort(-scores, kind="stable") if i not in marked]
    centre = AHEAD * max(0, len(relevant) - len(irrelevant))
    start = min(max(0, centre - n // 2), max(0, len(free) - n))
    return free[start : start + n]


def committee(n: int, members: Sequence[Array], n_relevant: int, marked: Sequence[int]) -> list[int]:
    """Those that the members disagree about most ([4]_): as many think them hits as do not.

    A member votes for its likely hits; among equal votes the better mean rank comes first.
    """
    ranks = np.array([np.argsort(np.argsort(-scores, kind="stable")) for scores in members])
    votes = (ranks < likely_hits(n_relevant, ranks.shape[1])).mean(axis=0)
    order = np.lexsort((ranks.mean(axis=0), -votes * (1.0 - votes)))
    return [int(i) for i in order[: n + len(marked)] if i not in set(marked)][:n]


def diverse(n: int, scores: Array, vectors: Array, marked: Sequence[int]) -> list[int]:
    """Of the best few, each next one as far as can be from the marked and the chosen."""
    scores = scores.copy()
    scores[list(marked)] = -np.inf
    pool = np.argsort(-scores, kind="stable")[: 10 * n]
    pool = pool[np.isfinite(scores[pool])]
    if not len(pool):
        return []
    x = vectors[pool].astype(np.float64)
    chosen = [0]
    near = -negative_distances(x, x[0])
    for i in marked:
        near = np.minimum(near, -negative_distances(x, vectors[i].astype(np.float64)))
    near[0] = -np.inf
    while len(chosen) < min(n, len(pool)):
        j = int(near.argmax())
        chosen.append(j)
        near = np.minimum(near, -negative_distances(x, x[j]))
        near[chosen] = -np.inf
    return [int(pool[j]) for j in chosen]
