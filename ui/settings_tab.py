"""The settings: read from config.yaml, written back to it, by its owner alone."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from agent.models import check_ollama
from locales import Locale, languages, load_locale
from tools.failure import Failure
from tools.web_search import check_searxng
from ui.panel import Panel
from ui.request import locale_of, person_of, require_owner

NAMES = (
    "ollama_url",
    "num_ctx",
    "system_prompt",
    "structured_output",
    "built_in_model",
    "searxng_url",
    "search_backend",
    "tools_enabled",
    "tools",
    "max_iterations",
    "language",
)

_NAMED_BACKENDS = (("SearXNG", "searxng"), ("DuckDuckGo", "duckduckgo"))


def settings_tab(panel: Panel, tab: gr.Tab) -> None:
    """Draw the tab and wire it."""
    _SettingsTab(panel).wire(tab)


class _SettingsTab:
    def __init__(self, panel: Panel) -> None:
        self.assistant = panel.assistant
        self.store = panel.assistant.store
        self.tool_names = panel.assistant.registry.names()
        self._draw(panel.texts)

    def _draw(self, tr: gr.I18n) -> None:
        self.notes = gr.Markdown(elem_id="settings-notes")
        with gr.Column(visible=False, elem_id="settings") as self.form:
            self.fields: dict[str, Any] = {}
            with gr.Group():
                self.test_ollama, self.ollama_told = self._address("ollama_url", tr)
                self._field(
                    "num_ctx",
                    gr.Number(
                        label=tr("set_num_ctx"), info=tr("set_num_ctx_info"), precision=0, minimum=1024
                    ),
                )
                self._field(
                    "system_prompt",
                    gr.Textbox(label=tr("set_system_prompt"), info=tr("set_system_prompt_info"), lines=2),
                )
                self._field(
                    "structured_output",
                    gr.Dropdown(
                        label=tr("set_structured_output"),
                        info=tr("set_structured_output_info"),
                        multiselect=True,
                        allow_custom_value=True,
                    ),
                )
                self._field(
                    "built_in_model",
                    gr.Textbox(label=tr("set_built_in_model"), info=tr("set_built_in_model_info")),
                )
            with gr.Group():
                self.test_searxng, self.searxng_told = self._address("searxng_url", tr)
                backends: Any = [(tr("backend_auto"), "auto"), *_NAMED_BACKENDS]
                self._field("search_backend", gr.Radio(backends, label=tr("set_search_backend")))
            with gr.Group():
                self._field("tools_enabled", gr.Checkbox(label=tr("tools_enabled")))
                self._field("tools", gr.CheckboxGroup(label=tr("set_tools")))
                self._field("max_iterations", gr.Slider(1, 50, step=1, label=tr("set_max_iterations")))
            with gr.Group():
                named = [(load_locale(known)("language.name"), known) for known in languages()]
                choices: Any = [(tr("language_auto"), "auto"), *named]
                self._field("language", gr.Dropdown(choices, label=tr("set_language")))
            self.save = gr.Button(tr("save"), variant="primary", elem_id="save-settings")
        self.saved = gr.Markdown(elem_id="settings-saved", visible=False)

    def _field(self, name: str, component: Any) -> None:
        component.elem_id = f"set-{name}"
        self.fields[name] = component

    def _address(self, name: str, tr: gr.I18n) -> tuple[gr.Button, gr.Markdown]:
        """A field for an address, its Test button, and where the outcome of a test is told."""
        with gr.Row(equal_height=True):
            self._field(name, gr.Textbox(label=tr(f"set_{name}"), scale=4))
            test = gr.Button(
                tr("test"), scale=0, min_width=110, elem_id=f"test-{name}", elem_classes="test", size="sm"
            )
        return test, gr.Markdown(elem_id=f"told-{name}", visible=False)

    def wire(self, tab: gr.Tab) -> None:
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "minimal", "queue": False}
        fields = [self.fields[name] for name in NAMES]
        tab.select(self.show, None, [self.notes, self.form, self.saved, *fields], **private)
        self.save.click(self.keep, fields, self.saved, **private)
        self.test_ollama.click(self.try_ollama, self.fields["ollama_url"], self.ollama_told, **private)
        self.test_searxng.click(self.try_searxng, self.fields["searxng_url"], self.searxng_told, **private)

    def show(self, request: gr.Request) -> list[Any]:
        """The values in force; nothing of them for who may not change them."""
        locale = locale_of(request)
        if not person_of(request).may_configure:
            notes = gr.Markdown(locale("ui.settings_owner_only"))
            return [notes, gr.Column(visible=False), gr.skip(), *[gr.skip() for _ in NAMES]]
        values = self.store.current.model_dump()
        values["tools"] = [name for name, on in values["tools"].items() if on]
        shown = [self._shown(name, values[name], locale) for name in NAMES]
        return [self._problems(locale), gr.Column(visible=True), gr.Markdown(visible=False), *shown]

    def keep(self, request: gr.Request, *given: Any) -> Any:
        """Save what the form holds."""
        locale = locale_of(request)
        try:
            require_owner(request)
            changes = dict(zip(NAMES, given, strict=True))
            changes["tools"] = {name: name in changes["tools"] for name in self.tool_names}
            self.store.save({name: value for name, value in changes.items() if name not in self.store.locked})
        except Failure as failure:
            return gr.Markdown(f"❌ {failure.told(locale)}", visible=True)
        return gr.Markdown(f"✓ {locale('ui.saved')}", visible=True)

    def try_ollama(self, address: str, request: gr.Request) -> Any:
        """What answers at the address of Ollama in the form."""

        def test(locale: Locale) -> str:
            found = check_ollama(address)
            milliseconds = round(found.seconds * 1000)
            return locale("ui.ollama_answers", version=found.version, models=found.models, ms=milliseconds)

        return _tested(request, test)

    def try_searxng(self, address: str, request: gr.Request) -> Any:
        """What a search at the address of SearXNG in the form brings."""

        def test(locale: Locale) -> str:
            found = check_searxng(address)
            return locale("ui.searxng_answers", results=found.results, ms=round(found.seconds * 1000))

        return _tested(request, test)

    def _shown(self, name: str, value: Any, locale: Locale) -> Any:
        changes: dict[str, Any] = {"value": value, "interactive": name not in self.store.locked}
        if name == "structured_output":
            changes |= {"value": list(value), "choices": self._without_tools()}
        if name == "tools":
            changes["choices"] = [(locale(f"tools.{tool}.title"), tool) for tool in self.tool_names]
        return gr.update(**changes)

    def _without_tools(self) -> list[str]:
        """The models that could use structured output; others can be typed in."""
        try:
            models = self.assistant.catalog().list()
        except Failure:
            return []
        return [model.name for model in models if model.usable_in_chat and not model.calls_tools]

    def _problems(self, locale: Locale) -> Any:
        lines = [
            locale("ui.config_line", where=p.where, line=p.line, entry=p.entry, reason=p.reason, used=p.used)
            if p.line
            else locale("ui.config_place", where=p.where, entry=p.entry, reason=p.reason, used=p.used)
            for p in self.store.problems
        ]
        if self.store.locked:
            lines.append(locale("ui.locked", names=", ".join(sorted(self.store.locked))))
        return gr.Markdown("\n\n".join(f"⚠️ {line}" for line in lines))


def _tested(request: gr.Request, test: Callable[[Locale], str]) -> Any:
    """The outcome of a test, in words; only the owner may make this machine send one."""
    locale = locale_of(request)
    try:
        require_owner(request)
        return gr.Markdown(f"✓ {test(locale)}", visible=True)
    except Failure as failure:
        problem = failure.told(locale)
        return gr.Markdown(f"❌ **{problem.cause}**\n\n{problem.remedy}", visible=True)
