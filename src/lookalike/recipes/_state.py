"""Fitted estimators as plain data and arrays, and back: what a model file holds instead of a pickle.

The plain data is a tree. A leaf is a JSON value, or one of a few marked forms: an array (kept beside the
tree), an array of strings, a tuple, a dictionary, bags, mixtures, a small record of Lookalike's own, or an
estimator with its parameters and its state. Only classes that `find_step` knows, and records that are data
classes or named tuples inside Lookalike, are ever made from a file.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from lookalike.arrays import Bags
from lookalike.bags import Mixtures
from lookalike.errors import LookalikeError
from lookalike.recipes._steps import OTHERS, find_step, public_estimators

Arrays = dict[str, NDArray[Any]]
_NAME = re.compile(r"[A-Za-z_]\w*")
_RECORD = re.compile(r"lookalike(\.\w+)+:\w+")
MARK = "$"  # the key that tells a marked form from a dictionary of the estimator's own


def pack(value: Any, arrays: Arrays, where: str = "model") -> Any:
    """Plain data for a value; its arrays go into ``arrays`` under their place in the tree."""
    if isinstance(value, np.generic) and not isinstance(value, str | bytes):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {MARK: "float", "is": repr(value)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays, where)
    if isinstance(value, BaseEstimator):
        return _pack_estimator(value, arrays, where)
    if isinstance(value, Bags):
        kept = value.compact()
        parts = {"values": kept.values, "offsets": kept.offsets}
        return {MARK: "bags", **{k: pack(v, arrays, f"{where}.{k}") for k, v in parts.items()}}
    if isinstance(value, Mixtures):
        kept_parts = {name: getattr(value, name) for name in ("weights", "means", "variances", "universal")}
        return {MARK: "mixtures", **_pack_map(kept_parts, arrays, where)}
    if _is_record(type(value)):
        fields = {name: getattr(value, name) for name in _fields(type(value))}
        of = f"{type(value).__module__}:{type(value).__name__}"
        return {MARK: "record", "of": of, "fields": _pack_map(fields, arrays, where)}
    if isinstance(value, list | tuple):
        parts_of = [pack(part, arrays, f"{where}.{i}") for i, part in enumerate(value)]
        return {MARK: "tuple", "is": parts_of} if isinstance(value, tuple) else parts_of
    if isinstance(value, Mapping):
        keys = [pack(key, arrays, where) for key in value]
        parts_of = [pack(part, arrays, f"{where}.{i}") for i, part in enumerate(value.values())]
        return {MARK: "dict", "keys": keys, "values": parts_of}
    raise LookalikeError(f"{where} cannot be saved: a {type(value).__name__} is not plain data.")


def unpack(data: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that `pack` was given; ``ValueError`` or ``KeyError`` for what it cannot have written."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return [unpack(part, arrays) for part in data]
    if not isinstance(data, dict):
        raise ValueError(f"a {type(data).__name__} where plain data should be")
    form = data[MARK]
    if form == "float":
        return float(data["is"])
    if form == "array":
        array = np.array(arrays[str(data["at"])])
        return array.T if data.get("columns") else array
    if form == "strings":
        return np.array(data["is"], dtype=object if data.get("object") else str).reshape(data["shape"])
    if form == "tuple":
        return tuple(unpack(part, arrays) for part in data["is"])
    if form == "dict":
        keys = [unpack(key, arrays) for key in data["keys"]]
        return dict(zip(keys, [unpack(part, arrays) for part in data["values"]], strict=True))
    if form == "bags":
        return Bags(unpack(data["values"], arrays), unpack(data["offsets"], arrays))
    if form == "mixtures":
        names = ("weights", "means", "variances", "universal")
        weights, means, variances, universal = (unpack(data[name], arrays) for name in names)
        return Mixtures(weights, means, variances, universal=universal)
    if form == "record":
        return _unpack_record(data, arrays)
    if form == "estimator":
        return _unpack_estimator(data, arrays)
    raise ValueError(f"an unknown form {form!r}")


def _pack_array(value: NDArray[Any], arrays: Arrays, where: str) -> dict[str, Any]:
    if value.dtype.kind in "fiub" and value.dtype.itemsize <= 8:
        # The order in memory decides the last digit of a product, so it is kept.
        columns = value.flags.f_contiguous and not value.flags.c_contiguous
        arrays[where] = np.array(value.T if columns else value, order="C")
        return {MARK: "array", "at": where, **({"columns": True} if columns else {})}
    flat = value.ravel().tolist()
    if value.dtype.kind == "U" or (value.dtype == object and all(isinstance(v, str) for v in flat)):
        return {MARK: "strings", "is": flat, "shape": list(value.shape), "object": value.dtype == object}
    raise LookalikeError(f"{where} cannot be saved: it is an array of {value.dtype}.")


def _pack_map(parts: Mapping[str, Any], arrays: Arrays, where: str) -> dict[str, Any]:
    return {name: pack(part, arrays, f"{where}.{name}") for name, part in parts.items()}


def _pack_estimator(value: BaseEstimator, arrays: Arrays, where: str) -> dict[str, Any]:
    name = type(value).__name__
    if public_estimators().get(name) is not type(value) and (
        name not in OTHERS or not type(value).__module__.startswith("sklearn.")
    ):
        raise LookalikeError(f"{where} cannot be saved: {name} is not a step that a recipe may use.")
    parameters = value.get_params(deep=False)
    state = {k: v for k, v in vars(value).items() if k not in parameters}
    return {
        MARK: "estimator",
        "is": name,
        "with": _pack_map(parameters, arrays, where),
        "state": _pack_map(state, arrays, where),
    }


def _unpack_estimator(data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> BaseEstimator:
    parameters = {str(k): unpack(v, arrays) for k, v in data["with"].items()}
    made = find_step(str(data["is"]))(**parameters)
    for name, part in data["state"].items():
        if not _NAME.fullmatch(name) or name.startswith("__") or callable(getattr(type(made), name, None)):
            raise ValueError(f"an attribute called {name!r}")
        setattr(made, name, unpack(part, arrays))
    return made


def _is_record(kind: type) -> bool:
    own = kind.__module__.partition(".")[0] == "lookalike"
    return own and (dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))


def _fields(kind: type) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [f.name for f in dataclasses.fields(kind)]
    return list(kind._fields)  # type: ignore[attr-defined]


def _unpack_record(data: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    name = str(data["of"])
    if not _RECORD.fullmatch(name):
        raise ValueError(f"a record called {name!r}")
    module, _, kind_name = name.partition(":")
    kind = getattr(importlib.import_module(module), kind_name, None)
    if not (inspect.isclass(kind) and kind.__module__ == module and _is_record(kind)):
        raise ValueError(f"a record called {name!r}")
    return kind(**{str(k): unpack(v, arrays) for k, v in data["fields"].items()})
