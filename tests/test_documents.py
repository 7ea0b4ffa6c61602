"""Made files: named, owned, whole after anything that may happen to the process."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from tools.documents import DocumentStore, safe_title
from tools.failure import Failure
from tools.helper.pdf.render import render_pdf
from tools.tool import ToolContext

ROOT = Path(__file__).parent.parent
PDF = render_pdf("Title", "Text.\n\n" * 60).bytes
PDF_PAGES = render_pdf("Title", "Text.\n\n" * 60).pages


@pytest.fixture
def store(tmp_path: Path) -> DocumentStore:
    return DocumentStore(tmp_path / "pdfs")


@pytest.mark.parametrize(
    ("title", "part"),
    [
        ("Report on Paris", "Report-on-Paris"),
        ("Évolution du cœur d’œuvre : 2025/2026 !", "Evolution-du-coeur-d-oeuvre-2025-2026"),
        ("Straße nach Łódź", "Strasse-nach-Lodz"),
        ("東京の天気", "document"),
        ("東京 Report 2026", "Report-2026"),
        ("", "document"),
        ("../../etc/passwd", "etc-passwd"),
        ('a\\b:c*d?"<>|\0\n', "a-b-c-d"),
        ("CON", "CON"),
        ("x" * 300, "x" * 50),
        ("a" * 49 + " b", "a" * 49),
        ("😀 \ud83d", "document"),
    ],
)
def test_a_title_gives_a_name_that_any_system_takes(store, title, part):
    document = store.save("local", title, PDF)
    assert re.fullmatch(r"\d{8}-\d{6}_" + re.escape(part) + r"\.pdf", document.name)
    assert document.title == title
    assert document.url == f"pdfs/{document.name}"
    assert store.path("local", document.name).read_bytes() == PDF


@given(st.text(max_size=80))
def test_any_title_is_plain_and_short(title):
    assert re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,48}[A-Za-z0-9])?", safe_title(title))


def test_the_same_name_again_gets_a_number(store):
    names = [store.save("local", "Same", PDF).name for _ in range(5)]
    assert len(set(names)) == 5
    by_second: dict[str, list[str]] = {}
    for name in names:
        by_second.setdefault(name[:15], []).append(name[15:])
    for parts in by_second.values():
        assert parts == [
            f"_Same{f'-{number}' if number > 1 else ''}.pdf" for number in range(1, len(parts) + 1)
        ]


def test_a_file_that_lies_there_already_is_not_overwritten(store):
    first = store.save("local", "Report", PDF)
    for number in range(2, 40):  # one of the next seconds' names is taken by a file of someone else
        (store.folder / f"{first.name[:-4]}-{number}.pdf").write_bytes(b"theirs")
    store.save("local", "Report", PDF)
    assert all(path.read_bytes() in (PDF, b"theirs") for path in store.folder.glob("*.pdf"))
    assert sum(path.read_bytes() == b"theirs" for path in store.folder.glob("*.pdf")) == 38


def test_documents_are_listed_newest_first_with_what_is_known_of_them(store):
    assert list(store.list("local")) == []
    saved = [store.save("local", f"Title {number}", PDF, ["https://a.example"]) for number in range(3)]
    assert list(DocumentStore(store.folder).list("local")) == saved[::-1]
    assert saved[0].pages == PDF_PAGES and saved[0].bytes == len(PDF)


def test_only_its_owner_sees_a_document(store):
    mine, other = store.save("anna", "Mine", PDF), store.save("session-1", "Other", PDF)
    assert list(store.list("anna")) == [mine] and list(store.list("session-1")) == [other]
    for action in (store.path, store.delete):
        with pytest.raises(Failure) as failure:
            action("anna", other.name)
        assert failure.value.kind == "document_missing"
    assert store.path("session-1", other.name).exists()


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "../secret.pdf", "..\\secret.pdf", "/etc/passwd", "C:\\x.pdf", "a/b.pdf", ".about",
        "x.pdf\0", ".about/x.json", "missing.pdf", "%2e%2e%2fsecret.pdf", "~/.ssh/id_rsa",
        "x" * 5000 + ".pdf", "\ud83d.pdf", "x.PDF",
    ],
)  # fmt: skip
def test_no_name_leads_out_of_the_folder(store, name):
    store.save("local", "Here", PDF)
    (store.folder.parent / "secret.pdf").write_bytes(PDF)
    for action in (store.path, store.delete):
        with pytest.raises(Failure) as failure:
            action("local", name)
        assert failure.value.kind == "document_missing"
    assert (store.folder.parent / "secret.pdf").exists()


def test_a_deleted_document_is_gone(store):
    kept, gone = store.save("local", "Kept", PDF), store.save("local", "Gone", PDF)
    store.delete("local", gone.name)
    assert list(store.list("local")) == [kept]
    with pytest.raises(Failure):
        store.path("local", gone.name)
    assert len(list(store.folder.rglob("*.*"))) == 3  # the folder of descriptions, a PDF and its description


@pytest.mark.parametrize("content", [b"", b"not a PDF", PDF[: len(PDF) // 3]])
def test_what_can_not_be_read_back_is_not_kept(store, content):
    with pytest.raises(Failure) as failure:
        store.save("local", "Broken", content)
    assert failure.value.kind == "document_damaged"
    assert list(store.list("local")) == [] and not list(store.folder.rglob("*.*"))[1:]


def test_a_folder_that_can_not_be_written_is_told_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(Failure) as failure:
        DocumentStore(tmp_path / "file" / "pdfs").save("local", "T", PDF)
    assert failure.value.kind == "documents_folder"
    assert "writable" in str(failure.value) and str(tmp_path) not in str(failure.value)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_told_with_a_remedy(tmp_path):
    limited = (
        "import resource, sys; from pathlib import Path; from tools.documents import DocumentStore;"
        "from tools.failure import Failure; import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); store = DocumentStore(Path(sys.argv[1]))\n"
        "try: store.save('local', 'T', Path(sys.argv[2]).read_bytes())\n"
        "except Failure as failure: print(failure.kind)\n"
    )
    (tmp_path / "big.pdf").write_bytes(PDF)
    done = subprocess.run(
        [sys.executable, "-c", limited, str(tmp_path / "pdfs"), str(tmp_path / "big.pdf")],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "documents_folder"
    assert not list((tmp_path / "pdfs").glob("*.pdf")) and not list((tmp_path / "pdfs").glob("*.tmp"))


def test_a_damaged_description_hides_one_document_and_no_other(store, caplog):
    good, bad = store.save("local", "Good", PDF), store.save("local", "Bad", PDF)
    (store.folder / ".about" / f"{bad.name[:-4]}.json").write_text("{", encoding="utf-8")
    assert list(store.list("local")) == [good]
    assert bad.name in caplog.text


def test_twenty_threads_save_at_once(store):
    barrier = threading.Barrier(20)

    def save(number: int) -> str:
        barrier.wait()
        return store.save(f"owner-{number % 2}", "Same title", PDF).name

    with ThreadPoolExecutor(20) as pool:
        names = list(pool.map(save, range(20)))
    assert len(set(names)) == 20
    assert len(store.list("owner-0")) == len(store.list("owner-1")) == 10
    for name in names:
        assert (store.folder / name).read_bytes() == PDF


def test_what_a_killed_process_left_is_swept_when_it_is_old(store):
    store.save("local", "First", PDF)
    old, young = store.folder / ".0123.tmp", store.folder / ".4567.tmp"
    orphan = store.folder / ".about" / "20200101-000000_Lost.json"
    for path in (old, young, orphan):
        path.write_bytes(b"{}")
    for path in (old, orphan):
        os.utime(path, (time.time() - 3600, time.time() - 3600))
    store.save("local", "Second", PDF)
    assert not old.exists() and not orphan.exists() and young.exists()
    assert len(store.list("local")) == 2


SAVING = """
import sys
from pathlib import Path
from tools.documents import DocumentStore
store, content = DocumentStore(Path(sys.argv[1])), Path(sys.argv[2]).read_bytes()
while True:
    print(store.save("local", "Report", content).name, flush=True)
"""


def kill_while_saving(folder: Path, content: Path, milliseconds: float) -> list[str]:
    """Kill a process that saves without pause, so long after its first document; the names it announced."""
    process = subprocess.Popen(
        [sys.executable, "-c", SAVING, str(folder), str(content)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process, process.stdout as output:
        first = output.readline()
        time.sleep(milliseconds / 1000)
        process.kill()
        return [line.strip() for line in (first, *output) if line.endswith("\n")]


def check_after_kill(folder: Path, announced: list[str]) -> None:
    store = DocumentStore(folder)
    listed = {document.name: document for document in store.list("local")}
    assert set(announced) <= set(listed), "a document that was announced is lost"
    for document in listed.values():
        path = store.path("local", document.name)
        assert len(PdfReader(path).pages) == document.pages and path.stat().st_size == document.bytes
        assert (
            json.loads((folder / ".about" / f"{path.stem}.json").read_text(encoding="utf-8"))["title"]
            == "Report"
        )


@pytest.mark.parametrize("number", range(6))
def test_nothing_announced_is_lost_by_a_kill_while_saving(tmp_path, number):
    content = tmp_path / "content.pdf"
    content.write_bytes(PDF)
    announced = kill_while_saving(tmp_path / "pdfs", content, 5 + number * 7.3)
    assert announced
    check_after_kill(tmp_path / "pdfs", announced)


@pytest.mark.long
def test_nothing_announced_is_lost_by_a_hundred_kills(tmp_path):
    content = tmp_path / "content.pdf"
    content.write_bytes(PDF)
    announced: list[str] = []
    for number in range(100):
        announced += kill_while_saving(tmp_path / "pdfs", content, number * 0.71)
    assert len(announced) > 100
    check_after_kill(tmp_path / "pdfs", announced)


def test_a_context_has_a_store_of_its_own_accord(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ToolContext().documents.folder == Path("outputs/pdfs")
    assert list(tmp_path.iterdir()) == []  # nothing is made before the first document
