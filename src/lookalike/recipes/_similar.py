"""Searching a collection by any similarity of the house; the costly ones in two steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection import Collection, Hit
from lookalike.errors import LookalikeError
from lookalike.features import Feature, get_feature
from lookalike.images import open_image
from lookalike.neighbors import BregmanBruteForce
from lookalike.progress import Progress, Step, silent
from lookalike.recipes._presets import SMP_KL
from lookalike.recipes._steps import find_step

CANDIDATES = 100  # images that a first look leaves, at least
VECTORS = {
    "cosine": "the cosine of two vectors (the default)",
    "euclidean": "the distance of two vectors",
}
# Divergences of histograms: vectors without numbers below zero, each divided by its sum.
HISTOGRAMS = {
    "kl": ("kl", "right", "Kullback-Leibler: the image's histogram seen from the query's"),
    "kl-left": ("kl", "left", "Kullback-Leibler: the query's histogram seen from the image's"),
    "jeffreys": ("kl", "jeffreys", "half the sum of both Kullback-Leibler divergences"),
    "jensen-shannon": ("kl", "jensen", "the Jensen-Shannon divergence of two histograms"),
    "itakura-saito": ("itakura_saito", "right", "the Itakura-Saito divergence of two spectra"),
}
PATCHES = "patches"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, and by what.

    For a divergence the similarity of a hit is the divergence with its sign changed.

    Examples
    --------
    >>> Found("kl", "color-histogram", []).hits
    []
    """

    similarity: str
    feature: str
    hits: list[Hit]


def list_similarities() -> dict[str, str]:
    """What a collection can be searched by, each with a line that says what it is.

    Examples
    --------
    >>> sorted(list_similarities())[:3]
    ['cosine', 'euclidean', 'itakura-saito']
    """
    histograms = {name: about for name, (_, _, about) in HISTOGRAMS.items()}
    patches = "multiscale patches by their divergence, in two steps; also called smp-kl"
    return {**VECTORS, **histograms, PATCHES: patches}


def find_similar(
    collection: Collection,
    images: Sequence[str | os.PathLike[str]],
    *,
    similarity: str = "cosine",
    feature: str | None = None,
    k: int = 10,
    progress: Progress = silent,
) -> Found:
    """The images of a collection most similar to one or several pictures, which are not among the answers.

    Parameters
    ----------
    collection : Collection
    images : sequence of paths or uris
        In the collection or not; with several the mean of their similarities counts.
    similarity : str, default="cosine"
        One of :func:`list_similarities`, or ``"smp-kl"``.
    feature : str, optional
        What is compared; by default the collection's own, or patches.
    k : int, default=10
    progress : callable, optional

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     find_similar(Collection.create(folder), ["tom.jpg"], similarity="taste")
    Traceback (most recent call last):
        ...
    lookalike.errors.LookalikeError: there is no similarity called 'taste': there are cosine, ...
    """
    name = PATCHES if similarity == SMP_KL.name else similarity
    if name not in list_similarities():
        names = ", ".join(list_similarities())
        raise LookalikeError(f"there is no similarity called {similarity!r}: there are {names}.")
    if k < 1:
        raise ValueError(f"k must be at least 1, but is {k}.")
    if name == PATCHES:
        compared = _feature(collection, feature or SMP_KL.feature, "bag")
        if compared.name != SMP_KL.feature:
            raise LookalikeError(
                f"the similarity 'patches' needs the feature {SMP_KL.feature!r}, not {compared.name!r}."
            )
    else:
        compared = _feature(collection, feature, "vector")
    inside, queries = _examples(collection, images, compared)
    if name in VECTORS:
        metric: Any = name
        hits = collection.search(
            np.array(queries),
            k=k + len(inside),
            feature=compared,
            metric=metric,
            include_examples=True,
        )
    else:
        search = _by_patches if name == PATCHES else _by_histograms
        hits = search(collection, compared, queries, name, k + len(inside), progress)
    return Found(name, compared.name, [hit for hit in hits if hit.uri not in inside][:k])


def _feature(collection: Collection, name: str | None, kind: str) -> Feature:
    column = collection.column(name, kind)
    feature = get_feature(column.name, **column.settings)
    if feature.fingerprint != column.fingerprint:
        raise LookalikeError(
            f"{collection.where} was indexed with another version of {column.name!r}: "
            "run 'lookalike index' there again."
        )
    return feature


def _examples(
    collection: Collection, images: Sequence[str | os.PathLike[str]], feature: Feature
) -> tuple[set[str], list[NDArray[Any]]]:
    """The uris of examples inside the collection, and a vector or bag for each example."""
    inside, rows = set(), []
    for image in images:
        try:
            uri = collection.uri(image)
        except LookalikeError:
            picture = open_image(image, shorter_side=feature.shorter_side)
            rows.append(feature.extract([picture.pixels])[0])
            continue
        inside.add(uri)
        read = collection.vectors if feature.kind == "vector" else collection.bags
        rows.append(read(feature, uris=[uri])[1][0])
    return inside, rows


def _by_histograms(
    collection: Collection,
    feature: Feature,
    queries: list[NDArray[Any]],
    name: str,
    k: int,
    progress: Progress,
) -> list[Hit]:
    """Divergences of histograms, block after block; of several examples the mean."""
    divergence, side, _ = HISTOGRAMS[name]
    asked = _shares(np.array(queries), feature)
    uris: list[str] = []
    values: list[NDArray[np.float64]] = []
    for block, X in collection.vector_blocks(feature):
        search = BregmanBruteForce(_shares(X, feature), divergence, side)
        found, ids = search.query(asked, len(block))
        every = np.empty_like(found)
        np.put_along_axis(every, ids, found, axis=1)
        uris += block.tolist()
        values.append(every.mean(axis=0))
        progress(Step("search", len(uris)))
    return _best(uris, np.concatenate([*values, np.zeros(0)]), k)


def _shares(X: NDArray[Any], feature: Feature) -> NDArray[np.float64]:
    if X.size and X.min() < 0:
        raise LookalikeError(
            f"the feature {feature.name!r} has numbers below zero: compare it by cosine or euclidean; "
            "divergences are for histograms, as 'color-histogram'."
        )
    total = X.sum(axis=1, keepdims=True, dtype=np.float64)
    return np.asarray(X / np.where(total > 0, total, 1.0))


def _by_patches(
    collection: Collection,
    feature: Feature,
    queries: list[NDArray[Any]],
    name: str,
    k: int,
    progress: Progress,
) -> list[Hit]:
    """A first look at all images, block after block, then the whole for the best of them."""
    from lookalike.bags import Bags

    asked = Bags.from_list(queries, dim=feature.dim)
    step, settings = SMP_KL.steps[0]
    quick: Any = find_step(step)(**settings, n_jobs=-1)  # found by name: see docs/patents.md
    uris: list[str] = []
    values: list[NDArray[np.float64]] = []
    for block, bags in collection.bag_blocks(feature):
        uris += block.tolist()
        values.append(quick.fit(bags).first_look(asked).mean(axis=0))
        progress(Step("first look", len(uris)))
    left = _best(uris, np.concatenate([*values, np.zeros(0)]), max(CANDIDATES, 3 * k))
    if not left:
        return []
    names = [hit.uri for hit in left]
    found, bags = collection.bags(feature, uris=names)
    order, ranked = quick.set_params(preselect=None).fit(bags).rank(asked)
    full = np.empty_like(ranked)
    np.put_along_axis(full, order, ranked, axis=1)  # a copy of an example is as near as the nearest
    progress(Step("search", len(uris), len(uris)))
    return _best(found.tolist(), full.mean(axis=0), k)


def _best(uris: list[str], values: NDArray[np.float64], k: int) -> list[Hit]:
    """The images of the least values, equal ones by their uri; what cannot be compared is left out."""
    order = np.lexsort((np.array(uris, str), values)).tolist() if uris else []
    chosen = [i for i in order if np.isfinite(values[i])][:k]
    return [Hit(uris[i], -float(values[i]), -float(values[i])) for i in chosen]
