"""The user's own ONNX models, kept by name in a JSON file of the configuration folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from lookalike._files import write_whole
from lookalike.errors import LookalikeError
from lookalike.features._onnx_feature import OnnxFeature
from lookalike.features._user_folders import config_folder

FILE = "features.json"
VERSION = 1


def registered() -> dict[str, dict[str, Any]]:
    """Name → ``{"settings": …, "dim": …}`` of every registered model."""
    path = config_folder() / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LookalikeError(f"the list of your models in {path} cannot be read: {reason}.") from error
    try:
        content = json.loads(text)
        version, models = content["version"], content["onnx"]
        for entry in models.values():
            entry["settings"]["path"], entry["dim"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LookalikeError(
            f"the list of your models in {path} is damaged: mend it or delete it."
        ) from error
    if version > VERSION:
        raise LookalikeError(f"{path} was written by a newer version of Lookalike: update this one.")
    return dict(models)


def _save(models: dict[str, dict[str, Any]]) -> None:
    text = json.dumps({"version": VERSION, "onnx": models}, indent=2, sort_keys=True)
    try:
        write_whole(config_folder() / FILE, text.encode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LookalikeError(
            f"the list of your models cannot be written to {config_folder()}: {reason}; "
            "let LOOKALIKE_CONFIG name another folder."
        ) from error


def make(name: str, settings: dict[str, Any]) -> OnnxFeature:
    """A registered model with some settings changed, or one that the settings alone describe."""
    own = settings.get("name") or name
    entry = registered().get(own)
    known = dict(entry["settings"]) if entry else {}
    if known and known["sha256"] == settings.get("sha256", known["sha256"]):
        # The same model, perhaps in another place than where the settings were written down.
        settings = {k: v for k, v in settings.items() if k != "path"}
    return OnnxFeature(**{**known, **settings, "name": own})


def register_onnx(
    path: str | Path, *, name: str | None = None, replace: bool = False, **settings: Any
) -> OnnxFeature:
    """Give an ONNX image model a name, so that ``get_feature`` and the commands know it.

    The model is opened and shown a black image, so that a wrong one is refused now and not in the middle of a
    long run; its SHA-256 is kept, so that a file that changes later is noticed.

    Parameters
    ----------
    path : str or path
        The ``.onnx`` file; it stays where it is.
    name : str, optional
        Small letters, digits, ``-``, ``_`` and ``.``; made from the name of the file where it is not given.
    replace : bool, default=False
        Put it in place of another model of that name.
    **settings
        ``size``, ``mean``, ``std``, ``output``, ``pool`` and ``view`` of ``OnnxFeature``.

    Returns
    -------
    feature : OnnxFeature

    Examples
    --------
    >>> register_onnx("no-such-file.onnx")
    Traceback (most recent call last):
        ...
    lookalike.errors.LookalikeError: there is no model file no-such-file.onnx: give the path of an .onnx file.
    """
    from lookalike.features._registry import names_of_code

    path = Path(path)
    if name is None:
        name = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise LookalikeError(
            f"{name!r} is no name for a feature: use small letters, digits, '-', '_' and '.'."
        )
    models = registered()
    if name in names_of_code() or (name in models and not replace):
        instead = ", or replace it" if name in models else ""
        raise LookalikeError(f"there is a feature called {name!r} already: choose another name{instead}.")
    try:
        probe = OnnxFeature(path, name=name, **settings)
        dim = probe.dim
    except (TypeError, ValueError) as error:
        raise LookalikeError(f"the settings of {path} do not fit: {error}") from error
    feature = OnnxFeature(
        **{**probe.settings, "path": str(path.resolve()), "size": probe.side, "sha256": probe.weights_hash}
    )
    _save({**models, name: {"settings": feature.settings, "dim": dim}})
    return feature


def unregister_onnx(name: str) -> None:
    """Forget a registered model; its file stays.

    Examples
    --------
    >>> unregister_onnx("never-registered")
    Traceback (most recent call last):
        ...
    lookalike.errors.LookalikeError: no model is registered as 'never-registered'.
    """
    models = registered()
    if name not in models:
        raise LookalikeError(f"no model is registered as {name!r}.")
    del models[name]
    _save(models)
