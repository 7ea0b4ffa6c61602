"""Waiting on a call that can't be interrupted, such as a name look-up, without being stuck with it."""

import threading
from collections.abc import Callable
from typing import TypeVar

from tools.cancel import Cancel
from tools.failure import Failure

Result = TypeVar("Result")


def wait_for(function: Callable[[], Result], seconds: float, cancel: Cancel) -> Result:
    """What `function` returns or raises, if that happens within `seconds`.

    It runs in a thread of its own, which is left behind when the time is up (TimeoutError) or the work
    is cancelled (Failure "stopped").
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # handed to whoever waits
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True, name="waited-for").start()
    with cancel.calling(done.set):
        done.wait(max(seconds, 0))
    if cancel.is_set():
        raise Failure("stopped")
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"not done within {seconds:.1f} s")
    return results[0]
