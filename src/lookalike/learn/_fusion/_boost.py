"""Boosting of rank-one kernels on small matrices: no cost here depends on the number of samples.

Notation of the document [1]_: ``N² = ‖K̄‖²``, ``S = ⟨K̄, K*⟩``, and for a candidate function ``f``
``q = ‖f‖⁴``, ``b = ‖Qᵀf‖²``, ``p = fᵀK̄f``. Every candidate is ``f = Z_s g``: ``Z_s`` are the values of the
``c`` base functions of space ``s`` (what its weak learner makes of the ``c`` columns of ``Q``).

.. [1] A. Lechervy, P.-H. Gosselin, F. Precioso, "Boosted kernel for image categorization",
   Multimedia Tools and Applications, 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
EIGEN_CHUNK = 4  # eigenvectors judged at once while the first acceptable candidate is sought


def beta_star(norm2: float, aligned: float, q: Array, b: Array, p: Array, *, cap: float = 10.0) -> Array:
    """The weight that raises the centred alignment most (eq. (11)), 0 where none does.

    Three cases: the numerator ``bN² − Sp`` is not positive (reject), both parts are positive (the printed
    formula), or only the numerator is: then the alignment grows for ever and the weight is capped at
    ``cap`` times the current kernel.

    >>> beta_star(4.0, 1.5, np.array(2.0), np.array(1.2), np.array(0.5)).item()
    1.6875
    >>> beta_star(1.0, 0.3, np.array(1.0), np.array(0.9), np.array(0.5)).item()
    10.0
    >>> beta_star(4.0, 2.0, np.array(1.0), np.array(0.3), np.array(1.0)).item()
    0.0
    """
    q, b, p = np.asarray(q, np.float64), np.asarray(b, np.float64), np.asarray(p, np.float64)
    above, below = b * norm2 - aligned * p, aligned * q - b * p
    good = (above > 1e-12 * (b * norm2 + aligned * p)) & (q > 0)
    finite = below > 1e-12 * (aligned * q + b * p)
    limit = cap * np.sqrt(norm2 / np.where(q > 0, q, 1.0))
    best = np.where(finite, above / np.where(finite, below, 1.0), limit)
    return np.where(good, np.minimum(best, limit), 0.0)


@dataclass
class Bank:
    """What boosting knows of the spaces: products of their base functions, c × c at a time.

    ``own[s] = Z_sᵀZ_s``, ``hit[s] = Z_sᵀQ`` and ``column(s)[r] = Z_rᵀZ_s``.
    """

    own: Array
    hit: Array
    column: Callable[[int], Array]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of spaces and of target columns."""
        return self.own.shape[0], self.own.shape[1]

    def gram(self, spaces: Array, coefficients: Array) -> Array:
        """Inner products of the functions ``Z_s g``, given the space and ``g`` of each."""
        out = np.zeros((len(spaces), len(spaces)))
        for s in np.unique(spaces):
            mine = np.flatnonzero(spaces == s)
            reached = self.column(int(s)) @ coefficients[mine].T  # (S, c, m)
            out[:, mine] = np.einsum("tc,tcm->tm", coefficients, reached[spaces])
        return out


def bank_of_values(products: Array, n_spaces: int) -> Bank:
    """A bank from the scatter of ``[Z_1 … Z_S Q]``."""
    c = products.shape[0] // (n_spaces + 1)
    cut = n_spaces * c
    inner = products[:cut, :cut].reshape(n_spaces, c, n_spaces, c)
    own = np.stack([inner[s, :, s] for s in range(n_spaces)])
    return Bank(own, products[:cut, cut:].reshape(n_spaces, c, c), lambda s: inner[:, :, s])


@dataclass
class Path:
    """The functions that were taken, in their order, and the state of the kernel they make."""

    spaces: list[int] = field(default_factory=list)
    eigens: list[int] = field(default_factory=list)  # -1 for the initial functions
    betas: list[float] = field(default_factory=list)
    coefficients: list[Array] = field(default_factory=list)
    alignments: list[float] = field(default_factory=list)
    stop_reason: str = ""


@dataclass(frozen=True)
class Rules:
    """How candidates are made, tried and taken."""

    n_rounds: int = 500
    min_gain: float = 3e-4
    order: str = "eigen_first"
    select: str = "first"
    initial: str = "first"
    initial_weight: str = "one"


class _State:
    """The current kernel, seen from every space."""

    def __init__(self, bank: Bank) -> None:
        n_spaces, c = bank.shape
        self.bank, self.c = bank, c
        self.norm2 = self.aligned = 0.0
        self.inside = np.zeros((c, c))  # QᵀKQ
        self.seen = np.zeros((n_spaces, c, c))  # Z_sᵀ K Z_s
        self.path = Path()

    @property
    def alignment(self) -> float:
        return self.aligned / np.sqrt(self.c * self.norm2) if self.norm2 > 0 else 0.0

    def scalars(self, spaces: Sequence[int] | slice, G: Array) -> tuple[Array, Array, Array]:
        """q, b and p of the candidates of ``spaces`` (rows) and of the columns of ``G`` (columns)."""
        own, hit, seen = self.bank.own[spaces], self.bank.hit[spaces], self.seen[spaces]
        q = np.einsum("cm,scm->sm", G, own @ G) ** 2
        b = np.sum((hit.transpose(0, 2, 1) @ G) ** 2, axis=1)
        p = np.maximum(np.einsum("cm,scm->sm", G, seen @ G), 0.0)
        return q, b, p

    def after(self, beta: Array, q: Array, b: Array, p: Array) -> Array:
        """The alignment after a candidate was added with weight ``beta``."""
        norm2 = self.norm2 + beta * (2 * p + beta * q)
        safe = np.where(norm2 > 0, norm2, 1.0)
        return np.where(norm2 > 0, (self.aligned + beta * b) / np.sqrt(self.c * safe), 0.0)

    def add(self, s: int, eigen: int, g: Array, beta: float) -> None:
        q, b, p = (float(v[0, 0]) for v in self.scalars([s], g[:, None]))
        hit = self.bank.hit[s].T @ g
        reach = self.bank.column(s) @ g  # (S, c): the function seen from every space
        self.norm2 += beta * beta * q + 2 * beta * p
        self.aligned += beta * b
        self.inside += beta * np.outer(hit, hit)
        self.seen += beta * reach[:, :, None] * reach[:, None, :]
        path = self.path
        path.spaces.append(s)
        path.eigens.append(eigen)
        path.betas.append(beta)
        path.coefficients.append(g)
        path.alignments.append(self.alignment)


def _initialise(state: _State, rules: Rules) -> None:
    """Algorithm 2: one function for each column of Q, from the first space that is not degenerate."""
    n_spaces = state.bank.shape[0]
    for t in range(min(state.c, rules.n_rounds)):
        g = np.zeros(state.c)
        g[t] = 1.0
        q, b, p = (v[:, 0] for v in state.scalars(slice(None), g[:, None]))
        size = np.sqrt(q)
        usable = (size > 0) & (b > 1e-10 * np.sqrt(state.c) * size)
        if not usable.any():
            continue
        beta = np.ones(n_spaces)
        if rules.initial_weight == "optimal" and state.norm2 > 0:
            beta = beta_star(state.norm2, state.aligned, q, b, p)
            usable &= beta > 0
            if not usable.any():
                continue
        value = np.where(usable, state.after(beta, q, b, p), -np.inf)
        s = int(np.argmax(value if rules.initial == "best" else usable))
        state.add(s, -1, g, float(beta[s]))


def _groups(rules: Rules, levels: Array, n_eigen: int) -> Iterator[tuple[Sequence[int] | slice, slice, bool]]:
    """Candidates in the order they are tried: spaces, eigenvectors, and whether eigenvectors come first."""
    if rules.select == "best":
        yield slice(None), slice(0, n_eigen), True
    elif rules.order == "eigen_first":
        for start in range(0, n_eigen, EIGEN_CHUNK):
            yield slice(None), slice(start, min(start + EIGEN_CHUNK, n_eigen)), True
    elif rules.order == "level_first":
        for level in np.unique(levels):
            yield np.flatnonzero(levels == level).tolist(), slice(0, n_eigen), True
    else:
        for s in range(len(levels)):
            yield [s], slice(0, n_eigen), False


def _next(state: _State, rules: Rules, levels: Array) -> tuple[int, int, Array, float] | None:
    """One round of Algorithm 1: the candidate to take, or None where none gains enough."""
    values, vectors = np.linalg.eigh(state.inside)
    share = np.sqrt(state.c / state.norm2) * values  # φ
    n_eigen = int(np.count_nonzero(share < 1 - 1e-12))  # beyond, the target would be imaginary
    if n_eigen == 0:
        return None  # the kernel is the target
    targets = vectors[:, :n_eigen] * np.sqrt(1 - share[:n_eigen])
    now = state.alignment
    for spaces, eigens, eigen_major in _groups(rules, levels, n_eigen):
        q, b, p = state.scalars(spaces, targets[:, eigens])
        beta = beta_star(state.norm2, state.aligned, q, b, p)
        gain = np.where(beta > 0, state.after(beta, q, b, p) - now, -np.inf)
        flat = gain.T.ravel() if eigen_major else gain.ravel()
        at = int(np.argmax(flat if rules.select == "best" else flat > rules.min_gain))
        if not flat[at] > rules.min_gain:
            continue
        i, row = divmod(at, gain.shape[0]) if eigen_major else divmod(at, gain.shape[1])[::-1]
        s = row if isinstance(spaces, slice) else int(spaces[row])
        i += eigens.start
        return s, i, targets[:, i], float(beta[row, i - eigens.start])
    return None


def boost(bank: Bank, levels: Sequence[int] | Array, rules: Rules) -> Path:
    """Algorithms 2 and 1 of the document: the functions taken, until none gains more than ``min_gain``.

    ``levels[s]`` is the rank of the capacity of space ``s``; spaces come from most to least trusted.
    """
    levels = np.asarray(levels)
    state = _State(bank)
    _initialise(state, rules)
    if not state.path.spaces:
        state.path.stop_reason = "no space tells the classes apart"
        return state.path
    while len(state.path.spaces) < rules.n_rounds:
        taken = _next(state, rules, levels)
        if taken is None:
            state.path.stop_reason = "no candidate gains more than min_gain"
            return state.path
        state.add(*taken)
    state.path.stop_reason = "n_rounds functions were taken"
    return state.path


def corrected(bank: Bank, path: Path) -> Path:
    """The same functions with the best non-negative weights together; those of weight 0 fall away.

    ``min β Γ β − 2 aβ`` over ``β ≥ 0`` with ``Γ = (fᵀf')²`` and ``a = ‖Qᵀf‖²``, by non-negative least
    squares on a square root of Γ.
    """
    from scipy.optimize import nnls

    spaces, G = np.array(path.spaces), np.array(path.coefficients)
    size = np.sqrt(np.maximum(np.einsum("tc,tcd,td->t", G, bank.own[spaces], G), 1e-300))
    G = G / size[:, None]  # unit functions: the problem is better conditioned
    products = bank.gram(spaces, G) ** 2
    hits = np.sum(np.einsum("tc,tcd->td", G, bank.hit[spaces]) ** 2, axis=1)
    values, vectors = np.linalg.eigh(products)
    keep = values > 1e-13 * values[-1]
    root = np.sqrt(values[keep])[:, None] * vectors[:, keep].T
    beta, _ = nnls(root, (vectors[:, keep].T @ hits) / np.sqrt(values[keep]), maxiter=50 * len(hits))
    kept = np.flatnonzero(beta > 1e-12 * beta.max())
    out = Path(stop_reason=path.stop_reason)
    total = norm2 = 0.0
    c = bank.shape[1]
    for n, t in enumerate(kept):
        before = kept[:n]
        total += beta[t] * hits[t]
        norm2 += beta[t] ** 2 * products[t, t] + 2 * beta[t] * float(products[t, before] @ beta[before])
        out.spaces.append(int(spaces[t]))
        out.eigens.append(path.eigens[t])
        out.betas.append(float(beta[t] / size[t] ** 2))
        out.coefficients.append(G[t] * size[t])
        out.alignments.append(total / np.sqrt(c * norm2))
    return out
