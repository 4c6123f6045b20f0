"""What all features by a network have in common: one shared session, square uint8 pixels, small batches."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.errors import LookalikeError
from lookalike.features._feature import Feature, Image
from lookalike.features._pixels import VIEWS, fit


def import_onnxruntime() -> Any:
    """Import onnxruntime without its telemetry: from version 1.3x on it reports to its makers by default."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it is loaded, or it writes an identifier of the device
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # should somebody else have loaded it
    return onnxruntime


class Session:
    """Runs a model in the thread that calls; several threads may call at once.

    One computing thread for each call and one call for each core is faster than one call that shares
    its work among all cores: nobody waits for anybody, and decoding overlaps with computing.

    Parameters
    ----------
    source : callable
        Gives the model, as a path or as the bytes of an ONNX file, when it is first needed.
    """

    def __init__(self, source: Callable[[], Path | bytes]) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._session: Any = None

    def get(self) -> Any:
        """The onnxruntime session itself."""
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = self._make()
        return self._session

    def _make(self) -> Any:
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors come back as exceptions; warnings are for model authors
        source = self._source()
        model = source if isinstance(source, bytes) else str(source)
        try:
            return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            where = "the model in memory" if isinstance(source, bytes) else str(source)
            reason = str(error).strip().splitlines()[0]
            raise LookalikeError(f"onnxruntime cannot open {where}: {reason}") from error

    def run(self, output: str, inputs: dict[str, NDArray[Any]]) -> NDArray[Any]:
        """One output of one run."""
        return np.asarray(self.get().run([output], inputs)[0])


class NetworkFeature(Feature):
    """A feature whose numbers a network computes from a square of pixels.

    A subclass sets ``view``, how an image that is not square becomes one, and writes ``side`` and ``_run``.
    """

    kind = "vector"
    batch_size = 4  # what a core's cache holds: larger batches are slower
    view: str

    @property
    @abstractmethod
    def side(self) -> int:
        """Width and height of what the network sees."""

    @abstractmethod
    def _run(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """The rows of a batch of pixels (n, side, side, 3)."""

    def _extract(self, images: list[Image]) -> NDArray[Any]:
        rows = np.empty((len(images), self.dim), np.float32)
        pixels = np.empty((self.batch_size, self.side, self.side, 3), np.uint8)
        for start in range(0, len(images), self.batch_size):
            batch = images[start : start + self.batch_size]
            for i, image in enumerate(batch):
                pixels[i] = fit(image, self.side, self.view)
            rows[start : start + len(batch)] = self._run(pixels[: len(batch)])
        return rows


def checked_view(view: str) -> str:
    """The view, if it is one."""
    if view not in VIEWS:
        raise ValueError(f"view must be 'balanced', 'whole' or 'centre', but is {view!r}.")
    return view


def checked_size(size: int) -> int:
    """The size, if a network can see that many pixels."""
    if not 16 <= size <= 4096:
        raise ValueError(f"size must be from 16 to 4096, but is {size!r}.")
    return int(size)
