"""The two figures of docs/how-it-works/leveraged-neighbours.md, on Ripley's points.

python docs/how-it-works/figures/leveraged_neighbours.py [--data PATH]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from lookalike.learn import UNNClassifier, WeightedNeighborsClassifier

HERE = Path(__file__).resolve().parent
COLOURS = ["#0072b2", "#d55e00"]
K, SHARE = 5, 0.2


def points(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    table = np.loadtxt(data / "ripley" / f"synth.{name}", skiprows=1)
    return table[:, :2], table[:, 2].astype(int)


def who_votes(X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray) -> None:
    everyone = WeightedNeighborsClassifier(n_neighbors=K).fit(X, y)
    chosen = UNNClassifier(n_neighbors=K, n_prototypes=SHARE, calibration_folds=None).fit(X, y)
    x0, x1 = X.min(axis=0) - 0.15, X.max(axis=0) + 0.15
    gx, gy = np.meshgrid(np.linspace(x0[0], x1[0], 300), np.linspace(x0[1], x1[1], 240))
    grid = np.c_[gx.ravel(), gy.ravel()]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for axis, model, title in (
        (axes[0], everyone, "before: all {} vote alike"),
        (axes[1], chosen, "after: {} vote, as much as they earned"),
    ):
        votes = np.full(len(model.prototypes_), 1.0)
        if model is chosen:
            votes = model.alphas_[:, 1]
        field = model.predict(grid).reshape(gx.shape)
        axis.contourf(gx, gy, field, levels=[-0.5, 0.5, 1.5], colors=COLOURS, alpha=0.12)
        axis.contour(gx, gy, field, levels=[0.5], colors="0.25", linewidths=1)
        silent = np.setdiff1d(np.arange(len(X)), model.prototypes_)
        axis.scatter(*X[silent].T, s=5, c="0.7", linewidths=0)
        size = 18 * votes / votes.mean() if model is everyone else 45 * votes / votes.mean()
        axis.scatter(
            *X[model.prototypes_].T, s=size, c=np.array(COLOURS)[y[model.prototypes_]],
            alpha=0.75, edgecolors="white", linewidths=0.4,
        )  # fmt: skip
        error = 100 * (1 - model.score(Z, z))
        axis.set_title(
            title.format(len(model.prototypes_)) + f"\n{error:.1f} % errors on the test points", fontsize=10
        )
        axis.set_xlim(x0[0], x1[0])
        axis.set_ylim(x0[1], x1[1])
        axis.tick_params(labelsize=8)
    figure.savefig(HERE / "leveraged-neighbours-votes.png", dpi=130)


def risk(X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    choosers = {
        "once": ("largest δ first", "-"),
        "decrease": ("largest decrease first", "--"),
        "random": ("in random order", ":"),
    }
    for (chooser, (label, style)), colour in zip(choosers.items(), [*COLOURS, "0.4"]):
        model = UNNClassifier(n_neighbors=K, chooser=chooser, calibration_folds=None, random_state=0)
        model.fit(X, y)
        left.plot(model.risks_[1], style, color=colour, label=label)
        counts = np.arange(5, len(model.prototypes_) + 1, 5)
        errors = [100 * ((s > 0) != z).mean() for s in model.staged_decision_function(Z, counts)]
        right.plot(counts, errors, style, color=colour, label=label)
    plain = 100 * (1 - WeightedNeighborsClassifier(n_neighbors=K).fit(X, y).score(Z, z))
    right.axhline(plain, color="black", linewidth=0.8)
    right.text(95, plain + 0.3, f"all {len(X)} points, unweighted", fontsize=8)
    left.set(xlabel="rounds", ylabel="exponential risk", yscale="log")
    right.set(xlabel="prototypes", ylabel="test error, %", ylim=(6, 22))
    left.legend(frameon=False, fontsize=8)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    figure.savefig(HERE / "leveraged-neighbours-risk.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE.parents[3] / "shared" / "data")
    data = parser.parse_args().data
    tables = (*points(data, "tr"), *points(data, "te"))
    who_votes(*tables)
    risk(*tables)


if __name__ == "__main__":
    main()
