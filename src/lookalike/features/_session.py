"""An onnxruntime session that is made at its first use and shared by all threads of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.errors import LookalikeError


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
        import onnxruntime

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
