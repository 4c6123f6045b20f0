"""Kernels by name: plain data that a recipe can hold, for vectors and for mixtures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from lookalike.bags._gaussians import MatchedKL, Overlaps
from lookalike.bags._mixtures import check_mixtures
from lookalike.similarity._contextual import contextual_similarity
from lookalike.similarity._histogram_kernels import ADDITIVE, additive_kernel
from lookalike.similarity._mixture_kernels import mean_bandwidth, probability_product, products, symmetric_kl

EXPONENTIAL = tuple(f"exp-{kind}" for kind in ADDITIVE)
OF_HISTOGRAMS = (*ADDITIVE, *EXPONENTIAL)
OF_VECTORS = ("linear", "rbf", *OF_HISTOGRAMS)
OF_MIXTURES = ("context", "kl", "probability-product")
WITH_BANDWIDTH = ("rbf", "kl", *EXPONENTIAL)


def bandwidth(name: str, X: Any, settings: dict[str, Any]) -> float | None:
    """gamma of a kernel exp(-gamma D): 1 over the mean of D over pairs of X; None for other kernels."""
    if name not in WITH_BANDWIDTH:
        return None
    return mean_bandwidth(_divergence(name, X, None, settings))


class NamedKernel:
    """The kernel of that name against one collection, whose side is prepared once.

    Calling it with other images gives their Gram matrix with the collection.
    """

    def __init__(self, name: str, references: Any, gamma: float | None, settings: dict[str, Any]) -> None:
        self.name, self.references, self.gamma, self.settings = name, references, gamma, settings
        self.prepared: Any = None
        if settings.get("method", "one-to-one") == "one-to-one":
            if name == "kl":
                self.prepared = MatchedKL(references)
            elif name == "probability-product" and not settings.get("normalise", False):
                self.prepared = Overlaps(references, settings.get("rho", 0.5), matched=True)

    def __call__(self, X: Any) -> NDArray[Any]:
        """The Gram matrix."""
        if self.name == "kl" and self.prepared is not None:
            D = self.prepared.symmetric(check_mixtures(X, like=self.references, matched=True))
            D *= -float(self.gamma)  # type: ignore[arg-type]
            return np.asarray(np.exp(D, out=D))
        if self.prepared is not None:
            X = check_mixtures(X, like=self.references, matched=True)
            exponent = self.settings.get("weight_exponent", "rho")
            exponent = self.prepared.rho if exponent == "rho" else float(exponent)
            return products(X, self.prepared, self.references, "one-to-one", exponent)
        return _gram(self.name, X, self.references, self.gamma, self.settings)


def _gram(name: str, X: Any, Y: Any, gamma: float | None, settings: dict[str, Any]) -> NDArray[Any]:
    if name == "linear":
        return np.asarray(np.asarray(X) @ np.asarray(Y).T)
    if name in ADDITIVE:
        return additive_kernel(X, Y, kind=name)
    if name == "probability-product":
        return probability_product(X, Y, **settings)
    if name == "context":
        return contextual_similarity(X, Y, **settings)
    D = _divergence(name, X, Y, settings)
    D *= -float(gamma)  # type: ignore[arg-type]
    return np.asarray(np.exp(D, out=D))


def _divergence(name: str, X: Any, Y: Any, settings: dict[str, Any]) -> NDArray[Any]:
    if name == "rbf":
        return np.asarray(euclidean_distances(X, Y, squared=True))
    if name == "kl":
        return symmetric_kl(X, Y, **settings)
    return np.asarray(1 - additive_kernel(X, Y, kind=name.removeprefix("exp-")))
