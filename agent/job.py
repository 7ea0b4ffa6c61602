"""One run in a thread of its own: it outlives the tab that began it, and many may follow it."""

import logging
import threading
from collections.abc import Callable, Iterator

from agent.events import Event, Failed, Finished, Text
from locales import Locale
from tools.cancel import Cancel
from tools.failure import Failure

log = logging.getLogger(__name__)


class Job:
    """Runs `events(cancel)` to its end and keeps what it told.

    A follower asks by position: `since(n)` gives the events from the n-th on. The last event is always
    Finished, also when the run broke down by a defect of ours.
    """

    def __init__(self, events: Callable[[Cancel], Iterator[Event]], locale: Locale) -> None:
        self._cancel = Cancel()
        self._locale = locale
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._done = False
        threading.Thread(target=self._run, args=(events,), name="run", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether the last event is there."""
        return self._done

    def stop(self) -> None:
        """End the run; it closes its steps and finishes within a second."""
        self._cancel.set()

    def since(self, position: int) -> list[Event]:
        """The events from `position` on, at once."""
        return self._events[position:]

    def follow(self, position: int = 0) -> Iterator[Event]:
        """Every event from `position` to Finished, each as soon as it is told."""
        while news := self._next(position):
            yield from news
            position += len(news)

    def _next(self, position: int) -> list[Event]:
        """The events from `position` on as soon as there are any; none when the run has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._done or len(self._events) > position)
        return self.since(position)

    def _run(self, events: Callable[[Cancel], Iterator[Event]]) -> None:
        try:
            for event in events(self._cancel):
                self._tell(event)
        except Exception as error:
            log.exception("a run failed with a defect of its own")
            problem = Failure("internal", error=f"{type(error).__name__}: {error}").told(self._locale)
            self._tell(Failed(problem.kind, problem.cause, problem.remedy, "offer"))
            self._tell(Finished(self._said(), (), (), ()))
        finally:
            with self._changed:
                self._done = True
                self._changed.notify_all()

    def _tell(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _said(self) -> str:
        return "".join(event.text for event in self._events if isinstance(event, Text))
