"""What was fetched and read lately, so that the next part of it costs neither again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tools.cancel import Cancel
from tools.failure import Failure

FAILURES_KEPT = 30.0
"""Seconds in which a failure is not tried again: a model in a loop asks for the same page at once."""

_LOOKS = 0.02
"""Seconds between two looks of somebody who waits for another's work."""


class Sized(Protocol):
    """A value that knows how many bytes it takes."""

    @property
    def size(self) -> int: ...


Value = TypeVar("Value", bound=Sized)


@dataclass
class _Entry(Generic[Value]):
    value: Value
    until: float


class Cache(Generic[Value]):
    """Values by key, the longest unused given up first beyond `max_bytes`. May be used from any thread."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        self._failures: dict[Hashable, tuple[float, Failure]] = {}
        self._under_way: dict[Hashable, threading.Event] = {}

    def get(
        self, key: Hashable, seconds: float, make: Callable[[Value | None], Value], cancel: Cancel
    ) -> Value:
        """The value kept under `key`, for `seconds`; else what `make` gives, called once however many ask.

        `make` is given the value whose time is over, or None, and may give it back to be kept on. A
        Failure that it raises is kept too, for a short while. Raises Failure "stopped" when cancelled.
        """
        while True:
            with self._lock:
                entry = self._entries.get(key)
                if entry and time.monotonic() < entry.until:
                    self._entries.move_to_end(key)
                    return entry.value
                self._raise_kept(key)
                other = self._under_way.get(key)
                if other is None:
                    mine = self._under_way[key] = threading.Event()
                    break
            while not other.wait(_LOOKS):
                if cancel.is_set():
                    raise Failure("stopped")
        try:
            return self._made(key, seconds, make, entry)
        finally:
            with self._lock:
                del self._under_way[key]
            mine.set()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._failures.clear()

    def _made(
        self,
        key: Hashable,
        seconds: float,
        make: Callable[[Value | None], Value],
        old: _Entry[Value] | None,
    ) -> Value:
        try:
            value = make(old.value if old else None)
        except Failure as failure:
            if failure.kind != "stopped":
                self._keep_failure(key, failure)
            raise
        with self._lock:
            self._entries[key] = _Entry(value, time.monotonic() + seconds)
            self._entries.move_to_end(key)
            while len(self._entries) > 1 and self._size() > self.max_bytes:
                self._entries.popitem(last=False)
        return value

    def _size(self) -> int:
        """Bytes of all values; they may grow while they are kept."""
        return sum(entry.value.size for entry in self._entries.values())

    def _raise_kept(self, key: Hashable) -> None:
        """Raises the failure that is kept under the key, if there is one."""
        until, failure = self._failures.get(key, (0.0, None))
        if failure is not None and time.monotonic() < until:
            raise type(failure)(failure.kind, **failure.details)

    def _keep_failure(self, key: Hashable, failure: Failure) -> None:
        now = time.monotonic()
        with self._lock:
            self._failures = {other: kept for other, kept in self._failures.items() if kept[0] > now}
            self._failures[key] = (now + FAILURES_KEPT, failure)
