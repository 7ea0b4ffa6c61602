"""The model catalogue, against servers of several ages, recorded and scripted."""

import json
import socket
import threading
import time

import pytest

from agent.capabilities import ModelInfo, calls_tools_by_name, read_model
from agent.chat_errors import ModelFailure
from agent.models import ModelCatalog, check_ollama
from tests.conftest import DATA
from tests.servers.http import LoopbackServer
from tests.servers.ollama import ScriptedOllama, model, models_from

INDEX = DATA / "show" / "index.json"
CASES = json.loads(INDEX.read_text(encoding="utf-8"))["cases"]
MAYBE = {True: True, False: False, "unknown": None}


@pytest.fixture(scope="module")
def recorded():
    """What the catalogue says of every recorded model, by (server version, name)."""
    found = {}
    for version in {case["server"] for case in CASES}:
        with ScriptedOllama(models_from(INDEX, version), version=None) as server:
            for info in ModelCatalog(server.url).list():
                found[version, info.name] = info
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['n']:02} {case['name']}")
def test_recorded_models_are_read_right(recorded, case):
    info: ModelInfo = recorded[case["server"], case["name"]]
    assert info.tools in case["accept"], case["why"]
    assert info.tools not in case["must_not"]
    assert (info.vision, info.thinking) == (MAYBE[case["vision"]], MAYBE[case["thinking"]])
    assert info.embedding_only == case["embedding_only"]
    assert info.usable_in_chat == case["usable_in_chat"]
    assert info.context_length == case["context_length"], case["why"]
    assert info.num_ctx_in_parameters == case["num_ctx_in_parameters"]
    assert info.cloud == case["cloud"]
    if case["show_status"] == 200:
        assert info.template_mentions_tools == case["template_mentions_tools"]
    assert info.size > 0 and len(info.digest) == 64


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['n']:02} {case['name']}")
def test_by_name_alone_no_model_is_taken_for_another(case):
    """Without any other evidence the name decides, and never for a model of another family."""
    by_name = read_model(case["name"], None, None).tools
    assert by_name in ("by name", "unknown", "no")
    if "by name" in case["must_not"] and case["server"] == "0.5.13":
        assert by_name != "by name"
    if case["answer"] == "by name" and "unknown" not in case["accept"]:
        assert by_name == "by name"


@pytest.mark.parametrize("name", ["qwen3-vl:8b", "qwen3-embedding", "qwen3-reranker:4b", "llama3.2-vision"])
def test_a_family_does_not_go_on_into_another_kind_of_model(name):
    assert not calls_tools_by_name(name)


def test_the_owner_overrules_the_server():
    with ScriptedOllama() as server:
        catalog = ModelCatalog(server.url, overrides={"llama2:13b": True, "qwen2.5:14b": False})
        tools = {info.name: info.calls_tools for info in catalog.list()}
    assert tools["llama2:13b"] and not tools["qwen2.5:14b"] and tools["qwen3:8b"]


def test_an_override_without_a_tag_means_latest():
    with ScriptedOllama([model("mine:latest", "completion")]) as server:
        catalog = ModelCatalog(server.url, overrides={"mine": True})
        assert catalog.get("mine").tools == "yes"
        assert catalog.list()[0].tools == "yes"


@pytest.mark.parametrize("version", ["0.33.0", "0.6.4", "0.5.13"])
def test_an_old_server_hides_no_model(version):
    """Servers before 0.6.4 have no capability list, those before 0.30 none in /api/tags."""
    with ScriptedOllama(version=version) as server:
        models = {info.name: info for info in ModelCatalog(server.url).list()}
    assert models["qwen2.5:14b"].calls_tools
    assert not models["llama2:13b"].calls_tools
    assert not models["nomic-embed-text:latest"].usable_in_chat
    assert models["gpt-oss:120b-cloud"].cloud
    assert models["qwen3:8b"].thinking is (None if version == "0.5.13" else True)


def test_a_hundred_models_are_asked_about_side_by_side_and_once():
    many = [model(f"m{number}:latest", "completion", "tools") for number in range(100)]
    with ScriptedOllama(many, latency=0.05) as server:
        catalog = ModelCatalog(server.url)
        began = time.monotonic()
        assert len(catalog.list()) == 100
        assert time.monotonic() - began < 100 * 0.05  # one after the other would take this long
        asked = len(server.requests)
        assert [info.name for info in catalog.list()] == [f"m{number}:latest" for number in range(100)]
        again = [request.path for request in server.requests[asked:]]
    assert sorted(again) == ["/api/ps", "/api/tags"]


def test_a_model_that_was_rebuilt_is_asked_about_again():
    with ScriptedOllama([model("mine:latest", "completion")]) as server:
        catalog = ModelCatalog(server.url)
        assert catalog.get("mine").tools == "no"
        rebuilt = model("mine:latest", "completion", "tools")
        server.models["mine:latest"] = type(rebuilt)(
            rebuilt.name, {**rebuilt.row, "digest": "f" * 64}, rebuilt.show
        )
        assert catalog.get("mine").tools == "yes"


def test_get_finds_a_model_with_and_without_its_tag_and_names_a_missing_one():
    with ScriptedOllama() as server:
        catalog = ModelCatalog(server.url)
        assert catalog.get("nomic-embed-text").name == "nomic-embed-text:latest"
        assert catalog.get("qwen3:8b").context_length == 40_960
        with pytest.raises(ModelFailure) as caught:
            catalog.get("qwen9:1b")
    assert (caught.value.kind, caught.value.retry) == ("model_missing", "none")
    assert "ollama pull qwen9:1b" in str(caught.value)


def test_loaded_models_are_marked_and_described():
    with ScriptedOllama() as server:
        catalog = ModelCatalog(server.url)
        assert not any(info.loaded for info in catalog.list())
        server.loaded["qwen3:8b"] = 8192
        assert [info.name for info in catalog.list() if info.loaded] == ["qwen3:8b"]
        (running,) = catalog.running()
    assert (running.name, running.context_length) == ("qwen3:8b", 8192)
    assert running.size == running.size_vram > 0


def test_check_tells_what_answers_and_takes_addresses_as_people_write_them():
    with ScriptedOllama(version="0.31.2") as server:
        for address in (server.url, f"{server.url}/", f"127.0.0.1:{server.port}", f":{server.port}"):
            found = check_ollama(address)
            assert (found.version, found.models) == ("0.31.2", 7)
        assert ModelCatalog(server.url).version() == "0.31.2"


def test_a_server_that_does_not_tell_its_version():
    with ScriptedOllama(version=None) as server:
        assert check_ollama(server.url).version == ""


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "no address", "http://a..b", "127.0.0.1:99999"])
def test_nothing_at_the_address_is_told_and_never_an_empty_list(address):
    with pytest.raises(ModelFailure) as caught:
        check_ollama(address)
    assert caught.value.kind == "unreachable"
    assert "ollama serve" in str(caught.value) and address in str(caught.value)


def test_a_dead_server_is_unreachable_for_the_catalogue_too():
    with ScriptedOllama() as server:
        catalog = ModelCatalog(server.url)
        catalog.list()
    for read in (catalog.list, catalog.running, lambda: catalog.get("qwen3:8b")):
        with pytest.raises(ModelFailure) as caught:
            read()
        assert caught.value.kind == "unreachable"


class _Anything(LoopbackServer):
    """Answers everything alike."""

    def __init__(
        self, status: int, body: bytes, content_type: str = "application/json", **headers: str
    ) -> None:
        super().__init__()
        self._answer = (status, body, content_type, headers)

    def handle(self, request, reply):
        reply.send(*self._answer)


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        ((200, b"<html><title>My router</title>", "text/html"), "gateway", "text/html"),
        ((502, b"<html><title>502 Bad Gateway</title></html>", "text/html"), "gateway", "502 Bad Gateway"),
        ((404, b"404 page not found", "text/plain"), "gateway", "404"),
        ((401, b'{"error": "unauthorized"}'), "auth", "ollama signin"),
        ((200, b'{"models": 5}'), "gateway", "/api/tags"),
        ((200, b"7"), "gateway", "/api/tags"),
        ((500, b'{"error": {"message": "disk full"}}'), "server_error", "disk full"),
    ],
)
def test_a_wrong_answer_is_told(answer, kind, said):
    with _Anything(*answer) as server, pytest.raises(ModelFailure) as caught:
        ModelCatalog(server.url).list()
    assert caught.value.kind == kind
    assert said in str(caught.value)


def test_a_redirect_is_not_followed():
    with ScriptedOllama() as other, _Anything(302, b"", location=f"{other.url}/api/tags") as server:
        with pytest.raises(ModelFailure) as caught:
            ModelCatalog(server.url).list()
        assert other.requests == []
    assert caught.value.kind == "gateway" and other.url in str(caught.value)


def test_no_models_at_all_is_an_empty_list():
    with _Anything(200, b'{"models": null}') as server:
        assert ModelCatalog(server.url).list() == []


def test_odd_rows_of_compatible_servers():
    rows = [{"model": "a"}, {"name": "b", "details": None, "capabilities": "tools", "size": "big"}, {}, 5]
    with _Anything(200, json.dumps({"models": rows}).encode()) as server:
        models = ModelCatalog(server.url).list()
    assert [(info.name, info.tools, info.size) for info in models] == [
        ("a", "unknown", 0),
        ("b", "unknown", 0),
    ]


def test_the_catalogue_may_be_read_from_many_threads():
    with ScriptedOllama(latency=0.01) as server:
        catalog = ModelCatalog(server.url)
        found = []
        threads = [threading.Thread(target=lambda: found.append(catalog.list())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(found) == 8 and all(models == found[0] for models in found)


def test_a_local_server_is_reached_past_the_proxy_of_the_environment(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as trap:  # a proxy that would swallow the request
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{trap.getsockname()[1]}")
        with ScriptedOllama() as server:
            assert len(ModelCatalog(server.url).list()) == 7
            assert len(ModelCatalog(server.url.replace("127.0.0.1", "localhost")).list()) == 7
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1")
    with ScriptedOllama() as server:
        assert len(ModelCatalog(server.url).list()) == 7


def test_an_unusable_proxy_on_the_way_to_a_far_server_is_told(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1")
    with pytest.raises(ModelFailure) as caught:
        ModelCatalog("http://ollama.example.org:11434").list()
    assert caught.value.kind == "unreachable" and "socks" in str(caught.value)
