"""Work in a process of its own: what reads strange files may hang, take all memory, or crash.

A worker is `tools.helper.worker_process`, a Python that was told nothing of the panel. It does one job at a
time and is kept for the next; one that was killed is replaced, and costs nobody else anything.
"""

import atexit
import contextlib
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, TypeVarTuple, cast

from tools.cancel import Cancel
from tools.failure import Failure

Given = TypeVarTuple("Given")
Result = TypeVar("Result")

_ROOT = Path(__file__).parent.parent.parent
_IDLE = 2
"""Workers that are kept for the next job; more run while there are more jobs."""

_PIPE = 1024 * 1024
_JOBS = 500
"""After so many a worker is replaced, as servers do: libraries may leak."""


class Workers:
    """Worker processes. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        atexit.register(self.close)

    def warm(self) -> None:
        """Start a worker if none is there, so that it is ready when the work comes."""
        with self._lock:
            if not self._idle:
                self._idle.append(_Worker())

    def run(
        self, seconds: float, cancel: Cancel, function: Callable[[*Given], Result], *given: *Given
    ) -> Result:
        """What `function(*given)` returns or raises in a worker; it must be a module's own, and all values
        such that pickle takes them.

        Raises Failure "reading_timeout" after `seconds`, "reading_memory", "reading_crash", "internal" for
        an exception that is none of ours, "stopped" when cancelled.
        """
        worker = self._taken()
        try:
            answer = worker.ask((function, given), seconds, cancel)
        finally:
            self._put_back(worker)
        if isinstance(answer, Failure):
            raise answer
        return cast(Result, answer)

    def close(self) -> None:
        """End the workers that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def _taken(self) -> "_Worker":
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
        return _Worker()

    def _put_back(self, worker: "_Worker") -> None:
        with self._lock:
            if worker.alive and worker.jobs < _JOBS and len(self._idle) < _IDLE:
                self._idle.append(worker)
                return
        worker.end()


workers = Workers()
"""Those of the panel."""


class _Worker:
    """One process."""

    def __init__(self) -> None:
        self.jobs = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.helper.worker_process"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pipesize=_PIPE,  # or a page would go through it in many small turns
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, job: tuple[Callable[..., object], Any], seconds: float, cancel: Cancel) -> object:
        """The job's result, or the Failure that it raised."""
        self.jobs += 1
        late = threading.Event()

        def end_it() -> None:
            late.set()
            self._process.kill()

        alarm = threading.Timer(seconds, end_it)
        alarm.daemon = True
        alarm.start()
        try:
            with cancel.calling(self._process.kill):
                write_frame(cast(BinaryIO, self._process.stdin), job)
                return read_frame(cast(BinaryIO, self._process.stdout))
        except (OSError, EOFError) as error:  # it was killed, by us or by what it read
            self._process.wait()
            if cancel.is_set():
                raise Failure("stopped") from error
            if late.is_set():
                raise Failure("reading_timeout", seconds=f"{seconds:g}") from error
            raise Failure("reading_crash", code=self._process.returncode) from error
        finally:
            alarm.cancel()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast(BinaryIO, pipe).close()


def write_frame(pipe: BinaryIO, value: object) -> None:
    """Send a value: its length as eight bytes, then its pickle. Raises OSError when the other end is gone."""
    frame = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    pipe.write(struct.pack("!Q", len(frame)))
    pipe.write(frame)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> object:
    """The next value. Raises EOFError when the other end is gone."""
    length = pipe.read(8)
    if len(length) < 8:
        raise EOFError
    (size,) = struct.unpack("!Q", length)
    frame = pipe.read(size)
    if len(frame) < size:
        raise EOFError
    return pickle.loads(frame)
