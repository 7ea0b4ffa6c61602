"""config.yaml: read with its faults told, written with its comments kept."""

import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agent.config_file import SettingsStore
from agent.settings import Settings, client_address
from tools.failure import Failure

SHIPPED = Path(__file__).parent.parent / "config.yaml"


def store(path: Path, text: str | None = None, **environment: str) -> SettingsStore:
    if text is not None:
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return SettingsStore(path, environment)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_shipped_file_names_every_setting_with_its_default():
    shipped = SettingsStore(SHIPPED, {})
    written = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    assert not shipped.problems
    assert shipped.current == Settings()
    assert set(written) == set(Settings.model_fields)
    assert set(written["tools"]) == set(type(Settings().tools).model_fields)


def test_every_setting_has_a_comment_above_it():
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    for name in Settings.model_fields:
        index = next(i for i, line in enumerate(lines) if line.startswith(f"{name}:"))
        before = "\n".join(lines[max(0, index - 2) : index])
        assert "#" in before, name


def test_missing_file_means_defaults(path: Path):
    assert store(path).current == Settings()
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "line", "entry", "used"),
    [
        ("num_ctx: many\n", 1, "num_ctx", "16384"),
        ("# hello\nmax_iteration: 5\n", 2, "max_iteration", "nothing for it"),
        ("model: a\nmax_iterations: 99\n", 2, "max_iterations", "10"),
        ("tools:\n  web_search: false\n  web_serch: true\n", 3, "tools.web_serch", "nothing for it"),
        ("tools:\n  web_search: sometimes\n", 2, "tools.web_search", "True"),
        ("search_backend: google\n", 1, "search_backend", "'auto'"),
        ("ollama_url: ftp://x\n", 1, "ollama_url", "'http://localhost:11434'"),
        ("max_tool_result_chars: 3\n", 1, "max_tool_result_chars", "'auto'"),
        ("model: [unclosed\nnum_ctx: 4096\n", 2, "the file", "the defaults"),
        ("just words\n", 1, "the file", "the defaults"),
    ],
)
def test_fault_is_told_with_its_line_and_what_is_used(
    path: Path, text: str, line: int, entry: str, used: str
):
    loaded = store(path, text)
    [problem] = loaded.problems
    assert (problem.line, problem.entry, problem.used) == (line, entry, used)
    assert problem.reason
    assert path.read_text(encoding="utf-8") == text, "loading never writes"


@pytest.mark.parametrize(
    "line", ["model: !foo x", "num_ctx: !!int abc", "allow_hosts: &a [*a]", "num_ctx: 2020-13-45"]
)
def test_value_that_yaml_cannot_make_is_a_fault_not_a_crash(path: Path, line: str):
    kept = store(path, f"{line}\nmax_iterations: 7\n")
    assert [problem.line for problem in kept.problems] == [1]
    assert kept.current.max_iterations == 7


def test_environment_that_is_no_yaml_is_a_fault_not_a_crash(path: Path):
    kept = store(path, PANEL_TOOLS="[", PANEL_NUM_CTX="2048: {")
    assert {problem.where for problem in kept.problems} == {"PANEL_TOOLS", "PANEL_NUM_CTX"}
    assert kept.current == Settings()


def test_entry_that_is_there_twice_is_told(path: Path):
    kept = store(path, "num_ctx: 4096\nmodel: x\nnum_ctx: 8192\n")
    assert [(problem.entry, problem.line) for problem in kept.problems] == [("num_ctx", 3)]
    assert kept.current.num_ctx == 8192


def test_saving_keeps_a_link_to_the_file(path: Path, tmp_path: Path):
    real = tmp_path / "real.yaml"
    real.write_text("num_ctx: 4096\n", encoding="utf-8")
    path.symlink_to(real)
    store(path).save({"num_ctx": 8192})
    assert path.is_symlink()
    assert real.read_text(encoding="utf-8") == "num_ctx: 8192\n"


def test_sound_entries_beside_a_fault_are_used(path: Path):
    loaded = store(path, "num_ctx: many\nmodel: qwen3:8b\ntools:\n  web_search: false\n  nonsense: 1\n")
    assert loaded.current.model == "qwen3:8b"
    assert loaded.current.tools.web_search is False
    assert loaded.current.tools.create_pdf is True


def test_file_that_is_not_utf8_is_a_fault_not_a_crash(path: Path):
    path.write_bytes("system_prompt: é\n".encode("latin-1"))
    [problem] = store(path).problems
    assert problem.entry == "the file"


def test_environment_goes_before_the_file_and_command_line_before_both(path: Path):
    path.write_text("num_ctx: 4096\nollama_url: http://file:1\n", encoding="utf-8")
    environment = {"OLLAMA_HOST": "0.0.0.0:9", "PANEL_NUM_CTX": "8192", "PANEL_MAX_ITERATIONS": "7"}
    loaded = SettingsStore(path, environment, {"max_iterations": 3})
    assert loaded.current.ollama_url == "http://127.0.0.1:9"
    assert loaded.current.num_ctx == 8192
    assert loaded.current.max_iterations == 3
    assert loaded.locked == {"ollama_url", "num_ctx", "max_iterations"}


def test_wrong_environment_is_told_too(path: Path):
    [problem] = store(path, PANEL_NUM_CTX="lots").problems
    assert (problem.where, problem.line, problem.entry) == ("PANEL_NUM_CTX", 0, "num_ctx")


def test_saving_keeps_comments_order_and_unknown_entries(path: Path):
    text = "# mine\nmodel: a  # the small one\nfuture: 1\nnum_ctx: 4096\ntools:\n  web_search: true # yes\n"
    loaded = store(path, text)
    loaded.save({"num_ctx": 8192, "tools": {"web_search": False, "create_pdf": True}})
    written = path.read_text(encoding="utf-8")
    assert "# mine\nmodel: a  # the small one\nfuture: 1\nnum_ctx: 8192\n" in written
    assert "web_search: false # yes" in written
    assert loaded.current.num_ctx == 8192
    again = store(path)
    assert again.current == loaded.current


def test_saving_creates_a_missing_file(path: Path):
    store(path).save({"language": "fr"})
    assert store(path).current.language == "fr"


def test_saving_keeps_the_rights_of_the_file(path: Path):
    loaded = store(path, "num_ctx: 4096\n")
    path.chmod(0o640)
    loaded.save({"num_ctx": 8192})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"num_ctx": 5}, "setting_invalid"),
        ({"max_iterations": "often"}, "setting_invalid"),
        ({"tools": {"nonsense": True}}, "setting_invalid"),
        ({"nonsense": 1}, "setting_invalid"),
        ({"ollama_url": "http://elsewhere"}, "setting_locked"),
    ],
)
def test_refused_changes_change_nothing(path: Path, changes: dict, kind: str):
    loaded = store(path, "num_ctx: 4096\n", OLLAMA_HOST="localhost")
    before = loaded.current
    with pytest.raises(Failure) as caught:
        loaded.save(changes)
    assert caught.value.kind == kind
    assert loaded.current is before
    assert path.read_text(encoding="utf-8") == "num_ctx: 4096\n"


def test_broken_file_is_not_overwritten_by_saving(path: Path):
    loaded = store(path, "model: [unclosed\n")
    with pytest.raises(Failure) as caught:
        loaded.save({"num_ctx": 8192})
    assert caught.value.kind == "config_broken"
    assert path.read_text(encoding="utf-8") == "model: [unclosed\n"
    assert loaded.current.num_ctx == Settings().num_ctx


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("localhost", "http://localhost:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("[::]:11434", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("gpu-box:8080/", "http://gpu-box:8080"),
        ("https://ollama.example/api-root/", "https://ollama.example/api-root"),
        ("  http://127.0.0.1:11434  ", "http://127.0.0.1:11434"),
    ],
)
def test_forms_of_an_address(written: str, called: str):
    assert client_address(written, 11434) == called


@pytest.mark.parametrize(
    "wrong",
    [
        "ftp://x",
        "http://h:99999",
        "host:port",
        "a b",
        "user:pw@host:1",
        "host:",
        "http://[::1",
        "http://[:::]:1",
        ":::",
    ],
)
def test_what_is_no_address(wrong: str):
    with pytest.raises(ValueError, match="address"):
        client_address(wrong)


@given(st.integers(1024, 1_048_576))
def test_automatic_limits_follow_the_window(num_ctx: int):
    settings = Settings()
    assert 2_000 <= settings.result_chars(num_ctx) <= 40_000
    assert 8_000 <= settings.context_chars(num_ctx) <= 160_000
    assert settings.result_chars(num_ctx) <= settings.context_chars(num_ctx)


def test_fixed_limits_hold_for_any_window():
    settings = Settings(max_tool_result_chars=6000, max_tool_context_chars=24000)
    assert settings.result_chars(1024) == 6000
    assert settings.context_chars(1_000_000) == 24000


_SAVER = """
import sys
from pathlib import Path
from agent.config_file import SettingsStore
store = SettingsStore(Path(sys.argv[1]), {})
print("ready", flush=True)
number = 0
while True:
    number += 1
    store.save({"max_iterations": number % 50 + 1, "system_prompt": "x" * (number % 7) * 1000})
    print(number, flush=True)
"""


def test_a_kill_while_saving_leaves_a_whole_file(path: Path):
    """Killed at 25 different moments: the file is always one that was saved, comments included."""
    path.write_text(SHIPPED.read_text(encoding="utf-8"), encoding="utf-8")
    for attempt in range(25):
        child = subprocess.Popen(
            [sys.executable, "-c", _SAVER, str(path)], stdout=subprocess.PIPE, text=True, cwd=SHIPPED.parent
        )
        assert child.stdout and child.stdout.readline().strip() == "ready"
        time.sleep(attempt * 0.004)
        child.kill()
        child.wait()
        child.stdout.close()
        text = path.read_text(encoding="utf-8")
        loaded = SettingsStore(path, {})
        assert not loaded.problems
        assert set(yaml.safe_load(text)) == set(Settings.model_fields)
        assert "# --- Ollama ---" in text
