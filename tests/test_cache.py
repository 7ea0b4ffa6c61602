"""What is kept of fetched documents: how long, how many, and that each is made once."""

import threading
import time
from dataclasses import dataclass

import pytest

from tools.cancel import Cancel
from tools.failure import Failure
from tools.helper import cache as module
from tools.helper.cache import Cache

NOBODY = Cancel()


@dataclass(frozen=True)
class Value:
    name: str
    size: int = 1


class Source:
    """Makes values, and counts how often."""

    def __init__(self, cache: Cache[Value], size: int = 1) -> None:
        self.cache = cache
        self.size = size
        self.made: list[str] = []

    def get(self, key: str, seconds: float = 60) -> Value:
        def make(old: Value | None) -> Value:
            self.made.append(key)
            return Value(key, self.size)

        return self.cache.get(key, seconds, make, NOBODY)


def test_a_value_is_made_once() -> None:
    source = Source(Cache(100))
    assert source.get("a") == source.get("a") == Value("a")
    assert source.made == ["a"]


def test_beyond_the_limit_the_longest_unused_goes() -> None:
    source = Source(Cache(100), size=40)
    for key in ("a", "b", "a", "c", "a", "b"):
        source.get(key)
    assert source.made == ["a", "b", "c", "b"]


def test_one_value_larger_than_all_is_still_kept() -> None:
    source = Source(Cache(10), size=40)
    source.get("a")
    source.get("a")
    assert source.made == ["a"]


def test_after_its_time_the_old_value_may_be_kept_on() -> None:
    cache: Cache[Value] = Cache(100)
    olds: list[Value | None] = []

    def make(old: Value | None) -> Value:
        olds.append(old)
        return old or Value("a")

    first = cache.get("a", 0.05, make, NOBODY)
    time.sleep(0.1)
    assert cache.get("a", 60, make, NOBODY) is first
    assert cache.get("a", 60, make, NOBODY) is first
    assert olds == [None, first]


def test_many_who_ask_at_once_wait_for_one() -> None:
    cache: Cache[Value] = Cache(100)
    made: list[int] = []

    def make(old: Value | None) -> Value:
        made.append(1)
        time.sleep(0.2)
        return Value("a")

    results: list[Value] = []
    threads = [
        threading.Thread(target=lambda: results.append(cache.get("a", 60, make, NOBODY))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert results == [Value("a")] * 8 and made == [1]


def test_a_failure_is_kept_for_a_short_while(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: Cache[Value] = Cache(100)
    tries: list[int] = []

    def make(old: Value | None) -> Value:
        tries.append(1)
        raise Failure("http_status", url="x", status=500)

    for _ in range(3):
        with pytest.raises(Failure) as raised:
            cache.get("a", 60, make, NOBODY)
        assert raised.value.kind == "http_status" and "500" in str(raised.value)
    assert tries == [1]
    monkeypatch.setattr(module.time, "monotonic", lambda now=time.monotonic: now() + module.FAILURES_KEPT + 1)
    with pytest.raises(Failure):
        cache.get("a", 60, make, NOBODY)
    assert tries == [1, 1]


def test_one_who_stops_leaves_the_work_to_the_others() -> None:
    cache: Cache[Value] = Cache(100)
    began, cancel = threading.Event(), Cancel()

    def stopped(old: Value | None) -> Value:
        began.set()
        cancel.wait(10)
        raise Failure("stopped")

    def first() -> None:
        with pytest.raises(Failure):
            cache.get("a", 60, stopped, cancel)

    threading.Timer(0.2, cancel.set).start()
    thread = threading.Thread(target=first)
    thread.start()
    began.wait(10)
    assert cache.get("a", 60, lambda old: Value("b"), NOBODY) == Value("b")
    thread.join(10)


def test_who_waits_can_stop_waiting() -> None:
    cache: Cache[Value] = Cache(100)
    began, end, cancel = threading.Event(), threading.Event(), Cancel()

    def slow(old: Value | None) -> Value:
        began.set()
        end.wait(10)
        return Value("a")

    thread = threading.Thread(target=lambda: cache.get("a", 60, slow, NOBODY))
    thread.start()
    began.wait(10)
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(Failure) as raised:
        cache.get("a", 60, slow, cancel)
    assert raised.value.kind == "stopped"
    end.set()
    thread.join(10)
