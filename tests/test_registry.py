"""How tools are offered to a model, and how its calls are run."""

import pytest

from locales import load_locale
from tools.failure import Failure
from tools.registry import ToolRegistry, default_registry
from tools.tool import Arguments, Tool, ToolContext, ToolResult

FR, EN = load_locale("fr"), load_locale("en")


class Search(Arguments):
    query: str
    max_results: int | None = None


class Write(Arguments):
    title: str
    markdown: str


def echo(arguments: Arguments, context: ToolContext) -> ToolResult:
    return ToolResult(repr(arguments.model_dump()))


def refuse(arguments: Arguments, context: ToolContext) -> ToolResult:
    raise Failure("tool_timeout", name="it", seconds=3)


def break_down(arguments: Arguments, context: ToolContext) -> ToolResult:
    raise ZeroDivisionError("a defect")


def registry(search=echo, write=echo) -> ToolRegistry:
    return ToolRegistry(
        [
            Tool("web_search", search, Search, read_only=True, seconds=5),
            Tool("create_pdf", write, Write, read_only=False, seconds=5),
        ]
    )


def test_fixed_faces_in_french():
    tools = {
        tool["function"]["name"]: tool["function"]
        for tool in default_registry().offer(["web_search", "scrape_url", "create_pdf"], FR)
    }
    assert list(tools) == ["rechercher_web", "lire_page", "creer_pdf"]
    search, page, pdf = tools.values()
    assert search["description"] == (
        "Recherche sur le web. À utiliser pour toute info récente, actualités, faits à vérifier, prix, "
        "scores, données qui changent."
    )
    assert search["parameters"] == {
        "type": "object",
        "properties": {
            "requete": {"type": "string", "description": "Requête de recherche, courte et précise"},
            "nb_resultats": {"type": "integer", "description": "Nombre de résultats (défaut 5)"},
        },
        "required": ["requete"],
    }
    assert page["description"] == (
        "Récupère le contenu texte d'une page web. À utiliser après une recherche pour approfondir "
        "un résultat."
    )
    assert list(page["parameters"]["properties"]) == ["url", "continuer_depuis"]
    assert page["parameters"]["required"] == ["url"]
    assert page["parameters"]["properties"]["url"]["description"] == "URL complète à lire"
    assert pdf["description"] == (
        "Génère un fichier PDF. À utiliser quand l'utilisateur demande un document, rapport, PDF, ou export."
    )
    assert pdf["parameters"]["properties"]["contenu_markdown"]["description"] == (
        "Contenu complet en markdown (avec ##, listes, tableaux, etc.)"
    )
    assert pdf["parameters"]["required"] == ["titre", "contenu_markdown"]


@pytest.mark.parametrize("locale", [FR, EN], ids=["fr", "en"])
def test_schemas_use_only_what_ollama_keeps(locale):
    def keywords(schema, inside_properties=False):
        for key, value in schema.items():
            if not inside_properties:
                yield key
            if isinstance(value, dict):
                yield from keywords(value, key == "properties")

    for tool in default_registry().offer(default_registry().names(), locale):
        parameters = tool["function"]["parameters"]
        assert parameters["properties"]
        assert set(keywords(parameters)) <= {"type", "description", "enum", "items", "properties", "required"}


def test_only_the_named_tools_are_offered():
    offered = registry().offer(["create_pdf"], EN)
    assert [tool["function"]["name"] for tool in offered] == ["create_pdf"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("web_search", {"query": "x", "max_results": 3}),
        ("rechercher_web", {"requete": "x", "nb_resultats": 3}),
        ("rechercher_web", {"query": "x", "max_results": 3}),
        (" web_search ", {"requete": "x", "nb_resultats": "3"}),
        ("web_search", '{"query": "x", "max_results": 3.0}'),
        ("web_search", {"query": "x", "max_results": 3, "invented": True}),
    ],
)
def test_a_call_runs_under_any_face(name, arguments):
    assert registry().execute(name, arguments).text == "{'query': 'x', 'max_results': 3}"


def test_numbers_are_taken_for_text_and_null_for_nothing():
    result = registry().execute("web_search", {"query": 2026, "max_results": None})
    assert result.text == "{'query': '2026', 'max_results': None}"


@pytest.mark.parametrize(
    "arguments", [None, "", "[]", "x", "42", "null", {}, [], {"max_results": 3}, {"query": None}]
)
def test_missing_or_odd_arguments_name_what_is_expected(arguments):
    result = registry().execute("web_search", arguments)
    assert result.error and result.error.kind == "invalid_arguments"
    assert "query (string, required)" in result.text


def test_wrong_arguments_are_told_in_the_face_of_the_language():
    result = registry().execute("web_search", {"query": "x", "max_results": "many"}, ToolContext(locale=FR))
    assert result.error and "nb_resultats" in result.error.cause
    assert "rechercher_web" in result.error.cause


def test_unknown_tool_names_those_that_exist():
    result = registry().execute("browse", {}, ToolContext(locale=FR))
    assert result.error and result.error.kind == "unknown_tool"
    assert "rechercher_web, creer_pdf" in result.text


def test_a_failure_becomes_the_result():
    result = registry(search=refuse).execute("web_search", {"query": "x"}, ToolContext(locale=FR))
    assert result.error and result.error.kind == "tool_timeout"
    assert result.error.cause in result.text and result.error.remedy in result.text


def test_a_defect_of_ours_ends_no_run_and_is_logged(caplog):
    result = registry(search=break_down).execute("web_search", {"query": "x"})
    assert result.error and result.error.kind == "internal" and "ZeroDivisionError" in result.text
    assert "a defect" in caplog.text


def test_a_face_has_defaults_of_its_own():
    class Page(Arguments):
        url: str
        max_chars: int = 0

    pages = ToolRegistry([Tool("scrape_url", echo, Page, read_only=True, seconds=5)])
    assert "8000" in pages.execute("lire_page", {"url": "u"}, ToolContext(locale=FR)).text
    assert "'max_chars': 0" in pages.execute("scrape_url", {"url": "u"}, ToolContext(locale=EN)).text
