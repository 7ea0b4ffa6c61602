"""The tool as a model calls it: by any face, with what models get wrong."""

import io
from pathlib import Path

import pytest
from pypdf import PdfReader

from locales import load_locale
from tools.documents import DocumentStore
from tools.registry import ToolRegistry
from tools.tool import Source, ToolContext, ToolResult

READ = Source("https://a.example/page", "Page A", read=True)
SEEN = Source("https://b.example/", "Page B")


@pytest.fixture
def registry() -> ToolRegistry:
    from tools.create_pdf import TOOL

    return ToolRegistry([TOOL])


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext(documents=DocumentStore(tmp_path / "pdfs"))


def text_of(result: ToolResult, context: ToolContext) -> str:
    (document,) = result.documents
    path = context.documents.path(context.owner, document.name)
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(path.read_bytes())).pages)


def test_a_document_is_made_kept_and_told(registry, context):
    result = registry.execute("create_pdf", {"title": "My report", "markdown": "## Part\n\nText."}, context)
    (document,) = result.documents
    assert result.error is None
    assert result.text == f"PDF made successfully. URL: /pdfs/{document.name}"
    assert list(context.documents.list("local")) == [document]
    assert document.title == "My report" and document.pages == 1
    assert result.data["url"] == document.url and result.data["notes"] == []
    assert str(context.documents.folder) not in result.text
    assert "My report" in text_of(result, context) and "Part" in text_of(result, context)


def test_the_french_face_answers_in_french(registry, tmp_path):
    context = ToolContext(locale=load_locale("fr"), owner="anna", documents=DocumentStore(tmp_path))
    result = registry.execute("creer_pdf", '{"titre": "Éléments", "contenu_markdown": "Texte."}', context)
    (document,) = result.documents
    assert result.text == f"PDF généré avec succès. URL : /pdfs/{document.name}"
    assert document.name.endswith("_Elements.pdf")
    assert not context.documents.list("local") and context.documents.list("anna")
    reader = PdfReader(context.documents.path("anna", document.name))
    assert reader.trailer["/Root"]["/Lang"] == "fr"


@pytest.mark.parametrize("markdown", ["", "  \n\t\n", "```markdown\n\n```"])
def test_a_document_without_content_is_refused(registry, context, markdown):
    result = registry.execute("create_pdf", {"title": "T", "markdown": markdown}, context)
    assert result.error is not None and result.error.kind == "empty_document"
    assert "create_pdf" in result.text and "markdown" in result.text
    assert not context.documents.list("local")


@pytest.mark.parametrize(
    ("title", "markdown", "expected"),
    [
        ("# My\n title ", "Text.", "My title"),
        ("", "\n## **Bold** start\n\nText.", "Bold start"),
        ("  ", "***\n\nFirst words of a text.", "First words of a text."),
        ("x" * 1000, "Text.", "x" * 300),
        (2026, "Text.", "2026"),
    ],
)
def test_titles_are_cleaned_and_found_where_missing(registry, context, title, markdown, expected):
    result = registry.execute("create_pdf", {"title": title, "markdown": markdown}, context)
    assert result.documents[0].title == expected


def test_a_document_in_a_fence_is_unwrapped(registry, context):
    wrapped = "```markdown\n# Chapter\n\n```py\ncode\n```\n\n- **item**\n```"
    text = text_of(registry.execute("create_pdf", {"title": "T", "markdown": wrapped}, context), context)
    assert "•" in text and "**" not in text and "code" in text


def test_a_fence_that_is_only_a_part_stays(registry, context):
    part = "```markdown\n# Example\n```\n\nThe end."
    text = text_of(registry.execute("create_pdf", {"title": "T", "markdown": part}, context), context)
    assert "# Example" in text and "The end." in text


def with_sources(context: ToolContext, *sources: Source) -> ToolContext:
    return ToolContext(documents=context.documents, sources=sources)


def test_pages_that_were_read_are_cited(registry, context):
    context = with_sources(context, SEEN, READ, READ)
    text = text_of(registry.execute("create_pdf", {"title": "T", "markdown": "Text."}, context), context)
    assert "Pages read" in text and text.count("https://a.example/page") == 1 and "Page A" in text
    assert "b.example" not in text


@pytest.mark.parametrize(
    ("markdown", "sources"),
    [
        ("See https://a.example/page.", (READ, SEEN)),
        ("See <https://a.example/page>", (READ,)),
        ("See [https://a.example/page](https://a.example/page)", (READ,)),
        ("Text.", (SEEN,)),
        ("Text.", ()),
    ],
)
def test_sources_are_not_added_where_the_text_cites_or_nothing_was_read(registry, context, markdown, sources):
    context = with_sources(context, *sources)
    assert "Pages read" not in text_of(
        registry.execute("create_pdf", {"title": "T", "markdown": markdown}, context), context
    )


@pytest.mark.parametrize(
    "cited",
    [
        "[A](https://a.example/page)",
        '[A](https://a.example/page "t")',
        "[A][1]\n\n[1]: https://a.example/page",
    ],
)
def test_an_address_that_only_a_click_would_show_is_printed(registry, context, cited):
    context = with_sources(context, READ)
    text = text_of(
        registry.execute("create_pdf", {"title": "T", "markdown": f"See {cited}."}, context), context
    )
    assert text.count("https://a.example/page") == 1


def test_what_could_not_be_drawn_is_told_in_the_language_of_the_panel(registry, tmp_path):
    context = ToolContext(locale=load_locale("fr"), documents=DocumentStore(tmp_path))
    result = registry.execute("creer_pdf", {"titre": "T", "contenu_markdown": "\ue123"}, context)
    assert result.error is None
    assert "U+E123" in result.text and "Aucune police" in result.text
    assert result.data["notes"] == result.text.splitlines()[1:]


def test_a_disk_that_refuses_is_told(registry, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    context = ToolContext(documents=DocumentStore(tmp_path / "file"))
    result = registry.execute("create_pdf", {"title": "T", "markdown": "Text."}, context)
    assert result.error is not None and result.error.kind == "documents_folder"
    assert not result.documents


def test_the_layout_libraries_are_loaded_by_the_first_document_only():
    import subprocess
    import sys

    heavy = {"fpdf", "uharfbuzz", "markdown_it", "pypdf"}
    code = f"import sys, tools.create_pdf, tools.documents; print({heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"
