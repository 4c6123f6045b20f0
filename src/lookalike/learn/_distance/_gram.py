"""Kernels by name, and the map that makes one a dot product over chosen observations."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils._param_validation import Interval, StrOptions

Array = NDArray[Any]

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions({"rbf", "polynomial", "sigmoid", "linear", "precomputed"}), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with its parameters settled."""

    kind: Any
    gamma: float
    degree: int = 3
    coef0: float = 1.0

    @classmethod
    def of(cls, estimator: Any, x: Array) -> Kernel:
        """The kernel an estimator's parameters name; ``gamma=None`` is 1 / (features * variance)."""
        gamma = estimator.gamma
        if gamma is None:
            variance = float(x.var()) if estimator.kernel != "precomputed" else 1.0
            gamma = 1.0 / (x.shape[1] * variance) if variance > 0 else 1.0
        return cls(estimator.kernel, gamma, getattr(estimator, "degree", 3), getattr(estimator, "coef0", 1.0))

    def __call__(self, a: Array, b: Array) -> Array:
        """The kernel's values between two sets of observations (given ones where it is precomputed)."""
        if self.kind == "precomputed":
            return a
        if callable(self.kind):
            return np.asarray(pairwise_kernels(a, b, metric=self.kind), dtype=np.float64)
        parameters = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(pairwise_kernels(a, b, metric=self.kind, filter_params=True, **parameters))


@dataclass(frozen=True, slots=True)
class Map:
    """``kernel values to the landmarks @ weights``: coordinates whose dot product is the kernel."""

    weights: Array
    negative: float  # the most negative eigenvalue as a share of the largest

    @classmethod
    def of(cls, gram: Array, *, kept: float = 1e-10) -> Map:
        """From the matrix of the kernel between the landmarks, whose null directions are left out."""
        values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        top = values[-1]
        if top <= 0:
            raise ValueError("the kernel is zero or negative everywhere: there is no distance to learn from.")
        good = values > kept * top
        order = np.flatnonzero(good)[::-1]
        return cls(vectors[:, order] / np.sqrt(values[order]), float(min(values[0], 0.0) / top))
