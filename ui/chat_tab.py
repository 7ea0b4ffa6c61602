"""The chat: a model, its tools, the conversation, and one line to write in."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from agent.assistant import Choice
from agent.history import Conversation
from locales import Locale
from tools.attachments import IMAGE_SUFFIXES, SUFFIXES, Attachment
from tools.failure import Failure
from ui.conversation_view import ConversationView
from ui.model_bar import ModelBar, choice_of
from ui.panel import Panel
from ui.request import locale_of, person_of

EVERY = 0.1
"""Seconds between two updates of the page: faster ones cost the browser more than they show."""


class _Page:
    """A page that somebody has open: the conversation it shows, and the right to draw on it.

    A run draws on the page while it holds `drawing`, and leaves when the page shows something else.
    """

    def __init__(self) -> None:
        self.conversation_id = ""
        self.drawing = asyncio.Lock()


def chat_tab(panel: Panel) -> None:
    """Draw the tab and wire it."""
    _ChatTab(panel).wire()


class _ChatTab:
    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.assistant = panel.assistant
        self._draw(panel.texts)

    def _draw(self, tr: gr.I18n) -> None:
        self.page = gr.State(_Page())
        self.running = gr.Checkbox(visible="hidden")
        self.bar = ModelBar(self.panel)
        self.chat = gr.Chatbot(
            elem_id="chat",
            show_label=False,
            container=False,
            scale=1,
            height="100%",
            min_height=240,
            buttons=["copy"],
            latex_delimiters=[],
            allow_file_downloads=False,
        )
        placeholder: Any = tr("ask_placeholder")
        self.problem = gr.Markdown(visible=False, elem_id="problem")
        self.box = gr.MultimodalTextbox(
            label=tr("ask_placeholder"),
            placeholder=placeholder,
            show_label=False,
            container=False,
            lines=1,
            max_lines=8,
            autofocus=True,
            submit_btn=True,
            sources=["upload"],
            file_count="multiple",
            file_types=[*SUFFIXES, *IMAGE_SUFFIXES],
            max_plain_text_length=1_000_000,
            elem_id="box",
        )

    def wire(self) -> None:
        """Only what follows a run goes through Gradio's queue; all else is answered at once.

        Gradio closes a queue's stream when its last event ends, and loses an event that begins in that
        very moment. So the box takes the next question only when the stream of the last one is closed. And
        an update of the box costs Gradio more than one of the whole chat, so followers draw the chat alone.
        """
        queued: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        at_once = queued | {"queue": False}
        queued["concurrency_limit"] = None

        load = self.panel.load
        opened = load(self.open, self.page, [self.box, self.chat, self.running], **at_once)
        self.bar.wire(opened, at_once)

        chosen = [self.page, *self.bar.choice]
        sent: list[Any] = [
            self.box.submit(self.send_box, [self.box, *chosen], [self.box, self.problem], **at_once),
            self.chat.example_select(self.send_example, chosen, [self.box, self.problem], **at_once),
        ]
        for begins in (self.running.change, *(event.then for event in sent)):
            followed: Any = begins(self.follow, self.page, self.chat, **queued)
            followed.then(self.ready, self.page, self.box, **at_once)
        self.box.stop(self.stop, self.page, None, **at_once)
        self.bar.new.click(self.start, self.page, [self.box, self.chat], **at_once)

    def open(self, page: _Page, request: gr.Request) -> tuple[Any, ...]:
        """A page is loaded: show this browser's conversation; one that is still going on is followed."""
        conversation = self.assistant.conversations.latest(person_of(request).session)
        page.conversation_id = conversation.id
        view = ConversationView(conversation, locale_of(request))
        view.update()
        running = conversation.running is not None
        return _box(running), self._shown(view), running

    async def follow(self, page: _Page, request: gr.Request) -> AsyncIterator[Any]:
        """The chat as it changes, until its run has ended or the page shows another conversation."""
        conversation = self._conversation(page, request)
        view = ConversationView(conversation, locale_of(request))
        async with page.drawing:
            while (job := conversation.running) is not None and page.conversation_id == conversation.id:
                if view.update():
                    yield view.messages()
                if not job.done:
                    await asyncio.sleep(EVERY)
            view.update()
            # Gradio repeats the last update when the event ends.
            yield self._shown(view) if page.conversation_id == conversation.id else gr.skip()

    def ready(self, page: _Page, request: gr.Request) -> Any:
        """The stream of a run has ended: the box takes the next question."""
        return _box(self._conversation(page, request).running is not None)

    def send_box(
        self,
        written: dict[str, Any],
        page: _Page,
        model: str,
        enabled: bool,
        tools: Sequence[str],
        structured: bool,
        request: gr.Request,
    ) -> tuple[Any, ...]:
        """A question was sent, perhaps with files."""
        choice = choice_of(model, enabled, tools, structured)
        return self.send(written["text"], written["files"], page, choice, request)

    def send(
        self, text: str, files: Sequence[str], page: _Page, choice: Choice, request: gr.Request
    ) -> tuple[Any, ...]:
        """Begin the run of a question, which what follows draws; or say above the box why it can't be asked.

        Gradio's own messages over the page are for queued events alone.
        """
        person, locale = person_of(request), locale_of(request)
        conversation = self._conversation(page, request)
        try:
            attached = [_attach(conversation, Path(file)) for file in files]
            self.assistant.ask(conversation, text, choice, person.owner, locale, attached)
        except Failure as failure:
            problem = gr.Markdown(f"❌ {failure.told(locale)}", visible=True)
            return _box(conversation.running is not None), problem
        return _box(running=True, value=""), gr.Markdown(visible=False)

    def send_example(
        self,
        page: _Page,
        model: str,
        enabled: bool,
        tools: Sequence[str],
        structured: bool,
        chosen: gr.SelectData,
        request: gr.Request,
    ) -> tuple[Any, ...]:
        """One of the offered questions was chosen."""
        choice = choice_of(model, enabled, tools, structured)
        return self.send(chosen.value["text"], (), page, choice, request)

    def stop(self, page: _Page, request: gr.Request) -> None:
        """End the run of the conversation; the one who follows it draws the end."""
        if job := self._conversation(page, request).running:
            job.stop()

    async def start(self, page: _Page, request: gr.Request) -> tuple[Any, ...]:
        """A new conversation; a run that goes on in the old one goes on there."""
        conversation = self.assistant.conversations.start(person_of(request).session)
        page.conversation_id = conversation.id
        with contextlib.suppress(TimeoutError):  # a follower whose connection was lost never leaves
            async with asyncio.timeout(2), page.drawing:
                pass
        view = ConversationView(conversation, locale_of(request))
        return _box(running=False), self._shown(view)

    def _conversation(self, page: _Page, request: gr.Request) -> Conversation:
        """What the page shows; after a restart of the panel that is a new conversation."""
        conversations, session = self.assistant.conversations, person_of(request).session
        conversation = conversations.find(session, page.conversation_id) or conversations.start(session)
        page.conversation_id = conversation.id
        return conversation

    def _shown(self, view: ConversationView) -> Any:
        """The chat's content; an empty one offers questions to begin with."""
        messages = view.messages()
        if messages:
            return messages
        return gr.Chatbot(value=[], placeholder=view.locale("ui.welcome"), examples=_examples(view.locale))


def _box(running: bool, **changes: Any) -> Any:
    """The box: Stop takes the place of Send while a run goes on."""
    return gr.MultimodalTextbox(submit_btn=not running, stop_btn=running, **changes)


def _attach(conversation: Conversation, path: Path) -> Attachment:
    """Take over an uploaded file; one that was taken already, when the question was refused, is kept once.

    Raises Failure.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Failure("upload_lost", name=path.name) from error
    return conversation.attachments.add(path.name, content, source=str(path))


def _examples(locale: Locale) -> Any:
    return [{"text": locale(f"ui.example_{number}")} for number in (1, 2, 3, 4)]
