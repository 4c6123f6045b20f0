"""The tables of a collection: their columns, and the few ways in which they are read and written.

Lance is reached only from here. Each write is one commit: it is there as a whole or not at all, also after
``kill -9``, and a reader keeps the version it opened.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from lookalike.errors import LookalikeError

HASH = pa.binary(32)
TIME = pa.timestamp("us", "UTC")

SCHEMAS = {
    "about": pa.schema([("key", pa.string()), ("value", pa.string())]),
    "images": pa.schema(
        [
            ("uri", pa.string()),
            ("hash", HASH),
            ("size", pa.int64()),
            ("mtime_ns", pa.int64()),
            ("width", pa.int32()),
            ("height", pa.int32()),
            ("format", pa.string()),
        ]
    ),
    "features": pa.schema(
        [
            ("table", pa.string()),
            ("name", pa.string()),
            ("kind", pa.string()),
            ("dim", pa.int32()),
            ("fingerprint", pa.string()),
            ("settings", pa.string()),
            ("dtype", pa.string()),
            ("scale", pa.float64()),
            ("added", TIME),
        ]
    ),
    "labels": pa.schema(
        [
            ("uri", pa.string()),
            ("hash", HASH),
            ("label", pa.string()),
            ("by", pa.string()),
            ("at", TIME),
            ("attached", pa.bool_()),
        ]
    ),
    "set_aside": pa.schema(
        [
            ("uri", pa.string()),
            ("reason", pa.string()),
            ("size", pa.int64()),
            ("mtime_ns", pa.int64()),
            ("readers", pa.string()),
            ("at", TIME),
        ]
    ),
    "sources": pa.schema([("source", pa.string()), ("added", TIME)]),
}

# What Lance may keep in memory between calls; its own defaults are 7 GB.
INDEX_CACHE = 16 * 2**20
METADATA_CACHE = 8 * 2**20

_session: Any = None
_session_lock = threading.Lock()


def now() -> datetime:
    """The time that is written beside labels and what was set aside."""
    return datetime.now(UTC)


def quoted(values: Iterable[str]) -> str:
    """Strings as a list for SQL's IN.

    Examples
    --------
    >>> quoted(["a", "o'b"])
    "('a', 'o''b')"
    """
    return "(" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + ")"


def vector_schema(dim: int) -> pa.Schema:
    """The table of a feature that gives one vector for each content."""
    return pa.schema([("hash", HASH), ("vector", pa.list_(pa.float32(), dim))])


def bag_schema() -> pa.Schema:
    """The table of a feature that gives bags: the numbers of each bag as bytes, row after row."""
    return pa.schema([("hash", HASH), ("bag", pa.large_binary())])


def _shared_session() -> Any:
    import lancedb

    global _session  # noqa: PLW0603
    with _session_lock:
        if _session is None:
            _session = lancedb.Session(
                index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE
            )
        return _session


@contextlib.contextmanager
def plainly(address: str, name: str = "") -> Iterator[None]:
    """Say in one sentence what a user can mend about an error of Lance; its own words are for developers.

    ``name`` is the table in question; without one it is the whole place.

    Examples
    --------
    >>> with plainly("/cats/.lookalike", "images"):
    ...     raise RuntimeError("lance error: IO: No space left on device (os error 28)")
    Traceback (most recent call last):
        ...
    lookalike.errors.LookalikeError: there is no room left for /cats/.lookalike: make some and run again; ...
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        said = _plain_words(str(error), address, name)
        if said is None:
            raise
        raise LookalikeError(said) from error


def _plain_words(text: str, address: str, name: str) -> str | None:
    """What a message of Lance means to a user; None where nobody but a developer can mend it."""
    if "No space left" in text:
        return f"there is no room left for {address}: make some and run again; what was committed is safe."
    if "ermission denied" in text or "Read-only file system" in text:
        return f"{address} may not be written or read: permission denied."
    if not name:
        return (
            f"{address} cannot be opened: {_of_store(text)}: check the address, and that the environment has "
            "the settings of the store (such as AWS_REGION and AWS_ACCESS_KEY_ID)."
        )
    if "ot found" in text or "Invalid range" in text or "LanceError(IO)" in text:
        if name.startswith("feature-"):
            mend = f"delete {address}/{name}.lance and index again"
        else:
            mend = "put back a copy of it, or index the pictures again in a new collection"
        return f"the table {name!r} in {address} is damaged: {mend}."
    return None


def _of_store(text: str) -> str:
    """Why an object store could not be opened, without the nested errors of its client.

    Examples
    --------
    >>> _of_store("lance error: LanceError(IO): Failed to resolve region for bucket 'x', /src/aws.rs:319:13")
    "Failed to resolve region for bucket 'x'"
    """
    if "NoSuchBucket" in text:
        return "there is no such bucket"
    if "credentials" in text:
        return "no credentials for it were found"
    if "RetryError" in text:
        return "the store does not answer"
    reason = re.sub(r"^lance error: (LanceError\(IO\): )?|, /\S+:\d+:\d+$", "", " ".join(text.split()))
    return reason.partition(" { ")[0][:300].rstrip(".")


def _give_back() -> None:
    """Return freed memory to the system: glibc keeps it, and each joining of files would leave some more."""
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # other systems do so by themselves
        ctypes.CDLL(None).malloc_trim(0)


class Tables:
    """The Lance tables at an address, a local folder or an object store.

    Parameters
    ----------
    address : str
        A folder, or what Lance takes: ``s3://…``, ``gs://…``, ``az://…``, ``memory://``.
    storage_options : dict, optional
        What Lance should know about the store (region, endpoint, keys).
    """

    def __init__(self, address: str, storage_options: dict[str, str] | None = None) -> None:
        import lancedb

        self.address = address
        with plainly(address):
            self._database = lancedb.connect(
                address,
                read_consistency_interval=timedelta(0),  # each read sees what was committed before it
                storage_options=storage_options,
                session=_shared_session(),
            )
        self._open: dict[str, Any] = {}

    def names(self) -> list[str]:
        """All tables, in the order of their names."""
        names: list[str] = []
        token = None
        while True:
            with plainly(self.address):
                page = self._database.list_tables(page_token=token, limit=1000)
            names += page.tables
            token = page.page_token
            if not token or not page.tables:
                return sorted(names)

    def create(self, name: str, schema: pa.Schema) -> None:
        """Make an empty table; nothing happens where there is one."""
        with plainly(self.address, name):
            self._open[name] = self._database.create_table(name, schema=schema, exist_ok=True)

    def table(self, name: str) -> Any:
        """The handle of a table."""
        if name not in self._open:
            with plainly(self.address, name):
                self._open[name] = self._database.open_table(name)
        return self._open[name]

    def version(self, name: str) -> int:
        """A number that grows with each commit."""
        with plainly(self.address, name):
            return int(self.table(name).version)

    def count(self, name: str, where: str | None = None) -> int:
        """How many rows there are."""
        with plainly(self.address, name):
            return int(self.table(name).count_rows(where))

    def _query(self, name: str, columns: list[str] | None, where: str | None, offset: int) -> Any:
        query = self.table(name).search()
        if columns is not None:
            query = query.select(columns)
        if where is not None:
            query = query.where(where)
        return query.offset(offset) if offset else query

    def read(self, name: str, columns: list[str] | None = None, *, where: str | None = None) -> pa.Table:
        """Some columns of a table, all rows or those of a condition, in the order of the table."""
        with plainly(self.address, name):
            return self._query(name, columns, where, 0).to_arrow()

    def batches(
        self,
        name: str,
        columns: list[str] | None = None,
        *,
        rows: int,
        where: str | None = None,
        offset: int = 0,
    ) -> Iterator[pa.RecordBatch]:
        """The same as a stream of batches of about ``rows`` rows."""
        with plainly(self.address, name):
            batches = self._query(name, columns, where, offset).to_batches(rows)
        while True:
            with plainly(self.address, name):  # not around the yield: errors of the caller are its own
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def take(self, name: str, rows: list[int], columns: list[str]) -> pa.Table:
        """A few rows by their number, in no particular order."""
        with plainly(self.address, name):
            return self.table(name).take_offsets(rows).select(columns).to_arrow()

    def append(self, name: str, rows: pa.Table) -> None:
        """Add rows in one commit."""
        if rows.num_rows:
            with plainly(self.address, name):
                self.table(name).add(rows)

    def upsert(self, name: str, rows: pa.Table, on: list[str], *, delete: str | None = None) -> None:
        """Put rows in the place of those with the same key and remove others, all in one commit.

        Parameters
        ----------
        name : str
            The table.
        rows : table
            At most one row for each key.
        on : list of str
            The columns of the key.
        delete : str, optional
            Rows under this condition go, unless their key is among ``rows``.
        """
        if not rows.num_rows:
            if delete is not None:
                self.delete(name, delete)
            return
        merge = self.table(name).merge_insert(on).when_matched_update_all().when_not_matched_insert_all()
        if delete is not None:
            merge = merge.when_not_matched_by_source_delete(delete)
        with plainly(self.address, name):
            merge.execute(rows)

    def delete(self, name: str, where: str) -> None:
        """Remove the rows under a condition in one commit."""
        with plainly(self.address, name):
            self.table(name).delete(where)

    def replace_start(self, name: str, old: str, new: str) -> None:
        """Let the uris that begin with ``old`` begin with ``new``, in one commit."""
        quote = quoted([old])[1:-1], quoted([new])[1:-1]
        where = f"starts_with(uri, {quote[0]})"
        if self.count(name, where):
            changed = f"concat({quote[1]}, substr(uri, {len(old) + 1}))"
            with plainly(self.address, name):
                self.table(name).update(where=where, values_sql={"uri": changed})

    def overwrite(self, name: str, rows: pa.Table) -> None:
        """Put other rows in the place of all, in one commit."""
        with plainly(self.address, name):
            self.table(name).add(rows, mode="overwrite")

    def optimize(self, name: str, *, keep: timedelta, only_writer: bool) -> None:
        """Join small files and remove versions that are older than ``keep``.

        ``only_writer`` says that nobody else writes now, so that what a killed process left may go too.
        """
        with plainly(self.address, name), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Lance's own caution about keep = 0
            self.table(name).optimize(cleanup_older_than=keep, delete_unverified=only_writer)
        _give_back()
