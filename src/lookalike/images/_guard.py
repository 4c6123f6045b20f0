"""Decoding in a process that can be killed: what bounds the time and the harm of a hostile file.

A thread that hangs inside a C decoder cannot be stopped. So formats whose decoders are intricate, and
files that look suspicious, are decoded by a child: it gets a path or bytes, answers with pixels, lives on
for the next file, and is killed when the time is over or when it takes too much memory.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from lookalike.images._decode import Decoded, decode, too_long
from lookalike.images._unreadable import Unreadable

START_UP = 20.0  # seconds a child may take to start on a busy machine, on top of the file's own
_LENGTH = struct.Struct("<Q")


class _Child:
    """One process that decodes, and the pipes to it."""

    def __init__(self) -> None:
        code = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
        code += "from lookalike.images._guard import serve; serve()"
        self.owner = os.getpid()
        self.fresh = True
        self.between_files = False  # whether it waits for the next file, nothing left in its pipes
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is for the parent, which may want to finish this file
            )
        except OSError as error:
            words = (error.strerror or str(error)).lower()
            raise Unreadable(f"needs a process of its own, which could not be started: {words}") from None

    def ask(self, job: dict[str, Any], data: bytes | None, limit: float) -> Decoded:
        """Have one file decoded within ``limit`` seconds."""
        assert self.process.stdin and self.process.stdout
        self.between_files = False
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            self.process.kill()

        timer = threading.Timer(limit + (START_UP if self.fresh else 1.0), kill)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                _send(self.process.stdin, json.dumps(job).encode(), data or b"")
            answer, pixels = _receive(self.process.stdout)
        except EOFError:
            if killed.is_set():
                raise Unreadable(too_long(job["time_limit"])) from None
            raise Unreadable(_cause_of_death(self.process.wait(), job["time_limit"])) from None
        finally:
            timer.cancel()
        self.fresh, self.between_files = False, True
        reply = json.loads(answer)
        if "reason" in reply:
            raise Unreadable(reply["reason"])
        array = np.frombuffer(pixels, np.uint8).reshape(reply["shape"])
        return Decoded(array, reply["width"], reply["height"], reply["format"])

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


def _cause_of_death(status: int, limit: float) -> str:
    if -status in (14, 24):  # SIGALRM, SIGXCPU: the child's own clock
        return too_long(limit)
    return "makes its decoder crash"


_idle: list[_Child] = []
_lock = threading.Lock()


def decode_guarded(source: str | bytes, *, time_limit: float, **settings: Any) -> Decoded:
    """Decode a path or bytes in a child process, which is killed after ``time_limit`` seconds."""
    with _lock:
        while _idle and _idle[-1].owner != os.getpid():
            _idle.pop()  # this process is a fork: those children answer to another
        child = _idle.pop() if _idle else _Child()
    job: dict[str, Any] = {**settings, "time_limit": time_limit, "path": None}
    data = None
    if isinstance(source, bytes):
        data = source
    else:
        job["path"] = os.fsencode(source).hex()
    try:
        return child.ask(job, data, time_limit)
    finally:
        with _lock:
            if child.between_files:
                _idle.append(child)
            else:
                child.stop()


@atexit.register
def _stop_all() -> None:
    with _lock:
        for child in _idle:
            if child.owner == os.getpid():
                child.stop()
        _idle.clear()


def _send(pipe: Any, head: bytes, body: bytes) -> None:
    pipe.write(_LENGTH.pack(len(head)) + head + _LENGTH.pack(len(body)))
    pipe.write(body)
    pipe.flush()


def _receive(pipe: Any) -> tuple[bytearray, bytearray]:
    return _block(pipe), _block(pipe)


def _block(pipe: Any) -> bytearray:
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return _exactly(pipe, length)


def _exactly(pipe: Any, n: int) -> bytearray:
    data = bytearray(n)
    if pipe.readinto(data) < n:  # a buffered pipe stops short only at its end
        raise EOFError
    return data


def serve() -> None:
    """The child: decode what comes on standard input until it ends."""
    import warnings

    from PIL import Image

    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = None  # the limit in the job rules
    pipe_in, pipe_out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries that print must not write among the pixels
    while True:
        try:
            head, body = _receive(pipe_in)
        except EOFError:
            return
        job = json.loads(head)
        _bound_memory(job["max_megapixels"])
        try:
            with _clock(job["time_limit"] + 2):  # for the case that the parent is gone
                found = _serve_one(job, body)
        except Unreadable as error:
            _send(pipe_out, json.dumps({"reason": error.reason}).encode(), b"")
        else:
            shape, (width, height) = found.pixels.shape, (found.width, found.height)
            reply = {"shape": shape, "width": width, "height": height, "format": found.format}
            _send(pipe_out, json.dumps(reply).encode(), found.pixels.data.cast("B"))  # type: ignore[arg-type]
            del found


def _serve_one(job: dict[str, Any], body: bytes | bytearray) -> Decoded:
    import io

    settings = {"guarded": True, **{k: job[k] for k in ("shorter_side", "max_megapixels", "time_limit")}}
    if job["path"] is None:
        return decode(io.BytesIO(body), **settings)
    file: BinaryIO
    with open(bytes.fromhex(job["path"]), "rb") as file:  # noqa: PTH123  the name is bytes
        return decode(file, **settings)


@contextlib.contextmanager
def _clock(seconds: float) -> Iterator[None]:
    """Die when the time is over, in C code too, where the system can."""
    import signal

    if not hasattr(signal, "alarm"):
        yield
        return
    signal.alarm(math.ceil(seconds))
    try:
        yield
    finally:
        signal.alarm(0)


def _bound_memory(max_megapixels: float) -> None:
    """Set a ceiling of memory, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        ceiling = int(2 * 2**30 + max_megapixels * 1e6 * 20)
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or hard > ceiling:
            resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))
