"""Leveraged neighbours as functions of arrays: edges in, prototypes and coefficients out.

References
----------
.. [1] P. Piro, "Learning prototype-based classification rules in a boosting framework: application to
   real-world and medical image categorization", PhD thesis, Université de Nice, 2010.
.. [2] P. Piro, R. Nock, F. Nielsen, M. Barlaud, "Multi-class leveraged k-NN for image classification",
   ACCV 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from lookalike.learn import _leverage_general as general
from lookalike.learn import _leverage_kernels as kernels

LOSSES = {"exponential": 0, "logistic": 1, "squared": 2, "matsushita": 3}
CHOOSERS = ("once", "boosting", "decrease", "lazy", "random", "by-class")
SMOOTHINGS = {"needed": 0, "always": 1, "normalised": 2}


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The edge matrix r of weak classifiers, its non-zeros only ([1]_ (4.13), (5.19)).

    Parameters
    ----------
    indices : integer array of shape (m, k)
        Row i: the neighbours of point i; a negative number, at the end of a row, is none.
    codes : integer array of shape (m,)
        Labels. r is positive where the codes of point and neighbour agree, else negative.
    up, down : arrays of shape (m,)
        |r| of prototype j, for a kernel of 1: where the codes agree, and where they do not.
    values : array of shape (m, k), optional
        The edges themselves, where a kernel weighs them or the codes do not decide them.
    """

    indices: NDArray[np.int32]
    codes: NDArray[np.int64]
    up: NDArray[np.float64]
    down: NDArray[np.float64]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """What happened in each round of boosting.

    Parameters
    ----------
    chosen : integer array of shape (T,)
        The prototype of each round.
    steps : array of shape (T,)
        What was added to its coefficient.
    losses : array of shape (T,)
        Its reject loss at that moment: the smaller of w⁺ and w⁻ over their sum ([1]_ §4.2.5.1).
    risks : array of shape (T + 1,)
        The surrogate risk before the first round and after each.
    state : array of shape (m,)
        At the end: the weights of the points (closed form) or their edges (otherwise).
    """

    chosen: NDArray[np.int64]
    steps: NDArray[np.float64]
    losses: NDArray[np.float64]
    risks: NDArray[np.float64]
    state: NDArray[np.float64]

    def coefficients(self, rounds: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The distinct prototypes in the order of their first choice, and their coefficients so far."""
        chosen, steps = self.chosen[:rounds], self.steps[:rounds]
        distinct, first, inverse = np.unique(chosen, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        sums = np.bincount(inverse, weights=steps, minlength=len(distinct)).astype(np.float64)
        return distinct[order], sums[order]


def symmetric_magnitudes(n_classes: int) -> tuple[float, float]:
    """The label factor of the multi-class edge for the same class, and minus that for another.

    With class vectors of 1 and −1/(C−1) the mean product of two of them is 1/(C−1) or −1/(C−1)²
    ([1]_ (5.19)).

    Examples
    --------
    >>> symmetric_magnitudes(3)
    (0.5, 0.25)
    """
    return 1.0 / (n_classes - 1), 1.0 / (n_classes - 1) ** 2


def class_vectors(Y: ArrayLike) -> NDArray[np.float64]:
    """Class vectors of label sets: 1 on the p labels an example has, −p/(C−p) elsewhere.

    Each sums to zero; for p = 1 it is the single-label coding ([2]_ §7). An example with no label, or
    with all, says nothing: zeros.

    Parameters
    ----------
    Y : array of shape (m, C)
        Indicators.

    Examples
    --------
    >>> class_vectors([[0, 1, 0], [1, 1, 0]]).tolist()
    [[-0.5, 1.0, -0.5], [1.0, 1.0, -2.0]]
    """
    has = np.asarray(Y).astype(bool)
    p = has.sum(axis=1, keepdims=True)
    n = has.shape[1]
    mixed = (p > 0) & (p < n)
    others = -p / np.where(mixed, n - p, 1)
    return np.where(mixed, np.where(has, 1.0, others), 0.0)


def multiclass_edges(
    indices: NDArray[np.int32],
    codes: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64] | None = None,
) -> Edges:
    """The edges of one problem for all classes: kernel × label factor ([1]_ (5.19), (5.21))."""
    same, other = symmetric_magnitudes(n_classes)
    m = len(codes)
    return _edges(indices, codes, np.full(m, same), np.full(m, other), weights)


def binary_edges(
    indices: NDArray[np.int32],
    member: NDArray[np.bool_],
    n_classes: int = 2,
    weights: NDArray[np.float64] | None = None,
    *,
    labels: str = "pm1",
) -> Edges:
    """The edges of "one class against the rest" ([1]_ (4.13)).

    ``labels="pm1"`` takes y = ±1; ``"symmetric"`` takes 1 and −1/(C−1), whose columns have two values
    that depend on the side of the prototype.
    """
    m = len(member)
    up, down = np.ones(m), np.ones(m)
    if labels == "symmetric":
        part = 1.0 / (n_classes - 1)
        up = np.where(member, 1.0, part**2)
        down = np.full(m, part)
    return _edges(indices, member.astype(np.int64), up, down, weights)


def _edges(
    indices: NDArray[np.int32],
    codes: NDArray[np.int64],
    up: NDArray[np.float64],
    down: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> Edges:
    values = None
    if weights is not None:
        near = np.maximum(indices, 0)
        values = np.where(codes[:, None] == codes[near], up[near], -down[near]) * weights
        values[indices < 0] = 0.0
    return Edges(np.ascontiguousarray(indices), codes, up, down, values)


def multilabel_edges(
    indices: NDArray[np.int32], vectors: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Edges:
    """The edges of label sets: the mean product of class vectors, times the kernel ([2]_ §7)."""
    m, n_classes = vectors.shape
    near = np.maximum(indices, 0)
    values = np.einsum("ic,ikc->ik", vectors, vectors[near]) / n_classes
    values[indices < 0] = 0.0
    if weights is not None:
        values *= weights
    same, other = symmetric_magnitudes(n_classes)
    return Edges(
        np.ascontiguousarray(indices), np.zeros(m, np.int64), np.full(m, same), np.full(m, other), values
    )


def boost(
    edges: Edges,
    *,
    loss: str = "exponential",
    chooser: str = "once",
    n_prototypes: int | None = None,
    n_rounds: int | None = None,
    smoothing: str = "normalised",
    epsilon: float = 1.0,
    learning_rate: float = 1.0,
    sample_weight: NDArray[np.float64] | None = None,
    key_scale: NDArray[np.float64] | None = None,
    random_state: Any = None,
) -> Rounds:
    """Choose prototypes and their coefficients, round by round ([1]_ Alg. 3, 4, 5, 6).

    Each round takes one column j, adds to its coefficient the δ that minimises the surrogate risk along
    it, and reweighs the points that have j as a neighbour.

    Parameters
    ----------
    edges : Edges
    loss : {"exponential", "logistic", "squared", "matsushita"}
        ψ. For the exponential loss without a kernel δ has a closed form; otherwise it is the root of
        ``log S₊(δ) = log S₋(δ)`` by safeguarded Newton steps.
    chooser : {"once", "boosting", "decrease", "lazy", "random", "by-class"}
        The largest δ, each column once; the same with repeats ([1]_ (5.24)); the largest decrease of the
        risk; or all in the order of the points, at random, class by class. The first three stop when no
        δ is positive; ties go to the lowest index.
    n_prototypes : int, optional
        Stop at so many distinct prototypes.
    n_rounds : int, optional
        Stop at so many rounds; as many as points by default.
    smoothing : {"needed", "always", "normalised"}
        Two pseudo-examples, one on each side of a column, keep δ finite: only in columns of one sign,
        in all, or in all and as heavy as the mean example is at the time ([1]_ (4.15), (B.10)).
    epsilon : float, default=1
        Their weight, as a multiple of one example's at the start. [1]_ has 1 for MLNN; for UNN 1/m.
    learning_rate : float, default=1
        What part of each δ is taken.
    sample_weight : array of shape (m,), optional
        Scaled to a mean of 1.
    key_scale : array of shape (m,), optional
        The largest ``δ_j · key_scale_j`` is chosen, instead of the largest δ.
    random_state : int, RandomState or None
        For the random orders.

    Returns
    -------
    Rounds
    """
    m = len(edges.codes)
    rounds = m if n_rounds is None else n_rounds
    wanted = m + 1 if n_prototypes is None else n_prototypes
    weights = np.ones(m) if sample_weight is None else sample_weight * (m / sample_weight.sum())
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    scale = np.ones(m) if key_scale is None else key_scale
    order = visiting_order(chooser, edges.codes, random_state)
    code = {"lazy": 2, "random": 2, "by-class": 2, "decrease": 1}.get(chooser, 0)
    rule = kernels.Rule(
        loss=LOSSES[loss],
        chooser=code,
        repeats=chooser == "boosting",
        n_rounds=rounds,
        n_wanted=wanted,
        smoothing=SMOOTHINGS[smoothing],
        epsilon=float(epsilon),
        rate=float(learning_rate),
    )
    if edges.values is None and loss == "exponential":
        # A weight of zero would make ratios of nothing; this one is as good as none.
        weights = np.maximum(weights, kernels.FAINT)
        return Rounds(*kernels.boost_closed(edge_matrix(edges), rule, scale, weights, order))
    return Rounds(*general.boost_general(edge_matrix(edges, True), rule, scale, weights, order))


def edge_matrix(edges: Edges, with_values: bool = False) -> kernels.Matrix:
    """The edges as the compiled loops take them: with the columns, and how many signs each has."""
    indices, codes = edges.indices, edges.codes
    values = edges.values
    if values is None and with_values:
        values = _edges(indices, codes, edges.up, edges.down, np.ones(indices.shape)).values
    flat = np.zeros(0) if values is None else np.ravel(values)
    starts, rows, across = kernels.reverse_graph(indices, flat)
    n_plus, n_minus = kernels.count_signs(starts, rows, across, codes)
    return kernels.Matrix(
        indices=indices,
        codes=codes,
        starts=starts,
        rows=rows,
        values=flat,
        across=across,
        up=edges.up,
        down=edges.down,
        n_plus=n_plus,
        n_minus=n_minus,
    )


def visiting_order(chooser: str, codes: NDArray[np.int64], random_state: Any = None) -> NDArray[np.int64]:
    """The order of the lazy choosers; nothing for the greedy ones."""
    m = len(codes)
    if chooser == "lazy":
        return np.arange(m)
    if chooser == "random":
        return check_random_state(random_state).permutation(m)
    if chooser == "by-class":
        return np.argsort(codes, kind="stable")
    return np.zeros(0, np.int64)


def neighbour_weights(
    kernel: Any, distances: NDArray[Any], *, sigma: float = 0.25, sigma_rule: str = "sqrt2_rho"
) -> NDArray[np.float64] | None:
    """The kernel of a point and its k neighbours, from their distances; None where it is 1 ([1]_ §5.2.5).

    Parameters
    ----------
    kernel : {"uniform", "gaussian", "adaptive", "intersection", "precomputed"} or callable
        1 ([1]_ (5.10)); ``exp(−d²/2σ²)`` (5.31); the same with a σ of each row's own; ``1 − d`` (5.34),
        where d is one minus the histogram intersection; ``−d``; or a function of the distances.
    distances : array of shape (n, k)
        Nearest first; infinite where there is no neighbour.
    sigma : float
        σ of the fixed Gaussian.
    sigma_rule : {"sqrt2_rho", "rho", "sqrt_2rho"}
        σ of the adaptive one, from the distance ρ to the k-th neighbour: √2·ρ, ρ or √(2ρ).
    """
    if kernel == "uniform":
        return None
    d = np.asarray(distances, dtype=np.float64)
    there = np.isfinite(d)
    d = np.where(there, d, 0.0)
    if callable(kernel):
        weights = np.asarray(kernel(d), dtype=np.float64)
        if weights.shape != d.shape or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("the kernel must give one finite, non-negative weight for each distance.")
    elif kernel == "intersection":
        weights = np.maximum(1.0 - d, 0.0)
    elif kernel == "precomputed":
        weights = -d
        if (weights < 0).any():
            raise ValueError("a precomputed kernel must not be negative among the neighbours.")
    else:
        width: NDArray[Any] | float = sigma
        if kernel == "adaptive":
            rho = d.max(axis=1, keepdims=True) if d.shape[1] else np.zeros((len(d), 1))
            width = {"sqrt2_rho": np.sqrt(2.0) * rho, "rho": rho, "sqrt_2rho": np.sqrt(2.0 * rho)}[sigma_rule]
        # Duplicates only: the width is 0, and so are the distances, whose weight is 1.
        ratio = np.divide(d, width, out=np.zeros_like(d), where=np.broadcast_to(width, d.shape) > 0)
        weights = np.exp(-0.5 * ratio**2)
    return np.where(there, weights, 0.0)


def class_totals(
    labels: NDArray[np.int64], contributions: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """For each row the sum of the contributions of each class."""
    rows = np.arange(len(labels))[:, None] * n_classes
    size = len(labels) * n_classes
    flat = np.bincount((rows + labels).ravel(), weights=contributions.ravel(), minlength=size)
    return flat.reshape(len(labels), n_classes).astype(np.float64, copy=False)


def symmetric_scores(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """h_c = Σ_j α_j K y_jc from each class's total: its own, less a part of the others' ([1]_ (5.12))."""
    n_classes = totals.shape[1]
    if n_classes == 1:
        return totals
    return (totals * n_classes - totals.sum(axis=1, keepdims=True)) / (n_classes - 1)


def break_ties(scores: NDArray[np.float64], labels: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Where several classes share the highest score: the one with most votes, then that of the nearest.

    The winner's score rises by one unit in the last place, so that its arg max is the answer.
    ``labels`` are the classes of each row's voters, nearest first.
    """
    top = scores.max(axis=1, keepdims=True)
    tied = np.flatnonzero((scores == top).sum(axis=1) > 1)
    if len(tied) == 0 or labels.shape[1] == 0:
        return scores
    votes = class_totals(labels[tied], np.ones((len(tied), labels.shape[1])), n_classes)
    best = scores[tied] == top[tied]
    votes = np.where(best, votes, -1.0)
    best &= votes == votes.max(axis=1, keepdims=True)
    scores = scores.copy()
    for row, candidates, voters in zip(tied, best, labels[tied]):
        among = voters[candidates[voters]]
        winner = among[0] if len(among) else int(np.argmax(candidates))
        scores[row, winner] = np.nextafter(scores[row, winner], np.inf)
    return scores


def stratified_folds(codes: NDArray[np.int64], n_folds: int, rng: Any) -> NDArray[np.int64]:
    """A fold for each example, at random, each class spread as evenly as its number allows."""
    order = rng.permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    folds = np.empty(len(codes), np.int64)
    # A class begins at a random fold, so that small classes do not crowd into the first.
    starts = rng.randint(n_folds, size=len(sizes))
    folds[by_class] = (rank + np.repeat(starts, sizes)) % n_folds
    return folds


def count_of(share: float | int | None, m: int) -> int | None:
    """How many prototypes a number or a share means."""
    if share is None:
        return None
    return int(share) if isinstance(share, int | np.integer) else max(1, int(np.ceil(share * m - 1e-9)))
