"""The one seam for parallel work: ``Engine.map`` takes paths and gives rows back, in bounded memory.

``LocalEngine`` works with the threads or processes of this machine, ``DaskEngine`` with a cluster.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol, TypeVar

from lookalike.errors import LookalikeError

In = TypeVar("In")
Out = TypeVar("Out")


class Engine(Protocol):
    """Whatever can apply a function to many items while keeping only a few in flight."""

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """The results in the order of the items; an exception of the function is raised here."""
        ...


def n_workers(n_jobs: int | None) -> int:
    """How many workers ``n_jobs`` means here, with scikit-learn's habits (-1 is one for each core).

    Examples
    --------
    >>> n_workers(None), n_workers(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of workers, or -1 for one on each core.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class LocalEngine:
    """Threads or processes of this machine.

    Parameters
    ----------
    n_jobs : int, default=-1
        Workers; -1 is one for each core.
    kind : {"thread", "process"}, default="thread"
        Threads share memory and suit code that releases the interpreter (decoding, BLAS, onnxruntime);
        processes suit pure Python and survive the crash of a worker's library.
    lookahead : int, default=2
        Items in flight for each worker: what bounds the memory.

    Examples
    --------
    >>> list(LocalEngine(2).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, n_jobs: int = -1, *, kind: str = "thread", lookahead: int = 2) -> None:
        if kind not in ("thread", "process"):
            raise ValueError(f"kind must be 'thread' or 'process', but is {kind!r}.")
        self.workers = n_workers(n_jobs)
        self.kind = kind
        self.lookahead = lookahead

    def _executor(self) -> Executor:
        if self.kind == "thread":
            return ThreadPoolExecutor(self.workers)
        from joblib.externals.loky import get_reusable_executor

        executor: Executor = get_reusable_executor(max_workers=self.workers, timeout=60)
        return executor

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """The results in the order of the items, with a bounded number of them in flight."""
        if self.workers == 1 and self.kind == "thread":
            yield from map(function, items)
            return
        executor = self._executor()
        try:
            submitted = (executor.submit(function, item) for item in items)
            yield from _in_order(submitted, lambda: self.workers * self.lookahead)
        finally:
            if self.kind == "thread":
                executor.shutdown(wait=True, cancel_futures=True)


class DaskEngine:
    """The workers of a Dask cluster, however they were started: by SSH, Slurm, Kubernetes or hand.

    Each worker needs Lookalike, and sees the pictures under the same paths as this process. A piece of work
    whose worker is lost is done again by another.

    Parameters
    ----------
    cluster : str or distributed.Client
        The address of the scheduler, like ``tcp://10.0.0.7:8786``, or a client that is connected to one.
    lookahead : int, default=2
        Items in flight for each thread of the cluster: what bounds the memory.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     list(DaskEngine(client).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, cluster: Any, *, lookahead: int = 2) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise LookalikeError(
                "work on a cluster needs Dask: install it with 'pip install lookalike[cluster]'."
            ) from None
        self._own = not isinstance(cluster, Client)
        self.lookahead = lookahead
        try:
            self.client = Client(cluster, timeout="10s", set_as_default=False) if self._own else cluster
        except (OSError, ValueError) as error:  # a time that is over is an OSError too
            reason = " ".join(str(error).split()) or "the time is over"
            raise LookalikeError(
                f"no Dask scheduler answers at {cluster} ({reason}): start one with 'dask scheduler'."
            ) from None

    def _window(self) -> int:
        """How many items may be in flight: workers may come and go while they are."""
        return max(1, sum(self.client.nthreads().values())) * self.lookahead

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """The results in the order of the items, with a bounded number of them in flight."""
        submitted = (self.client.submit(function, item, pure=False) for item in items)
        return _in_order(submitted, self._window)

    def close(self) -> None:
        """Leave the cluster; one's own client stays open."""
        if self._own:
            self.client.close()

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _in_order(submitted: Iterable[Any], window: Callable[[], int]) -> Iterator[Any]:
    """The results of futures, at most ``window()`` of which are waited for at a time."""
    waiting: deque[Any] = deque()
    try:
        for future in submitted:
            waiting.append(future)
            if len(waiting) >= window():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
