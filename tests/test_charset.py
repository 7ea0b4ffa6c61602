"""Bytes into text, whatever the header, the page or nobody says of their encoding."""

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.helper.charset import decode_text

JAPANESE = "日本語のページです。再生可能エネルギーについての記事を読みました。"
CHINESE = "可再生能源的新闻报道，今天在北京发布，内容很多。"
RUSSIAN = "Новости о возобновляемой энергии сегодня в Москве, и не только."
SAMPLES = {
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "iso-2022-jp": JAPANESE,
    "gb2312": CHINESE,
    "gbk": CHINESE,
    "gb18030": CHINESE,
    "big5": "再生能源的新聞報導，今天在臺北發布，內容很多。",
    "euc-kr": "재생 에너지에 관한 오늘의 뉴스 기사입니다. 내용이 많습니다.",
    "windows-1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "iso-8859-5": RUSSIAN,
    "windows-1252": "L'énergie “éolienne” à Saint-Étienne coûte 5 €",
    "iso-8859-1": "L'énergie éolienne à Saint-Étienne, été comme hiver",
    "iso-8859-2": "Zażółć gęślą jaźń, źródło energii odnawialnej",
    "windows-1253": "Νέα για την ανανεώσιμη ενέργεια σήμερα",
    "windows-1255": "חדשות על אנרגיה מתחדשת היום",
    "windows-1256": "أخبار الطاقة المتجددة اليوم في المدينة",
    "tis-620": "ข่าวพลังงานหมุนเวียนวันนี้",
    "utf-8": "éàü 日本 Я",
}
GUESSED = [
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "gb18030",
    "big5",
    "euc-kr",
    "windows-1251",
    "koi8-r",
    "utf-8",
]
ASCII_ON_BOTH_SIDES = "<script>" + "var a = 1;\n" * 700 + "</script>"


def page(text: str, head: str = "") -> str:
    body = f"{ASCII_ON_BOTH_SIDES}<p>{text * 6}</p>{ASCII_ON_BOTH_SIDES}"
    return f"<html><head>{head}</head><body>{body}</body></html>"


@pytest.mark.parametrize("label", SAMPLES)
def test_the_header_names_it(label: str) -> None:
    html = page(SAMPLES[label])
    assert decode_text(html.encode(label), f"text/html; charset={label}") == html
    assert decode_text(html.encode(label), f'text/html;charset="{label.upper()}"') == html


@pytest.mark.parametrize("label", SAMPLES)
@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="{}">',
        "<meta charset={}>",
        '<meta http-equiv="Content-Type" content="text/html; charset={}">',
        '<meta content="text/html;charset={}" http-equiv=content-type>',
    ],
)
def test_the_page_names_it(label: str, head: str) -> None:
    html = page(SAMPLES[label], head.format(label))
    assert decode_text(html.encode(label), "text/html") == html


def test_an_xml_declaration_names_it() -> None:
    xml = f'<?xml version="1.0" encoding="windows-1251"?><rss>{RUSSIAN}</rss>'
    assert decode_text(xml.encode("windows-1251"), "application/rss+xml") == xml


@pytest.mark.parametrize("label", GUESSED)
def test_nobody_names_it(label: str) -> None:
    html = page(SAMPLES[label])
    assert decode_text(html.encode(label), "text/html") == html


@pytest.mark.parametrize("label", ["shift_jis", "gb18030", "windows-1251", "euc-kr"])
def test_a_wrong_label_is_not_believed(label: str) -> None:
    html = page(SAMPLES[label])
    assert decode_text(html.encode(label), "text/html; charset=utf-8") == html
    assert decode_text(page(SAMPLES["utf-8"]).encode(), f"text/html; charset={label}") == page(
        SAMPLES["utf-8"]
    )


@pytest.mark.parametrize(
    ("bom", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_a_byte_order_mark_beats_every_label(bom: bytes, codec: str) -> None:
    assert decode_text(bom + "été 日本".encode(codec), "text/html; charset=koi8-r") == "été 日本"


@pytest.mark.parametrize(
    "label", ["idna", "punycode", "unicode_escape", "utf-7", "rot13", "hex", "no-such", "zip"]
)
def test_a_codec_that_is_no_web_encoding_is_not_used(label: str) -> None:
    body = "Plain words & <b>été</b> \\u0041 +AGE-".encode()
    assert decode_text(body, f"text/html; charset={label}") == body.decode()


def test_one_broken_byte_does_not_turn_the_whole_page_over() -> None:
    body = ("été à la mer, " * 40).encode() + b"\xff fin"
    assert decode_text(body, "text/html; charset=utf-8") == "été à la mer, " * 40 + "\ufffd fin"


@given(
    st.binary(max_size=400), st.sampled_from(["", "utf-8", "shift_jis", "iso-2022-jp", "utf-16", "big5", "x"])
)
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_some_text(body: bytes, label: str) -> None:
    text = decode_text(body, f"text/html; charset={label}")
    text.encode()  # no half of a surrogate pair
