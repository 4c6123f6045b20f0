"""The contract of every feature: what it is called, what it gives, and how it is told from another."""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lookalike.arrays import Bags

Image = NDArray[np.uint8]


class Feature(ABC):
    """One way to turn an image into numbers: a vector, or a bag of local descriptors.

    A feature is plain data, ``name`` and ``settings``, with code behind it: ``get_feature(name, **settings)``
    makes an equal one in another process or on another machine. Making one is cheap; weights are loaded by
    the first ``extract``. ``extract`` may be called from several threads at once and computes in the thread
    that calls it, so whoever has many images runs one thread for each core.

    A subclass sets the class attributes below, takes its settings as keyword-only arguments, keeps each in an
    attribute of the same name, and writes ``dim`` and ``_extract``.

    Attributes
    ----------
    name : str
        What it is called, for example in ``lookalike index --feature NAME``.
    kind : {"vector", "bag"}
        What ``extract`` gives: an array with a row for each image, or ``Bags`` with a bag for each.
    revision : int
        Raised when the same settings would give other numbers than before.
    shorter_side : int or None
        How many pixels of the shorter side it has use for; a larger picture may be decoded at a reduced size
        that keeps at least as many. None is all there are.
    batch_size : int
        How many images one call of ``extract`` should get for the best speed.
    storage_dtype, storage_scale : str, float
        How ``pack`` keeps the numbers on disk: ``round(value * scale)`` for integer types.

    Examples
    --------
    >>> class MeanColor(Feature):
    ...     "The mean of each channel."
    ...     name, kind, dim = "mean-color", "vector", 3
    ...     def __init__(self, *, scale=1.0):
    ...         self.scale = scale
    ...     def _extract(self, images):
    ...         return np.stack([image.mean((0, 1)) * self.scale for image in images])
    >>> feature = MeanColor(scale=0.5)
    >>> feature
    MeanColor(scale=0.5)
    >>> feature.extract([np.full((2, 2, 3), 8, np.uint8)])
    array([[4., 4., 4.]], dtype=float32)
    >>> feature.settings, feature.fingerprint == MeanColor().fingerprint
    ({'scale': 0.5}, False)
    """

    name: str
    kind: ClassVar[Literal["vector", "bag"]] = "vector"
    revision: ClassVar[int] = 1
    shorter_side: int | None = None
    batch_size: int = 16
    storage_dtype: str = "float32"
    storage_scale: float = 1.0

    @property
    @abstractmethod
    def dim(self) -> int:
        """How many numbers a vector, or each descriptor of a bag, has."""

    @abstractmethod
    def _extract(self, images: list[Image]) -> NDArray[Any] | list[NDArray[Any]]:
        """The rows, or the list of bags, of one or more checked images."""

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that make an equal feature: plain data, fit for JSON."""
        return {name: _plain(getattr(self, name)) for name in inspect.signature(type(self)).parameters}

    @property
    def spec(self) -> dict[str, Any]:
        """``{"name": …, "settings": …}``: what a recipe or a worker needs to make this feature again."""
        return {"name": self.name, "settings": self.settings}

    @property
    def weights_hash(self) -> str:
        """SHA-256 of the weights, or empty where there are none."""
        return ""

    def _identity(self) -> dict[str, Any]:
        """All that decides the numbers: what the fingerprint is the hash of."""
        return {
            "name": self.name,
            "revision": self.revision,
            "settings": self.settings,
            "weights": self.weights_hash,
        }

    @property
    def fingerprint(self) -> str:
        """A hash of name, revision, settings and weights: equal where the numbers are comparable."""
        text = json.dumps(self._identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def extract(self, images: Sequence[Image]) -> Any:
        """The vectors (float32, ``(n, dim)``) or the ``Bags`` of RGB images of any sizes."""
        checked = [_check(image, i) for i, image in enumerate(images)]
        if self.kind == "bag":
            return Bags.from_list(list(self._extract(checked)) if checked else [], dim=self.dim)
        if not checked:
            return np.zeros((0, self.dim), np.float32)
        return np.asarray(self._extract(checked), dtype=np.float32)

    def pack(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values as they should be kept on disk (``storage_dtype``)."""
        dtype = np.dtype(self.storage_dtype)
        if dtype.kind not in "iu":
            return np.asarray(values).astype(dtype, copy=False)
        scaled = np.rint(np.asarray(values, np.float32) * np.float32(self.storage_scale))
        limits = np.iinfo(dtype)
        return np.clip(scaled, limits.min, limits.max).astype(dtype)

    def unpack(self, stored: NDArray[Any]) -> NDArray[np.float32]:
        """The values again, from what ``pack`` gave."""
        values = np.asarray(stored).astype(np.float32, copy=False)
        packed = np.dtype(self.storage_dtype).kind in "iu"
        return values / np.float32(self.storage_scale) if packed else values

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.settings)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.settings, sort_keys=True)))

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self)).parameters.items()}
        shown = [f"{n}={v!r}" for n, v in self.settings.items() if v != _plain(defaults[n])]
        return f"{type(self).__name__}({', '.join(shown)})"


def _rebuild(kind: type[Feature], settings: dict[str, Any]) -> Feature:
    return kind(**settings)


def _plain(value: Any) -> Any:
    """The same value in types that JSON has."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def _check(image: Image, position: int) -> Image:
    image = np.asarray(image)
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
        raise ValueError(
            f"image {position} is {image.dtype} of shape {image.shape}: "
            "features take RGB images as uint8 arrays (height, width, 3) with at least one pixel."
        )
    return image
