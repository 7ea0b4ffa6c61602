"""The PDFs that the panel made for this person: open, download, delete."""

from html import escape

import gradio as gr

from locales import Locale
from tools.failure import Failure
from tools.tool import Document
from ui.messages import counted, size
from ui.panel import Panel
from ui.request import locale_of, person_of

_ASK_THEN_DELETE = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-delete]');
  if (button && confirm(button.dataset.confirm)) trigger('click', {name: button.dataset.delete});
});
"""


def documents_tab(panel: Panel, tab: gr.Tab) -> None:
    """Draw the tab; the list is read when the tab is opened."""
    documents = panel.assistant.documents
    listed = gr.HTML(elem_id="documents", js_on_load=_ASK_THEN_DELETE, apply_default_css=False)

    def show(request: gr.Request) -> str:
        locale = locale_of(request)
        try:
            made = documents.list(person_of(request).owner)
        except Failure as failure:
            return _problem(failure, locale)
        if not made:
            return f'<p class="empty">{escape(locale("ui.no_documents"))}</p>'
        return f'<ul class="documents">{"".join(_entry(document, locale) for document in made)}</ul>'

    def delete(chosen: gr.EventData, request: gr.Request) -> str:
        try:
            documents.delete(person_of(request).owner, str(chosen.name))
        except Failure as failure:
            return _problem(failure, locale_of(request)) + show(request)
        return show(request)

    tab.select(show, None, listed, api_visibility="private", show_progress="hidden", queue=False)
    listed.click(delete, None, listed, api_visibility="private", show_progress="hidden", queue=False)


def _problem(failure: Failure, locale: Locale) -> str:
    return f'<p class="problem">❌ {escape(str(failure.told(locale)))}</p>'


def _entry(document: Document, locale: Locale) -> str:
    url = escape(document.url)
    facts = [
        f"{document.created:%Y-%m-%d %H:%M}",
        counted(locale, "pages", document.pages),
        size(document.bytes),
    ]
    ask = escape(locale("ui.confirm_delete", title=document.title))
    name = escape(document.name)
    return f"""<li>
<div><strong>{escape(document.title)}</strong><small>{escape(" · ".join(facts))}</small></div>
<span class="actions"><a href="{url}?view" target="_blank" rel="noopener">{escape(locale("ui.open"))}</a>
<a href="{url}" download="{name}">{escape(locale("ui.save_file"))}</a>
<button type="button" data-delete="{name}" data-confirm="{ask}">{escape(locale("ui.delete"))}</button>
</span></li>"""
