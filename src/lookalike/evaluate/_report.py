"""``write_report``: one HTML file that says how good a model is and shows where it errs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lookalike.evaluate import _pages as html
from lookalike.evaluate._judgement import Judgement
from lookalike.evaluate._plots import confusion_figure, coverage_figure, reliability_figure

Thumbnail = Callable[[int], bytes | None]


@dataclass(frozen=True)
class ReportedPrototype:
    """A prototype worth showing: its row in the data, its class, and its weight (the largest is 1).

    Examples
    --------
    >>> ReportedPrototype(row=3, label="cat", weight=1.0).label
    'cat'
    """

    row: int
    label: str
    weight: float


@dataclass(frozen=True)
class ReportContents:
    """What a report shows beside the judgement.

    ``names`` are the names of the data's rows; ``thumbnail`` gives the picture of a row, or None;
    ``rivals`` maps a rival's name to its balanced accuracy for held-out images; ``facts`` are told first.

    Examples
    --------
    >>> ReportContents("Pets", "Three pictures.", ["a.jpg"], thumbnail=lambda row: None).title
    'Pets'
    """

    title: str
    lead: str
    names: Sequence[str]
    thumbnail: Thumbnail
    prototypes: Sequence[ReportedPrototype] = ()
    rivals: Mapping[str, float] = field(default_factory=dict)
    facts: Sequence[tuple[str, str]] = ()


def write_report(path: Path | str, judgement: Judgement, contents: ReportContents) -> Path:
    """Write the report as one self-contained HTML file and return its path.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> judged = Judgement(np.array(["cat", "dog"]), np.array([0, 1, 1]), p, np.zeros(3, bool), np.arange(3))
    >>> contents = ReportContents("Pets", "Three pictures.", ["a.jpg", "b.jpg", "c.jpg"], lambda row: None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(pathlib.Path(folder) / "report.html", judged, contents).read_text()
    >>> "c.jpg" in page
    True
    """
    parts = [
        _overview(judgement, contents),
        _figures(judgement),
        _per_class(judgement),
        _confusions(judgement, contents),
        _prototypes(contents),
    ]
    text = html.page(contents.title, [p for p in parts if p], lead=contents.lead)
    return html.write_text(path, text)


def _overview(judgement: Judgement, contents: ReportContents) -> str:
    s = judgement.summary()
    rows: list[tuple[object, ...]] = [("this model", 100 * judgement.balanced_accuracy)]
    rows += [(name, 100 * value) for name, value in contents.rivals.items()]
    facts = [
        *contents.facts,
        ("images asked about, held out", f"{s['images']}"),
        ("right answers", f"{100 * s['accuracy']:.1f} %"),
        ("right among the surest 80 %", f"{100 * s['accuracy_of_surest_80_percent']:.1f} %"),
        ("declined (“none of these”)", f"{100 * s['declined']:.1f} %"),
        ("calibration error (15 bins)", f"{s['calibration_error']:.3f}"),
    ]
    if s["accuracy_where_not_declined"] is not None:
        facts.insert(
            -1, ("right where it did not decline", f"{100 * s['accuracy_where_not_declined']:.1f} %")
        )
    compare = html.table(["for held-out images", "balanced accuracy, %"], rows)
    notes = [html.paragraph(note, soft=True) for note in judgement.notes]
    return html.section(
        "How good it is",
        html.paragraph("All figures are for images that the model had not learnt from (cross-validation)."),
        html.row(html.table(["", ""], facts), compare),
        *notes,
    )


def _figures(judgement: Judgement) -> str:
    return html.section(
        "How sure it is",
        html.row(
            html.plot(
                reliability_figure(judgement),
                "On the line: what it calls 80 % sure is right 8 times in 10. Larger dots are more images.",
            ),
            html.plot(coverage_figure(judgement), "What you gain by looking only at the surest answers."),
        ),
    )


def _per_class(judgement: Judgement) -> str:
    counts = judgement.confusion
    rates = judgement.per_class
    rows = []
    for i in np.argsort(np.nan_to_num(rates, nan=2.0), kind="stable"):
        others = counts[i].copy()
        others[i] = 0
        worst = int(others.argmax())
        mistaken = f"{judgement.classes[worst]} ({others[worst]})" if others[worst] else ""
        rate = "–" if np.isnan(rates[i]) else float(100 * rates[i])
        rows.append((str(judgement.classes[i]), int(counts[i].sum()), rate, mistaken))
    return html.section(
        "Class by class",
        html.table(["class", "images", "right, %", "most often mistaken for"], rows),
        html.plot(confusion_figure(judgement), "Rows are right classes, columns are answers."),
    )


def _confusions(judgement: Judgement, contents: ReportContents) -> str:
    wrong = judgement.confused()
    if not len(wrong):
        return html.section("Where it errs", html.paragraph("It made no mistake on the held-out images."))
    shown = []
    for i in wrong:
        row = int(judgement.rows[i])
        said = judgement.classes[judgement.answers[i]]
        shown.append(
            html.picture(
                contents.thumbnail(row),
                [
                    f"is {judgement.classes[judgement.truth[i]]}",
                    f"said {said}, {100 * judgement.confidence[i]:.0f} % sure",
                    contents.names[row],
                ],
            )
        )
    text = "The surest wrong answers. Some may be wrong labels: look at them first."
    return html.section("Where it errs", html.paragraph(text), html.row(*shown))


def _prototypes(contents: ReportContents) -> str:
    if not contents.prototypes:
        return ""
    shown = [
        html.picture(contents.thumbnail(p.row), [p.label, contents.names[p.row]], share=p.weight)
        for p in contents.prototypes
    ]
    text = "The labelled images with the largest learned weights. Each answer is a vote of such images."
    return html.section("The strongest prototypes", html.paragraph(text), html.row(*shown))
