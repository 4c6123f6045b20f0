"""Feature spaces of growing capacity: principal components of every block, all from its moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lookalike.learn._fusion._boost import Bank
from lookalike.learn._fusion._moments import BlockMoments
from lookalike.learn._fusion._targets import label_root

Array = NDArray[Any]
LEVELS = (16, 32, 64, 128, 256, 512, 1024)  # the dimensions of the document


@dataclass(frozen=True)
class Space:
    """The first ``dim`` principal components of a block, and the ridge of least squares in them.

    ``level`` is the rank of its capacity: fewer components before more, a stronger ridge before a weaker.
    """

    block: int
    dim: int
    level: int
    ridge: float = 0.0


@dataclass
class Geometry:
    """Blocks in their principal axes, and the spaces cut from them.

    Attributes
    ----------
    axes : list of arrays of shape (d_b, k_b)
        The retained principal axes of each block.
    variances : list of arrays of shape (k_b,)
        Sums of squares along them.
    parts : list of slices
        Where each block lies among the retained components.
    crossed : array of shape (k, k)
        Scatter of all retained components.
    hits : array of shape (k, c)
        Their products with Q.
    root : array of shape (n_labels, c)
        ``Q = (L − mean) root``.
    spaces : list of Space
        From most to least trusted.
    """

    axes: list[Array]
    variances: list[Array]
    parts: list[slice]
    crossed: Array
    hits: Array
    root: Array
    spaces: list[Space]

    def rows(self, space: Space) -> slice:
        """The components of a space among all retained ones."""
        start = self.parts[space.block].start
        return slice(start, start + space.dim)

    def spread(self, space: Space) -> Array:
        """Sums of squares of its components, and its ridge, which is relative to their mean."""
        spread = self.variances[space.block][: space.dim]
        return spread + space.ridge * spread.mean()


def _axes(scatter: Array, most: int | None, tolerance: float = 1e-12) -> tuple[Array, Array]:
    d = len(scatter)
    if most is not None and most < d // 2:  # the few largest alone are found faster
        values, vectors = scipy.linalg.eigh(scatter, subset_by_index=[d - most, d - 1])
    else:
        values, vectors = np.linalg.eigh(scatter)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = int(np.count_nonzero(values > tolerance * max(values[0], 0.0))) if values[0] > 0 else 0
    keep = keep if most is None else min(keep, most)
    return values[:keep].copy(), vectors[:, :keep].copy()


def half_of(weight: float) -> int:
    """The largest dimension that "auto" takes from so many samples."""
    return max(1, int((weight - 1) // 2))


def space_order(ranks: Sequence[int], levels: Any, weight: float) -> list[Space]:
    """The spaces of blocks with these ranks: by capacity, then in the order the blocks were given.

    ``levels`` is None (each block whole), a list of dimensions, or "auto": those of the document, but
    not more than half as many as there are samples, since a regression with more mostly learns noise.

    >>> [(s.block, s.dim) for s in space_order([40, 20], "auto", 1000)]
    [(0, 16), (1, 16), (0, 32), (1, 20), (0, 40)]
    """
    found: list[Space] = []
    for b, rank in enumerate(ranks):
        if rank == 0:
            continue
        if levels is None:
            found.append(Space(b, rank, 0))
            continue
        top = rank if not isinstance(levels, str) else min(rank, half_of(weight))
        dims: set[int] = set()
        for level, dim in enumerate(LEVELS if isinstance(levels, str) else sorted(set(levels))):
            cut = min(dim, top)
            if cut not in dims:
                dims.add(cut)
                found.append(Space(b, cut, level))
    return sorted(found, key=lambda s: (s.level, s.block))


def with_ridges(spaces: Sequence[Space], ridges: Sequence[float]) -> list[Space]:
    """Every space with every ridge, the strongest of a space first.

    >>> [(s.block, s.dim, s.ridge) for s in with_ridges(space_order([20, 20], [16], 1000), [0.1, 1.0])]
    [(0, 16, 1.0), (1, 16, 1.0), (0, 16, 0.1), (1, 16, 0.1)]
    """
    strongest = sorted(set(ridges), reverse=True)
    made = [
        replace(s, level=s.level * len(strongest) + rank, ridge=float(ridge))
        for s in spaces
        for rank, ridge in enumerate(strongest)
    ]
    return sorted(made, key=lambda s: (s.level, s.block))


def geometry(moments: BlockMoments, levels: Any, ridges: Sequence[float] = (0.0,)) -> Geometry:
    """Principal axes, spaces and products of the blocks of ``moments``."""
    d = moments.n_features
    root = label_root(moments.products[d:, d:])
    listed = LEVELS if isinstance(levels, str) else levels
    most = None if listed is None else int(max(listed))
    if isinstance(levels, str):
        most = min(max(LEVELS), half_of(moments.weight))
    pairs = [_axes(moments.products[cut, cut], most) for cut in moments.slices()]
    spaces = with_ridges(space_order([len(v) for v, _ in pairs], levels, moments.weight), ridges)
    if not spaces:
        raise ValueError("No feature varies over the samples: there is nothing to learn from.")
    widest = [max((s.dim for s in spaces if s.block == b), default=0) for b in range(len(pairs))]
    variances = [v[:k] for (v, _), k in zip(pairs, widest)]
    axes = [a[:, :k] for (_, a), k in zip(pairs, widest)]
    ends = np.cumsum([0, *widest])
    parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    crossed = np.zeros((int(ends[-1]),) * 2)
    hits = np.zeros((int(ends[-1]), root.shape[1]))
    cuts = moments.slices()
    for b, cut in enumerate(cuts):
        hits[parts[b]] = axes[b].T @ (moments.products[cut, d:] @ root)
        for other in range(b + 1, len(cuts)):
            block = axes[b].T @ moments.products[cut, cuts[other]] @ axes[other]
            crossed[parts[b], parts[other]] = block
            crossed[parts[other], parts[b]] = block.T
        crossed[parts[b], parts[b]] = np.diag(variances[b])
    return Geometry(axes, variances, parts, crossed, hits, root, spaces)


def ridge_learners(geo: Geometry) -> list[Array]:
    """Coefficients, in principal components, of the least-squares fit of Q in every space."""
    return [geo.hits[geo.rows(space)] / geo.spread(space)[:, None] for space in geo.spaces]


def moment_bank(geo: Geometry, learners: Sequence[Array]) -> Bank:
    """The bank of the base functions ``components @ learner``, without a pass over the data.

    Products between spaces are made when a space is taken for the first time.
    """
    rows = [geo.rows(space) for space in geo.spaces]
    own = np.stack([w.T @ (geo.variances[s.block][: s.dim, None] * w) for s, w in zip(geo.spaces, learners)])
    hit = np.stack([w.T @ geo.hits[r] for r, w in zip(rows, learners)])
    made: dict[int, Array] = {}

    def column(s: int) -> Array:
        if s not in made:
            reached = geo.crossed[:, rows[s]] @ learners[s]
            made[s] = np.stack([w.T @ reached[r] for r, w in zip(rows, learners)])
        return made[s]

    return Bank(own, hit, column)
