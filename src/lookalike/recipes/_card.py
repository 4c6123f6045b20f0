"""The card of a model: what it is, what it was made from, how good it is, for people to read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookalike.recipes._model import Model


def card_text(model: Model) -> str:
    """Markdown."""
    counts = Counter(model.labels)
    lines = [
        f"# {model.name}",
        "",
        f"Answers with one of {len(model.classes)} classes, or with “none of these”. Learnt on "
        f"{model.created[:10]} from {len(model.labels)} labelled images by the recipe `{model.recipe.name}`.",
        "",
        model.recipe.about,
        "",
        "| part | value |",
        "|---|---|",
        f"| feature | `{model.recipe.feature}` (fingerprint `{model.fingerprint[:16]}`) |",
        *(f"| step | `{name}` {_plain(parameters)} |" for name, parameters in model.recipe.steps),
        *_prototype_line(model),
        "",
        "## How good it is",
        "",
        *_judged(model),
        "",
        "## Classes",
        "",
        "| class | labelled images | right, % |",
        "|---|---:|---:|",
    ]
    rates = model.judged.get("per_class", {})
    for name in model.classes:
        rate = rates.get(name)
        shown = "–" if rate is None else f"{100 * rate:.1f}"
        lines.append(f"| {_cell(name)} | {counts[name]} | {shown} |")
    lines += [
        "",
        "## Keep in mind",
        "",
        "It knows only what its labelled images show. Probabilities hold for images like those; for others "
        "it may be sure and wrong, so look at the evidence of an answer before you act on it.",
        "",
    ]
    return "\n".join(lines)


def _judged(model: Model) -> list[str]:
    judged = model.judged
    if not judged:
        return ["It was not judged: no image was held out."]
    return [
        f"Cross-validation on {judged['images']} images that it had not learnt from:",
        "",
        "| measure | value |",
        "|---|---:|",
        f"| balanced accuracy | {100 * judged['balanced_accuracy']:.1f} % |",
        f"| accuracy | {100 * judged['accuracy']:.1f} % |",
        f"| accuracy of the surest 80 % | {100 * judged['accuracy_of_surest_80_percent']:.1f} % |",
        f"| declined | {100 * judged['declined']:.1f} % |",
        f"| calibration error (15 bins) | {judged['calibration_error']:.3f} |",
    ]


def _prototype_line(model: Model) -> list[str]:
    last = model.pipeline[-1]
    if not hasattr(last, "prototypes_"):
        return []
    labelled = len(last.prototypes_) - len(model.borrowed)
    more = f", and {len(model.borrowed)} unlabelled ones" if model.borrowed else ""
    return [f"| prototypes | {labelled} of {len(model.labels)} labelled images{more} |"]


def _plain(parameters: dict[str, object]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in parameters.items()) if parameters else "(defaults)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
