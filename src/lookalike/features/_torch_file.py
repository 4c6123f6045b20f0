"""Read the tensors of a torch file of the old format without torch, and without running its pickles.

Such a file is five pickles, one after the other (a magic number, the version of the protocol, facts about the
machine, the dictionary of tensors, the list of storage keys), and then each storage in the order of the keys:
its number of elements as int64 and its raw little-endian numbers.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.errors import LookalikeError

MAGIC = 0x1950A86A20F9469CFC6C
_DTYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: np.dtype[Any]
    size: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuild_tensor(storage: Any, offset: int, shape: Any, strides: Any, *rest: Any) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _Unpickler(pickle.Unpickler):
    """Knows four names and nothing else: a hostile file can name no function that does harm."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        raise pickle.UnpicklingError(f"the name {module}.{name} is not allowed")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key, _, size, view = pid
        if kind != "storage" or view is not None:
            raise pickle.UnpicklingError(f"unknown storage {kind!r}")
        return _Storage(str(key), dtype, int(size))


def read_tensors(path: str | Path, *, sha256: str | None = None) -> dict[str, NDArray[Any]]:
    """The tensors of a state dictionary by name.

    Parameters
    ----------
    path : path
        A file that torch wrote before its zip format.
    sha256 : str, optional
        What the file must hash to; anything else is refused before it is read.
    """
    content = Path(path).read_bytes()
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise LookalikeError(f"the weights in {path} are not the expected ones: install their package again.")
    try:
        return _parse(content)
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LookalikeError(f"{path} is not a readable file of torch's old format: {error}.") from error


def _parse(content: bytes) -> dict[str, NDArray[Any]]:
    stream = io.BytesIO(content)
    magic, _, machine, tensors, keys = (_Unpickler(stream).load() for _ in range(5))
    if magic != MAGIC or not machine.get("little_endian", True):
        raise ValueError("the magic number or the byte order is another")
    named = {t.storage.key: t.storage for t in tensors.values()}
    data = {}
    for key in keys:
        count = int.from_bytes(stream.read(8), "little")
        storage = named[key]
        if count != storage.size:
            raise ValueError(f"storage {key} has {count} numbers, not {storage.size}")
        data[key] = np.frombuffer(stream.read(count * storage.dtype.itemsize), storage.dtype, count)
    return {name: _view(data[t.storage.key], t) for name, t in tensors.items()}


def _view(flat: NDArray[Any], tensor: _Tensor) -> NDArray[Any]:
    last = tensor.offset + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True))
    if min((tensor.offset, *tensor.strides), default=0) < 0 or last >= max(1, len(flat)):
        raise ValueError("a tensor reaches beyond its storage")
    strides = tuple(s * flat.itemsize for s in tensor.strides)
    return np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides, writeable=False)
