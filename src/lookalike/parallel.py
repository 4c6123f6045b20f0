"""The one seam for parallel work: ``Engine.map`` takes paths and gives rows back, in bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

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
        waiting: deque[Future[Any]] = deque()
        try:
            for item in items:
                waiting.append(executor.submit(function, item))
                if len(waiting) >= self.workers * self.lookahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            if self.kind == "thread":
                executor.shutdown(wait=True, cancel_futures=True)
