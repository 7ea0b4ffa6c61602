"""A run in a thread of its own."""

import threading

from agent.events import Failed, Finished, RunStarted, Text
from agent.job import Job
from locales import load_locale

EN = load_locale("en")
END = Finished("", (), (), ())


def test_followers_see_every_event_whenever_they_come():
    gate = threading.Event()

    def events(cancel):
        yield RunStarted("m", ())
        gate.wait(20)
        yield Text("hello")
        yield END

    job = Job(events, EN)
    seen: list = []
    early = threading.Thread(target=lambda: seen.extend(job.follow()))
    early.start()
    gate.set()
    early.join(20)
    assert seen == [RunStarted("m", ()), Text("hello"), END]
    assert list(job.follow()) == seen
    assert job.done and job.since(2) == [END]


def test_stop_reaches_the_run():
    def events(cancel):
        yield RunStarted("m", ())
        assert cancel.wait(20)
        yield END

    job = Job(events, EN)
    job.stop()
    assert list(job.follow())[-1] == END


def test_a_defect_ends_the_run_in_words(caplog):
    def events(cancel):
        yield Text("so far")
        raise ZeroDivisionError("a defect")

    told = list(Job(events, EN).follow())
    assert isinstance(told[-2], Failed) and "ZeroDivisionError" in told[-2].text
    assert told[-1] == Finished("so far", (), (), ())
    assert "a defect" in caplog.text
