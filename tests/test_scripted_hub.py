"""The scripted Hub, asked by huggingface_hub itself: what it answers, and what its client makes of that."""

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from huggingface_hub import HfApi, close_session, constants, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from tqdm import tqdm

from tests.servers.hub import ScriptedHub

WEIGHTS = bytes(range(256)) * 4096
"""1 MiB, every part of which tells where it is within 256 bytes."""

README = b"# A model\n"
FILES = {"README.md": README, "deep/model.Q4_0.gguf": WEIGHTS}


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The client counts, and keeps after a cut, whole chunks only: of 10 MiB, if it is left to itself."""
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 64 * 1024)
    yield
    close_session()


@pytest.fixture
def hub() -> Iterator[ScriptedHub]:
    with ScriptedHub(FILES) as running:
        yield running


def fetch(hub: ScriptedHub, folder: Path, name: str = "deep/model.Q4_0.gguf", **options) -> Path:
    given = {"repo_id": hub.repository, "cache_dir": folder, "endpoint": hub.url, "token": False}
    return Path(hf_hub_download(filename=name, **given | options))


def counter(told: list[int], after: Callable[[], None] = lambda: None) -> type[tqdm]:
    """A progress bar that writes down how far the download is, and calls `after`."""

    class Counter(tqdm):
        def __init__(self, *given, **options) -> None:
            super().__init__(*given, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            told.append((told[-1] if told else 0) + int(n or 0))
            after()

    return Counter


def test_info_tells_sizes_and_hashes_as_git_has_them(hub: ScriptedHub):
    for revision in (None, "main", hub.commit):
        info = HfApi(endpoint=hub.url, token=False).model_info(
            hub.repository, revision=revision, files_metadata=True
        )
        assert info.id == hub.repository and info.sha == hub.commit
        readme, weights = info.siblings
        assert (readme.rfilename, readme.size, readme.lfs) == ("README.md", len(README), None)
        assert readme.blob_id == hashlib.sha1(b"blob 10\0" + README).hexdigest()
        assert (weights.rfilename, weights.size) == ("deep/model.Q4_0.gguf", len(WEIGHTS))
        assert weights.lfs.sha256 == hashlib.sha256(WEIGHTS).hexdigest()
        assert weights.lfs.size == len(WEIGHTS) and weights.lfs.pointer_size == 132
    plain = HfApi(endpoint=hub.url, token=False).model_info(hub.repository)
    assert [file.size for file in plain.siblings] == [None, None]


def test_files_arrive_whole_and_lie_where_the_client_keeps_them(hub: ScriptedHub, tmp_path: Path):
    told: list[int] = []
    weights = fetch(hub, tmp_path, tqdm_class=counter(told))
    assert weights.read_bytes() == WEIGHTS
    assert hub.commit in weights.parts and weights.resolve().name == hashlib.sha256(WEIGHTS).hexdigest()
    assert told[-1] == len(WEIGHTS) and len(told) == 16
    readme = fetch(hub, tmp_path, "README.md")
    assert readme.read_bytes() == README
    assert readme.resolve().name == hashlib.sha1(b"blob 10\0" + README).hexdigest()
    assert len(hub.downloads()) == 2
    fetch(hub, tmp_path)
    assert len(hub.downloads()) == 2, "what is there is not fetched again"


def test_it_is_asked_where_hf_endpoint_names_it(hub: ScriptedHub, tmp_path: Path):
    code = (
        "from huggingface_hub import HfApi, hf_hub_download; "
        f"print(HfApi().model_info({hub.repository!r}).sha); "
        f"print(hf_hub_download({hub.repository!r}, 'deep/model.Q4_0.gguf'))"
    )
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    commit, path = ran.stdout.split()
    assert commit == hub.commit and Path(path).is_relative_to(tmp_path)
    assert Path(path).read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("name", "status", "place"),
    [
        ("deep/model.Q4_0.gguf", 302, "http://localhost:"),
        ("README.md", 307, "/api/resolve-cache/models/scripted/model-GGUF/"),
    ],
)
def test_head_sends_on_and_tells_all_that_is_known(hub: ScriptedHub, name: str, status: int, place: str):
    answer = httpx2.head(f"{hub.url}/{hub.repository}/resolve/main/{name}")
    assert answer.status_code == status and answer.headers["location"].startswith(place)
    assert answer.headers["x-repo-commit"] == hub.commit
    assert answer.headers["x-linked-size"] == str(len(FILES[name]))
    digest = hashlib.sha256(WEIGHTS) if status == 302 else hashlib.sha1(b"blob 10\0" + README)
    assert answer.headers["x-linked-etag"] == f'"{digest.hexdigest()}"'
    assert not [header for header in answer.headers if "xet" in header]


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-", 206, "bytes 0-1048575/1048576"),
        ("bytes=1048570-", 206, "bytes 1048570-1048575/1048576"),
        ("bytes=1048576-", 416, "bytes */1048576"),
    ],
)
def test_parts_are_sent_as_asked(hub: ScriptedHub, asked: str, status: int, part: str):
    address = f"{hub.url}/{hub.repository}/resolve/main/deep/model.Q4_0.gguf"
    answer = httpx2.get(address, headers={"Range": asked}, follow_redirects=True)
    assert answer.status_code == status and answer.headers["content-range"] == part
    assert answer.content == (WEIGHTS[int(asked[6:-1]) :] if status == 206 else b"")


def test_files_arrive_in_a_folder_of_ones_own(hub: ScriptedHub, tmp_path: Path):
    made = fetch(hub, tmp_path / "cache", local_dir=tmp_path / "mine")
    assert made == tmp_path / "mine" / "deep" / "model.Q4_0.gguf"
    assert made.read_bytes() == WEIGHTS


def test_a_file_on_disk_is_served_as_one_in_memory(tmp_path: Path):
    source = tmp_path / "weights.gguf"
    source.write_bytes(WEIGHTS)
    with ScriptedHub({"a.gguf": source}) as hub, ScriptedHub({"a.gguf": WEIGHTS}) as other:
        assert hub.commit == other.commit
        assert fetch(hub, tmp_path, "a.gguf").read_bytes() == WEIGHTS


def test_large_files_come_from_another_origin_without_the_token_and_not_by_xet(
    hub: ScriptedHub, tmp_path: Path
):
    fetch(hub, tmp_path, token="hf_secret")
    head, content = hub.requests
    assert head.method == "HEAD" and head.headers["authorization"] == "Bearer hf_secret"
    assert content.headers["host"] == f"localhost:{hub.port}"
    assert "authorization" not in content.headers


def test_a_cut_download_goes_on_where_it_was(hub: ScriptedHub, tmp_path: Path):
    told: list[int] = []
    hub.cut_after(500_000)
    assert fetch(hub, tmp_path, tqdm_class=counter(told)).read_bytes() == WEIGHTS
    first, second = hub.downloads()
    assert "range" not in first.headers
    whole_chunks = 500_000 // 65536 * 65536
    assert second.headers["range"] == f"bytes={whole_chunks}-"
    assert told == sorted(told) and told[-1] == len(WEIGHTS)


def test_an_error_in_the_progress_bar_stops_the_download_and_the_next_begins_anew(tmp_path: Path):
    stop = threading.Event()

    def watch() -> None:
        if stop.is_set():
            raise InterruptedError

    told: list[int] = []
    with ScriptedHub(FILES, bytes_per_second=500_000) as hub:
        threading.Timer(0.5, stop.set).start()
        with pytest.raises(InterruptedError):
            fetch(hub, tmp_path, tqdm_class=counter(told, watch))
        assert 0 < told[-1] < len(WEIGHTS)
        deadline = time.monotonic() + 10
        while not hub.hung_up_at and time.monotonic() < deadline:
            time.sleep(0.02)
        assert hub.hung_up_at, "the connection was left open"
        assert not list(tmp_path.rglob("*.incomplete"))
        hub.bytes_per_second = 0
        assert fetch(hub, tmp_path).read_bytes() == WEIGHTS
        assert "range" not in hub.downloads()[-1].headers, "the client keeps a part between two calls now"


def test_pace_is_kept(tmp_path: Path):
    with ScriptedHub({"a.gguf": WEIGHTS[:400_000]}, bytes_per_second=800_000) as hub:
        begun = time.monotonic()
        fetch(hub, tmp_path, "a.gguf")
        assert 0.45 < time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("repository", "revision", "name", "error", "told"),
    [
        ("nobody/nothing", "main", "a.gguf", RepositoryNotFoundError, "Repository Not Found"),
        ("", "v9", "a.gguf", RevisionNotFoundError, "Invalid rev id: v9"),
        ("", "main", "a.gguf", RemoteEntryNotFoundError, "Entry Not Found"),
    ],
)
def test_what_is_not_there_is_told_by_its_name(
    hub: ScriptedHub, tmp_path: Path, repository: str, revision: str, name: str, error: type, told: str
):
    with pytest.raises(error, match=told) as raised:
        fetch(hub, tmp_path, name, repo_id=repository or hub.repository, revision=revision)
    assert raised.value.response.status_code == 404
    assert not hub.downloads()


def test_info_of_no_model_is_an_error(hub: ScriptedHub):
    with pytest.raises(RepositoryNotFoundError):
        HfApi(endpoint=hub.url, token=False).model_info("nobody/nothing")


def test_a_gated_model_is_shown_to_all_and_given_to_who_has_a_token(tmp_path: Path):
    with ScriptedHub(FILES, gated=True) as hub:
        assert HfApi(endpoint=hub.url, token=False).model_info(hub.repository).gated == "manual"
        with pytest.raises(GatedRepoError, match="Please log in") as raised:
            fetch(hub, tmp_path)
        assert raised.value.response.status_code == 401
        assert fetch(hub, tmp_path, token="hf_mine").read_bytes() == WEIGHTS
