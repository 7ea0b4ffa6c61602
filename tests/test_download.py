"""The built-in model's weights: where they are found, and their download from a scripted Hub."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants

from agent import download
from agent.built_in import BuiltIn
from agent.download import Download, look_up
from agent.weights import DEFAULT, HubFile, Weights
from tests.servers.hub import ScriptedHub
from tools.failure import Failure

WEIGHTS = bytes(range(256)) * 16384
"""4 MiB."""

FILES = {
    "README.md": b"# A model\n",
    "model.Q8_0.gguf": WEIGHTS * 2,
    "model.Q4_K_M.gguf": WEIGHTS,
    "mmproj-model.gguf": b"GGUF",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedHub]:
    monkeypatch.setattr(download, "_PIECE", 64 * 1024)
    with ScriptedHub(FILES) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        place = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", place)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield hub
        close_session()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, "it hangs"
        time.sleep(0.01)


def ended(started: Download) -> Download:
    wait_until(lambda: not started.running)
    return started


def test_without_a_name_it_is_the_packaged_file(tmp_path: Path):
    file = Weights("", tmp_path).file()
    assert file is None or file.name == DEFAULT.file


def test_a_path_names_its_file(tmp_path: Path):
    mine = tmp_path / "my model.gguf"
    mine.write_bytes(b"GGUF")
    assert Weights(str(mine), tmp_path).file() == mine


@pytest.mark.parametrize("named", ["/no/such/file.gguf", "one-word", "a/b/c", "https://hf.co/a/b"])
def test_a_name_that_leads_nowhere(named: str, tmp_path: Path):
    with pytest.raises(Failure) as raised:
        Weights(named, tmp_path).file()
    assert raised.value.kind == "weights_missing" and named in str(raised.value)


def test_nobody_is_asked_before_a_person_says_so(hub: ScriptedHub, tmp_path: Path):
    built_in = BuiltIn(hub.repository, tmp_path)
    assert not built_in.ready and built_in.offer().next == "look_up"
    assert not hub.requests


@pytest.mark.parametrize(
    ("asked", "file"), [("", "model.Q4_K_M.gguf"), ("model.Q8_0.gguf", "model.Q8_0.gguf")]
)
def test_look_up_chooses_a_file_and_knows_its_size(hub: ScriptedHub, asked: str, file: str):
    assert look_up(HubFile(hub.repository, asked)) == HubFile(hub.repository, file, len(FILES[file]))


@pytest.mark.parametrize(
    ("repository", "file", "kind"),
    [("nobody/nothing", "", "hub"), ("scripted/model-GGUF", "other.gguf", "no_gguf")],
)
def test_look_up_of_what_is_not_there(hub: ScriptedHub, repository: str, file: str, kind: str):
    with pytest.raises(Failure) as raised:
        look_up(HubFile(repository, file))
    assert raised.value.kind == kind and repository in str(raised.value)


def test_from_the_name_to_the_model(hub: ScriptedHub, tmp_path: Path):
    built_in = BuiltIn(hub.repository, tmp_path / "models")
    built_in.go_on()
    assert built_in.offer().next == "download" and built_in.offer().file.size == len(WEIGHTS)
    built_in.go_on()
    wait_until(lambda: built_in.ready)
    assert built_in.model().info.name == "built-in/model.Q4_K_M"
    file = Weights(hub.repository, tmp_path / "models").file()
    assert file is not None and file.read_bytes() == WEIGHTS
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_stopped_download_goes_on_where_it_was(hub: ScriptedHub, tmp_path: Path):
    wanted = look_up(HubFile(hub.repository))
    hub.bytes_per_second = 2_000_000
    first = Download(wanted, tmp_path)
    wait_until(lambda: first.done_bytes > 500_000)
    first.stop()
    begun = time.monotonic()
    assert ended(first).failure is None and time.monotonic() - begun < 5
    assert Weights(hub.repository, tmp_path).file() is None
    [part] = tmp_path.rglob("*.part")
    kept = part.stat().st_size
    assert 0 < kept < len(WEIGHTS)
    hub.bytes_per_second = 0
    assert ended(Download(wanted, tmp_path)).failure is None
    assert hub.downloads()[-1].headers["range"] == f"bytes={kept}-"
    file = Weights(hub.repository, tmp_path).file()
    assert file is not None and file.read_bytes() == WEIGHTS and not list(tmp_path.rglob("*.part"))


def test_the_beginning_of_another_version_is_no_use(hub: ScriptedHub, tmp_path: Path):
    old = tmp_path / hub.repository / "model.Q4_K_M.gguf.0123456789abcdef.part"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"something else")
    done = ended(Download(look_up(HubFile(hub.repository)), tmp_path))
    assert done.failure is None and done.done_bytes == len(WEIGHTS) and not old.exists()


def test_a_lost_connection_is_taken_up_again(hub: ScriptedHub, tmp_path: Path):
    hub.cut_after(1_000_000)
    assert ended(Download(look_up(HubFile(hub.repository)), tmp_path)).failure is None
    file = Weights(hub.repository, tmp_path).file()
    assert file is not None and file.read_bytes() == WEIGHTS


def test_a_hub_that_is_gone_is_told_and_what_came_is_kept(hub: ScriptedHub, tmp_path: Path):
    wanted = look_up(HubFile(hub.repository))
    hub.close()
    failure = ended(Download(wanted, tmp_path)).failure
    assert failure is not None and failure.kind == "hub" and "try again" in str(failure)


def test_what_other_programs_downloaded_is_found(hub: ScriptedHub, tmp_path: Path):
    from huggingface_hub import hf_hub_download

    theirs = hf_hub_download(hub.repository, "model.Q4_K_M.gguf")
    assert Weights(hub.repository, tmp_path).file() == Path(theirs)
