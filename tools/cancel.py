"""Ending work from another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancel:
    """A flag that many can wait on, and that wakes who is blocked in a read.

    A blocked socket can't see a flag. So whoever blocks leaves a callback that wakes it (a socket's
    shutdown, say) for as long as it blocks. Every method may be called from any thread.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """End the work: wakes every waiter and calls every callback once."""
        with self._lock:
            self._event.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep for at most `seconds`; True as soon as the work is to end."""
        return self._event.wait(seconds)

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Within the block, `callback` is called when the flag is set; at once if it is set already."""
        key = object()
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._callbacks[key] = callback
        if already:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(key, None)
