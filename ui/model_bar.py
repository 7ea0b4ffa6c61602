"""The bar above the chat: which model answers, with which tools, and what to do where there is none."""

import os
from collections.abc import Sequence
from typing import Any

import gradio as gr

from agent.assistant import Choice
from agent.built_in import Offer, is_built_in
from agent.models import ModelInfo
from locales import Locale
from tools.failure import Failure
from ui.messages import size
from ui.model_badges import model_label
from ui.panel import Panel
from ui.request import locale_of, person_of

EVERY = 2.0
"""Seconds between two looks for an Ollama while there is none."""

_TOGGLE_TOOLS = """() => {
  const panel = document.querySelector('#tools-panel');
  const open = panel.classList.toggle('open');
  document.querySelector('#tools-button').setAttribute('aria-expanded', open);
}"""


class ModelBar:
    """The bar; `choice` are the components whose values make a Choice, in the order of `choice_of`."""

    def __init__(self, panel: Panel) -> None:
        self.assistant = panel.assistant
        self._draw(panel.texts)
        self.choice: list[Any] = [self.model, self.tools_enabled, self.tools, self.structured]

    def _draw(self, tr: gr.I18n) -> None:
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
        self.structured = gr.Checkbox(
            label=tr("structured"), container=False, elem_id="structured", visible=False
        )
        self.fetch = gr.Button(elem_id="fetch-built-in", size="sm", visible=False)
        self.timer = gr.Timer(EVERY, active=False)

    def wire(self, after: Any, at_once: dict[str, Any]) -> None:
        """Fill the bar once the event `after` is done; `at_once` are the options of unqueued events."""
        listed = [*self.choice[:3], self.reason, self.fetch, self.timer]
        described = [self.tools_button, self.tools, self.tools_enabled, self.reason]
        after.then(self.list_models, None, listed, **at_once)
        self.refresh.click(self.list_models, None, listed, **at_once)
        self.timer.tick(self.look_again, self.model, listed, **at_once)
        self.fetch.click(self.use_fetch, None, listed, **at_once)
        chosen = self.model.change(self.offer_structured, self.model, self.structured, **at_once)
        chosen.then(self.describe, self.choice, described, **at_once)
        gr.on([part.change for part in self.choice[1:]], self.describe, self.choice, described, **at_once)
        self.tools_button.click(None, js=_TOGGLE_TOOLS, **at_once)

    def list_models(self, request: gr.Request) -> tuple[Any, ...]:
        """The models that can chat, and the defaults of a new chat; where there is none, why."""
        locale, settings = locale_of(request), self.assistant.store.current
        tools = [(locale(f"tools.{tool}.title"), tool) for tool in self.assistant.registry.names()]
        chosen = [tool for tool, on in settings.tools.model_dump().items() if on]
        switches = settings.tools_enabled, gr.CheckboxGroup(choices=tools, value=chosen)
        try:
            models = self.assistant.chat_models()
        except Failure as failure:
            return _no_model(), *switches, *self._offered(f"❌ {failure.told(locale)}", request)
        if not models:
            return _no_model(), *switches, *self._offered(locale("ui.no_models"), request)
        choices = [(model_label(model, locale), model.name) for model in models]
        listed = gr.Dropdown(choices=choices, value=self.assistant.default_model(models))
        waits = any(model.built_in for model in models)
        return listed, *switches, gr.skip(), gr.Button(visible=False), gr.Timer(active=waits)

    def look_again(self, model: str, request: gr.Request) -> tuple[Any, ...]:
        """While no Ollama answers: whether it does now, and how far a download is."""
        try:
            built_in = any(model.built_in for model in self.assistant.chat_models())
        except Failure:
            built_in = False
            if not self._offer_now():
                return tuple(gr.skip() for _ in range(6))
        if built_in and is_built_in(model):
            return tuple(gr.skip() for _ in range(6))
        return self.list_models(request)

    def use_fetch(self, request: gr.Request) -> tuple[Any, ...]:
        """The button of the built-in model: ask for its size, begin its download, or stop that."""
        try:
            if _may_fetch(request):
                self.assistant.built_in().go_on()
        except Failure as failure:
            *listed, _, button, timer = self.list_models(request)
            return *listed, _shown(f"❌ {failure.told(locale_of(request))}"), button, timer
        return self.list_models(request)

    def offer_structured(self, model: str) -> Any:
        """The switch of a model that has no tools of its own."""
        try:
            info = self.assistant.model(model) if model else None
        except Failure:
            info = None
        if info is None or info.calls_tools:
            return gr.Checkbox(visible=False)
        return gr.Checkbox(visible=True, value=self.assistant.structured_output(info))

    def describe(
        self, model: str, enabled: bool, tools: Sequence[str], structured: bool, request: gr.Request
    ) -> tuple[Any, ...]:
        """What the tools button says, and why it is greyed where the model has no tools."""
        if not model:  # the page is still being filled, part by part
            return gr.skip(), gr.skip(), gr.skip(), gr.skip()
        locale = locale_of(request)
        try:
            info = self.assistant.model(model)
        except Failure as failure:
            told = failure.told(locale)
            return gr.Button("🛠", interactive=False), gr.skip(), gr.skip(), _shown(f"❌ {told}")
        usable = info.calls_tools or structured
        count = len(tools) if enabled and usable else 0
        label = locale("ui.tools_count", count=count) if usable else locale("ui.tools_none")
        return (
            gr.Button(label, interactive=usable),
            gr.CheckboxGroup(interactive=usable and enabled),
            gr.Checkbox(interactive=usable),
            self._reason(info, usable, locale),
        )

    def _reason(self, info: ModelInfo, usable: bool, locale: Locale) -> Any:
        """What a person should know of the model that is chosen."""
        if info.built_in:
            return _shown(f"{self._why_built_in(locale)} {locale('ui.built_in_hint')}")
        if info.calls_tools:
            return gr.Markdown(visible=False)
        if usable:
            return _shown(locale("ui.structured_info"))
        key = "ui.tools_unknown_reason" if info.tools == "unknown" else "ui.tools_none_reason"
        return _shown(locale(key, model=info.name))

    def _why_built_in(self, locale: Locale) -> str:
        try:
            self.assistant.catalog().version()
        except Failure as failure:
            return str(failure.told(locale))
        return locale("ui.no_models")

    def _offered(self, why: str, request: gr.Request) -> tuple[Any, Any, Any]:
        """Why no model is there, with the built-in one to be had; and the button that gets it."""
        locale, waiting = locale_of(request), gr.Timer(active=True)
        offer = self._offer_now() if _may_fetch(request) else None
        if offer is None:
            return _shown(why), gr.Button(visible=False), waiting
        lines = [why, locale("ui.built_in_offer", **_named(offer))]
        if offer.running:
            lines.append(locale("ui.built_in_progress", **_named(offer), **_progress(offer)))
        elif offer.failure:
            lines.append(f"❌ {offer.failure.told(locale)}")
        label = locale(f"ui.built_in_{offer.next}", size=size(offer.file.size))
        return _shown("\n\n".join(lines)), gr.Button(label, visible=True), waiting

    def _offer_now(self) -> Offer | None:
        """What can be downloaded; None where the settings name something that can't."""
        try:
            return self.assistant.built_in().offer()
        except Failure:
            return None


def choice_of(model: str, enabled: bool, tools: Sequence[str], structured: bool) -> Choice:
    """The choice that the bar shows. Before the models are listed it shows none: the settings hold."""
    return Choice(model, tuple(tools) if enabled else (), structured) if model else Choice()


def _may_fetch(request: gr.Request) -> bool:
    """A visitor starts no download; on a Space, where everybody is a visitor, it is what makes it work."""
    return person_of(request).may_configure or "SPACE_ID" in os.environ


def _named(offer: Offer) -> dict[str, str]:
    return {"file": offer.file.file or "GGUF", "repository": offer.file.repository}


def _progress(offer: Offer) -> dict[str, object]:
    done, total = offer.done_bytes, offer.file.size
    return {"done": size(done), "total": size(total), "percent": 100 * done // total}


def _no_model() -> Any:
    return gr.Dropdown(choices=[("–", "")], value="")


def _shown(text: str) -> Any:
    return gr.Markdown(text, visible=True)
