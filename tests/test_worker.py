"""The worker processes: what happens to work that goes wrong, and to everybody else's."""

import operator
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper.html_text import extract_page
from tools.helper.worker import Workers

NOBODY = Cancel()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.close()


def kind_of(run: Callable[[], object]) -> str:
    with pytest.raises(Failure) as raised:
        run()
    assert str(raised.value)
    return raised.value.kind


def test_work_is_done_elsewhere(workers: Workers) -> None:
    assert workers.run(30, NOBODY, operator.add, 1, 2) == 3
    assert workers.run(30, NOBODY, os.getpid) != os.getpid()


def test_a_worker_is_kept_for_the_next_job(workers: Workers) -> None:
    assert workers.run(30, NOBODY, os.getpid) == workers.run(30, NOBODY, os.getpid)


def test_a_failure_comes_back_as_it_was(workers: Workers) -> None:
    with pytest.raises(Failure) as raised:
        workers.run(30, NOBODY, extract_page, b"\x89PNG\r\n", "image/png", "https://example.org/a.png")
    assert raised.value.kind == "not_text" and "image/png" in str(raised.value)


def test_any_other_exception_is_told(workers: Workers) -> None:
    with pytest.raises(Failure) as raised:
        workers.run(30, NOBODY, operator.truediv, 1, 0)
    assert raised.value.kind == "internal" and "ZeroDivisionError" in str(raised.value)


def test_work_that_hangs_is_ended_in_time(workers: Workers) -> None:
    began = time.monotonic()
    assert kind_of(lambda: workers.run(0.5, NOBODY, time.sleep, 60)) == "reading_timeout"
    assert time.monotonic() - began < 10
    assert workers.run(30, NOBODY, operator.add, 1, 2) == 3


def test_work_that_crashes_harms_nobody_else(workers: Workers) -> None:
    results: list[object] = []
    other = threading.Thread(target=lambda: results.append(workers.run(30, NOBODY, slow_sum, 1.0)))
    other.start()
    assert kind_of(lambda: workers.run(30, NOBODY, os.abort)) == "reading_crash"
    other.join(30)
    assert results == [1.0]


def slow_sum(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on a process's memory")
def test_work_that_takes_all_memory_is_refused(workers: Workers) -> None:
    assert kind_of(lambda: workers.run(30, NOBODY, bytearray, 2 * 1024**3)) == "reading_memory"
    assert workers.run(30, NOBODY, operator.add, 1, 2) == 3


def test_stop_ends_the_work_at_once(workers: Workers) -> None:
    cancel = Cancel()
    threading.Timer(0.3, cancel.set).start()
    began = time.monotonic()
    assert kind_of(lambda: workers.run(60, cancel, time.sleep, 60)) == "stopped"
    assert time.monotonic() - began < 10


def test_large_values_pass_both_ways(workers: Workers) -> None:
    text = "日本語 " * 1_000_000
    assert workers.run(30, NOBODY, str.upper, text) == text


def test_what_a_job_prints_does_not_get_between(workers: Workers) -> None:
    assert workers.run(30, NOBODY, os.write, 1, b"hello") == 5
    assert workers.run(30, NOBODY, operator.add, 1, 2) == 3
