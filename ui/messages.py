"""Folds the events of a run into the messages of a chat. Pure: it knows no Gradio.

A chat message is the dictionary that gr.Chatbot draws: role, content and, for the accordion, metadata
with title, status ("pending" = open and turning, "done" = closed), log, duration, id and parent_id.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.events import (
    Event,
    Failed,
    Finished,
    Notice,
    StepFinished,
    StepProgress,
    StepStarted,
    Text,
    Thinking,
    TurnRewritten,
)
from locales import Locale
from tools.attachments import Attachment
from tools.tool import Document, ToolResult

ChatMessage = dict[str, Any]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
"""All ASCII punctuation can be escaped (CommonMark 0.31, 2.4); that also keeps URLs from being linked."""


_LINK_TO_DOCUMENT = re.compile(r"\]\(/pdfs/")
"""Models link a document as they were told it; behind a share link only a relative link works."""


@dataclass
class _Entry:
    """A line of the accordion: a step, a thought, or something the model said between steps."""

    id: str
    title: str
    body: str = ""
    pending: bool = True
    log: str = ""
    seconds: float | None = None


@dataclass
class RunView:
    """One question's run, as the chat shows it. Feed it events with `apply`, read `messages`."""

    locale: Locale
    key: str
    _entries: list[_Entry] = field(default_factory=list)
    _text: str = ""
    _thinking: str = ""
    _thought: _Entry | None = None
    _notices: list[Notice] = field(default_factory=list)
    _failed: Failed | None = None
    _documents: list[Document] = field(default_factory=list)
    _finished: Finished | None = None
    _step_seconds: float = 0.0
    _steps: int = 0

    def apply(self, events: Iterable[Event]) -> None:
        """Take in what happened."""
        for event in events:
            self._apply(event)

    def messages(self) -> list[ChatMessage]:
        """The assistant's messages so far: the accordion, then what was said."""
        shown = self._accordion()
        shown += [_message(f"⚠️ {_sentence(notice)}") for notice in self._notices]
        if self._text:
            shown.append(_message(_LINK_TO_DOCUMENT.sub("](pdfs/", self._text)))
        if self._failed:
            shown.append(_message(f"❌ {_sentence(self._failed)}"))
        shown += [_message(self._card(document)) for document in self._documents]
        if not shown:
            shown.append(self._placeholder())
        return shown

    def _apply(self, event: Event) -> None:
        match event:
            case Text(text):
                self._close_thought()
                self._text += text
            case Thinking(text):
                self._think(text)
            case TurnRewritten(text, thinking):
                self._rewrite(text, thinking)
            case StepStarted():
                self._close_turn()
                self._steps += 1
                title = _plain(event.label)
                self._entries.append(_Entry(event.id, title, _code(_pretty(event.arguments), "json")))
            case StepProgress(id, text):
                self._entry(id).log = text
            case StepFinished(id, result, seconds):
                self._close_step(self._entry(id), result, seconds)
            case Notice():
                self._notices.append(event)
            case Failed():
                self._failed = event
            case Finished():
                self._close_thought()
                self._finished = event

    def _think(self, text: str) -> None:
        if self._thought is None:
            title = self.locale("ui.thinking")
            self._thought = _Entry(f"thought-{len(self._entries)}", title)
            self._entries.append(self._thought)
        self._thinking += text
        self._thought.body = self._thinking

    def _rewrite(self, text: str, thinking: str) -> None:
        if self._thought:
            self._entries.remove(self._thought)
        self._thought, self._thinking = None, ""
        if thinking:
            self._think(thinking)
        self._text = text

    def _close_thought(self) -> None:
        if self._thought:
            self._thought.pending = False
        self._thought, self._thinking = None, ""

    def _close_turn(self) -> None:
        """A step begins: what the model said before it was on the way, not the answer."""
        self._close_thought()
        if self._text.strip():
            said = _Entry(f"said-{len(self._entries)}", self.locale("ui.said"), self._text, pending=False)
            self._entries.append(said)
        self._text = ""

    def _close_step(self, entry: _Entry, result: ToolResult, seconds: float) -> None:
        entry.pending = False
        entry.seconds = seconds
        part = part_of(self.locale, result.data)
        entry.log = f"✗ {result.error.cause}" if result.error else f"✓ {part}".rstrip()
        if part:
            entry.body += f"\n\n{_plain(result.data['url'])} · {part}"
        entry.body += f"\n\n{self.locale('ui.model_saw')}\n\n{_code(result.text)}"
        if result.error:
            entry.body = f"**{_plain(str(result.error))}**\n\n{entry.body}"
        self._step_seconds += seconds
        self._documents += result.documents

    def _entry(self, id: str) -> _Entry:
        return next(entry for entry in reversed(self._entries) if entry.id == id)

    def _accordion(self) -> list[ChatMessage]:
        if not self._entries:
            return []
        pending = self._finished is None
        title = self.locale("ui.working") if pending else self._summary()
        head = _message("", title=title, status="pending" if pending else "done", id=self.key)
        return [head, *(self._line(entry) for entry in self._entries)]

    def _line(self, entry: _Entry) -> ChatMessage:
        status = "pending" if entry.pending and self._finished is None else "done"
        metadata = {"title": entry.title, "status": status, "log": entry.log, "duration": entry.seconds}
        metadata |= {"id": f"{self.key}-{entry.id}", "parent_id": self.key}
        return _message(entry.body, **{name: value for name, value in metadata.items() if value is not None})

    def _summary(self) -> str:
        """Such as "4 steps · 12 s · 3 sources"; sources are the pages that were read."""
        if not self._steps:
            return self.locale("ui.thought")
        sources = sum(source.read for source in self._finished.sources) if self._finished else 0
        seconds = f"{self._step_seconds:.0f} s" if self._step_seconds >= 1 else "< 1 s"
        parts = [counted(self.locale, "steps", self._steps), seconds]
        if sources:
            parts.append(counted(self.locale, "sources", sources))
        return " · ".join(parts)

    def _card(self, document: Document) -> str:
        facts = f"{counted(self.locale, 'pages', document.pages)} · {size(document.bytes)}"
        label, tooltip = self.locale("ui.download"), document.name
        return f'[{label}]({document.url} "{tooltip}")\n{_plain(document.title)} · {facts}'

    def _placeholder(self) -> ChatMessage:
        """Before the first event that can be seen: the model loads, or was stopped before it said a word."""
        if self._finished is None:
            return _message("", title=self.locale("ui.waiting"), status="pending", id=self.key)
        return _message(self.locale("ui.stopped" if self._finished.stopped else "ui.no_answer"))


def part_of(locale: Locale, data: object) -> str:
    """Which part of a text or a PDF a result is, such as "part 2 of 7"; "" for what has no parts."""
    match data:
        case {"url": _, "part": part, "of": of}:
            told = locale("ui.part", part=part, of=of)
        case {"url": _, "pages": [first, last], "of_pages": count}:
            told = locale("ui.pages_read", first=first, last=last, count=count)
        case _:
            return ""
    if isinstance(data, Mapping) and data.get("of_files", 1) > 1:
        told = f"{locale('ui.file_read', file=data['file'], of=data['of_files'])}, {told}"
    return told


def counted(locale: Locale, noun: str, number: int) -> str:
    """Such as "1 step" or "4 steps"."""
    return locale(f"counted.{noun}.{'one' if number == 1 else 'many'}", number=number)


def size(count: int) -> str:
    """A number of bytes as people read it."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.0f} {units[0]}" if value >= 10 or units[0] == "B" else f"{value:.1f} {units[0]}"


def question(text: str, conversation: str = "", attached: Sequence[Attachment] = ()) -> ChatMessage:
    """What the user asked, with the files that came with it; the panel's own route serves them."""
    lines = [_attachment(conversation, file) for file in attached]
    shown = "\n\n".join(filter(None, (text, " ".join(lines))))
    return {"role": "user", "content": [{"type": "text", "text": shown}]}


def _attachment(conversation: str, file: Attachment) -> str:
    address = f"files/{conversation}/{file.number}"
    if file.kind == "image":
        return f"![{file.name}]({address})"  # of letters, digits and ". ()-_" only, and shown as it stands
    return f"[📎 {_plain(file.name)}]({address}) ({size(file.bytes)})"


def _message(text: str, **metadata: object) -> ChatMessage:
    message: ChatMessage = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    if metadata:
        message["metadata"] = metadata
    return message


def _sentence(event: Notice | Failed) -> str:
    return _plain(f"{event.text} {event.remedy}".strip())


def _plain(text: str) -> str:
    """The text with Markdown's marks escaped, so that it is shown as it stands."""
    return _PUNCTUATION.sub(r"\\\1", text)


def _pretty(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False, indent=2)


def _code(text: str, language: str = "text") -> str:
    """A fenced block, whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
