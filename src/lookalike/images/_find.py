"""Find pictures: in folders, as single files, and in lists of paths."""

# A walk over a million names stays with plain strings, not Path objects.
# ruff: noqa: PTH100, PTH112, PTH114, PTH116, PTH118, PTH119, PTH120, PTH122, PTH123

from __future__ import annotations

import csv
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from lookalike.errors import LookalikeError
from lookalike.images._open import _trouble, what_kind
from lookalike.images._sniff import FOREIGN, HEAD, SUFFIXES, sniff
from lookalike.images._unreadable import printable
from lookalike.progress import Progress, Step, silent

LISTS = frozenset({".csv", ".tsv", ".txt", ".parquet"})
COLUMNS = ("path", "uri", "file", "filename", "image")

# Folders that hold no pictures of anyone's own: a collection, and what systems leave behind.
_NEVER = frozenset({".lookalike", "__MACOSX", "@eaDir"})


@dataclass(frozen=True, slots=True)
class Found:
    """A file that seems to be a picture.

    Parameters
    ----------
    uri : str
        Where it is, as text that every format can hold (see :func:`uri_of`).
    path : str
        Where it is, as the system names it.
    size : int
        Bytes.
    mtime_ns : int
        When it was last written, in nanoseconds.

    Examples
    --------
    >>> Found("/cats/tom.jpg", "/cats/tom.jpg", 1024, 0).size
    1024
    """

    uri: str
    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """Something among the sources that cannot be read, and why.

    Examples
    --------
    >>> SetAside("/cats/tom.jpg", "/cats/tom.jpg", "does not exist").reason
    'does not exist'
    """

    uri: str
    path: str
    reason: str


def uri_of(path: str | os.PathLike[str]) -> str:
    """An absolute path as text; a name that is not UTF-8 becomes a percent-encoded ``file://`` address.

    Examples
    --------
    >>> uri_of("/cats/tom & jerry.jpg")
    '/cats/tom & jerry.jpg'
    >>> uri_of("/cats/caf\\udce9.jpg")
    'file:///cats/caf%E9.jpg'
    """
    absolute = os.path.abspath(os.fspath(path))  # links keep their own name
    try:
        absolute.encode()
    except UnicodeEncodeError:
        return Path(absolute).as_uri()
    return absolute


def path_of(uri: str) -> str:
    """The path of an address made by :func:`uri_of`.

    Examples
    --------
    >>> path_of(uri_of("/cats/caf\\udce9.jpg")) == "/cats/caf\\udce9.jpg"
    True
    """
    if uri.startswith("file://"):
        return os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))
    return uri


def find_images(
    sources: Iterable[str | os.PathLike[str]], *, progress: Progress = silent
) -> Iterator[Found | SetAside]:
    """Walk folders, files, and lists of paths; give what seems to be a picture, each once.

    A folder is walked in the order of its names, the content of its links to other folders last; no folder
    is entered twice, so that links in a circle end. Hidden folders (``.git``, ``.lookalike``) are not
    entered. In folders a picture is known by its suffix, or by its first bytes where it has none. A list is
    a CSV file or Parquet table with a column ``path``, or a text file with one path on each line; relative
    paths start at the folder of the list.

    Parameters
    ----------
    sources : iterable of paths
        Folders, files and lists; a missing one is an error at once.
    progress : callable, default=silent
        Receives a :class:`~lookalike.progress.Step` now and then.

    Yields
    ------
    Found or SetAside
        A file to read, or something that cannot be read with its reason: an unreadable folder, a broken
        link, a pipe, a kind of picture that is not known here (``.psd``, ``.cr2``), a path of a list that
        does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ["b.jpg", "a.png", "notes.txt"]:
    ...         _ = Path(folder, name).write_bytes(b"...")
    ...     [Path(found.path).name for found in find_images([folder])]
    ['a.png', 'b.jpg']
    """
    checked = [_check(os.fspath(source)) for source in sources]
    return _find(checked, progress)


def _check(source: str) -> str:
    if source.startswith("file://"):
        source = path_of(source)
    shown = printable(source)
    if "://" in source:
        raise LookalikeError(f"{shown} is a remote address: copy the pictures to a local folder first.")
    try:
        mode = os.stat(source).st_mode
    except OSError as error:
        raise LookalikeError(f"{shown} {_trouble(error)}: give a folder, a picture or a list.") from None
    if stat.S_ISDIR(mode) and _name(source) == ".lookalike":
        raise LookalikeError(f"{shown} is a collection, not a folder of pictures: give the folder it is in.")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise LookalikeError(f"{shown} {what_kind(mode)}: give a folder, a picture or a list.")
    return source


def _name(path: str) -> str:
    return os.path.basename(os.path.abspath(path))


def _find(sources: list[str], progress: Progress) -> Iterator[Found | SetAside]:
    walk = _Walk()
    files = 0
    seen: set[str] | None = set() if len(sources) > 1 else None  # one folder gives no file twice
    for source in sources:
        if os.path.isdir(source):
            things = walk.folder(source)
        elif os.path.splitext(source)[1].lower() in LISTS:
            things = _listed(source)
            seen = set() if seen is None else seen
        else:
            things = iter([_file(source)])
        for thing in things:
            if seen is not None:
                if thing.uri in seen:
                    continue
                seen.add(thing.uri)
            files += 1
            if files % 256 == 0:
                progress(Step("find", files))
            yield thing
    progress(Step("find", files, files))


def _file(path: str) -> Found | SetAside:
    path = os.path.abspath(path)
    try:
        state = os.stat(path)
    except OSError as error:
        reason = "is a link that leads nowhere" if os.path.islink(path) else _trouble(error)
        return SetAside(uri_of(path), path, reason)
    if not stat.S_ISREG(state.st_mode):
        return SetAside(uri_of(path), path, what_kind(state.st_mode))
    return Found(uri_of(path), path, state.st_size, state.st_mtime_ns)


def _foreign(path: str) -> SetAside:
    suffix = os.path.splitext(path)[1].lower()
    reason = f"is of a kind that is not read ({suffix}): save it as JPEG, PNG or TIFF"
    return SetAside(uri_of(path), path, reason)


class _Walk:
    """A walk through folders that enters none of them twice."""

    def __init__(self) -> None:
        self.entered: set[tuple[int, int]] = set()

    def folder(self, path: str) -> Iterator[Found | SetAside]:
        """Everything under ``path``: real folders first, then what links lead to."""
        real, links = [os.path.abspath(path)], list[str]()
        while real or links:
            here = real.pop() if real else links.pop(0)
            try:
                state = os.stat(here)
                key = (state.st_dev, state.st_ino)
                if key in self.entered:
                    continue
                self.entered.add(key)
                with os.scandir(here) as entries:
                    content = sorted(entries, key=lambda entry: os.fsencode(entry.name))
            except OSError as error:
                yield SetAside(uri_of(here), here, f"is in a folder that {_trouble(error)}")
                continue
            deeper = []
            for entry in content:
                kind = _kind(entry)
                if kind == "folder":
                    deeper.append(entry.path)
                elif kind == "link":
                    links.append(entry.path)
                elif kind == "file":
                    yield _file(entry.path)
                elif kind == "foreign":
                    yield _foreign(entry.path)
            real.extend(reversed(deeper))


def _kind(entry: os.DirEntry[str]) -> str | None:
    """What a walk does with an entry: nothing where None."""
    try:
        is_folder = entry.is_dir()
        is_link = entry.is_symlink()
    except OSError:  # a link to itself
        is_folder, is_link = False, True
    if is_folder:
        if entry.name in _NEVER or entry.name.startswith("."):
            return None
        return "link" if is_link else "folder"
    if entry.name.startswith("._"):  # what macOS leaves beside each file on a foreign disk
        return None
    suffix = os.path.splitext(entry.name)[1].lower()
    if suffix in SUFFIXES:
        return "file"
    if suffix in FOREIGN:
        return "foreign"
    return "file" if not suffix and _is_picture(entry) else None


def _is_picture(entry: os.DirEntry[str]) -> bool:
    """Look into a file without a suffix, as archives of DICOM files have."""
    try:
        if not entry.is_file():
            return False
        with open(entry.path, "rb") as file:
            return sniff(file.read(HEAD)) is not None
    except OSError:
        return False


def _listed(source: str) -> Iterator[Found | SetAside]:
    base = os.path.dirname(os.path.abspath(source))
    for name in _paths_in(source):
        name = path_of(name.strip())
        if "://" in name:
            yield SetAside(name, name, "is a remote address: copy it to a local folder")
        elif name:
            yield _file(os.path.join(base, name))


def _paths_in(source: str) -> Iterator[str]:
    suffix = os.path.splitext(source)[1].lower()
    shown = printable(source)
    try:
        if suffix == ".parquet":
            yield from _from_parquet(source)
            return
        with open(source, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            if suffix == ".txt":
                yield from (line.rstrip("\r\n") for line in file)
                return
            reader = csv.reader(file, delimiter="\t" if suffix == ".tsv" else ",")
            column = _column(next(reader, []), shown)
            for row in reader:
                if len(row) > column:
                    yield row[column]
    except OSError as error:
        raise LookalikeError(f"{shown} {_trouble(error)}: give another list.") from None
    except csv.Error as error:
        raise LookalikeError(f"{shown} is not a CSV file that can be read: {error}.") from None


def _column(header: list[str], shown: str) -> int:
    names = [name.strip().lower() for name in header]
    for wanted in COLUMNS:
        if wanted in names:
            return names.index(wanted)
    has = ", ".join(repr(name) for name in header[:6]) or "none"
    raise LookalikeError(
        f"{shown} has no column 'path' (its columns: {has}): name the column of the paths so."
    )


def _from_parquet(source: str) -> Iterator[str]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(source)
        names = table.schema_arrow.names
        column = names[_column(names, printable(source))]
        for batch in table.iter_batches(columns=[column], batch_size=65536):
            yield from (str(value) for value in batch.column(0).to_pylist() if value is not None)
    except pyarrow.ArrowException as error:
        first = str(error).splitlines()[0][:160]
        raise LookalikeError(
            f"{printable(source)} is not a Parquet table that can be read: {first.rstrip('.')}."
        ) from None
