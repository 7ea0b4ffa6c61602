"""Files of a chat: kept, named, read, and shown to models that see."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from agent.attached import AttachedFiles, question_message
from agent.events import Message
from locales import load_locale
from tests.servers.website import ScriptedSite
from tools.attachments import MEGABYTE, MOST_BYTES, MOST_FILES, Attachments
from tools.failure import Failure
from tools.helper.image import model_image
from tools.helper.pagination import parse_paged_result
from tools.registry import default_registry
from tools.settings import ToolSettings
from tools.tool import ToolContext, ToolResult

SECRET = "The word is marmalade."


@pytest.fixture
def files(tmp_path: Path) -> Attachments:
    return Attachments(tmp_path / "chat")


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with ScriptedSite() as running:
        yield running


def read(files: Attachments | None, source: str, **settings: object) -> ToolResult:
    chosen = ToolSettings(allow_hosts=("127.0.0.1",), **settings)  # type: ignore[arg-type]
    context = ToolContext(settings=chosen, attachments=files)
    return default_registry().execute("pdf_to_text", {"url_or_path": source}, context)


def refusal(files: Attachments, name: str, content: bytes) -> Failure:
    with pytest.raises(Failure) as caught:
        files.add(name, content)
    return caught.value


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("note.txt", SECRET.encode(), SECRET),
        ("note.md", f"# Note\n\n{SECRET}".encode(), f"# Note\n\n{SECRET}"),
        ("rows.csv", b"word\nmarmalade\n", "word\nmarmalade"),
        ("data.json", b'{"word": "marmalade"}', '{"word": "marmalade"}'),
        ("page.html", f"<title>Note</title><p>{SECRET}</p>".encode(), f"# Note\n\n{SECRET}"),
        ("日本語.txt", "合言葉はママレード。".encode("shift_jis"), "合言葉はママレード。"),
        ("script.ts", b"const word = 'marmalade';", "const word = 'marmalade';"),
    ],
)
def test_each_kind_of_file_is_read_by_its_number_and_by_its_name(
    files: Attachments, name: str, content: bytes, text: str
) -> None:
    assert files.add(name, content).id == "attachment:1"
    for source in ("attachment:1", "Attachment:1", "1", name, f"attachment:{name}"):
        result = read(files, source)
        assert result.error is None, (source, result.text)
        assert result.text == text
        assert result.sources == ()


def test_a_long_file_is_read_in_parts(files: Attachments) -> None:
    files.add("long.txt", "".join(f"Line {number} of the file.\n" for number in range(3_000)).encode())
    context = ToolContext(attachments=files)
    text, arguments = "", {"url_or_path": "attachment:1"}
    while arguments:
        part = parse_paged_result(default_registry().execute("pdf_to_text", arguments, context).text)
        text += part.text
        arguments = {"continue_from": part.next_token} if part.next_token else {}
    assert text.splitlines() == [f"Line {number} of the file." for number in range(3_000)]


def test_another_chat_has_files_of_its_own(files: Attachments, tmp_path: Path) -> None:
    files.add("note.txt", SECRET.encode())
    other = Attachments(tmp_path / "other")
    other.add("other.txt", b"Something else.")
    assert read(other, "attachment:1").text == "Something else."
    for source in ("attachment:2", "note.txt", "../chat/1", f"attachment:{files.folder}/1", "attachment:"):
        result = read(other, source)
        assert result.error and "marmalade" not in result.text
    assert "attachment:1 (other.txt)" in read(other, "attachment:2").text, "it says what there is"
    alone = read(None, "attachment:1")
    assert alone.error and alone.error.kind == "attachment_missing"


def test_what_can_not_be_read_is_refused_with_its_reason(files: Attachments) -> None:
    assert refusal(files, "tool.exe", b"MZ\x90\x00\x03").kind == "attachment_type"
    assert ".pdf" in str(refusal(files, "song.mp3", b"ID3\x04\x00\x00"))
    large = refusal(files, "large.txt", b"a" * (MOST_BYTES + 1))
    assert large.kind == "attachment_size"
    assert large.details["limit"] == MOST_BYTES // MEGABYTE
    for number in range(MOST_FILES):
        files.add(f"{number}.txt", b"text")
    assert refusal(files, "more.txt", b"text").kind == "attachment_count"
    assert len(list(files)) == MOST_FILES == len(list(files.folder.iterdir()))


def test_a_name_is_made_harmless(files: Attachments) -> None:
    file = files.add("../../etc/[pass](wd)\n<b>.txt", SECRET.encode())
    assert not set(file.name) & set("/\\[]<>\n")
    assert [path.name for path in files.folder.iterdir()] == ["1"]


def test_a_chat_that_is_over_takes_its_files_with_it(files: Attachments) -> None:
    file = files.add("note.txt", SECRET.encode())
    files.delete()
    assert not files.folder.exists()
    with pytest.raises(Failure, match="attachment:1"):
        files.read(file)


def test_a_file_from_the_web_is_kept_where_the_settings_wish_it(
    files: Attachments, site: ScriptedSite
) -> None:
    url = f"{site.url}/report.pdf"
    result = read(files, url, keep_files=True)
    assert "attachment:1 (report.pdf)" in result.text
    assert read(files, "attachment:1").text.split("[Page", 1)[1] == result.text.split("[Page", 1)[1]
    again = read(files, url, keep_files=True)
    assert "attachment:1" in again.text and len(list(files)) == 1, "kept once"
    assert "attachment:" not in read(files, f"{url}?other", keep_files=False).text


def test_a_file_that_can_not_be_kept_is_read_all_the_same(files: Attachments, site: ScriptedSite) -> None:
    for number in range(MOST_FILES):
        files.add(f"{number}.txt", b"text")
    result = read(files, f"{site.url}/report.pdf", keep_files=True)
    assert result.error is None
    assert str(MOST_FILES) in result.text.split("[Page")[0]


def picture(size: tuple[int, int], mode: str = "RGB", form: str = "PNG", **options: object) -> bytes:
    made = io.BytesIO()
    Image.new(mode, size, 90 if mode == "L" else None).save(made, form, **options)
    return made.getvalue()


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_pictures_are_made_small_and_keep_their_transparency() -> None:
    assert opened(model_image(picture((4000, 1000)), 1024, 16_000_000)).size == (1024, 256)
    small = picture((800, 600))
    assert model_image(small, 1024, 16_000_000) is small
    clear = opened(model_image(picture((2000, 2000), "RGBA"), 1024, 16_000_000))
    assert (clear.mode, clear.format, clear.size) == ("RGBA", "PNG", (1024, 1024))
    webp = opened(model_image(picture((60, 40), "RGBA", "WEBP"), 1024, 16_000_000))
    assert (webp.format, webp.size) == ("PNG", (60, 40)), "a form that every server takes"


def test_a_picture_stands_upright() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    assert opened(model_image(picture((60, 40), form="JPEG", exif=turned), 1024, 16_000_000)).size == (40, 60)


def test_a_picture_beyond_the_limit_passes_untouched() -> None:
    huge = picture((4001, 4000), "L")
    assert model_image(huge, 1024, 16_000_000) is huge
    assert model_image(huge, 1024, 4001 * 4000) is not huge


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n", picture((400, 400))[:300], b"GIF89a", b"\xff\xd8\xff\xe0"]
)
def test_a_broken_picture_is_told_as_such(content: bytes) -> None:
    with pytest.raises(Failure, match="image") as caught:
        model_image(content, 1024, 16_000_000)
    assert caught.value.kind == "image_broken"


def complete(
    files: Attachments, *, vision: bool, has_tools: bool, room: int = 1000
) -> tuple[Message, list[str]]:
    context = ToolContext(locale=load_locale("en"), attachments=files, max_result_chars=room)
    attached = list(files)
    message = question_message("What is it?", attached)
    done = AttachedFiles(attached, files, default_registry(), context, vision, has_tools)
    return message, [notice.kind for notice in done.complete(message)]


def test_a_model_with_tools_is_told_the_files_and_reads_them_itself(files: Attachments) -> None:
    files.add("note.txt", SECRET.encode())
    message, notices = complete(files, vision=False, has_tools=True)
    assert message["content"] == "What is it?\n\n[attachment:1 (note.txt)]"
    assert notices == []


def test_a_model_without_tools_gets_the_text_as_far_as_it_fits(files: Attachments) -> None:
    files.add("note.txt", SECRET.encode())
    files.add("long.txt", b"Words go on. " * 500)
    files.add("broken.pdf", b"%PDF-1.7 no more than this")
    message, notices = complete(files, vision=False, has_tools=False)
    assert SECRET in message["content"]
    assert "only its beginning is here" in message["content"]
    assert "has_more" not in message["content"]
    assert sorted(notices) == ["file_cut", "file_unread"]


def test_pictures_go_to_models_that_see(files: Attachments) -> None:
    files.add("red.png", picture((2048, 64)))
    message, notices = complete(files, vision=True, has_tools=True)
    (sent,) = message["images"]
    assert opened(base64.b64decode(sent)).size == (1024, 32)
    assert notices == []
    message, notices = complete(files, vision=False, has_tools=True)
    assert "images" not in message
    assert notices == ["images_unseen"]
