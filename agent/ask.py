"""One question in a terminal: the same run as in the panel, told as lines."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from agent.assistant import Assistant, Choice
from agent.built_in import is_built_in
from agent.events import Event, Failed, Finished, Notice, RunStarted, StepFinished, StepStarted, Text
from agent.job import Job
from locales import Locale, choose_language, load_locale
from tools.failure import Failure
from tools.helper.files import write_atomically
from tools.tool import LOCAL_OWNER


def ask(
    assistant: Assistant, question: str, model: str = "", *, as_json: bool = False, pdf: Path | None = None
) -> int:
    """Answer `question`; the answer goes to stdout, steps and problems to stderr.

    With `as_json`, stdout gets every event, one JSON object a line. `pdf` takes a copy of the last PDF
    that was made. Returns 0 only with an answer (and, where asked for, a PDF).
    """
    language = assistant.store.current.language
    locale = load_locale(choose_language(os.environ.get("LANG", ""), language))
    try:
        conversation = assistant.conversations.start("terminal")
        job = assistant.ask(conversation, question, Choice(model), LOCAL_OWNER, locale)
        finished, whole = _tell(job, _show_json if as_json else _Terminal(locale).show)
        if pdf is not None:
            _copy(assistant, finished, pdf)
    except Failure as failure:
        print(f"❌ {failure.told(locale)}", file=sys.stderr)
        return 1
    if finished.stopped:
        print(locale("ui.stopped"), file=sys.stderr)
    return 0 if finished.answer.strip() and whole else 1


def _tell(job: Job, show: Callable[[Event], None]) -> tuple[Finished, bool]:
    """Print the run as it goes; Ctrl-C stops it as the Stop button does. Returns its end, and whether the
    answer is whole: nothing failed, nobody stopped it."""
    shown, failed = 0, False
    while True:
        try:
            for event in job.follow(shown):
                shown += 1
                show(event)
                failed = failed or isinstance(event, Failed)
                if isinstance(event, Finished):
                    return event, not (failed or event.stopped)
        except KeyboardInterrupt:
            job.stop()


def _show_json(event: Event) -> None:
    told = {"event": type(event).__name__, **dataclasses.asdict(event)}
    _print(json.dumps(told, ensure_ascii=False, default=_plain), sys.stdout)


class _Terminal:
    """Tells a run to a person: what the model says on stdout, the rest on stderr."""

    def __init__(self, locale: Locale) -> None:
        self._locale = locale
        self._within_line = False

    def show(self, event: Event) -> None:
        """Tell one event."""
        match event:
            case Text(text):
                _print(text, sys.stdout, end="")
                self._within_line = not text.endswith("\n")
            case RunStarted(model) if is_built_in(model):
                _print(f"⚠️ {self._locale('ui.built_in_hint')}", sys.stderr)
            case StepStarted():
                self._end_line()
                _print(event.label, sys.stderr)
            case StepFinished(_, result, seconds):
                state = f"✗ {result.error}" if result.error else "✓"
                _print(f"   {state} ({seconds:.1f} s)", sys.stderr)
            case Notice() | Failed():
                self._end_line()
                mark = "⚠️" if isinstance(event, Notice) else "❌"
                _print(f"{mark} {event.text} {event.remedy}".rstrip(), sys.stderr)
            case Finished():
                self._end_line()
                for document in event.documents:
                    _print(f"📄 {document.name}", sys.stderr)

    def _end_line(self) -> None:
        if self._within_line:
            _print("", sys.stdout)
        self._within_line = False


def _print(text: str, stream: TextIO, end: str = "\n") -> None:
    """Print at once, also on a terminal that does not know every character."""
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end=end, file=stream, flush=True)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _copy(assistant: Assistant, finished: Finished, target: Path) -> None:
    """Copy the last PDF that the run made. Raises Failure "no_pdf_made" or "file_unwritable"."""
    if not finished.documents:
        raise Failure("no_pdf_made")
    source = assistant.documents.path(LOCAL_OWNER, finished.documents[-1].name)
    try:
        write_atomically(target, source.read_bytes())
    except OSError as error:
        raise Failure("file_unwritable", path=target, reason=error.strerror or error) from error
