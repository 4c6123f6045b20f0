"""What an index run has to do: files found now against what the collection knows, column by column."""

from __future__ import annotations

import importlib.util
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike._version import __version__
from lookalike.collection._keys import KeySet, hash_array
from lookalike.images import Found, SetAside, path_of, uri_of

CHUNK = 65_536
OPTIONAL_READERS = ("pi_heif", "tifffile", "pydicom")


def readers() -> str:
    """Who would read files now; what was set aside by others is tried again."""
    there = [name for name in OPTIONAL_READERS if importlib.util.find_spec(name) is not None]
    return " ".join([__version__, *there])


@dataclass(frozen=True, slots=True)
class Listing:
    """The files found now as columns, about 100 bytes for each.

    Parameters
    ----------
    files : table
        ``uri``, ``size`` and ``mtime_ns``.
    aside : list of SetAside
        What the walk itself could not reach.
    """

    files: pa.Table
    aside: list[SetAside]


def listing(found: Iterable[Found | SetAside]) -> Listing:
    """Put a walk into columns, a chunk at a time."""
    aside: list[SetAside] = []
    chunks: list[pa.Array] = []
    uris: list[str] = []
    sizes, times = array("q"), array("q")
    for thing in found:
        if isinstance(thing, SetAside):
            aside.append(thing)
            continue
        uris.append(thing.uri)
        sizes.append(thing.size)
        times.append(thing.mtime_ns)
        if len(uris) == CHUNK:
            chunks.append(pa.array(uris, pa.string()))
            uris = []
    chunks.append(pa.array(uris, pa.string()))
    columns = [pa.chunked_array(chunks), pa.array(np.array(sizes)), pa.array(np.array(times))]
    return Listing(pa.table(columns, names=["uri", "size", "mtime_ns"]), aside)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which images a run may call removed: those in the folders it looked through completely."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]

    @classmethod
    def of(cls, sources: Sequence[str], aside: Sequence[SetAside]) -> Scope:
        """The folders among the sources, without those that could not be entered."""
        folders = [source for source in sources if Path(source).is_dir()]
        inside = tuple(start for folder in folders for start in starts(folder))
        return cls(inside, tuple(start for thing in aside for start in starts(thing.path)))

    def mask(self, uris: pa.ChunkedArray) -> NDArray[np.bool_]:
        """For each uri whether it is inside."""
        return any_start(uris, self.inside) & ~any_start(uris, self.outside)


def starts(folder: str) -> list[str]:
    """How the uri of what is in a folder begins; names that are not UTF-8 have their own form."""
    folder = path_of(folder)
    return [start.rstrip("/") + "/" for start in (uri_of(folder), Path(folder).absolute().as_uri())]


def any_start(uris: pa.ChunkedArray, starts: Sequence[str]) -> NDArray[np.bool_]:
    mask = np.zeros(len(uris), bool)
    for start in starts:
        mask |= pc.starts_with(uris, start).to_numpy(zero_copy_only=False)
    return mask


@dataclass(frozen=True, slots=True)
class Task:
    """One file to look at: ``known`` is its row among the known images, or -1."""

    uri: str
    size: int
    mtime_ns: int
    known: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done.

    Parameters
    ----------
    todo : table
        Files to read: ``uri``, ``size``, ``mtime_ns`` and ``known``, the row among the known images or -1.
    unchanged : int
        Files that are as they were, with every feature.
    still_aside : int
        Files that were set aside before and have not changed since.
    gone : array of int
        Rows of known images that are no longer there.
    lost : list of SetAside
        What the walk could not reach.
    forgotten : list of str
        What was set aside and is no longer there.
    """

    todo: pa.Table
    unchanged: int
    still_aside: int
    gone: NDArray[np.int64]
    lost: list[SetAside]
    forgotten: list[str]

    def tasks(self) -> Iterator[Task]:
        """The files to read, in order."""
        for batch in self.todo.to_batches(max_chunksize=4096):
            columns = (batch.column(i).to_pylist() for i in range(4))
            for uri, size, mtime_ns, known in zip(*columns):
                yield Task(uri, size, mtime_ns, known)


def make_plan(
    found: Listing,
    images: pa.Table,
    set_aside: pa.Table,
    complete: Sequence[KeySet],
    scope: Scope,
    *,
    retry: bool,
) -> Plan:
    """Tell apart what is as it was, what is to be read and what is gone.

    Parameters
    ----------
    found : Listing
        The files there are now.
    images, set_aside : table
        The tables of the collection.
    complete : list of KeySet
        For each wanted feature the contents that have it.
    scope : Scope
        Where a missing file means that it was removed.
    retry : bool
        Read again also what was set aside.
    """
    files = found.files
    known = _rows(files["uri"], images["uri"])
    is_known = known >= 0
    same = is_known & _same(files, images, known)
    hashes = hash_array(images["hash"])
    done = np.ones(images.num_rows, bool)
    for keys in complete:
        done &= keys.contains(hashes)
    unchanged = same & _at(done, known)

    aside_row = _rows(files["uri"], set_aside["uri"])
    still = (aside_row >= 0) & ~is_known & _same(files, set_aside, aside_row)
    by_these = pc.equal(set_aside["readers"], readers()).to_numpy(zero_copy_only=False)
    still &= _at(by_these, aside_row) & (not retry)

    present = np.zeros(images.num_rows, bool)
    present[known[is_known]] = True
    lost_uris = pa.array([thing.uri for thing in found.aside], pa.string())
    lost = pc.is_in(images["uri"], value_set=lost_uris).to_numpy(zero_copy_only=False)
    gone = ~present & (lost | scope.mask(images["uri"]))

    kept = np.zeros(set_aside.num_rows, bool)
    kept[aside_row[aside_row >= 0]] = True
    kept |= pc.is_in(set_aside["uri"], value_set=lost_uris).to_numpy(zero_copy_only=False)
    forgotten = set_aside["uri"].filter(pa.array(~kept & _there(set_aside["uri"], scope)))

    todo = ~unchanged & ~still
    table = files.append_column("known", pa.array(known)).filter(pa.array(todo))
    return Plan(
        table,
        int(unchanged.sum()),
        int(still.sum()),
        np.flatnonzero(gone),
        found.aside,
        forgotten.to_pylist(),
    )


def _there(uris: pa.ChunkedArray, scope: Scope) -> NDArray[np.bool_]:
    """What was set aside is looked at in the folders, and also the folders themselves."""
    with_slash = pc.binary_join_element_wise(uris, "/", "") if len(uris) else uris
    return scope.mask(uris) | scope.mask(with_slash)


def _rows(uris: pa.ChunkedArray, among: pa.ChunkedArray) -> NDArray[np.int64]:
    if not len(among):
        return np.full(len(uris), -1, np.int64)
    rows = pc.index_in(uris, value_set=among.combine_chunks())
    return pc.fill_null(rows.cast(pa.int64()), -1).to_numpy()


def _at(values: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """``values[rows]``, False where the row is -1."""
    return np.append(values, False)[rows]


def _same(files: pa.Table, known: pa.Table, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether size and time are those that are known."""
    same = np.ones(len(rows), bool)
    for name in ("size", "mtime_ns"):
        before = np.append(known[name].to_numpy(), -1)
        same &= files[name].to_numpy() == before[rows]
    return same
