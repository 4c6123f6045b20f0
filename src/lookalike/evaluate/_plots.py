"""The report's figures, drawn as SVG text that a page can hold."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.evaluate._judgement import Judgement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, ACCENT, PALE = "#30343b", "#2b6cb0", "#cbd5e0"
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "lookalike",  # the same report twice is the same file
}


def confusion_figure(judgement: Judgement) -> str:
    """A heat map of right classes against answers; numbers are written where they can be read."""
    table = judgement.confusion
    shares = table / np.maximum(table.sum(1, keepdims=True), 1)
    names = [str(c) for c in judgement.classes]
    side = min(12.0, 2.2 + 0.32 * len(names))
    figure, axes = _figure(side, side)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(names)), [_short(n) for n in names], rotation=90)
    axes.set_yticks(range(len(names)), [_short(n) for n in names])
    axes.set_xlabel("answer")
    axes.set_ylabel("right class")
    if len(names) <= 30:
        for i, j in zip(*np.nonzero(table)):
            colour = "white" if shares[i, j] > 0.6 else INK
            axes.text(j, i, str(table[i, j]), ha="center", va="center", fontsize=7, color=colour)
    return _svg(figure)


def reliability_figure(judgement: Judgement) -> str:
    """How often the answers were right against how sure they were."""
    table = judgement.reliability
    filled = table.counts > 0
    figure, axes = _figure(3.4, 3.2)
    axes.plot([0, 1], [0, 1], color=PALE, linewidth=1)
    sizes = 12 + 120 * table.counts[filled] / table.counts.max()
    axes.scatter(table.confidence[filled], table.accuracy[filled], s=sizes, color=ACCENT, alpha=0.8)
    axes.set_xlabel("how sure (probability)")
    axes.set_ylabel("how often right")
    axes.set_xlim(0, 1.03)
    axes.set_ylim(0, 1.05)
    return _svg(figure)


def coverage_figure(judgement: Judgement) -> str:
    """The accuracy among the surest answers, for every share of them."""
    curve = judgement.risk_coverage
    figure, axes = _figure(3.4, 3.2)
    axes.plot(100 * curve.coverage, 100 * (1 - curve.risk), color=ACCENT)
    kept = 100 * float((~judgement.declined).mean())
    if kept < 100:
        axes.axvline(kept, color=PALE, linewidth=1)
        axes.annotate(
            "answered", (kept, axes.get_ylim()[0]), ha="right", fontsize=8, rotation=90, va="bottom"
        )
    axes.set_xlabel("the surest … % of the answers")
    axes.set_ylabel("right among them (%)")
    return _svg(figure)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    # A Figure of its own, without pyplot: no global state, safe in threads.
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
    return figure, axes


def _svg(figure: Figure) -> str:
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def _short(name: str, most: int = 18) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
