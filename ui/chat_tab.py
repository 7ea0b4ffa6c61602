"""The chat: a model, its tools, the conversation, and one line to write in."""

import asyncio
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


def chat_tab(panel: Panel) -> None:
    """Draw the tab and wire it."""
    _ChatTab(panel).wire()


class _ChatTab:
    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self.assistant = panel.assistant
        self._draw(panel.texts)

    def _draw(self, tr: gr.I18n) -> None:
        self.conversation = gr.Textbox(visible=False, elem_id="conversation")
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
            latex_delimiters=[{"left": "$$", "right": "$$", "display": True}],
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
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        turn = [self.box, self.chat, self.conversation]
        choice = [self.model, self.tools_enabled, self.tools]
        load = self.panel.load
        load(self.open, None, turn, concurrency_limit=None, **private)
        load(self.list_models, None, choice, **private).then(
            self.describe_model,
            choice,
            [self.tools_button, self.tools, self.tools_enabled, self.reason],
            **private,
        )
        self.box.submit(
            self.send, [self.box, self.conversation, *choice], turn, concurrency_limit=None, **private
        )
        self.box.stop(self.stop, [self.conversation], None, queue=False, **private)
        self.chat.example_select(
            self.send_example, [self.conversation, *choice], turn, concurrency_limit=None, **private
        )
        self.new.click(self.start, None, turn, queue=False, **private)
        self.refresh.click(self.list_models, None, choice, **private)
        gr.on(
            [self.model.change, self.tools_enabled.change, self.tools.change],
            self.describe_model,
            choice,
            [self.tools_button, self.tools, self.tools_enabled, self.reason],
            **private,
        )
        self.tools_button.click(None, js=_TOGGLE_TOOLS, **private)

    async def open(self, request: gr.Request) -> AsyncIterator[tuple[Any, ...]]:
        """A page is loaded: show this browser's conversation, and follow it if it is still going on."""
        conversation = self.assistant.conversations.latest(person_of(request).session)
        async for update in self._follow(conversation, locale_of(request)):
            yield update

    async def send(
        self,
        text: str,
        conversation_id: str,
        model: str,
        enabled: bool,
        tools: Sequence[str],
        request: gr.Request,
    ) -> AsyncIterator[tuple[Any, ...]]:
        """A question was sent: begin its run and follow it to the end."""
        person, locale = person_of(request), locale_of(request)
        conversation = self._conversation(person.session, conversation_id)
        try:
            # Before the models are listed, the page has no choices yet: those of the settings hold.
            choice = Choice(model, tuple(tools) if enabled else ()) if model else Choice()
            self.assistant.ask(conversation, text, choice, person.owner, locale)
        except Failure as failure:
            gr.Warning(str(failure.told(locale)))
        else:
            yield gr.Textbox(value="", submit_btn=False, stop_btn=True), gr.skip(), conversation.id
        async for update in self._follow(conversation, locale):
            yield update

    async def send_example(
        self,
        conversation_id: str,
        model: str,
        enabled: bool,
        tools: Sequence[str],
        chosen: gr.SelectData,
        request: gr.Request,
    ) -> AsyncIterator[tuple[Any, ...]]:
        """One of the offered questions was chosen."""
        async for update in self.send(chosen.value["text"], conversation_id, model, enabled, tools, request):
            yield update

    def stop(self, conversation_id: str, request: gr.Request) -> None:
        """End the run of the conversation; the one who follows it draws the end."""
        conversation = self.assistant.conversations.find(person_of(request).session, conversation_id)
        if conversation and (job := conversation.running):
            job.stop()

    def start(self, request: gr.Request) -> tuple[Any, ...]:
        """A new conversation; a run that goes on in the old one goes on there."""
        conversation = self.assistant.conversations.start(person_of(request).session)
        view = ConversationView(conversation, locale_of(request))
        return gr.Textbox(submit_btn=True, stop_btn=False), self._shown(view), conversation.id

    def list_models(self, request: gr.Request) -> tuple[Any, ...]:
        """The models that can chat, and the defaults of a new chat."""
        locale, settings = locale_of(request), self.assistant.store.current
        tools = [(locale(f"tools.{tool}.title"), tool) for tool in self.assistant.registry.names()]
        chosen = [tool for tool, on in settings.tools.model_dump().items() if on]
        switches = settings.tools_enabled, gr.CheckboxGroup(choices=tools, value=chosen)
        try:
            models = self.assistant.chat_models()
        except Failure as failure:
            return gr.Dropdown(choices=[(failure.told(locale).cause, "")], value=""), *switches
        choices = [(model_label(model, locale), model.name) for model in models]
        return gr.Dropdown(choices=choices, value=self.assistant.default_model(models)), *switches

    def describe_model(
        self, model: str, enabled: bool, tools: Sequence[str], request: gr.Request
    ) -> tuple[Any, ...]:
        """What the tools button says, and why it is greyed where the model has no tools."""
        locale = locale_of(request)
        try:
            info = self.assistant.model(model) if model else None
        except Failure as failure:
            told = failure.told(locale)
            return gr.Button("🛠", interactive=False), gr.skip(), gr.skip(), _shown_reason(f"❌ {told}")
        if info is None:
            return gr.Button("🛠", interactive=False), gr.skip(), gr.skip(), gr.Markdown(visible=False)
        usable = info.calls_tools
        count = len(tools) if enabled and usable else 0
        label = locale("ui.tools_count", count=count) if usable else locale("ui.tools_none")
        return (
            gr.Button(label, interactive=usable),
            gr.CheckboxGroup(interactive=usable and enabled),
            gr.Checkbox(interactive=usable),
            gr.Markdown(visible=False) if usable else _shown_reason(_why_no_tools(info, locale)),
        )

    def _conversation(self, session: str, id: str) -> Conversation:
        conversations = self.assistant.conversations
        return conversations.find(session, id) or conversations.start(session)

    def _shown(self, view: ConversationView) -> Any:
        """The chat's content; an empty one offers questions to begin with."""
        messages = view.messages()
        if messages:
            return messages
        return gr.Chatbot(value=[], placeholder=view.locale("ui.welcome"), examples=_examples(view.locale))

    async def _follow(self, conversation: Conversation, locale: Locale) -> AsyncIterator[tuple[Any, ...]]:
        """The chat as it changes, until its run has ended; then the box takes the next question."""
        view = ConversationView(conversation, locale)
        while (job := conversation.running) is not None:
            if view.update():
                yield gr.Textbox(submit_btn=False, stop_btn=True), view.messages(), conversation.id
            if not job.done:
                await asyncio.sleep(EVERY)
        view.update()
        yield gr.Textbox(submit_btn=True, stop_btn=False), self._shown(view), conversation.id


def _examples(locale: Locale) -> Any:
    return [{"text": locale(f"ui.example_{number}")} for number in (1, 2, 3, 4)]


def _why_no_tools(info: ModelInfo, locale: Locale) -> str:
    key = "ui.tools_unknown_reason" if info.tools == "unknown" else "ui.tools_none_reason"
    return locale(key, model=info.name)


def _shown_reason(text: str) -> Any:
    return gr.Markdown(text, visible=True)
