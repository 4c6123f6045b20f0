"""Any ONNX image model as a feature."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lookalike.errors import LookalikeError
from lookalike.features._network import NetworkFeature, Session, checked_size, checked_view

DEFAULT_SIZE = 224
_DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


class OnnxFeature(NetworkFeature):
    """The output of any ONNX image model: bring your own network.

    The model must have one input, a batch of RGB images: ``(n, 3, height, width)`` or
    ``(n, height, width, 3)``, in float32, float16 or uint8. Its output may be vectors ``(n, d)``,
    a map ``(n, d, height, width)`` or a list of tokens ``(n, tokens, d)``.
    ``register_onnx`` gives it a name for the command line.

    Parameters
    ----------
    path : str or path
        The ``.onnx`` file.
    size : int, optional
        Width and height of what the model sees; needed where the model leaves it open (default there: 224).
    mean, std : sequence of three float
        Each channel is scaled to 0..1, then the mean is subtracted and the result divided by the deviation.
        The defaults are those of most networks trained on ImageNet. A uint8 input gets the bytes as they are.
    output : str, optional
        Which output; the first where it is not given.
    pool : {"mean", "first"}, default="mean"
        What a map or a list of tokens becomes: its mean, or the first token.
    view : {"balanced", "whole", "centre"}, default="balanced"
        How an image that is not square becomes one.
    name : str, optional
        What the feature is called; the name of the file where it is not given.
    sha256 : str, optional
        What the file must hash to. It identifies the model in the fingerprint, wherever the file lies.

    Examples
    --------
    >>> feature = OnnxFeature("model.onnx", size=32)
    >>> feature.name, feature.kind
    ('model', 'vector')
    >>> feature.extract([np.zeros((8, 8, 3), np.uint8)])
    Traceback (most recent call last):
        ...
    lookalike.errors.LookalikeError: there is no model file model.onnx: give the path of an .onnx file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        size: int | None = None,
        mean: Sequence[float] = (0.485, 0.456, 0.406),
        std: Sequence[float] = (0.229, 0.224, 0.225),
        output: str | None = None,
        pool: Literal["mean", "first"] = "mean",
        view: Literal["balanced", "whole", "centre"] = "balanced",
        name: str | None = None,
        sha256: str | None = None,
    ) -> None:
        if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
            raise ValueError(
                f"mean and std must be three numbers each, std above 0, but are {mean!r}, {std!r}."
            )
        if pool not in ("mean", "first"):
            raise ValueError(f"pool must be 'mean' or 'first', but is {pool!r}.")
        self.path = str(path)
        self.size = None if size is None else checked_size(size)
        self.mean, self.std = tuple(map(float, mean)), tuple(map(float, std))
        self.output = output
        self.pool = pool
        self.view = checked_view(view)
        self.name = name or Path(path).stem
        self.sha256 = sha256
        self._session = Session(self._checked_path)

    @property
    def shorter_side(self) -> int | None:  # type: ignore[override]
        """The size, where it is known without opening the model."""
        return self.size

    @property
    def spec(self) -> dict[str, Any]:
        """The name by which any ONNX model can be made again, and the settings."""
        return {"name": "onnx", "settings": self.settings}

    @property
    def weights_hash(self) -> str:
        """SHA-256 of the model's file."""
        return self.sha256 or self._file_hash

    def _identity(self) -> dict[str, Any]:
        # Where the file lies and what somebody calls it do not change the numbers.
        kept = {k: v for k, v in self.settings.items() if k not in ("path", "name", "sha256")}
        return {"name": "onnx", "revision": self.revision, "settings": kept, "weights": self.weights_hash}

    @cached_property
    def _file_hash(self) -> str:
        path = Path(self.path)
        if not path.is_file():
            raise LookalikeError(f"there is no model file {path}: give the path of an .onnx file.")
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _checked_path(self) -> Path:
        if self.sha256 and self._file_hash != self.sha256:
            raise LookalikeError(
                f"the model file {self.path} has changed since it was registered: add it again."
            )
        return Path(self.path) if self._file_hash else Path()

    @cached_property
    def _input(self) -> tuple[str, Any, bool, int, int | None]:
        """Name, type, whether channels come last, side, and the fixed number of images (or None)."""
        inputs = self._session.get().get_inputs()
        if len(inputs) != 1:
            names = ", ".join(i.name for i in inputs)
            raise self._unfit(f"has {len(inputs)} inputs ({names}); an image model has one")
        shape, dtype = inputs[0].shape, _DTYPES.get(inputs[0].type)
        if dtype is None or len(shape) != 4 or 3 not in (shape[1], shape[3]):
            what = f"{inputs[0].type} of shape {shape}"
            raise self._unfit(
                f"takes {what}; an image model takes (n, 3, height, width) or (n, height, width, 3)"
            )
        last = shape[1] != 3
        sides = {s for s in (shape[1:3] if last else shape[2:]) if isinstance(s, int)}
        if len(sides) > 1:
            raise self._unfit(f"takes images of {shape}; only square ones are supported")
        if sides and self.size not in (None, *sides):
            raise self._unfit(f"takes images of {sides.pop()} pixels, not size={self.size}")
        side = sides.pop() if sides else self.size or DEFAULT_SIZE
        return inputs[0].name, dtype, last, side, shape[0] if isinstance(shape[0], int) else None

    @cached_property
    def _output(self) -> str:
        names = [o.name for o in self._session.get().get_outputs()]
        if self.output is not None and self.output not in names:
            raise self._unfit(f"has no output {self.output!r}; it has {', '.join(names)}")
        return self.output or names[0]

    def _unfit(self, why: str) -> LookalikeError:
        return LookalikeError(f"the model {self.path} cannot be a feature: it {why}.")

    @property
    def side(self) -> int:
        """Width and height of what the model sees."""
        return self._input[3]

    @cached_property
    def dim(self) -> int:
        """Found by showing the model a black square."""
        return self._run(np.zeros((1, self.side, self.side, 3), np.uint8)).shape[1]

    def _run(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        name, dtype, last, _, fixed = self._input
        batch: NDArray[Any] = pixels
        if dtype is not np.uint8:
            scale = 1 / (255 * np.array(self.std, np.float32))
            shift = np.array(self.mean, np.float32) / np.array(self.std, np.float32)
            batch = (pixels * scale - shift).astype(dtype, copy=False)
        if not last:
            batch = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
        if fixed is None:
            return self._vectors(self._session.run(self._output, {name: batch}))
        # A model for exactly k images: fill the last batch up with copies, and drop their rows.
        rows = []
        for start in range(0, len(batch), fixed):
            part = batch[start : start + fixed]
            full = np.concatenate([part, np.repeat(part[-1:], fixed - len(part), axis=0)])
            rows.append(self._vectors(self._session.run(self._output, {name: full}))[: len(part)])
        return np.concatenate(rows)

    def _vectors(self, result: NDArray[Any]) -> NDArray[np.float32]:
        if result.ndim == 4:
            result = result.reshape(*result.shape[:2], -1).transpose(0, 2, 1)
        if result.ndim == 3:
            result = result[:, 0] if self.pool == "first" else result.mean(axis=1, dtype=np.float32)
        if result.ndim != 2:
            raise self._unfit(f"gives {self._output!r} of shape {result.shape}; choose another output")
        if not np.isfinite(result).all():
            raise self._unfit("gives numbers that are not finite; check mean and std")
        return result.astype(np.float32, copy=False)
