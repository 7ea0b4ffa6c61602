"""What is written in a document is drawn in it, in any script, and can be copied."""

import io
import re

import pypdfium2
import pytest
from pypdf import PdfReader

from tests.pdf_reading import (
    TEXT_RIGHT,
    baseline_of,
    characters,
    links_of,
    squeezed,
    texts,
)
from tools.helper.pdf import look
from tools.helper.pdf.render import render_pdf

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
            "Pages lues" in text
            and "Page A – https://a.example/x?y=1" in text
            and "2. https://b.example" in text
        )
    assert links_of(pdf) == ["https://a.example/x?y=1", "https://b.example"]


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


def test_pages_are_numbered():
    pdf = render_pdf("T", "Paragraph.\n\n" * 100)
    for number, page in enumerate(PdfReader(io.BytesIO(pdf.bytes)).pages, 1):
        assert page.extract_text().rstrip().endswith(f"{number} / {pdf.pages}")


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
