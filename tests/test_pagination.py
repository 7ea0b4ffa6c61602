"""Texts in parts: nothing lost, nothing torn, and tokens that survive a careless copy."""

import base64
import json
import random
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.failure import Failure
from tools.helper.pagination import (
    InvalidTokenError,
    Part,
    address_in,
    format_page_to_limit,
    format_paged_result,
    make_token,
    parse_paged_result,
    parse_token,
    was_repaired,
)
from tools.helper.text_cut import cut_end, is_inside_sign

PIECES = [
    *(
        "One sentence. ",
        "Another one!\n",
        "A paragraph ends.\n\n",
        "word ",
        "日本語の文。",
        "中文没有空格",
        "\r\n",
    ),
    *(
        "é",
        "e\u0301",
        "👩‍👩‍👧",
        "👍🏽",
        "🇫🇷🇩🇪",
        "क्षत्रिय",
        "한국",
        "\u1112\u1161\u11ab",
        "กำลัง",
        "Ẑ\u0335\u0334\u0321",
    ),
]
texts = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)


def parts_of(text: str, limit: int, title: str = "") -> list[str]:
    """The texts of all parts, each checked against the limit, got by following the tokens."""
    parts: list[Part] = []
    while not parts or parts[-1].next_token:
        offset = parts[-1].end if parts else 0
        if parts:
            assert parse_token(parts[-1].next_token or "", "scrape_url", "url", "offset")["offset"] == offset
        part = format_page_to_limit(
            text, offset, limit, "scrape_url", lambda end: {"url": "https://a.example/", "offset": end}, title
        )
        assert len(part.result) <= limit
        read = parse_paged_result(part.result)
        assert (read.text, read.next_token) == (("" if parts else title) + part.text, part.next_token)
        parts.append(part)
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert {part.of for part in parts} == {len(parts)}
    return [part.text for part in parts]


@given(texts, st.integers(240, 700), st.sampled_from(["", "# A title\n\n"]))
@settings(max_examples=150, deadline=None)
def test_the_parts_joined_are_the_text(text: str, limit: int, title: str) -> None:
    parts = parts_of(text, limit, title)
    assert "".join(parts) == text
    assert all(parts) or parts == [""]


@given(st.text(min_size=1, max_size=300), st.integers(1, 60))
@settings(max_examples=300)
def test_every_cut_goes_on_and_ends_within_its_room(text: str, room: int) -> None:
    start, pieces = 0, []
    while start < len(text):
        end = cut_end(text, start, room)
        assert start < end <= start + room
        pieces.append(text[start:end])
        start = end
    assert "".join(pieces) == text


@given(texts, st.integers(65, 200))
@settings(max_examples=150)
def test_no_cut_tears_a_sign(text: str, room: int) -> None:
    end = cut_end(text, 0, room)
    assert end == len(text) or not is_inside_sign(text, end)
    assert end == len(text) or unicodedata.category(text[end]) not in ("Mn", "Me")


@pytest.mark.parametrize(
    ("text", "ends_with"),
    [
        ("x" * 30 + "\n\n" + "word. " * 20, "\n\n"),
        ("The first line is here\nand more words. and more words without an end", "\n"),
        ("This is the first of the sentences. And here the second begins", "sentences. "),
        ("これは最初の文です。これは二番目の文で、もう少し長いです。三番目。", "。"),
        (
            "彼らの長い旅の後のことだった。それは「引用です。」と彼は言ったので、私たちは静かに聞いていたのだった。そしてまた歩き始めた",
            "。」",
        ),
        ("only words without any end of a sentence in this long text here", " "),
        ("x" * 100, "x"),
    ],
)
def test_a_cut_falls_on_the_best_end(text: str, ends_with: str) -> None:
    end = cut_end(text, 0, 40)
    assert text[:end].endswith(ends_with)
    assert 20 <= end <= 40


@pytest.mark.parametrize(
    "sign", ["e\u0301\u0302", "👩‍👩‍👧‍👦", "👍🏽", "🇫🇷", "क्षि", "\u1112\u1161\u11ab", "กำ", "🏳️‍🌈", "\r\n"]
)
def test_a_sign_stays_whole(sign: str) -> None:
    text = "x" + sign + "x" + sign + "x"
    inside = [index for index in range(len(text)) if is_inside_sign(text, index)]
    first, second = range(2, 1 + len(sign)), range(len(sign) + 3, 2 + 2 * len(sign))
    assert inside == [*first, *second]


def test_a_token_is_plain_base64url_json() -> None:
    token = make_token("scrape_url", url="https://exämple.org/?a=b", offset=4000)
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    payload = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert payload == {"v": 2, "tool": "scrape_url", "url": "https://exämple.org/?a=b", "offset": 4000}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(0, 10**9))
@settings(max_examples=100)
def test_a_token_comes_back(url: str, offset: int) -> None:
    token = make_token("scrape_url", url=url, offset=offset)
    assert parse_token(token, "scrape_url", "url", "offset") == {
        "v": 2,
        "tool": "scrape_url",
        "url": url,
        "offset": offset,
    }


FOUND = [
    {"title": f"Report {year}", "href": f"https://office.example/report-{year}.pdf"} for year in (1, 2, 3)
]
AT_START = {"file_offset": 0, "pdf_page_index": 0, "pdf_page_char_offset": 0}


def handmade(**payload: object) -> str:
    """A token that this process never issued."""
    return base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip("=")


GOOD = {"v": 2, "tool": "scrape_url", "url": "https://handmade.example/", "offset": 7}


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (handmade(**GOOD | {"v": 1}), "token_version"),
        (handmade(**GOOD | {"v": "2"}), "token_version"),
        (handmade(**{key: value for key, value in GOOD.items() if key != "v"}), "token_version"),
        (handmade(**GOOD | {"tool": "pdf_to_text"}), "token_of_other_tool"),
        (handmade(**GOOD | {"offset": "7"}), "invalid_token"),
        (handmade(**GOOD | {"offset": -1}), "invalid_token"),
        (handmade(**GOOD | {"offset": 10**10}), "invalid_token"),
        (handmade(**GOOD | {"offset": True}), "invalid_token"),
        (handmade(**GOOD | {"offset": 1.5}), "invalid_token"),
        (handmade(**GOOD | {"url": None}), "invalid_token"),
        (handmade(**{key: value for key, value in GOOD.items() if key != "offset"}), "invalid_token"),
        (base64.urlsafe_b64encode(b"[1, 2]").decode(), "invalid_token"),
        (base64.urlsafe_b64encode(b"\xff\xfe").decode(), "invalid_token"),
        ("", "invalid_token"),
        ("A", "invalid_token"),
        ("not a token!", "invalid_token"),
        ("https://example.org/", "invalid_token"),
        ("é" * 40, "invalid_token"),
        ("A" * 9000, "invalid_token"),
        (base64.urlsafe_b64encode(b"[" * 5000).decode(), "invalid_token"),
    ],
)
def test_a_token_that_is_none(token: str, kind: str) -> None:
    with pytest.raises(InvalidTokenError, match="Invalid continuation token: ") as caught:
        parse_token(token, "scrape_url", "url", "offset")
    assert caught.value.kind == kind


@given(st.text(max_size=200))
@settings(max_examples=200)
def test_any_text_is_a_token_or_an_invalid_one(text: str) -> None:
    try:
        assert parse_token(text, "scrape_url")["v"] == 2
    except InvalidTokenError as error:
        assert str(error).startswith("Invalid continuation token: ")


def test_a_token_of_another_run_is_taken_as_it_is() -> None:
    token = handmade(**GOOD, later="a field of a later version")
    parsed = parse_token(token, "scrape_url", "url", "offset")
    assert (parsed["url"], parsed["offset"]) == (GOOD["url"], 7)


@pytest.mark.parametrize("wrapped", ["`{}`", '"{}"', " {}\n", "<{}>", "{}==", "({}).", "{0:.20}\n{0:.0}"])
def test_what_models_put_around_a_token_is_taken_off(wrapped: str) -> None:
    token = make_token("scrape_url", url="https://wrapped.example/page", offset=12)
    if "\n{0" in wrapped:
        wrapped = token[:20] + "\n" + token[20:]
    assert parse_token(wrapped.format(token), "scrape_url")["url"] == "https://wrapped.example/page"


def retyped(token: str, edits: int, luck: random.Random) -> str:
    """The token as a careless copyist writes it: signs changed, dropped or doubled."""
    signs = list(token)
    for _ in range(edits):
        place = luck.randrange(len(signs))
        how = luck.choice(["change", "drop", "double"])
        if how == "change":
            signs[place] = luck.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        elif how == "drop":
            del signs[place]
        else:
            signs.insert(place, signs[place])
    return "".join(signs)


ARTICLE = "https://news.example.org/2026/11/a-longer-title-of-an-article-"
ISSUED: list[tuple[str, dict[str, Any]]] = [
    *(("scrape_url", {"url": f"{ARTICLE}{page}.html", "offset": 3_812 + 171 * page}) for page in range(1, 6)),
    *(("scrape_url", {"url": f"{ARTICLE}1.html", "offset": 3_900 * part}) for part in range(2, 8)),
    *(
        (
            "pdf_to_text",
            {
                "url": f"https://files.example.org/{page}.pdf",
                "page_index": 24 + page,
                "page_char_offset": 171 * page,
            },
        )
        for page in range(1, 4)
    ),
    *(
        ("search_and_fetch", {"matched": FOUND, "file_idx": file, **AT_START, "file_type": "pdf"})
        for file in range(1, 3)
    ),
]


@pytest.mark.parametrize("seed", range(40))
def test_an_edit_or_two_never_leads_to_another_address(seed: int) -> None:
    """2,000 copies of the tokens of all tools, among others that differ from them in a few signs."""
    luck = random.Random(seed)
    tokens = [(make_token(tool, **fields), tool, fields) for tool, fields in ISSUED]
    repaired = 0
    for _ in range(50):
        token, tool, fields = luck.choice(tokens)
        copy = retyped(token, luck.choice([1, 2]), luck)
        try:
            parsed = parse_token(copy, tool, *fields)
        except InvalidTokenError:
            continue
        assert address_of(parsed) == address_of(fields)
        repaired += 1
    assert repaired > 40


def address_of(fields: Mapping[str, Any]) -> str:
    return str(fields["matched"][fields["file_idx"]]["href"] if "matched" in fields else fields["url"])


def test_a_repair_is_told() -> None:
    token = make_token("scrape_url", url="https://repaired.example/a/page", offset=4_000)
    copy = f"{token[:20]}x{token[21:]}"
    parsed = parse_token(copy, "scrape_url", "url", "offset")
    assert was_repaired(copy, parsed)
    assert not was_repaired(token, parsed)


def test_a_token_from_before_a_restart_beside_new_ones_is_taken_as_it_is() -> None:
    url = "https://restarted.example/a/long/address/of/a/page.html"
    make_token("scrape_url", url=url, offset=4_000)
    old = handmade(v=2, tool="scrape_url", url=url, offset=8_000)
    assert parse_token(old, "scrape_url", "url", "offset")["offset"] == 8_000


def test_between_two_that_are_equally_near_none_is_guessed() -> None:
    url = "https://twins.example.org/an/article/that/is/long/enough"
    one, two = (make_token("scrape_url", url=url, offset=offset) for offset in (4001, 4007))
    place = next(index for index, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    with pytest.raises(InvalidTokenError):
        parse_token(one[:place] + "!" + one[place + 1 :], "scrape_url")


@given(
    texts, st.none() | st.just("abc"), st.dictionaries(st.sampled_from(["a_key", "other"]), st.just("true"))
)
@settings(max_examples=100)
def test_a_paged_result_is_read_back(text: str, token: str | None, facts: dict[str, str]) -> None:
    read = parse_paged_result(format_paged_result(text, token, facts))
    assert (read.text, read.next_token, read.has_more) == (text, token, token is not None)
    assert read.facts == (facts if token else {})


def test_the_footer_is_as_the_model_was_told() -> None:
    assert format_paged_result("text", "abc") == "text\n\n---page-info---\nhas_more: true\nnext_token: abc"
    assert format_paged_result("text", None) == "text"


def test_a_limit_that_leaves_no_room_is_an_error() -> None:
    with pytest.raises(Failure, match="at least") as caught:
        parts_of("word " * 100, 100)
    needed = caught.value.details["needed"]
    assert isinstance(needed, int)
    assert "".join(parts_of("word " * 100, needed)) == "word " * 100


@pytest.mark.parametrize(("tool", "fields"), ISSUED)
def test_people_are_shown_the_address_of_a_token(tool: str, fields: dict[str, Any]) -> None:
    assert address_in(make_token(tool, **fields)) == address_of(fields)


@pytest.mark.parametrize(
    "token", ["", "x", handmade(v=2), handmade(matched=3, file_idx=0), handmade(matched=[])]
)
def test_a_token_without_an_address_shows_none(token: str) -> None:
    assert address_in(token) == ""
