"""What is written in a document is drawn in it: read back by two readers, pypdf and PDFium."""

import io
import re
import string
import time
import unicodedata

import pypdfium2
import pypdfium2.raw as pdfium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from tools.helper.pdf import look
from tools.helper.pdf.render import RenderedPdf, render_pdf

TEXT_LEFT, TEXT_RIGHT = look.MARGIN, look.PAGE_WIDTH - look.MARGIN


def texts(pdf: RenderedPdf) -> tuple[str, str]:
    """The text as pypdf and as PDFium read it."""
    reader = PdfReader(io.BytesIO(pdf.bytes), strict=True)
    assert len(reader.pages) == pdf.pages
    document = pypdfium2.PdfDocument(pdf.bytes)
    try:
        pages = [document[number].get_textpage().get_text_range() for number in range(len(document))]
    finally:
        document.close()
    return "\n".join(page.extract_text() for page in reader.pages), "\n".join(pages).replace("\r", "")


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def characters(pdf: RenderedPdf) -> list[tuple[int, str, float, float, float, float]]:
    """Every visible character: page, text, left, right, bottom, top in points."""
    document = pypdfium2.PdfDocument(pdf.bytes)
    found = []
    try:
        for number in range(len(document)):
            page = document[number].get_textpage()
            for index in range(page.count_chars()):
                char = chr(pdfium.FPDFText_GetUnicode(page, index))
                if not char.isspace() and not unicodedata.combining(char):
                    left, bottom, right, top = page.get_charbox(index, loose=False)
                    found.append((number, char, left, right, bottom, top))
    finally:
        document.close()
    return found


def assert_within_margins(pdf: RenderedPdf) -> None:
    for page, char, left, right, bottom, top in characters(pdf):
        where = f"{char!r} on page {page + 1}: {left:.0f}-{right:.0f}, {bottom:.0f}-{top:.0f}"
        assert left > TEXT_LEFT - 3 and right < TEXT_RIGHT + 3, where
        foot = top < look.MARGIN
        assert (foot and bottom > 20) or bottom > look.MARGIN - 4, where
        assert top < look.PAGE_HEIGHT - look.MARGIN + 3, where


def baseline_of(pdf: RenderedPdf, word: str) -> tuple[int, float]:
    """The page and the height at which a word of one kind of letter stands."""
    page, _, _, _, bottom, _ = next(entry for entry in characters(pdf) if entry[1] == word)
    return page, bottom


ALL_MARKS = """## Résumé

A *slanted*, a **heavy**, a ***both***, a ~~struck~~ word and `code --flag`; [a link](https://example.org/x).
Second line after a line end.

- first
  - deeper
    1. numbered
- [x] done
- [ ] open

> quoted words
>
> > quoted twice

| Left | Right |
|:-----|------:|
| one  | 1     |
| two<br>lines | 2 |

```python
def answer() -> int:
    return 42
```

---

The end.
"""


def test_every_kind_of_block_is_readable_by_both_readers():
    pdf = render_pdf("All marks", ALL_MARKS, language="en")
    assert pdf.notes == ()
    for text in texts(pdf):
        flat = squeezed(text)
        for words in (
            "All marks", "Résumé", "A slanted, a heavy, a both, a struck word and", "code --flag",
            "a link", "Second line after a line end.", "• first", "◦ deeper", "1. numbered",
            "☑ done", "☐ open", "quoted words", "quoted twice", "Left", "Right", "two", "lines",
            "def answer() -> int:", "return 42", "The end.", "1 / 1",
        ):  # fmt: skip
            assert squeezed(words) in flat, words
        assert "**" not in text and "~~" not in text and "```" not in text


def test_a_line_end_is_a_line_break():
    first, second = (baseline_of(render_pdf("T", "aaa\nbbb\n"), letter)[1] for letter in ("a", "b"))
    assert first - second == pytest.approx(look.BODY_SIZE * look.LEADING, abs=0.5)


def test_metadata_names_title_and_language_and_no_maker():
    reader = PdfReader(io.BytesIO(render_pdf("Über\nalles", "Text.", language="fr").bytes), strict=True)
    assert reader.metadata is not None
    assert reader.metadata.title == "Über alles"
    assert reader.metadata.producer is None and reader.metadata.creator is None
    assert reader.metadata.creation_date is not None
    assert reader.trailer["/Root"]["/Lang"] == "fr"
    assert b"fpdf" not in render_pdf("T", "x").bytes.lower()


def test_the_script_of_a_text_beats_the_language_it_is_said_to_be_in():
    reader = PdfReader(io.BytesIO(render_pdf("天気", "今日はいい天気ですね。", language="fr").bytes))
    assert reader.trailer["/Root"]["/Lang"] == "ja"


@pytest.mark.parametrize("first", ["# Title", "# title!", "# **Title**", "Title\n====="])
def test_a_title_that_the_text_begins_with_is_shown_once(first):
    for text in texts(render_pdf("Title", f"{first}\n\nBody.")):
        assert text.lower().count("title") == 1


def test_another_first_heading_stands_below_the_title():
    for text in texts(render_pdf("Title", "# Chapter\n\nBody.")):
        assert text.index("Title") < text.index("Chapter")


def test_sources_are_listed_as_links():
    pdf = render_pdf(
        "T",
        "Text.",
        language="fr",
        sources=[("https://a.example/x?y=1", "Page A"), ("https://b.example", "")],
    )
    for text in texts(pdf):
        assert (
            "Sources" in text
            and "Page A – https://a.example/x?y=1" in text
            and "2. https://b.example" in text
        )
    assert links_of(pdf) == ["https://a.example/x?y=1", "https://b.example"]


def links_of(pdf: RenderedPdf) -> list[str]:
    found = []
    for page in PdfReader(io.BytesIO(pdf.bytes), strict=True).pages:
        for annotation in page.get("/Annots", []):
            action = annotation.get_object().get("/A")
            found.append(str(action["/URI"]) if action else "internal")
    return found


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[a](https://a.example/x y)", ["https://a.example/x"]),  # no link, but a bare address
        ("[a](<https://a.example/é?q=ü>)", ["https://a.example/%C3%A9?q=%C3%BC"]),
        (
            "see https://a.example/x_(y), and (https://b.example).",
            ["https://a.example/x_(y)", "https://b.example"],
        ),
        ("[a](mailto:a@b.example) <https://c.example>", ["mailto:a@b.example", "https://c.example"]),
        ("[a](javascript:alert(1)) [b](file:///etc/passwd) [c](docs/x.md) [d](#nowhere)", []),
        ("# Some Head\n\n[go](#some-head)", ["internal"]),
        ("![logo](https://a.example/logo.png)", ["https://a.example/logo.png"]),
    ],
)
def test_links_lead_where_they_may(markdown, expected):
    assert links_of(render_pdf("T", markdown)) == expected


SCRIPTS = {
    "French": "L’œuvre coûte 12,50 € — « déjà vu » : naïve, où, Noël, cœur, ÿ.",
    "Greek and Cyrillic": "Ελληνικά ὀρθός, Русский текст, Українська їжа",
    "Vietnamese": "Tiếng Việt có dấu: ở đâu, người, trường",
    "Japanese": "東京都は、日本の首都である。「江戸」と呼ばれた。カタカナ、ﾊﾝｶｸ",
    "Thai": "ภาษาไทยทดสอบ",
    "Hebrew": "שלום",
    "Arabic": "مرحبا",
    "signs": "→ ← ⇒ ✓ ✗ ★ ∑ ≤ ≥ ≈ √ ∞ ½ ① ② ™ © ° ± × ÷ • … † ‰",
    "boxes": "┌─┬─┐ │x│ └─┴─┘ █▓▒░",
    "emoji": "😀 ✅ ❌ 🎉 🚀 👩‍💻 👍🏽 🇫🇷 1️⃣ ❤️",
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    "form", ["{}", "**{}**", "*{}*", "`{}`", "# {}", "```\n{}\n```", "| {} |\n|---|\n| {} |"]
)
def test_any_script_is_drawn_and_copied_in_any_form(script, form):
    pdf = render_pdf("T", form.replace("{}", SCRIPTS[script]), language="en")
    assert pdf.notes == ()
    for text in texts(pdf):
        assert squeezed(SCRIPTS[script]) in squeezed(text)


def test_words_that_run_from_right_to_left_stand_right_and_in_order():
    pdf = render_pdf("", "אבג דהו\n\nיט 234 ך (ם) abc def.")
    places = {char: left for _, char, left, _, _, _ in characters(pdf)}
    assert places["א"] > places["ג"] > places["ד"] > places["ו"]
    assert places["א"] > TEXT_RIGHT - 15
    assert places["2"] < places["3"] < places["4"]
    assert places["ט"] > places["4"] > places["2"] > places["ך"] > places["ם"] > places["f"]
    assert places["a"] < places["b"] < places["c"] < places["d"] < places["f"]


def test_bullets_of_a_document_that_runs_from_right_to_left_stand_right():
    places = {char: left for _, char, left, _, _, _ in characters(render_pdf("", "- אבג\n- דהו"))}
    assert places["•"] > places["א"] > places["ג"]


def test_emphasis_next_to_ideographs_works_without_spaces():
    for text in texts(render_pdf("T", "**「強調」**の例。**注意：**ここ。これは**太字**です。")):
        assert "*" not in text and squeezed("「強調」の例。注意：ここ。これは太字です。") in squeezed(text)


def test_no_line_begins_with_a_closing_sign_of_japanese():
    pdf = render_pdf("", "これは、句読点（かっこ）と「引用」が行の頭に来ないことを確かめる文章です。" * 40)
    lines = texts(pdf)[1].splitlines()
    assert len(lines) > 20
    assert not [line for line in lines if line[:1] in set("、。）」ーっ")]
    assert not [line for line in lines if line.rstrip()[-1:] in set("（「")]


def test_characters_without_a_font_are_boxes_and_are_named():
    pdf = render_pdf("T", "before \ue000\ue001 after, `\ue002`")
    (note,) = pdf.notes
    assert note.kind == "missing_characters"
    assert "U+E000" in str(note.values["characters"]) and "U+E002" in str(note.values["characters"])
    assert "before \ue000\ue001 after" in texts(pdf)[1]  # the reader of browsers still copies them
    boxes = [entry for entry in characters(pdf) if entry[1] == "\ue000"]
    assert boxes and boxes[0][3] > boxes[0][2]


def test_code_lines_that_are_too_long_are_wrapped_whole():
    line = "curl " + " ".join(f"--option-{number}=value" for number in range(40))
    pdf = render_pdf("T", f"```bash\n{line}\n```\n\n```\n{'x' * 700}é\n```")
    assert_within_margins(pdf)
    for text in texts(pdf):
        assert squeezed(line) in squeezed(text)
        assert "x" * 700 + "é" in squeezed(text)


def test_code_keeps_its_spaces():
    places = {char: left for _, char, left, _, _, _ in characters(render_pdf("", "```\nia\n    z\n\tw\n```"))}
    width = places["a"] - places["i"]
    assert places["z"] - places["i"] == pytest.approx(4 * width, abs=2)
    assert places["w"] - places["i"] == pytest.approx(4 * width, abs=2)


WIDE = {
    "long words": "x" * 300 + " " + "https://example.org/" + "path/" * 80,
    "word in a cell": f"| a | b |\n|---|---|\n| {'y' * 300} | z |",
    "twelve columns": "\n".join(
        ["|" + "|".join(f"Column {n} header" for n in range(12)) + "|", "|---" * 12 + "|"]
        + ["|" + "|".join(f"value {n * row} words" for n in range(12)) + "|" for row in range(30)]
    ),
    "sixty columns": "\n".join(
        [
            "|" + "|".join(f"C{n}" for n in range(60)) + "|",
            "|---" * 60 + "|",
            "|" + "|".join(f"{n}" for n in range(60)) + "|",
        ]
    ),
    "deep quotes": "> " * 200 + "deep",
    "deep lists": "".join("  " * depth + f"- level {depth}\n" for depth in range(120)),
    "list of all": "- a\n  > q\n  > - b\n  >   ```\n  >   code\n  >   ```\n"
    "  >   | x | y |\n  >   |---|---|\n  >   | 1 | 2 |\n",
    "long heading": "# " + "long heading word " * 60,
    "emoji": "😀" * 900,
    "ideographs in code": "```\n" + "日本語" * 200 + "\n```",
}


@pytest.mark.parametrize("case", WIDE)
def test_nothing_is_drawn_outside_the_margins(case):
    pdf = render_pdf("Title", WIDE[case])
    assert_within_margins(pdf)
    assert not [note for note in pdf.notes if note.kind == "plain_block"]


def test_all_cells_of_wide_tables_are_there():
    for text in texts(render_pdf("T", WIDE["sixty columns"])):
        assert {f"C{n}" for n in range(60)} <= set(text.split())
    for text in texts(render_pdf("T", WIDE["word in a cell"])):
        assert "y" * 300 in squeezed(text)


def test_a_header_stands_on_each_page_of_its_table():
    rows = "".join(f"| row{n} | {n} |\n" for n in range(200))
    pdf = render_pdf("T", f"| Zähler | Wert |\n|---|--:|\n{rows}")
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf.bytes)).pages]
    assert len(pages) > 3
    assert all("Zähler" in page for page in pages)
    shown = re.findall(r"row\d+", " ".join(pages))
    assert shown == [f"row{n}" for n in range(200)]


def test_a_row_longer_than_a_page_is_parted():
    words = [f"w{n}" for n in range(3000)]
    pdf = render_pdf("T", f"| a | b |\n|---|---|\n| {' '.join(words)} | short |\n| last | row |")
    assert pdf.pages > 3
    assert_within_margins(pdf)
    assert re.findall(r"w\d+", texts(pdf)[0]) == words


@pytest.mark.parametrize(
    "follower", ["{}", "```\n{}\n{}\n{}\n```", "| {} |\n|---|\n| x |", "- {}", "> {}", "### {}\n\n{}"]
)
def test_a_heading_is_never_left_alone_at_the_foot_of_a_page(follower):
    moved = 0
    for lines in range(26, 36):
        before = "\n".join("filler" for _ in range(lines))
        pdf = render_pdf("", f"{before}\n\n## Ω\n\n{follower.replace('{}', 'Ψ text')}")
        heading, after = baseline_of(pdf, "Ω")[0], baseline_of(pdf, "Ψ")[0]
        assert heading == after, f"after {lines} lines"
        moved += heading == 1
    assert 0 < moved < 10  # the cases do lie around the end of the page


def test_the_header_of_a_table_is_never_left_alone():
    for lines in range(26, 38):
        before = "\n".join("filler" for _ in range(lines))
        pdf = render_pdf("", f"{before}\n\n| Ω |\n|---|\n| Ψ<br>b<br>c<br>d |\n| e |")
        assert baseline_of(pdf, "Ω")[0] == baseline_of(pdf, "Ψ")[0], f"after {lines} lines"


def test_headings_at_the_very_end_stay_on_the_page():
    for lines in range(30, 38):
        before = "\n".join("filler" for _ in range(lines))
        assert_within_margins(render_pdf("", f"{before}\n\n## One\n\n### Two"))


def test_no_line_of_a_paragraph_stands_alone():
    for filler in range(28, 36):
        before = "\n".join("filler" for _ in range(filler))
        pdf = render_pdf("", f"{before}\n\n" + "\n".join(f"§{n}" for n in range(6)))
        pages = [page.extract_text().count("§") for page in PdfReader(io.BytesIO(pdf.bytes)).pages]
        assert 1 not in pages


def test_pages_are_numbered():
    pdf = render_pdf("T", "Paragraph.\n\n" * 100)
    for number, page in enumerate(PdfReader(io.BytesIO(pdf.bytes)).pages, 1):
        assert page.extract_text().rstrip().endswith(f"{number} / {pdf.pages}")


HOSTILE = {
    "nothing": "",
    "spaces": " \n \n",
    "NUL": "a\0b **c\0d**\n\n```\n\0\n```",
    "controls": "".join(map(chr, range(32))) + "x\x7f\x80\x9f",
    "surrogates": "bad \ud83d lone \udc00 and a pair \ud83d\ude00",
    "bidi controls": "abc \u202e evil \u202c def \u2066x\u2069 \u200f \u200e",
    "joiners alone": "\u200d\u200d\u200b \u2060 \ufeff a\u00adb \ufe0f `\u200d` **\u200c**",
    "unclosed fence": "text\n\n```python\nprint(1)\n" + "line\n" * 100,
    "unclosed marks": "**bold *it `code [link](http://x ![i](",
    "html": '<div align="center"><h1>Hi <b>x</b></h1>\n<script>alert(1)</script>\n<!-- never closed',
    "mathematics": "Inline $\\frac{a_1}{b_2}$ and\n\n$$\n\\sum_i i\n$$\n\nit costs $5 or $6",
    "ragged table": "| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |\n||\n\n| x |\n|--|",
    "empty table": "|  |  |\n|--|--|\n|  |  |",
    "empty items": "- \n-\n1.\n   - \n",
    "empty headings": "#\n##\n###### \n# ",
    "empty code": "```\n```\n\n    \n\n    indented\n",
    "entities": "&amp; &copy; &#0; &#x1F600; &bogus; &lt;b&gt; R&D a < b",
    "marks without a letter": "\u0301\u0301 e" + "\u0301" * 500,
    "numbers of lists": "999999999. x\n1000000000. y\n",
    "line separators": "a\u2028b\u2029c\x0bd\x0ce\x85f",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_text_makes_it_fail(case):
    pdf = render_pdf(
        HOSTILE[case][:60], HOSTILE[case], language="en", sources=[(HOSTILE[case], HOSTILE[case])]
    )
    texts(pdf)
    assert_within_margins(pdf)
    assert not [note for note in pdf.notes if note.kind == "plain_block"]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        (HOSTILE["NUL"], "a�bc�d"),
        (HOSTILE["surrogates"], "bad�lone�andapair😀"),
        (HOSTILE["bidi controls"], "abcevildefx"),
        (HOSTILE["html"], "<h1>Hi<b>x</b></h1>"),
        (HOSTILE["entities"], "<b>R&Da<b"),
        (HOSTILE["unclosed marks"], "**bold*it`code[link](http://x"),
        ("> " * 100 + "deep down", "deepdown"),
        ("![" * 3000 + " end", "end"),
    ],
)
def test_what_is_no_mark_is_shown_as_it_is_written(markdown, expected):
    for text in texts(render_pdf("T", markdown)):
        assert expected in squeezed(text)


SLOW = {
    "brackets": "![" * 60_000,
    "stars": "*a **a " * 20_000,
    "brackets in many paragraphs": ("[" * 19 + "a\n\n") * 5_000,
    "one word": "x" * 500_000,
    "one line of code": "```\n" + "x" * 500_000 + "\n```",
    "neutral signs between letters of Hebrew": "א" + "!(" * 30_000,
    "bare addresses": "https://a." * 20_000,
    "an endless address": "https://a.example/" + "b" * 200_000,
    "equal headings": "# same\n\n" * 3_000,
    "rows": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000,
    "quotes in quotes": ("> " * 100 + "x\n") * 300,
    "marks on one letter": "e" + "\u0301" * 50_000,
}


@pytest.mark.parametrize("case", SLOW)
def test_hostile_texts_take_no_longer_than_long_ones(case):
    """Each took minutes with a quadratic step somewhere; now all are done in about a second."""
    start = time.process_time()
    render_pdf("T", SLOW[case])
    assert time.process_time() - start < 20


def test_a_block_that_can_not_be_drawn_is_plain_text_and_the_others_stay(caplog):
    from tools.helper.pdf.blocks import Heading, Paragraph, Quote, Span
    from tools.helper.pdf.flow import Flow
    from tools.helper.pdf.layout import Layout
    from tools.helper.pdf.pages import Pages
    from tools.helper.pdf.typeset import Typesetter

    pages = Pages()
    flow = Flow(pages)
    layout = Layout(flow, Typesetter())
    broken = Heading(9, (Span("no such level"),))
    layout.draw([Paragraph((Span("before"),)), Quote([broken]), Paragraph((Span("after"),))])
    assert [note.kind for note in layout.notes] == ["plain_block"]
    assert layout.notes[0].values["start"] == "no such level"
    drawn = [operator for operator in pages.pages[0].operators if operator.startswith("BT")]
    assert len(drawn) == 3
    assert flow.start == look.MARGIN
    assert "could not be drawn" in caplog.text


WORDS = st.text(alphabet=string.ascii_letters, min_size=1, max_size=12)
PROSE = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
BLOCKS = st.one_of(
    PROSE,
    PROSE.map("## {}".format),
    st.lists(PROSE, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(PROSE, min_size=1, max_size=4).map(
        lambda items: "\n".join(f"{n}. {x}" for n, x in enumerate(items, 1))
    ),
    PROSE.map("> {}".format),
    PROSE.map("```\n{}\n```".format),
    st.lists(st.tuples(PROSE, PROSE), min_size=1, max_size=4).map(
        lambda rows: "\n".join(f"| {a} | {b} |" for a, b in [("1", "2"), ("---", "---"), *rows])
    ),
    PROSE.map("**{}**".format),
    PROSE.map("[{}](https://example.org)".format),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(BLOCKS, max_size=12))
def test_all_words_of_any_document_are_there_in_order(blocks):
    markdown = "\n\n".join(blocks)
    pdf = render_pdf("", markdown)
    assert pdf.notes == ()
    expected = squeezed("".join(re.findall(r"[A-Za-z]+", markdown.replace("](https://example.org)", "]"))))
    for text in texts(pdf):
        assert "".join(re.findall(r"[A-Za-z]+", text)) == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("*_`[]()<>#|-+!\\~$^:&\n\n  >.0x\t\"'"), st.characters()),
        max_size=300,
    )
)
def test_no_markdown_makes_it_fail(markdown):
    pdf = render_pdf(markdown[:20], markdown)
    assert not [note for note in pdf.notes if note.kind == "plain_block"]
    texts(pdf)


def test_two_documents_at_once_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    bodies = [f"## Part {n}\n\n" + f"word{n} " * 200 + "日本語 `code`" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for number, pdf in enumerate(pool.map(lambda body: render_pdf("T", body), bodies)):
            assert set(re.findall(r"word\d+", texts(pdf)[0])) == {f"word{number}"}


def test_pdfium_draws_every_page():
    """A page that a browser's engine can't draw is white: this one must show ink."""
    document = pypdfium2.PdfDocument(render_pdf("T", ALL_MARKS + SCRIPTS["Japanese"]).bytes)
    try:
        image = document[0].render(scale=1, grayscale=True).to_numpy()
        assert (image < 128).mean() > 0.005
    finally:
        document.close()
