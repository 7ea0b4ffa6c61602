"""Conversations, kept in memory by browser session."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from agent.events import Message
from agent.job import Job

SESSIONS = 500
CONVERSATIONS = 50
"""How many sessions are kept, and how many conversations of each; the longest unused ones go first."""


@dataclass(frozen=True)
class Run:
    """A question and the run that answers it."""

    question: str
    job: Job


@dataclass
class Conversation:
    """What was said in one chat: for the model (`messages`), and for people (`runs`)."""

    session: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    messages: list[Message] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    @property
    def running(self) -> Job | None:
        """The run that has not ended yet."""
        return self.runs[-1].job if self.runs and not self.runs[-1].job.done else None


class Conversations:
    """The conversations of each session, the latest used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OrderedDict[str, Conversation]] = OrderedDict()

    def start(self, session: str) -> Conversation:
        """A new conversation."""
        conversation = Conversation(session)
        with self._lock:
            kept = self._sessions.setdefault(session, OrderedDict())
            self._sessions.move_to_end(session)
            kept[conversation.id] = conversation
            _forget(kept, CONVERSATIONS)
            _forget(self._sessions, SESSIONS)
        return conversation

    def find(self, session: str, id: str) -> Conversation | None:
        """A conversation of this session; None for another's, or one that is no longer kept."""
        with self._lock:
            kept = self._sessions.get(session, OrderedDict())
            if id in kept:
                self._sessions.move_to_end(session)
                kept.move_to_end(id)
            return kept.get(id)

    def latest(self, session: str) -> Conversation:
        """The conversation last used in this session, or a new one."""
        with self._lock:
            kept = self._sessions.get(session)
            if kept:
                return next(reversed(kept.values()))
        return self.start(session)


def _forget(kept: OrderedDict[str, Any], limit: int) -> None:
    while len(kept) > limit:
        kept.popitem(last=False)
