"""The index engine: from files to rows, in bounded memory, in commits that survive a crash.

Files pass through four steps, each a stream: find and compare with what is known; hash what is new or looks
changed; decode and extract what no known content already has; write. The steps of one commit have an order
in which it may be cut anywhere: values first, then labels, and last the images that make them visible.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import FrameType
from typing import Any, TypeVar

import pyarrow as pa

from lookalike.collection._contents import Contents, Gone
from lookalike.collection._keys import KeySet, hash_array
from lookalike.collection._labels import Labels
from lookalike.collection._plan import Plan, Scope, Task, listing, make_plan, readers
from lookalike.collection._shards import FeatureColumn, Shards, add_feature
from lookalike.collection._tables import SCHEMAS, Tables, now, quoted
from lookalike.collection._work import Done, Outcome, Values, Work, hash_files
from lookalike.features import Feature
from lookalike.images import find_images
from lookalike.parallel import Engine
from lookalike.progress import Progress, Step

T = TypeVar("T")

COMMIT_COMPUTED = 256  # images with computed features in one commit: what kill -9 may cost
COMMIT_RECORDS = 8192  # the same for files that only had to be hashed
COMMIT_BYTES = 64 * 2**20
COMMIT_SECONDS = 10.0
DELETE_ROWS = 4096
TIDY_COMMITS = 64  # then after a quarter more: few small files, and work in step with what is added
KEEP = timedelta(minutes=10)  # how long a reader may go on with the version it opened


@dataclass(slots=True)
class IndexReport:
    """What an index run found and did.

    ``new + changed + moved + unchanged + set_aside`` is the number of files found.

    Parameters
    ----------
    new, changed, moved, removed, unchanged : int
        Images that were not known; known ones with another content; known contents in another place;
        known ones that are gone; known ones as they were.
    set_aside : int
        Files that cannot be read, those of earlier runs included.
    computed : int
        Images whose features were computed in this run.
    seconds : float
        How long it took.

    Examples
    --------
    >>> IndexReport(new=2, set_aside=1).found
    3
    """

    new: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    set_aside: int = 0
    computed: int = 0
    seconds: float = 0.0

    @property
    def found(self) -> int:
        """How many files there were."""
        return self.new + self.changed + self.moved + self.unchanged + self.set_aside


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items.

    Examples
    --------
    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    chunk: list[T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _Interrupt:
    """The first Ctrl-C asks to stop after the present job; the second stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> _Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@dataclass(slots=True)
class _Batch:
    """What waits for the next commit."""

    values: list[Values]
    added: list[tuple[Any, ...]] = field(default_factory=list)
    replaced: list[tuple[Any, ...]] = field(default_factory=list)
    moved: dict[str, tuple[str, bytes]] = field(default_factory=dict)  # old uri → new uri, hash
    returned: dict[str, bytes] = field(default_factory=dict)
    dropped: dict[str, bytes] = field(default_factory=dict)  # uri → the content it had
    aside: list[tuple[Any, ...]] = field(default_factory=list)
    well: list[str] = field(default_factory=list)  # set aside before, now read
    records: int = 0
    bytes: int = 0
    since: float = field(default_factory=time.monotonic)

    @property
    def full(self) -> bool:
        """Whether it is time to commit."""
        return (
            max((len(values.keys) for values in self.values), default=0) >= COMMIT_COMPUTED
            or self.records >= COMMIT_RECORDS
            or self.bytes >= COMMIT_BYTES
            or (self.records > 0 and time.monotonic() - self.since >= COMMIT_SECONDS)
        )


class Indexer:
    """One index run; the caller holds the writer's lock.

    Parameters
    ----------
    tables : Tables
        Where to write.
    labels : Labels
        The labels, which follow contents.
    features : list of Feature
        What every image should have after the run.
    progress : callable
        Receives a step after each job.
    engine : Engine
        Who does the work.
    batch_size : int or None
        Images in one job; None for what the features like best.
    """

    def __init__(
        self,
        tables: Tables,
        labels: Labels,
        features: Sequence[Feature],
        *,
        progress: Progress,
        engine: Engine,
        batch_size: int | None,
    ) -> None:
        self.tables, self.labels, self.features = tables, labels, list(features)
        self.progress, self.engine = progress, engine
        self.batch_size = batch_size or max([16, *(f.batch_size for f in self.features)])
        self.report = IndexReport()

    def find(self, sources: Sequence[str | os.PathLike[str]]) -> None:
        """Look through the sources; what is wrong with one of them is an error now."""
        self._start = time.monotonic()
        self._names = [os.fspath(source) for source in sources]
        self._found = listing(find_images(self._names, progress=self.progress))

    def run(self, *, retry: bool = False) -> IndexReport:
        """Bring the tables up to date with what was found."""
        names, found = self._names, self._found
        with _Interrupt() as interrupt:
            self._open()
            plan = make_plan(
                found,
                self.images,
                self.set_aside,
                self.have,
                Scope.of(names, found.aside),
                retry=retry,
            )
            self._work(plan, interrupt)
            if not interrupt.asked:
                self._finish(plan)
        self.report.seconds = time.monotonic() - self._start
        if interrupt.asked:
            raise KeyboardInterrupt
        return self.report

    def _open(self) -> None:
        """Read what is known: some hundred bytes for each image."""
        self.images = self.tables.read("images")
        self.set_aside = self.tables.read("set_aside")
        self.shards = []
        for feature in self.features:
            column = FeatureColumn.of(feature)
            add_feature(self.tables, column)
            self.shards.append(Shards(self.tables, column))
        self.have = [KeySet(shards.hashes()) for shards in self.shards]
        self.contents = Contents(self.images)
        self.claimed = KeySet(hash_array(self.images["hash"]))
        self.was_aside = set(self.set_aside["uri"].to_pylist())
        self.failed: dict[bytes, str] = {}

    def _work(self, plan: Plan, interrupt: _Interrupt) -> None:
        self.gone = Gone(self.images, plan.gone)
        self.returning = KeySet(self.labels.detached_hashes())
        self.report.unchanged, self.report.set_aside = plan.unchanged, plan.still_aside
        done = plan.unchanged + plan.still_aside
        total = done + plan.todo.num_rows
        self.progress(Step("index", done, total))
        self.batch = _Batch([Values() for _ in self.features])
        self._commits = 0
        hashed = self.engine.map(hash_files, chunks(plan.tasks(), 32))
        for work in self.engine.map(Work(self.features), self._jobs(hashed, lambda: interrupt.asked)):
            self._take(work)
            done += len(work.outcomes)
            if self.batch.full:
                self._commit()
            self.progress(Step("index", done, total, self._note()))
        self._commit()

    def _note(self) -> str:
        return f"{self.report.set_aside} set aside" if self.report.set_aside else ""

    def _jobs(
        self, hashed: Iterator[list[tuple[Task, bytes, str]]], stop: Callable[[], bool]
    ) -> Iterator[list[Outcome]]:
        """Decide what each file needs; what one job claims, no later one computes again."""
        job: list[Outcome] = []
        heavy = 0
        for chunk in hashed:
            for task, key, reason in chunk:
                outcome = Outcome(task, key, reason=reason)
                if not reason:
                    needs = tuple(i for i, keys in enumerate(self.have) if key not in keys)
                    if needs or key not in self.claimed:
                        outcome.needs, outcome.claimed = needs, key
                        heavy += 1
                    for i in needs:
                        self.have[i].add(key)
                    self.claimed.add(key)
                job.append(outcome)
                if heavy >= self.batch_size or len(job) >= 1024:
                    yield job
                    job, heavy = [], 0
            if stop():
                return
        if job:
            yield job

    def _take(self, work: Done) -> None:
        """Sort the outcomes of a job into the next commit, in the order of the files."""
        for into, values in zip(self.batch.values, work.values):
            into.keys += values.keys
            into.rows += values.rows
            self.batch.bytes += sum(row.nbytes for row in values.rows)
        for outcome in work.outcomes:
            if outcome.claimed and outcome.reason:
                self.failed[outcome.claimed] = outcome.reason
            elif outcome.shape is not None:
                self.contents.add(outcome.key, outcome.shape)
                self.report.computed += bool(outcome.needs)
            shape = outcome.shape or self.contents.get(outcome.key)
            reason = outcome.reason or self.failed.get(outcome.key, "")
            self.batch.records += 1
            if reason:
                self._set_aside(outcome.task, reason, again=not outcome.key and not outcome.claimed)
            elif shape is None:
                self._set_aside(outcome.task, "changed while it was read", again=True)
            else:
                self._image(outcome.task, outcome.key, (*shape,))

    def _set_aside(self, task: Task, reason: str, *, again: bool) -> None:
        """List a file with its reason; ``again``: read it in the next run even if it looks the same."""
        self.report.set_aside += 1
        if task.known >= 0:
            self.batch.dropped[task.uri] = self.images["hash"][task.known].as_py()
        self.batch.aside.append(
            (task.uri, reason, task.size, -1 if again else task.mtime_ns, readers(), now())
        )

    def _image(self, task: Task, key: bytes, shape: tuple[int, int, str]) -> None:
        batch, report = self.batch, self.report
        row = (task.uri, key, task.size, task.mtime_ns, *shape)
        if task.uri in self.was_aside:
            batch.well.append(task.uri)
        if task.known >= 0:
            batch.replaced.append(row)
            if self.images["hash"][task.known].as_py() == key:
                report.unchanged += 1
            else:
                report.changed += 1
            return
        batch.added.append(row)
        old = self.gone.pop(key)
        if old is not None:
            report.moved += 1
            batch.moved[old] = (task.uri, key)
            return
        report.new += 1
        if key in self.returning:
            batch.returned[task.uri] = key

    def _commit(self) -> None:
        """Write what waits: first what nobody sees yet, last what makes it visible."""
        batch = self.batch
        for shards, values in zip(self.shards, batch.values):
            shards.append(values.keys, values.rows)
        self.labels.follow(batch.moved, batch.returned, batch.dropped)
        aside = _table("set_aside", batch.aside)
        well = f"uri IN {quoted(batch.well)}" if batch.well else None
        self.tables.upsert("set_aside", aside, ["uri"], delete=well)
        leave = [*batch.moved, *batch.dropped]
        if leave or batch.replaced:
            rows = _table("images", batch.replaced + batch.added)
            delete = f"uri IN {quoted(leave)}" if leave else None
            self.tables.upsert("images", rows, ["uri"], delete=delete)
        else:
            self.tables.append("images", _table("images", batch.added))
        self._commits += bool(batch.records)
        if self._commits >= self._next_tidy:
            tidy(self.tables, [], self.labels)  # values are sealed as they grow
            self._next_tidy += max(self._next_tidy // 4, TIDY_COMMITS)
        self.batch = _Batch([Values() for _ in self.features])

    _next_tidy = TIDY_COMMITS

    def _finish(self, plan: Plan) -> None:
        """What is gone, what could not be reached, and order on the disk."""
        lost = {
            (uri, reason) for uri, reason in zip(*(self.set_aside[c].to_pylist() for c in ("uri", "reason")))
        }
        rows = [
            (thing.uri, thing.reason, -1, -1, readers(), now())
            for thing in plan.lost
            if (thing.uri, thing.reason) not in lost
        ]
        self.report.set_aside += len(plan.lost)
        self.tables.upsert("set_aside", _table("set_aside", rows), ["uri"])
        for part in chunks(plan.forgotten, DELETE_ROWS):
            self.tables.delete("set_aside", f"uri IN {quoted(part)}")
        removed = self.gone.rest()
        lost_uris = {thing.uri for thing in plan.lost}
        self.report.removed = sum(uri not in lost_uris for uri in removed)
        remove_images(self.tables, self.labels, removed)
        if self._commits or removed or rows or plan.forgotten:
            tidy(self.tables, self.shards, self.labels)


def remove_images(tables: Tables, labels: Labels, gone: dict[str, bytes]) -> None:
    """Take images away, by uri and the content they had last; their labels wait for that content."""
    for part in chunks(gone, DELETE_ROWS):
        labels.follow({}, {}, {uri: gone[uri] for uri in part})
        tables.delete("images", f"uri IN {quoted(part)}")


def tidy(tables: Tables, shards: Iterable[Shards], labels: Labels) -> None:
    """Join small files and remove old versions; readers of the last ten minutes are not disturbed."""
    only_writer = "://" not in tables.address  # the lock keeps other writers of this machine away
    for one in shards:
        one.seal(keep=KEEP, only_writer=only_writer)
    for name in ("images", "set_aside"):
        tables.optimize(name, keep=KEEP, only_writer=only_writer)
    labels.tidy(keep=KEEP, only_writer=only_writer)


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    schema = SCHEMAS[name]
    columns = zip(*rows) if rows else [()] * len(schema)
    return pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema)], schema=schema)
