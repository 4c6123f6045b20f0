"""Accuracies of images as distributions: writes the tables of docs/reproduction/distributions.md.

Usage: python benchmarks/reproduction/distributions.py [PART ...] [--data PATH] [--cache PATH] [--write]

Parts: scene15, sparse, cross, color, embeddings, fisher. Each keeps its figures in the cache, so they can run
one by one and be resumed; --write puts all figures that are there into the document.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from distributions_data import Representations, draws, listing
from distributions_embeddings import embeddings
from distributions_fisher import fisher
from distributions_machine import Store, as_kernels, best_cost, log, machine, rates
from distributions_pairs import LITERAL, Form, choose_context, choose_form, own_as_largest, weights_of_draws
from scipy.special import softmax

from lookalike.learn import SparseLogisticRegression
from lookalike.similarity import (
    additive_kernel,
    contextual_similarity,
    mean_bandwidth,
    probability_product,
    symmetric_kl,
)

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reproduction" / "distributions.md"
OBJECTIVES = {"MOM-PPK": "bhattacharyya", "MOM-KL": "kl"}
SYSTEMS = ("BOV", "PPK", "KLK", "MOM-PPK", "MOM-KL", "CTXT")
LITERALS = ("PPK printed", "MOM-PPK literal", "MOM-KL literal", "CTXT literal")
# Chosen among six shares on a part of the first draw of training images, for KLK; all systems use it.
SPARSE = SparseLogisticRegression(penalty=0.001, tol=0.03)


class Systems:
    """The systems of the thesis on one set of images and one kind of descriptors."""

    def __init__(
        self,
        store: Store,
        made: Representations,
        y: np.ndarray,
        masks: list[np.ndarray],
        forms: dict[str, Form],
    ) -> None:
        self.store, self.made, self.y, self.masks, self.forms = store, made, y, masks, forms
        self.stem = f"{made.name}-{made.kind}-by-{made.source}"

    def matrix(self, name: str) -> np.ndarray:
        """Similarities (for KLK: divergences) of all pairs of images."""
        made = self.made
        if name == "BOV":
            return self._kept(name, lambda: additive_kernel(made.soft_words()))
        if name == "KLK":
            return self._kept(name, lambda: symmetric_kl(made.mixtures()))
        if name.startswith("PPK"):
            exponent = 1 if name.endswith("printed") else "rho"
            return self._kept(name, lambda: probability_product(made.mixtures(), weight_exponent=exponent))
        form = self.form(name)
        return self._kept(
            f"CTXT {form.sharpness:g} {form.n_iter}",
            lambda: contextual_similarity(made.mixtures(), n_iter=form.n_iter, sharpness=form.sharpness),
        )

    def form(self, name: str) -> Form:
        """How a system with iterations is used."""
        return LITERAL if name.endswith("literal") else self.forms[name]

    def _kept(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        return self.store.array(f"pairs/{self.stem}-{name.replace(' ', '-')}", make)

    def vectors(self, name: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Similarity vectors of the training and of the other images."""
        train = self.masks[draw]
        if name.startswith("MOM"):
            form = self.form(name)
            rows = self._weights(name.split()[0], form, draw) ** form.power
            return rows[train], rows[~train]
        rows = self.matrix(name)[:, train]
        a, b = rows[train], rows[~train]
        if name == "KLK":
            gamma = mean_bandwidth(a)
            return np.exp(-gamma * a), np.exp(-gamma * b)
        if name.startswith("CTXT"):
            form = self.form(name)
            a = own_as_largest(a) if form.largest else a
            return a**form.power, b**form.power
        return a, b

    def _weights(self, name: str, form: Form, draw: int) -> np.ndarray:
        """Weights of the reference images; those of all draws and both forms are made together."""
        forms = tuple({self.forms[name], LITERAL})
        files = {
            (f, d): self.store.cache / "pairs" / f"{self.stem}-{name}-{'-'.join(map(str, f))}-{d}.npy"
            for f in forms
            for d in range(len(self.masks))
        }
        if not files[form, draw].exists():
            wanted = [d for d in range(len(self.masks)) if not files[form, d].exists()]
            log(f"{self.stem} {name}: draws {wanted}")
            n = len(self.y)
            # Only what is whole has its final name: a run that was cut short starts this step anew.
            parts = {(f, d): files[f, d].with_suffix(".part") for f in forms for d in wanted}
            maps = {
                (f, d): np.lib.format.open_memmap(part, "w+", np.float32, (n, int(self.masks[d].sum())))
                for (f, d), part in parts.items()
            }
            chosen = [self.masks[d] for d in wanted]
            for f, d, rows, omega in weights_of_draws(self.made.mixtures(), OBJECTIVES[name], forms, chosen):
                maps[f, wanted[d]][rows] = omega
            for key, part in parts.items():
                maps[key].flush()
                part.rename(files[key])
            log("done")
        return np.asarray(np.load(files[form, draw]))

    def scores(self, name: str, draw: int, learner: str) -> np.ndarray:
        """Scores of the classes for the test images of one draw."""
        train = self.masks[draw]

        def make() -> np.ndarray:
            a, b = self.vectors(name, draw)
            if learner == "sparse":
                return SPARSE.fit(a, self.y[train]).predict_proba(b)
            inside, across = as_kernels(a, b)
            fitted = machine(self.cost(name)).fit(inside, self.y[train])
            # The same scale for all systems: only the mean of two systems asks for it.
            return softmax(2 * fitted.decision_function(across), axis=1)

        return self.store.array(f"scores/{self.stem}-{name.replace(' ', '-')}-{learner}-{draw}", make)

    def cost(self, name: str) -> float:
        """The machine's C, chosen on a part of the first training set."""
        key = f"cost/{self.stem}/{name}"
        if key not in self.store.figures():
            a, _ = self.vectors(name, 0)
            self.store.put(key, best_cost(as_kernels(a, a)[0], self.y[self.masks[0]]))
        return float(self.store.figures()[key][0])


def measure(
    store: Store,
    systems: list[Systems],
    names: tuple[str, ...],
    prefix: str,
    n_draws: int,
    learner: str = "svm",
) -> None:
    """Rates of several systems, draw by draw, so that a run that is cut short has all of them alike.

    Several kinds of descriptors are fused by the mean of their probabilities.
    """
    for draw in range(n_draws):
        y = systems[0].y[~systems[0].masks[draw]]
        for name in names:
            key = f"{prefix}/{learner}/{name}"
            values = store.figures().get(key, [])
            if len(values) > draw:
                continue
            scores = np.mean([s.scores(name, draw, learner) for s in systems], axis=0)
            store.put(key, [*values, rates(scores, y)])
            log(f"{key} {draw}: {store.figures()[key][-1]}")


def forms_of(store: Store, data: Path) -> dict[str, Form]:
    """How MOM and CTXT are used: chosen on a part of the first training set of Scene-15, for all sets."""
    y = listing(data, "scene15")[1]
    train = draws(y, 100, 1)[0]
    made = Representations(data, store.cache, "scene15", "sift")
    for name, objective in OBJECTIVES.items():
        if f"forms/{name}" not in store.figures():
            best, found = choose_form(made.mixtures(), objective, y, train)
            store.put(f"forms/{name}", {"best": best, "rates": found})
            log(f"{name}: {best}: {found[str(best)]:.1f}; as the thesis: {found[str(LITERAL)]:.1f}")
    if "forms/CTXT" not in store.figures():
        best, found = choose_context(made.mixtures(), y, train)
        store.put("forms/CTXT", {"best": best, "rates": found})
        log(f"CTXT: {best}: {found[str(best)]:.1f}; as the thesis: {found[str(LITERAL)]:.1f}")
    return {name: Form(*store.figures()[f"forms/{name}"]["best"]) for name in (*OBJECTIVES, "CTXT")}


def scene_systems(data: Path, store: Store, n_draws: int, source: str = "scene15") -> Systems:
    """Scene-15 with 100 training images per class, grey descriptors."""
    y = listing(data, "scene15")[1]
    made = Representations(data, store.cache, "scene15", "sift", source=source)
    return Systems(store, made, y, draws(y, 100, n_draws), forms_of(store, data))


def scene15(data: Path, store: Store, n_draws: int) -> None:
    """The row of the thesis, and beside it its methods taken literally."""
    systems = scene_systems(data, store, n_draws)
    measure(store, [systems], (*SYSTEMS, *LITERALS), "scene15", n_draws)
    for name in ("MOM-PPK literal", "MOM-KL literal", "CTXT literal"):
        if f"own/{name}" not in store.figures():
            inside, across = systems.vectors(name, 0)
            scale = 1 if name.startswith("CTXT") else inside.shape[1]  # the weights are kept with mean 1
            middles = np.median(inside.diagonal()) / scale, np.median(across.max(1)) / scale
            store.put(f"own/{name}", [float(m) for m in middles])


def sparse(data: Path, store: Store, n_draws: int) -> None:
    """The same by the thesis's own learner."""
    systems = scene_systems(data, store, n_draws)
    measure(store, [systems], SYSTEMS, "scene15", n_draws, "sparse")


def cross(data: Path, store: Store, n_draws: int) -> None:
    """Scene-15 with projection and universal mixture of another set of pictures."""
    systems = scene_systems(data, store, n_draws, source="corel1k")
    measure(store, [systems], ("PPK", "KLK"), "cross", n_draws)


def color(data: Path, store: Store, n_draws: int) -> None:
    """Flowers and Corel pictures by orientations, by colours, and by both."""
    forms = forms_of(store, data)
    for name, per_class in (("corel1k", 50), ("flowers17", 40)):
        y = listing(data, name)[1]
        masks = draws(y, per_class, min(5, n_draws))
        kinds = {
            kind: Systems(
                store, Representations(data, store.cache, name, kind, n_words=1024), y, masks, forms
            )
            for kind in ("sift", "color")
        }
        for kind, one in kinds.items():
            measure(store, [one], SYSTEMS, f"{name}/{kind}", len(masks))
        measure(store, list(kinds.values()), SYSTEMS, f"{name}/both", len(masks))


PARTS = {
    "scene15": scene15,
    "fisher": fisher,
    "cross": cross,
    "embeddings": embeddings,
    "color": color,
    "sparse": sparse,
}


def main() -> None:
    """Run the parts that were asked for."""
    from distributions_tables import write

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=ROOT / "benchmarks" / "results" / "distributions")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for folder in ("scores", "pairs"):
        (options.cache / folder).mkdir(parents=True, exist_ok=True)
    store = Store(options.cache)
    for part in options.parts or ([] if options.write else list(PARTS)):
        PARTS[part](options.data, store, options.draws)
    if options.write:
        write(DOCUMENT, store.figures())


if __name__ == "__main__":
    main()
