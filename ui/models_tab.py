"""The models that Ollama has, and what each can do."""

from html import escape

import gradio as gr

from agent.models import ModelInfo
from locales import Locale
from tools.failure import Failure
from ui.messages import size
from ui.model_badges import badges
from ui.panel import Panel
from ui.request import locale_of


def models_tab(panel: Panel, tab: gr.Tab) -> None:
    """Draw the tab; the list is read when the tab is opened."""
    with gr.Row(elem_classes="tab-head"):
        refresh = gr.Button(panel.texts("refresh"), scale=0, min_width=140, elem_id="refresh-list")
    listed = gr.HTML(elem_id="models", js_on_load=None, apply_default_css=False)

    def show(request: gr.Request) -> str:
        locale = locale_of(request)
        try:
            models = panel.assistant.catalog().list()
        except Failure as failure:
            problem = failure.told(locale)
            told = f'<p class="problem">❌ {escape(problem.cause)}<br>{escape(problem.remedy)}</p>'
            return told + _built_in(panel, locale)
        if not models:
            return f'<p class="empty">{escape(locale("ui.no_models"))}</p>' + _built_in(panel, locale)
        return _table(models, locale)

    gr.on(
        [tab.select, refresh.click],
        show,
        None,
        listed,
        api_visibility="private",
        show_progress="hidden",
        queue=False,
    )


def _built_in(panel: Panel, locale: Locale) -> str:
    """The model that answers meanwhile, if it is on this machine."""
    built_in = panel.assistant.built_in()
    return _table([built_in.model().info], locale) if built_in.ready else ""


def _table(models: list[ModelInfo], locale: Locale) -> str:
    columns = ("model", "badges", "context", "size", "details")
    head = "".join(f"<th scope=col>{escape(locale(f'ui.column_{column}'))}</th>" for column in columns)
    rows = "".join(_row(model, locale) for model in models)
    return f'<table class="list"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(model: ModelInfo, locale: Locale) -> str:
    marks = "".join(f'<span class="badge">{escape(mark)}</span>' for mark in badges(model, locale))
    loaded = f' <span class="badge loaded">{escape(locale("ui.loaded"))}</span>' if model.loaded else ""
    context = f"{model.context_length:,}".replace(",", "\u202f") if model.context_length else "–"
    details = " · ".join(filter(None, (model.parameter_size, model.quantization)))
    cells = [
        ("model", f"<strong>{escape(model.name)}</strong>{loaded}"),
        ("badges", marks or "–"),
        ("context", context),
        ("size", size(model.size) if model.size else "–"),
        ("details", escape(details) or "–"),
    ]
    return (
        "<tr>"
        + "".join(
            f'<td data-label="{escape(locale(f"ui.column_{column}"))}"><span>{cell}</span></td>'
            for column, cell in cells
        )
        + "</tr>"
    )
