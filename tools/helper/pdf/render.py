"""The door to the room: Markdown in, a PDF out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from locales import load_locale
from tools.helper.pdf import look
from tools.helper.pdf.bidi import levelled
from tools.helper.pdf.blocks import Block, Heading, Item, ItemList, Paragraph, Span, plain_text
from tools.helper.pdf.characters import clean, is_mostly_rtl, script_language
from tools.helper.pdf.contents import Contents, name_headings, sections
from tools.helper.pdf.flow import Flow
from tools.helper.pdf.font_advice import missing_note
from tools.helper.pdf.layout import Layout
from tools.helper.pdf.lines import break_lines
from tools.helper.pdf.notes import Note
from tools.helper.pdf.pages import Pages
from tools.helper.pdf.parse import parse
from tools.helper.pdf.typeset import Style, Typesetter


@dataclass(frozen=True)
class RenderedPdf:
    """A document: the file, how many pages it has, and what a reader should know about it."""

    bytes: bytes
    pages: int
    notes: tuple[Note, ...] = ()


def render_pdf(
    title: str,
    markdown: str,
    *,
    language: str = "",
    paper: str = "a4",
    toc: bool = True,
    page_numbers: bool = True,
    header: bool = False,
    author: str = "",
    sources: Sequence[tuple[str, str]] = (),
) -> RenderedPdf:
    """Draw a document. No text makes it fail: what can't be drawn as it is meant is told by a note.

    `language` is that of the text, such as "fr"; a script that only one language uses beats it. `paper` is
    a name in `look.PAPERS`. With `toc`, a document of many sections begins with a table of contents; with
    `header`, its title stands above every page but the first. `author` stands below the title, with the
    date. `sources` are addresses and their titles, listed at the end.
    """
    from tools.helper.pdf.embed import Facts, write_pdf

    title, markdown = " ".join(clean(title).split()), clean(markdown)
    language = script_language(markdown) or language
    blocks, notes = parse(markdown)
    now = datetime.now(UTC).replace(microsecond=0)
    author = " ".join(clean(author).split())
    head, body = _titled(title, blocks)
    blocks = [*head, *body, *_sources(sources, language)]
    name_headings(blocks)
    listed = sections(blocks)
    rtl = is_mostly_rtl(title + markdown)
    pages, typesetter = Pages(rtl, look.PAPERS[paper]), Typesetter(language, rtl)
    flow = Flow(pages)
    layout = Layout(flow, typesetter)
    contents = Contents(listed if toc else (), typesetter)
    layout.draw(head)
    if author:
        layout.draw([Paragraph((Span(f"{author} · {now:%Y-%m-%d}"),))])
    contents.draw(flow)
    layout.draw(blocks[len(head) :])
    flow.begin(0.0)  # for headings at the very end
    contents.number(pages)
    if page_numbers:
        _number(pages, typesetter)
    if header:
        _head(pages, typesetter, title)
    notes += layout.notes
    if typesetter.missing:
        notes.append(missing_note(typesetter.missing))
    outline = [(heading.level - 1, plain_text(heading), heading.anchor) for heading in listed]
    content = write_pdf(pages, typesetter.used, Facts(title, language, author, now, outline))
    return RenderedPdf(content, len(pages.pages), tuple(notes))


def _titled(title: str, blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """The title, and the blocks below it. Whatever the text begins with that says the same is left out."""
    match blocks:
        case [Heading(1) as first, *rest] if _same(plain_text(first), title):
            return [first], rest
        case [Heading() | Paragraph() as first, _, *_] if title and _same(plain_text(first), title):
            blocks = blocks[1:]
    return ([Heading(1, (Span(title),))] if title else []), list(blocks)


def _same(one: str, other: str) -> bool:
    return "".join(filter(str.isalnum, one.casefold())) == "".join(filter(str.isalnum, other.casefold()))


def _sources(sources: Sequence[tuple[str, str]], language: str) -> list[Block]:
    """A numbered list of addresses under a heading."""
    if not sources:
        return []
    items = []
    for url, name in sources:
        url, name = clean(url), " ".join(clean(name).split())
        before = (Span(f"{name} – "),) if name else ()
        items.append(Item([Paragraph((*before, Span(url, link=url)))]))
    return [Heading(2, (Span(load_locale(language)("documents.sources")),)), ItemList(items, start=1)]


def _head(pages: Pages, typesetter: Typesetter, title: str) -> None:
    """Put the title at the head of every page but the first."""
    style = Style(size=look.FOOT_SIZE, ink=look.FOOT_INK)
    boxes, rtl = levelled(typesetter.boxes([Span(title)], style), typesetter)
    lines = break_lines(boxes, pages.paper.width - 2 * look.MARGIN, typesetter)
    for number in range(1, len(pages.pages)) if lines else ():
        end = pages.paper.width - look.MARGIN
        pages.text(lines[0], look.MARGIN, end, look.MARGIN * 0.6, rtl=rtl, page=number)


def _number(pages: Pages, typesetter: Typesetter) -> None:
    """Put "1 / 3" at the foot of every page, now that their number is known."""
    style = Style(size=look.FOOT_SIZE, ink=look.FOOT_INK)
    for number in range(len(pages.pages)):
        line = typesetter.line(f"{number + 1} / {len(pages.pages)}", style)
        baseline = pages.paper.height - look.MARGIN / 2
        pages.text(line, 0, pages.paper.width, baseline, align="center", page=number)
