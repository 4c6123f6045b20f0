"""What a collection says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Status:
    """Counts, features, labels, models, what was set aside and why, and the size on disk.

    Parameters
    ----------
    where : str
        The folder or address of the collection.
    schema : int
        The version of what is on disk.
    indexed : int
        Images.
    contents : int
        Different ones among them.
    labelled : int
        Images with a label.
    labels : dict
        For each label how many images have it.
    features : list of dict
        ``name``, ``kind``, ``dim``, ``fingerprint``, ``settings`` and ``contents``, how many have it.
    models : list of str
        Their names.
    set_aside : int
        Files that cannot be read.
    set_aside_files : list of dict
        ``uri`` and ``reason``.
    sources : list of str
        What is looked through when an index run names nothing else.
    bytes_on_disk : int or None
        All of the collection; None for an object store.

    Examples
    --------
    >>> status = Status("cats", 1, 3, 3, 0, {}, [], [], 0, [], ["cats"], 1024)
    >>> status.to_dict()["indexed"]
    3
    """

    where: str
    schema: int
    indexed: int
    contents: int
    labelled: int
    labels: dict[str, int]
    features: list[dict[str, Any]]
    models: list[str]
    set_aside: int
    set_aside_files: list[dict[str, str]]
    sources: list[str]
    bytes_on_disk: int | None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, fit for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}
