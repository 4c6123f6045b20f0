"""The figure of docs/how-it-works/discriminants.md: Sonar, step by step.

python docs/how-it-works/figures/discriminants.py [--data PATH]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from lookalike.learn import DistanceDiscriminant

HERE = Path(__file__).resolve().parent
COLOURS = np.array(["#0072b2", "#d55e00"])
STEPS = [0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30]


def sonar(data: Path) -> tuple[np.ndarray, np.ndarray]:
    table = np.genfromtxt(data / "uci" / "sonar.csv", delimiter=",", dtype=str)
    return table[:, :-1].astype(float), (table[:, -1] == "R").astype(int)


def mapped(axis: plt.Axes, X: np.ndarray, y: np.ndarray, steps: int, title: str) -> None:
    """Half of the observations, the other half learned from, in the two leading directions."""
    train, test = next(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    dda = DistanceDiscriminant(max_iter=steps, threshold=0.0).fit(X[train], y[train])
    for rows, full in ((train, True), (test, False)):
        z = dda.transform(X[rows])
        faces = COLOURS[y[rows]] if full else "none"
        axis.scatter(z[:, 0], z[:, 1], s=16, facecolors=faces, edgecolors=COLOURS[y[rows]], linewidths=0.8)
    axis.set_title(title, fontsize=10)
    axis.tick_params(labelsize=8)


def step_by_step(axis: plt.Axes, X: np.ndarray, y: np.ndarray) -> None:
    """The criterion goes on falling long after the error on new observations has begun to rise."""
    nearest = KNeighborsClassifier(1, algorithm="brute")
    errors, criteria = [], DistanceDiscriminant(max_iter=STEPS[-1]).fit(X, y).criteria_
    for steps in STEPS:
        wrong = 0
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
            dda = DistanceDiscriminant(max_iter=steps).fit(X[train], y[train])
            nearest.fit(dda.transform(X[train]), y[train])
            wrong += (nearest.predict(dda.transform(X[test])) != y[test]).sum()
        errors.append(100 * wrong / len(y))
    axis.plot(range(len(criteria)), criteria, color="0.4")
    axis.set_ylabel("criterion on the training set", color="0.3", fontsize=9)
    axis.set_xlabel("step", fontsize=9)
    other = axis.twinx()
    other.plot(STEPS, errors, "o-", color=COLOURS[1], markersize=4)
    other.set_ylabel("errors on held-out observations, %", color=COLOURS[1], fontsize=9)
    other.set_ylim(0, None)
    for part in (axis, other):
        part.tick_params(labelsize=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parents[3] / "shared" / "data")
    X, y = sonar(parser.parse_args().data)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 1.4])
    mapped(axes[0], X, y, 2, "after 2 steps")
    mapped(axes[1], X, y, 30, "after 30 steps")
    step_by_step(axes[2], X, y)
    figure.savefig(HERE / "discriminants.png", dpi=110)


if __name__ == "__main__":
    main()
