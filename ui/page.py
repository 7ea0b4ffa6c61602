"""The page: four tabs."""

import gradio as gr

from agent.assistant import Assistant
from ui.chat_tab import chat_tab
from ui.documents_tab import documents_tab
from ui.models_tab import models_tab
from ui.panel import Panel, interface_texts
from ui.settings_tab import settings_tab


def build_page(assistant: Assistant) -> Panel:
    """The whole panel, ready for `launch()`."""
    texts = interface_texts()
    with Panel(assistant, texts) as panel, gr.Tabs(elem_id="tabs"):
        with gr.Tab(texts("tab_chat"), id="chat", elem_id="tab-chat"):
            chat_tab(panel)
        with gr.Tab(texts("tab_models"), id="models") as models:
            models_tab(panel, models)
        with gr.Tab(texts("tab_documents"), id="documents") as documents:
            documents_tab(panel, documents)
        with gr.Tab(texts("tab_settings"), id="settings") as settings:
            settings_tab(panel, settings)
    return panel
