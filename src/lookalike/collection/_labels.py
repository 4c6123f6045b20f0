"""Labels: who said what of which image, and how that follows the image when it moves.

A label belongs to a uri and remembers the content it was given for. When the file moves, its labels move;
when it is removed, they are detached and wait until the same content comes back.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike._files import write_whole
from lookalike.collection._keys import hash_array
from lookalike.collection._tables import SCHEMAS, Tables, now, quoted
from lookalike.errors import LookalikeError

KEY = ["uri", "label", "attached"]
FEW = 2000  # changes up to this many images are merged; more are written with the whole table


@dataclass(frozen=True, slots=True)
class Label:
    """One label of one image.

    Examples
    --------
    >>> from datetime import datetime, UTC
    >>> Label("/cats/tom.jpg", "cat", "ann", datetime(2026, 1, 1, tzinfo=UTC)).label
    'cat'
    """

    uri: str
    label: str
    by: str
    at: datetime


class Labels:
    """The table of labels.

    Parameters
    ----------
    tables : Tables
        Where it is.
    lock : callable
        Gives what keeps other writers of labels away for a moment.
    """

    def __init__(self, tables: Tables, lock: Callable[[], AbstractContextManager[Any]]) -> None:
        self._tables, self._lock = tables, lock

    def read(self) -> pa.Table:
        """``uri``, ``label``, ``by`` and ``at`` of what is there, in the order of uri and label."""
        rows = self._tables.read("labels", ["uri", "label", "by", "at"], where="attached = true")
        return rows.sort_by([("uri", "ascending"), ("label", "ascending")])

    def detached_hashes(self) -> NDArray[np.bytes_]:
        """The contents whose labels wait for them."""
        return hash_array(self._tables.read("labels", ["hash"], where="attached = false")["hash"])

    def put(
        self, uris: Sequence[str], hashes: Sequence[bytes], labels: Sequence[str], *, by: str, add: bool
    ) -> None:
        """Write labels of images: in the place of theirs, or beside them."""
        pairs = {(uri, label): key for uri, key, label in zip(uris, hashes, labels)}
        when = now()
        rows = _table([(uri, key, label, by, when, True) for (uri, label), key in pairs.items()])
        targets = sorted(set(uris))
        with self._lock():
            if len(targets) <= FEW:
                others = None if add else f"attached = true AND uri IN {quoted(targets)}"
                self._tables.upsert("labels", rows, KEY, delete=others)
                return
            old = self._tables.read("labels")
            stay = pc.invert(pc.and_(old["attached"], pc.is_in(old["uri"], value_set=pa.array(targets))))
            if add:
                mine = pc.binary_join_element_wise(rows["uri"], rows["label"], "\0")
                theirs = pc.binary_join_element_wise(old["uri"], old["label"], "\0")
                same = pc.is_in(theirs, value_set=mine.combine_chunks())
                stay = pc.invert(pc.and_(old["attached"], same))
            self._tables.overwrite("labels", pa.concat_tables([old.filter(stay), rows]))

    def remove(self, uris: Sequence[str], label: str | None) -> int:
        """Take labels away, one or all of each image; says how many."""
        removed = 0
        only = "" if label is None else f" AND label IN {quoted([label])}"
        with self._lock():
            for start in range(0, len(uris), FEW):
                where = f"attached = true AND uri IN {quoted(uris[start : start + FEW])}{only}"
                count = self._tables.count("labels", where)
                if count:
                    self._tables.delete("labels", where)
                removed += count
        return removed

    def follow(
        self,
        moved: Mapping[str, tuple[str, bytes]],
        returned: Mapping[str, bytes],
        dropped: Mapping[str, bytes],
    ) -> None:
        """Let labels go with their contents: to where files moved, back to what returned, off the rest."""
        if not (moved or returned or dropped) or not self._tables.count("labels"):
            return
        with self._lock():
            rows = self._tables.read("labels")
            touched = pc.is_in(rows["uri"], value_set=pa.array([*moved, *dropped], pa.string()))
            touched = pc.or_(touched, pc.invert(rows["attached"]))
            new = follow(rows.filter(touched).to_pylist(), moved, returned, dropped)
            if new is not None:
                changed = pa.Table.from_pylist(new, schema=SCHEMAS["labels"])
                rest = rows.filter(pc.invert(touched)).cast(SCHEMAS["labels"])
                self._tables.overwrite("labels", pa.concat_tables([rest, changed]))

    def tidy(self, *, keep: timedelta, only_writer: bool) -> None:
        """Join small files and remove old versions."""
        with self._lock():
            self._tables.optimize("labels", keep=keep, only_writer=only_writer)


def follow(
    rows: list[dict[str, Any]],
    moved: Mapping[str, tuple[str, bytes]],
    returned: Mapping[str, bytes],
    dropped: Mapping[str, bytes],
) -> list[dict[str, Any]] | None:
    """The rows of labels after files moved, came back or went; None where nothing changes.

    Parameters
    ----------
    rows : list of dict
        Labels.
    moved : mapping
        Old uri → new uri and content.
    returned : mapping
        New uri → a content that labels wait for.
    dropped : mapping
        Uri that is gone → the content it had last: what its labels wait for from now on.

    Examples
    --------
    >>> row = {"uri": "a", "hash": b"1", "label": "cat", "by": "", "at": None, "attached": True}
    >>> [(r["uri"], r["attached"]) for r in follow([row], {"a": ("b", b"1")}, {}, {})]
    [('b', True)]
    >>> [(r["uri"], r["hash"], r["attached"]) for r in follow([row], {}, {}, {"a": b"2"})]
    [('a', b'2', False)]
    """
    came_from = _origins(rows, returned)
    changed = False
    result: dict[tuple[str, str, bytes], dict[str, Any]] = {}
    for row in rows:
        row = dict(row)
        if row["attached"] and row["uri"] in moved:
            row["uri"], row["hash"] = moved[row["uri"]]
            changed = True
        elif row["attached"] and row["uri"] in dropped:
            row["hash"], row["attached"] = dropped[row["uri"]], False
            changed = True
        elif not row["attached"] and (row["uri"], row["hash"]) in came_from:
            row["uri"], row["attached"] = came_from[row["uri"], row["hash"]], True
            changed = True
        result[row["uri"], row["label"], b"" if row["attached"] else row["hash"]] = row
    return list(result.values()) if changed else None


def _origins(rows: list[dict[str, Any]], returned: Mapping[str, bytes]) -> dict[tuple[str, bytes], str]:
    """For detached labels, by uri and content, the image that takes them up: of the same uri if it can."""
    if not returned:
        return {}
    waiting: dict[bytes, list[str]] = {}
    wanted = set(returned.values())
    for row in rows:
        if not row["attached"] and row["hash"] in wanted and row["uri"] not in waiting.get(row["hash"], []):
            waiting.setdefault(row["hash"], []).append(row["uri"])
    result: dict[tuple[str, bytes], str] = {}
    rest = []
    for uri, key in sorted(returned.items()):
        if uri in waiting.get(key, []):
            waiting[key].remove(uri)
            result[uri, key] = uri
        else:
            rest.append((uri, key))
    for uri, key in rest:
        if waiting.get(key):
            origin = min(waiting[key])
            waiting[key].remove(origin)
            result[origin, key] = uri
    return result


def _table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows) if rows else [()] * len(SCHEMAS["labels"])
    schema = SCHEMAS["labels"]
    return pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema)], schema=schema)


def read_csv(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Pairs of path and label from a CSV file with these two columns; relative paths start at its folder."""
    shown = os.fspath(path)
    base = Path(path).absolute().parent
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = [name.strip().lower() for name in next(reader, [])]
            if "path" not in header or "label" not in header:
                raise LookalikeError(
                    f"{shown} has the columns {', '.join(header) or '(none)'}: it needs 'path' and 'label'."
                )
            where, what = header.index("path"), header.index("label")
            pairs = []
            for row in reader:
                if not row:
                    continue
                if len(row) <= max(where, what) or not row[where].strip() or not row[what].strip():
                    raise LookalikeError(f"{shown}, line {reader.line_num}: needs a path and a label.")
                name = row[where].strip()
                pairs.append((name if "://" in name else str(base / name), row[what].strip()))
            return pairs
    except UnicodeDecodeError:
        raise LookalikeError(f"{shown} is not in UTF-8: save it as a CSV file in UTF-8.") from None
    except (OSError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LookalikeError(f"{shown} cannot be read as CSV: {(reason or str(error)).lower()}.") from None


def write_csv(path: str | os.PathLike[str], rows: Iterable[tuple[str, str]]) -> int:
    """Write pairs of path and label; says how many."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["path", "label"])
    pairs = list(rows)
    writer.writerows(pairs)
    try:
        write_whole(os.fspath(path), text.getvalue().encode(), make_folders=False)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LookalikeError(f"{os.fspath(path)} cannot be written: {reason}.") from None
    return len(pairs)
