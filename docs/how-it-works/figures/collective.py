"""Draw ``collective.png``: two labels, what they say alone, and what they say among all images.

python docs/how-it-works/figures/collective.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from lookalike.learn import PrototypeClassifier

X, y = make_moons(400, noise=0.07, random_state=0)
# Ten columns of smooth bumps, as a feature would give; the two coordinates are for the eye alone.
centres = X[np.random.default_rng(1).choice(400, 60, replace=False)]
rows = np.exp(-((X[:, None] - centres) ** 2).sum(2) / (2 * 0.35**2))
labelled = np.array(
    [np.flatnonzero(y == 0)[np.argmin(X[y == 0, 0])], np.flatnonzero(y == 1)[np.argmax(X[y == 1, 0])]]
)
rest = np.setdiff1d(np.arange(400), labelled)
alone = PrototypeClassifier().fit(rows[labelled], y[labelled])
among = PrototypeClassifier().fit(rows[labelled], y[labelled], unlabelled=rows[rest])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for panel, model, title in zip(axes, (alone, among), ("two labels alone", "two labels among 398 images")):
    chances = model.predict_proba(rows)[:, 1]
    panel.scatter(*X.T, c=chances, cmap="coolwarm", vmin=0, vmax=1, s=14)
    panel.scatter(*X[labelled].T, c=["#2040c0", "#c02020"], s=140, marker="*", edgecolor="black", zorder=3)
    right = (model.predict(rows[rest]) == y[rest]).mean()
    panel.set_title(f"{title}: {100 * right:.0f} % right", fontsize=11)
    panel.set_xticks([]), panel.set_yticks([])
    if model is among:
        borrowed = model.prototypes_[model.prototypes_ >= 2] - 2
        panel.scatter(*X[rest[borrowed]].T, s=60, facecolor="none", edgecolor="black", linewidth=0.9)
figure.tight_layout()
figure.savefig(Path(__file__).with_name("collective.png"), dpi=110)
