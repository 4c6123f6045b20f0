"""Retrieval by multiscale patches, measured on corel1k: writes tables of docs/reproduction/retrieval.md.

    python benchmarks/reproduction/retrieval.py [--data PATH] [--parts sample copies …] [--seconds 400]

What is measured is kept under ``--cache`` and a run goes on where the last one stopped; after ``--seconds``
it stops by itself. All of it takes about half an hour of one core. Every image with every other in full
(``--parts terms --queries-per-class 100``) is a million comparisons, an hour of one core."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter

from lookalike.bags import Bags
from lookalike.evaluate import RetrievalEvaluation, evaluate_retrieval
from lookalike.features import SparseMultiscalePatches, get_feature
from lookalike.similarity import PatchDissimilarity

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reproduction" / "retrieval.md"
CLASSES = [
    "africa",
    "beach",
    "buildings",
    "buses",
    "dinosaurs",
    "elephants",
    "flowers",
    "horses",
    "mountains",
    "food",
]
LABELS = np.repeat(CLASSES, 100)
# What is measured, for how many queries of each class.
PARTS = {"sample": 100, "copies": 25, "terms": 10, "symmetric": 5, "back": 10, "originals": 3}
FORMS = {
    "sample": {},
    "back": {"direction": "collection_first"},
    "symmetric": {"divergence": "jensen_shannon"},
}
STRIDE = 8  # of the patches that a first look takes
NEAREST = 100  # images that are compared in full with a query whose copies are looked for
FEWEST = 10  # queries that a row or a table needs to be written
RIVALS = {
    "colour histogram": "color-histogram",
    "GIST": "gist",
    "deep vectors": "efficientnet-lite0",
}


class OutOfTime(Exception):
    """The time for this run is over; what was measured is kept."""


class Store:
    """Arrays by name in a folder, and a clock."""

    def __init__(self, folder: Path, seconds: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.end = folder, time.monotonic() + seconds

    def __contains__(self, name: str) -> bool:
        return (self.folder / f"{name}.npy").exists()

    def __getitem__(self, name: str) -> np.ndarray:
        return np.load(self.folder / f"{name}.npy")

    def __setitem__(self, name: str, value: np.ndarray) -> None:
        np.save(self.folder / f"{name}.npy", value)
        if time.monotonic() > self.end:
            raise OutOfTime


def opened(data: Path, i: int) -> Image.Image:
    return Image.open(data / "corel1k" / "images" / f"{i}.jpg").convert("RGB")


def corel_patches(data: Path, store: Store) -> Bags:
    """The patches of all thousand images, as they are kept on disk."""
    feature = SparseMultiscalePatches()
    if "patches" not in store:
        bags = [feature.extract([np.asarray(opened(data, i))])[0] for i in range(1000)]
        np.save(store.folder / "offsets.npy", np.cumsum([0, *map(len, bags)]))
        store["patches"] = feature.pack(np.concatenate(bags))
    return Bags(feature.unpack(store["patches"]), store["offsets"])


def asked(per_class: int, seed: int = 0) -> np.ndarray:
    """As many queries of each class, in an order whose beginnings are balanced too; more add to fewer."""
    rng = np.random.default_rng(seed)
    return np.stack([100 * c + rng.permutation(100) for c in range(10)], axis=1)[:per_class].ravel()


def terms_of(search: PatchDissimilarity, bag: Bags, stride: int = 1) -> np.ndarray:
    """The four terms of the dissimilarity to every image of a fitted search."""
    query = search._queries(bag)[0]
    every = np.arange(search.n_images_)
    return np.stack([search._of(query, every, (band,), stride) for band in range(4)])


def measure(data: Path, store: Store, parts: list[str], counts: dict[str, int], jobs: int) -> None:
    """Everything that is slow, one query at a time; each part can run beside the others."""
    patches = corel_patches(data, store)

    def fitted(**how: Any) -> PatchDissimilarity:
        return PatchDissimilarity(n_jobs=jobs, **how).fit(patches)

    for part, how in FORMS.items():
        if part in parts:
            search = fitted(**how)
            for i in asked(counts[part]):
                _once(
                    store, f"{part}-{i}", lambda i=i, s=search: terms_of(s, patches[[i]], STRIDE).sum(axis=0)
                )
    if {"copies", "terms"} & set(parts):
        search = fitted()
        for i in asked(counts["copies"]) if "copies" in parts else ():
            _copies_of(data, store, search, patches, i)
        for i in asked(counts["terms"]) if "terms" in parts else ():
            _once(store, f"terms-{i}", lambda i=i: terms_of(search, patches[[i]]))
    if "originals" in parts:
        quick = fitted(preselect="sample", n_candidates=50)
        for i in asked(counts["originals"]):
            _once(store, f"originals-{i}", lambda i=i: _places_of_original(quick, data, int(i)))


def _once(store: Store, name: str, work: Callable[[], np.ndarray]) -> None:
    if name not in store:
        store[name] = work()


def _places_of_original(search: PatchDissimilarity, data: Path, i: int) -> np.ndarray:
    order = search.rank(_copies(data, i))[0]
    return np.argmax(order == i, axis=1) + 1


def _copies(data: Path, i: int) -> Bags:
    return SparseMultiscalePatches().extract([copy for _, copy in variants(opened(data, i))])


def _copies_of(data: Path, store: Store, search: PatchDissimilarity, patches: Bags, i: int) -> None:
    """The whole dissimilarity to the copies of a query, and to the images that a first look finds nearest."""

    def nearest() -> np.ndarray:
        look = np.argsort(store[f"sample-{i}"], kind="stable")
        chosen = np.sort(look[look != i][:NEAREST])
        query = search._queries(patches[[i]])[0]
        return np.stack([chosen, search._of(query, chosen, range(4), 1)])

    _once(store, f"sample-{i}", lambda: terms_of(search, patches[[i]], STRIDE).sum(axis=0))
    _once(store, f"nearest-{i}", nearest)
    _once(
        store,
        f"variants-{i}",
        lambda: PatchDissimilarity().fit(_copies(data, int(i))).pairwise(patches[[i]])[0],
    )


def variants(image: Image.Image) -> Iterator[tuple[str, np.ndarray]]:
    """What may happen to a photograph."""
    width, height = image.size

    def saved(**how: Any) -> Image.Image:
        buffer = io.BytesIO()
        image.save(buffer, **how)
        return Image.open(buffer).convert("RGB")

    for quality in (75, 40, 15):
        yield f"JPEG, quality {quality}", np.asarray(saved(format="JPEG", quality=quality))
    for psnr in (31.8, 29.7, 29.3):
        how = {"format": "JPEG2000", "quality_mode": "dB", "quality_layers": [psnr]}
        yield f"JPEG 2000, {psnr} dB", np.asarray(saved(**how))
    yield "blur, σ = 1", np.asarray(image.filter(ImageFilter.GaussianBlur(1)))
    yield "brightness × 1.2", np.asarray(ImageEnhance.Brightness(image).enhance(1.2))
    yield "half the size", np.asarray(image.resize((width // 2, height // 2), Image.Resampling.LANCZOS))
    edge = (width // 10, height // 10)
    yield "crop, 80 % of each side", np.asarray(image.crop((*edge, width - edge[0], height - edge[1])))
    turned = image.rotate(10, Image.Resampling.BICUBIC, expand=False)
    inner = (width // 6, height // 6, width - width // 6, height - height // 6)
    yield "rotation by 10°, inner part", np.asarray(turned.crop(inner))
    yield "rotation by 90°", np.asarray(image.rotate(90, expand=True))


def rivals(data: Path, store: Store) -> dict[str, np.ndarray]:
    """Vectors of other features, of all images."""
    out = {}
    for title, name in RIVALS.items():
        if f"vectors-{name}" not in store:
            feature = get_feature(name)
            parts = [
                feature.extract([np.asarray(opened(data, i)) for i in range(s, s + 50)])
                for s in range(0, 1000, 50)
            ]
            store[f"vectors-{name}"] = np.concatenate(parts)
        out[title] = store[f"vectors-{name}"]
    return out


def judged(scores: np.ndarray, queries: np.ndarray) -> RetrievalEvaluation:
    order = np.argsort(scores, axis=1, kind="stable")
    return evaluate_retrieval(order, LABELS[queries], LABELS, queries=queries)


def by_vectors(vectors: np.ndarray, queries: np.ndarray, cosine: bool) -> RetrievalEvaluation:
    x = vectors.astype(np.float64)
    if cosine:
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    square = (x * x).sum(axis=1)
    return judged(square[queries, None] + square - 2 * x[queries] @ x.T, queries)


def done(store: Store, kind: str, queries: np.ndarray) -> np.ndarray:
    return np.array([i for i in queries if f"{kind}-{i}" in store])


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def percent(values: np.ndarray) -> str:
    values = 100 * np.asarray(values, float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.1f} ± {error:.1f}"


def thinned(store: Store, queries: np.ndarray) -> np.ndarray:
    """The dissimilarities by every eighth patch of these queries."""
    return np.stack([store[f"sample-{i}"] for i in queries])


def whole(store: Store, queries: np.ndarray) -> np.ndarray:
    return np.stack([store[f"terms-{i}"] for i in queries])


def signed(values: np.ndarray) -> str:
    return ("+" if np.mean(values) >= 0 else "") + percent(values)


def precision_table(data: Path, store: Store) -> str:
    """Precision at 100 per category and in the mean, the query left out."""
    queries = done(store, "sample", asked(100))
    if len(queries) < 10 * FEWEST:
        return ""
    found = {"patches": judged(thinned(store, queries), queries)}
    for title, vectors in rivals(data, store).items():
        found[title] = by_vectors(vectors, queries, cosine=title == "deep vectors")
    means = [found[name].by_class(found[name].precision(100)) for name in found]
    rows = [[label, *(f"{100 * mean[label]:.1f}" for mean in means)] for label in CLASSES]
    rows.append(["**mean**", *(percent(f.precision(100)) for f in found.values())])
    rows.append(["the query counted", *(percent(f.precision_with_query(100)) for f in found.values())])
    rows.append(["mean average precision", *(percent(f.average_precision()) for f in found.values())])
    rows.append(["precision at 10", *(percent(f.precision(10)) for f in found.values())])
    both = done(store, "sample", done(store, "terms", asked(100)))
    text = f"{len(queries):,} queries. The patches are compared by every eighth patch of the query"
    if len(both) >= FEWEST:
        full, thin = whole(store, both).sum(axis=1), thinned(store, both)
        gain = [judged(full, both).precision(n) - judged(thin, both).precision(n) for n in (100, 10)]
        text += (
            f"; on {len(both)} queries that were asked with all of them too, precision at 100 was "
            f"{signed(gain[0])} and precision at 10 {signed(gain[1])} points higher so"
        )
    return text + ".\n\n" + table(["category", *found], rows)


def forms_table(store: Store) -> str:
    """What the switches of the method change, each on the queries that were measured both ways."""
    rows = []

    def line(name: str, queries: np.ndarray, default: np.ndarray, other: np.ndarray) -> None:
        a, b = (judged(s, queries).precision(100) for s in (default, other))
        rows.append([name, str(len(queries)), percent(a), percent(b), signed(b - a)])

    queries = done(store, "terms", asked(100))
    if len(queries) >= FEWEST:
        terms = whole(store, queries)
        for name, weights in {
            "the low-pass band alone": (0, 0, 0, 1),
            "the high-frequency bands alone": (1, 1, 1, 0),
            "the finest band alone": (1, 0, 0, 0),
            "without the finest band": (0, 1, 1, 1),
        }.items():
            line(name, queries, terms.sum(axis=1), np.einsum("qbn,b->qn", terms, weights))
    for kind, name in {"back": "image first, query second", "symmetric": "Jensen-Shannon"}.items():
        queries = done(store, "sample", done(store, kind, asked(100)))
        if len(queries) < FEWEST:
            continue
        default, other = thinned(store, queries), np.stack([store[f"{kind}-{i}"] for i in queries])
        line(f"{name} *", queries, default, other)
        if kind == "back":
            line("both directions added *", queries, default, default + other)
    return table(["what", "queries", "default", "with it", "difference"], rows) if rows else ""


def two_step_table(store: Store) -> str:
    """What a first look costs in answers."""
    queries = done(store, "sample", done(store, "terms", asked(100)))
    if len(queries) < FEWEST:
        return ""
    terms = whole(store, queries)
    best = np.argsort(terms.sum(axis=1), axis=1, kind="stable")[:, :11]
    looks = {"low-pass band": terms[:, 3], "every eighth patch, all bands": thinned(store, queries)}
    cost = {"low-pass band": 0.45, "every eighth patch, all bands": 1 / STRIDE}
    rows = []
    for name, look in looks.items():
        place = np.argsort(np.argsort(look, axis=1, kind="stable"), axis=1)
        last = np.take_along_axis(place, best, axis=1)
        for n in (50, 100, 200, 300):
            same = (last < n).all(axis=1)
            kept = (last < n).mean(axis=1)
            work = f"{cost[name] + n / 1000:.2f}"
            rows.append([name, str(n), percent(same), percent(kept), work])
    head = ["first look", "left for the whole", "same first ten, %", "of the first ten kept, %", "work"]
    return f"{len(queries)} queries.\n\n" + table(head, rows)


def variants_table(data: Path, store: Store) -> str:
    """Ranks of changed copies for their original, and of the original for them."""
    names = [name for name, _ in variants(opened(data, 0))]
    queries = done(store, "variants", asked(100))
    if len(queries) < FEWEST:
        return ""
    copies = np.stack([store[f"variants-{i}"] for i in queries])
    others = np.stack([store[f"nearest-{i}"][1] for i in queries])
    ranks = 1 + (others[:, None, :] < copies[:, :, None]).sum(axis=2)
    back = done(store, "originals", asked(100))
    found = np.stack([store[f"originals-{i}"] for i in back]) if len(back) else np.zeros((0, len(names)))
    rows = []
    for v, name in enumerate(names):
        ends = (np.median(ranks[:, v]), ranks[:, v].max())
        median, worst = (f"{rank:.0f}" if rank <= NEAREST else f"> {NEAREST}" for rank in ends)
        rows.append([name, percent(ranks[:, v] == 1), median, worst])
        rows[-1] += (
            [percent(found[:, v] == 1), f"{found[:, v].max():.0f}"]
            if len(back) >= FEWEST
            else ["not measured", ""]
        )
    copies_of = f"; the copies of {len(back)} originals ask" if len(back) >= FEWEST else ""
    text = f"{len(queries)} originals ask{copies_of}.\n\n"
    head = ["copy", "original asks: copy first, %", "median rank", "worst", "copy asks: original first, %"]
    return text + table([*head, "worst"], rows)


def write(page: Path, parts: dict[str, str]) -> None:
    """Put each text between its markers; where there is none, what stands there stays."""
    text = page.read_text()
    for name, part in parts.items():
        if not part:
            continue
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text, count = re.subn(pattern, lambda m, part=part: m[1] + part + "\n" + m[2], text, flags=re.S)
        if count != 1:
            sys.exit(f"{page} has no place for {name!r}.")
    page.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "lookalike-retrieval")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--queries-per-class", type=int, help="instead of what each part takes by itself")
    parser.add_argument("--jobs", type=int, default=2, help="threads")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--tables", action="store_true", help="only write what is measured already")
    args = parser.parse_args()
    store = Store(args.cache, args.seconds)
    if not args.tables:
        counts = {part: args.queries_per_class or n for part, n in PARTS.items()}
        try:
            measure(args.data, store, args.parts, counts, args.jobs)
        except OutOfTime:
            print(json.dumps({"measured": len(list(args.cache.glob("*.npy"))), "complete": False}))
            return
    texts = {
        "precision": precision_table(args.data, store),
        "forms": forms_table(store),
        "two-step": two_step_table(store),
        "variants": variants_table(args.data, store),
    }
    write(PAGE, texts)


if __name__ == "__main__":
    main()
