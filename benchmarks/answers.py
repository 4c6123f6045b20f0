"""How quickly does `PrototypeClassifier` learn, and answer with evidence?

    python -m benchmarks.answers [--labels 2000] [--others 8000] [--write]

Made-up vectors of 1,280 numbers in 17 classes, as many labels as said among as many other images; medians of
five rounds. Beside it stands what no answer can do without: the matrix products that bring the rows to their
points and these to the prototypes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks._markers import table, write

from lookalike.learn import PrototypeClassifier

ROUNDS, ASKED, CLASSES, COLUMNS = 5, 5000, 17, 1280


def vectors(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy positive rows around 17 means, like those of a network."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(0).gamma(0.5, size=(CLASSES, COLUMNS))
    y = rng.integers(CLASSES, size=n)
    return np.maximum(means[y] + 1.5 * rng.normal(size=(n, COLUMNS)), 0).astype(np.float32), y


def seconds(call: Callable[[], Any]) -> float:
    """The median of some rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def main() -> None:
    """Measure, print, and write the table when asked."""
    parser = argparse.ArgumentParser(description="Seconds to learn, and answers with evidence a second.")
    parser.add_argument("--labels", type=int, default=2000)
    parser.add_argument("--others", type=int, default=8000)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/few-labels.md")
    options = parser.parse_args()
    X, y = vectors(options.labels, 1)
    others, asked = vectors(options.others, 2)[0], vectors(ASKED, 3)[0]
    PrototypeClassifier().fit(X[:100], y[:100], unlabelled=others[:200])  # compiled loops are ready
    rows = []
    for name, unlabelled in ((f"among {options.others} others", others), ("labels alone", None)):
        learning = seconds(lambda u=unlabelled: PrototypeClassifier().fit(X, y, unlabelled=u))
        model = PrototypeClassifier().fit(X, y, unlabelled=unlabelled)
        answering = seconds(lambda m=model: m.explain(asked))
        width = model._points.shape[1]
        axes, places = np.zeros((COLUMNS, width), np.float32), model._points.astype(np.float32)
        products = seconds(lambda a=axes, p=places: (asked @ a) @ p.T)
        rows.append(
            [
                f"{options.labels} labels, {name}",
                f"{learning:.1f}",
                len(model.prototypes_),
                f"{ASKED / answering:.0f}",
                f"{answering / products:.1f}",
            ]
        )
    heads = [
        "",
        "seconds to learn",
        "prototypes",
        "answers with evidence a second",
        "time ÷ its two products",
    ]
    text = table(heads, rows)
    if options.write:
        write("benchmarks/few-labels.md", "speed", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
