"""Sonar, as in figures 2.4 to 2.6 of the thesis: where optimisers end, and how many dimensions it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reproduction.discriminants_data import uci
from scipy.optimize import minimize
from scipy.stats import f as f_distribution
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from lookalike.learn import DistanceDiscriminant
from lookalike.learn._distance import _core

MOST = 1000  # evaluations of the criterion allowed to a general optimiser
WIDTHS = range(1, 16)
STARTS = 6


# --- figures 2.4 and 2.5: the criterion where three optimisers end ---


class Counted:
    """The criterion and its slope on the sphere of the length constraint; it counts its calls."""

    def __init__(self, problem: _core.Problem, shape: tuple[int, int], length: float) -> None:
        self.problem, self.shape, self.length, self.calls = problem, shape, length, 0

    def __call__(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        self.calls += 1
        t = v.reshape(self.shape)
        norm = np.sqrt((t * t).sum() / self.length)
        state = _core.assess(self.problem, t / norm)
        slope = _core.gradient(state)
        slope = (slope - state.transformation * (slope * state.transformation).sum() / self.length) / norm
        return state.criterion, slope.ravel()


def descend(function: Counted, v: np.ndarray) -> float:
    """Gradient descent with backtracking (Armijo's rule); the step grows again after each success."""
    value, slope = function(v)
    step = 1.0
    while function.calls < MOST and slope @ slope > 1e-12:
        there, new = function(v - step * slope)
        if there <= value - 1e-4 * step * (slope @ slope):
            v, value, slope, step = v - step * slope, there, new, 2.0 * step
        else:
            step /= 2.0
            if step < 1e-14:
                break
    return value


def quasi_newton(function: Counted, v: np.ndarray) -> float:
    found = minimize(function, v, jac=True, method="L-BFGS-B", options={"maxfun": MOST, "ftol": 1e-12})
    return float(found.fun)


def ends(data: Path) -> dict[str, Any]:
    """From the same random starts with two columns: where each ends, and what it took to get there."""
    x, y = uci(data, "sonar")
    points, basis = _core.span(x)
    rows: dict[str, Any] = {}
    for floor in (0.1, 1e-3):
        settings = _core.Settings(n_components=2, init="random", floor=floor)
        problem, _ = _core.pose(points, y, np.array([0, 1]), settings, 1.0)
        found: dict[str, list[tuple[float, int]]] = {}
        for seed in range(STARTS):
            start = _core.starts(basis, settings, 60.0, np.random.RandomState(seed))[0]
            ours = _core.minimise(problem, start, length=60.0, max_iter=300, tol=1e-7)
            found.setdefault("majorization", []).append((ours.criteria[-1], ours.evaluations))
            for title, run in (("gradient descent", descend), ("L-BFGS", quasi_newton)):
                function = Counted(problem, start.shape, 60.0)
                value = run(function, start.ravel())
                found.setdefault(title, []).append((value, function.calls))
        for title, runs in found.items():
            values, calls = np.array(runs).T
            rows[f"{title}|{floor:g}"] = {
                "lowest": values.min(),
                "highest": values.max(),
                "calls": float(np.median(calls)),
            }
    return rows


# --- figure 2.6: how the error depends on the dimension ---


def chow(k: np.ndarray, error: np.ndarray, at: int) -> float:
    """The probability that one line fits as well as two that meet between ``k[at - 1]`` and ``k[at]``."""

    def rest(part: slice) -> float:
        design = np.stack([np.ones(len(k[part])), k[part]], axis=1)
        fitted = design @ np.linalg.lstsq(design, error[part], rcond=None)[0]
        return float(((error[part] - fitted) ** 2).sum())

    two = rest(slice(0, at)) + rest(slice(at, None))
    free = len(k) - 4
    return float(f_distribution.sf((rest(slice(None)) - two) / 2 / max(two / free, 1e-300), 2, free))


def by_width(data: Path) -> dict[str, Any]:
    """Ten folds, three draws of them: k columns learned, or the k leading directions of all columns."""
    x, y = uci(data, "sonar")
    nearest = KNeighborsClassifier(1, algorithm="brute")
    result: dict[str, Any] = {}
    for title, steps in (("2 steps", 2), ("to the end", 60)):
        wrong = np.zeros((2, len(WIDTHS)))
        for seed in range(3):
            for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(x, y):
                options: dict[str, Any] = {"targets": [1], "max_iter": steps, "huber": 1.0, "n_starts": 1}
                whole = DistanceDiscriminant(threshold=0.0, **options).fit(x[train], y[train])
                for i, k in enumerate(WIDTHS):
                    few = DistanceDiscriminant(k, **options).fit(x[train], y[train]).components_
                    for row, components in enumerate((few, whole.components_[:k])):
                        nearest.fit(x[train] @ components.T, y[train])
                        wrong[row, i] += (nearest.predict(x[test] @ components.T) != y[test]).sum()
        error = wrong / (3 * len(y))
        spectrum = DistanceDiscriminant(**options).fit(x, y).singular_values_
        breaks = [chow(np.array(WIDTHS, float), error[1], at) for at in range(3, len(WIDTHS) - 2)]
        result[title] = {
            "widths": list(WIDTHS),
            "learned": error[0].tolist(),
            "kept": error[1].tolist(),
            "spectrum": (spectrum[:10] / spectrum[0]).tolist(),
            "break": 3 + int(np.argmin(breaks)),
            "p": min(breaks),
        }
    return result


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {"sonar-ends": ends, "sonar-widths": by_width}
