"""The chat: a model, its tools, the conversation, and one line to write in."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import gradio as gr

from agent.assistant import Choice
from agent.history import Conversation
from agent.models import ModelInfo
from locales import Locale
from tools.failure import Failure
from ui.conversation_view import ConversationView
from ui.model_badges import model_label
from ui.panel import Panel
from ui.request import locale_of, person_of

EVERY = 0.1
"""Seconds between two updates of the page: faster ones cost the browser more than they show."""

_TOGGLE_TOOLS = """() => {
  const panel = document.querySelector('#tools-panel');
  const open = panel.classList.toggle('open');
  document.querySelector('#tools-button').setAttribute('aria-expanded', open);
}"""


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
        with gr.Row(elem_id="chat-bar", equal_height=True):
            self.model = gr.Dropdown(
                label=tr("column_model"),
                show_label=False,
                container=False,
                elem_id="model",
                scale=4,
                min_width=180,
                filterable=True,
            )
            self.refresh = gr.Button("⟳", elem_id="refresh-models", scale=0, min_width=44)
            self.tools_button = gr.Button("🛠", elem_id="tools-button", scale=1, min_width=120)
            self.new = gr.Button(tr("new_chat"), elem_id="new-chat", scale=1, min_width=120)
        with gr.Column(elem_id="tools-panel", variant="panel"):
            self.tools_enabled = gr.Checkbox(label=tr("tools_enabled"), elem_id="tools-enabled")
            self.tools = gr.CheckboxGroup(
                label=tr("set_tools"), show_label=False, container=False, elem_id="tools"
            )
        self.reason = gr.Markdown(elem_id="model-reason", visible=False)
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
        self.box = gr.Textbox(
            label=tr("ask_placeholder"),
            placeholder=tr("ask_placeholder"),
            show_label=False,
            container=False,
            lines=1,
            max_lines=8,
            autofocus=True,
            submit_btn=True,
            elem_id="box",
        )

    def wire(self) -> None:
        """Only runs go through Gradio's queue; all else is answered at once.

        Gradio closes a queue's stream when its last event ends, and loses an event that begins in that
        very moment. So the box takes the next question only when the stream of the last one is closed.
        """
        queued: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        at_once = queued | {"queue": False}
        queued["concurrency_limit"] = None
        turn = [self.box, self.chat]
        choice: list[Any] = [self.model, self.tools_enabled, self.tools]
        described = [self.tools_button, self.tools, self.tools_enabled, self.reason]

        load = self.panel.load
        opened = load(self.open, self.page, [*turn, self.running], **at_once)
        opened.then(self.list_models, None, [*choice, self.reason], **at_once)
        self.refresh.click(self.list_models, None, [*choice, self.reason], **at_once)
        gr.on([part.change for part in choice], self.describe_model, choice, described, **at_once)
        self.tools_button.click(None, js=_TOGGLE_TOOLS, **at_once)

        runs: list[Any] = [
            self.running.change(self.follow, self.page, turn, **queued),
            self.box.submit(self.send, [self.box, self.page, *choice], turn, **queued),
            self.chat.example_select(self.send_example, [self.page, *choice], turn, **queued),
        ]
        for run in runs:
            run.then(self.ready, self.page, self.box, **at_once)
        self.box.stop(self.stop, self.page, None, **at_once)
        self.new.click(self.start, self.page, turn, **at_once)

    def open(self, page: _Page, request: gr.Request) -> tuple[Any, ...]:
        """A page is loaded: show this browser's conversation; one that is still going on is followed."""
        conversation = self.assistant.conversations.latest(person_of(request).session)
        page.conversation_id = conversation.id
        view = ConversationView(conversation, locale_of(request))
        view.update()
        running = conversation.running is not None
        return _box(running), self._shown(view), running

    async def follow(self, page: _Page, request: gr.Request) -> AsyncIterator[tuple[Any, ...]]:
        """Draw a run that was going on when the page was loaded."""
        async for update in self._follow(page, self._conversation(page, request), locale_of(request)):
            yield update

    def ready(self, page: _Page, request: gr.Request) -> Any:
        """The stream of a run has ended: the box takes the next question."""
        return _box(self._conversation(page, request).running is not None)

    async def send(
        self,
        text: str,
        page: _Page,
        model: str,
        enabled: bool,
        tools: Sequence[str],
        request: gr.Request,
    ) -> AsyncIterator[tuple[Any, ...]]:
        """A question was sent: begin its run and follow it to the end."""
        person, locale = person_of(request), locale_of(request)
        conversation = self._conversation(page, request)
        try:
            # Before the models are listed, the page has no choices yet: those of the settings hold.
            choice = Choice(model, tuple(tools) if enabled else ()) if model else Choice()
            self.assistant.ask(conversation, text, choice, person.owner, locale)
        except Failure as failure:
            gr.Warning(str(failure.told(locale)))
        else:
            yield _box(running=True, value=""), gr.skip()
        async for update in self._follow(page, conversation, locale):
            yield update

    async def send_example(
        self,
        page: _Page,
        model: str,
        enabled: bool,
        tools: Sequence[str],
        chosen: gr.SelectData,
        request: gr.Request,
    ) -> AsyncIterator[tuple[Any, ...]]:
        """One of the offered questions was chosen."""
        async for update in self.send(chosen.value["text"], page, model, enabled, tools, request):
            yield update

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

    def list_models(self, request: gr.Request) -> tuple[Any, ...]:
        """The models that can chat, and the defaults of a new chat; where there is none, why."""
        locale, settings = locale_of(request), self.assistant.store.current
        tools = [(locale(f"tools.{tool}.title"), tool) for tool in self.assistant.registry.names()]
        chosen = [tool for tool, on in settings.tools.model_dump().items() if on]
        switches = settings.tools_enabled, gr.CheckboxGroup(choices=tools, value=chosen)
        try:
            models = self.assistant.chat_models()
        except Failure as failure:
            return _no_model(), *switches, _shown_reason(f"❌ {failure.told(locale)}")
        if not models:
            return _no_model(), *switches, _shown_reason(locale("ui.no_models"))
        choices = [(model_label(model, locale), model.name) for model in models]
        return gr.Dropdown(choices=choices, value=self.assistant.default_model(models)), *switches, gr.skip()

    def describe_model(
        self, model: str, enabled: bool, tools: Sequence[str], request: gr.Request
    ) -> tuple[Any, ...]:
        """What the tools button says, and why it is greyed where the model has no tools."""
        if not model:  # the page is still being filled, part by part
            return gr.skip(), gr.skip(), gr.skip(), gr.skip()
        locale = locale_of(request)
        try:
            info = self.assistant.model(model)
        except Failure as failure:
            told = failure.told(locale)
            return gr.Button("🛠", interactive=False), gr.skip(), gr.skip(), _shown_reason(f"❌ {told}")
        usable = info.calls_tools
        count = len(tools) if enabled and usable else 0
        label = locale("ui.tools_count", count=count) if usable else locale("ui.tools_none")
        return (
            gr.Button(label, interactive=usable),
            gr.CheckboxGroup(interactive=usable and enabled),
            gr.Checkbox(interactive=usable),
            gr.Markdown(visible=False) if usable else _shown_reason(_why_no_tools(info, locale)),
        )

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

    async def _follow(
        self, page: _Page, conversation: Conversation, locale: Locale
    ) -> AsyncIterator[tuple[Any, ...]]:
        """The chat as it changes, until its run has ended or the page shows another conversation."""
        view = ConversationView(conversation, locale)
        async with page.drawing:
            while (job := conversation.running) is not None and page.conversation_id == conversation.id:
                if view.update():
                    yield _box(running=True), view.messages()
                if not job.done:
                    await asyncio.sleep(EVERY)
            view.update()
            if page.conversation_id == conversation.id:
                yield gr.skip(), self._shown(view)
            else:
                yield gr.skip(), gr.skip()  # Gradio repeats the last update when the event ends


def _box(running: bool, **changes: Any) -> Any:
    """The box: Stop takes the place of Send while a run goes on."""
    return gr.Textbox(submit_btn=not running, stop_btn=running, **changes)


def _examples(locale: Locale) -> Any:
    return [{"text": locale(f"ui.example_{number}")} for number in (1, 2, 3, 4)]


def _no_model() -> Any:
    return gr.Dropdown(choices=[("–", "")], value="")


def _why_no_tools(info: ModelInfo, locale: Locale) -> str:
    key = "ui.tools_unknown_reason" if info.tools == "unknown" else "ui.tools_none_reason"
    return locale(key, model=info.name)


def _shown_reason(text: str) -> Any:
    return gr.Markdown(text, visible=True)
