"""Conversations, kept in memory by browser session; their files are in a folder that goes with the panel."""

import secrets
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.events import Message
from agent.job import Job
from tools.attachments import Attachment, Attachments

SESSIONS = 500
CONVERSATIONS = 50
"""How many sessions are kept, and how many conversations of each; the longest unused ones go first."""


@dataclass(frozen=True)
class Run:
    """A question with the files that came with it, and the run that answers it."""

    question: str
    job: Job
    attached: tuple[Attachment, ...] = ()


@dataclass
class Conversation:
    """What was said in one chat: for the model (`messages`), and for people (`runs`)."""

    session: str
    id: str
    attachments: Attachments
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
        self._folder = Path(tempfile.mkdtemp(prefix="agent-panel-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def start(self, session: str) -> Conversation:
        """A new conversation."""
        id = secrets.token_urlsafe(9)
        conversation = Conversation(session, id, Attachments(self._folder / id))
        with self._lock:
            kept = self._sessions.setdefault(session, OrderedDict())
            self._sessions.move_to_end(session)
            kept[conversation.id] = conversation
            forgotten = _beyond(kept, CONVERSATIONS)
            for session_kept in _beyond(self._sessions, SESSIONS):
                forgotten += session_kept.values()
        for each in forgotten:
            each.attachments.delete()
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


def _beyond(kept: OrderedDict[str, Any], limit: int) -> list[Any]:
    """Take out what is over the limit, the longest unused first."""
    return [kept.popitem(last=False)[1] for _ in range(len(kept) - limit)]
