"""Similarities of all pairs of images, made once for all draws, and mixtures of reference images."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from distributions_machine import COSTS, as_kernels, inner_part, machine, rates

from lookalike.arrays import row_blocks
from lookalike.bags import MixtureOfReferences, Mixtures
from lookalike.bags._gaussians import References
from lookalike.similarity import contextual_similarity


class Form(NamedTuple):
    """How mixtures of references, or contexts, are made and handed to the learner; default: the thesis's."""

    sharpness: float = 1.0
    n_iter: int = 4  # the thesis finds 3 to 5 best
    largest: bool = False  # a training image's likeness to itself becomes its largest one to another
    power: float = 1.0
    sqrt: bool = False  # of the weights of the components

    def __str__(self) -> str:
        parts = [f"sharpness {self.sharpness:g}", f"{self.n_iter} iteration{'s' * (self.n_iter > 1)}"]
        parts += ["own weight as the largest other"] if self.largest else []
        parts += ["square roots of the components' weights"] if self.sqrt else []
        parts += [f"to the power {self.power:g}"] if self.power != 1 else []
        return ", ".join(parts)


LITERAL = Form()
SHARPNESS, ITERATIONS, POWERS = (1.0, 0.3), (1, 2, 4), (1.0, 0.5, 0.25)


class Weights:
    """Weights of the reference images for all images and several draws, in one pass over all pairs.

    The likenesses of components do not depend on the draw; only the choice of their columns does.
    """

    def __init__(self, mixtures: Mixtures, objective: str) -> None:
        self.mixtures, self.objective = mixtures, objective
        self.likeness = References(mixtures, overlap=2 if objective == "bhattacharyya" else 0)

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Some rows, and the logarithms of their likenesses with all images: (components, rows, images)."""
        for block in row_blocks(len(self.mixtures), self.likeness.bytes_per_query, budget=2**28):
            yield np.arange(len(self.mixtures))[block], self.likeness.logs(self.mixtures[block])

    def of(self, logs: np.ndarray, rows: np.ndarray, references: np.ndarray, form: Form) -> np.ndarray:
        """The weights of these references for these rows; ``logs`` is left as it is."""
        model = MixtureOfReferences(
            objective=self.objective,
            n_iter=form.n_iter,
            sharpness=form.sharpness,
            sqrt_weights=form.sqrt,
            exclude_self="largest",
        )
        own = None
        if form.largest:
            place = np.full(len(self.mixtures), -1)
            place[references] = np.arange(len(references))
            own = place[rows]
        omega = model._maximise(logs[:, :, references], self.mixtures.weights[rows], own)
        return np.asarray(omega * len(references), dtype=np.float32)


def weights_of_draws(
    mixtures: Mixtures, objective: str, forms: tuple[Form, ...], masks: list[np.ndarray]
) -> Iterator[tuple[Form, int, np.ndarray, np.ndarray]]:
    """Form, draw, rows, and the weights that these give to the training images of that draw."""
    weights = Weights(mixtures, objective)
    for rows, logs in weights.blocks():
        for draw, train in enumerate(masks):
            for form in forms:
                yield form, draw, rows, weights.of(logs, rows, np.flatnonzero(train), form)


def choose_form(
    mixtures: Mixtures, objective: str, y: np.ndarray, train: np.ndarray
) -> tuple[Form, dict[str, float]]:
    """The form with the best rate on a third of one training set; the other two thirds are references."""
    inside, labels = mixtures[np.flatnonzero(train)], y[train]
    inner = inner_part(labels)
    roots = (False, True) if objective == "bhattacharyya" else (False,)
    forms = [
        Form(sharpness, n_iter, largest, sqrt=sqrt)
        for sharpness, n_iter, largest, sqrt in product(SHARPNESS, ITERATIONS, (False, True), roots)
    ]
    parts: dict[Form, list[np.ndarray]] = {form: [] for form in forms}
    weights = Weights(inside, objective)
    for rows, logs in weights.blocks():
        for form in forms:
            parts[form].append(weights.of(logs, rows, np.flatnonzero(inner), form))
    found: dict[Form, float] = {}
    for form in forms:
        omega = np.concatenate(parts[form])
        for power in POWERS:
            found[form._replace(power=power)] = best_rate(omega**power, labels, inner)
    best = max(found, key=lambda form: found[form])
    return best, {str(form): rate for form, rate in found.items()}


def best_rate(X: np.ndarray, y: np.ndarray, inner: np.ndarray) -> float:
    """Rate of a linear machine on the held-out part of training images, with its best C."""
    a, b = as_kernels(X[inner], X[~inner])
    return max(rates(machine(C).fit(a, y[inner]).decision_function(b), y[~inner])[0] for C in COSTS)


def choose_context(mixtures: Mixtures, y: np.ndarray, train: np.ndarray) -> tuple[Form, dict[str, float]]:
    """The same for contextual similarities."""
    inside, labels = mixtures[np.flatnonzero(train)], y[train]
    inner = inner_part(labels)
    found: dict[Form, float] = {}
    for sharpness, n_iter in product(SHARPNESS, ITERATIONS):
        near = contextual_similarity(inside, inside[inner], n_iter=n_iter, sharpness=sharpness)
        for largest, power in product((False, True), POWERS[:2]):
            form = Form(sharpness, n_iter, largest, power)
            rows = near.copy()
            if largest:
                rows[inner] = own_as_largest(near[inner])
            found[form] = best_rate(rows**power, labels, inner)
    best = max(found, key=lambda form: found[form])
    return best, {str(form): rate for form, rate in found.items()}


def own_as_largest(square: np.ndarray) -> np.ndarray:
    """Similarities of images to themselves, the own one of each replaced by the largest other one."""
    out = square.copy()
    np.fill_diagonal(out, -np.inf)
    np.fill_diagonal(out, out.max(1))
    return out
