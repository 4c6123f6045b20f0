"""Draw docs/how-it-works/figures/bregman-tree.png: what a Bregman vantage-point tree looks at.

python docs/how-it-works/figures/bregman_tree.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from lookalike.neighbors import BregmanVPTree
from lookalike.similarity import bregman_pairwise

OUT = Path(__file__).parent / "bregman-tree.png"
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def kept(tree: BregmanVPTree, query: np.ndarray, radius: float) -> np.ndarray:
    """The points of the leaves that cannot be left out, once the search knows this radius."""
    q, aq = tree.space.rows(query)
    leaves = tree._leaves_within(q[0], aq[0], radius)
    rows = [tree.points.ids[tree.nodes.start[n] : tree.nodes.stop[n]] for n in leaves]
    return np.concatenate(rows)


def main() -> None:
    rng = np.random.default_rng(3)
    centres = rng.dirichlet(np.full(3, 1.2), 9)
    X = np.concatenate([rng.dirichlet(60 * c + 0.3, 90) for c in centres]) + 1e-4
    X /= X.sum(axis=1, keepdims=True)
    query = np.array([[0.55, 0.3, 0.15]])
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 400), np.linspace(0, 1, 400)), axis=-1).reshape(-1, 2)
    histograms = np.column_stack([grid, 1 - grid.sum(axis=1)])
    inside = histograms.min(axis=1) > 1e-4
    flat = histograms[inside] @ CORNERS
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for axis, side, title in zip(
        axes, ("right", "left"), ("right-sided: D(point ‖ query)", "left-sided: D(query ‖ point)")
    ):
        tree = BregmanVPTree(X, "kl", side, leaf_size=20, held_out=0, random_state=0)
        nearest = tree.query(query, 10)
        seen = kept(tree, query, nearest[0][0, -1])
        place = X @ CORNERS
        axis.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="0.6", lw=1)
        axis.plot(*place.T, ".", color="0.75", ms=3, label="points")
        axis.plot(
            *place[seen].T,
            ".",
            color="#2a78b5",
            ms=4,
            label=f"looked at ({len(seen)} of {len(X)})",
        )
        levels = bregman_pairwise(histograms[inside], query, side=side)[:, 0]
        limits = [nearest[0][0, -1], 0.2, 0.5]
        axis.tricontour(*flat.T, levels, levels=sorted(limits), colors="#c0504d", linewidths=1)
        axis.plot(*place[nearest[1][0]].T, "o", mfc="none", color="black", ms=6, label="ten nearest")
        axis.plot(*(query @ CORNERS).T, "*", color="#c0504d", ms=12, label="query and its balls")
        axis.set_title(title, fontsize=10)
        axis.set_aspect("equal")
        axis.axis("off")
    axes[0].legend(loc="upper left", fontsize=8, frameon=False)
    figure.savefig(OUT, dpi=100)


if __name__ == "__main__":
    main()
