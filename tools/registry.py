"""The tools that there are, how a model is offered them, and how a call of one is run."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from locales import Locale, languages, load_locale
from tools.failure import Failure
from tools.tool import Arguments, Tool, ToolContext, ToolResult

log = logging.getLogger(__name__)

_KEPT_KEYWORDS = ("type", "description", "enum", "items", "properties", "required")
"""All that Ollama keeps of a schema; it drops the rest before the model sees it (api/types.go)."""


class ToolRegistry:
    """Tools by canonical name, callable under the name and argument names of any language's face."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._aliases: dict[str, str] = {}
        self._argument_aliases: dict[str, dict[str, str]] = {}
        for name in self._tools:
            aliases = self._argument_aliases[name] = {}
            self._aliases[name] = name
            for face in (load_locale(language).face(name) for language in languages()):
                self._aliases[face.name] = name
                aliases |= {shown["name"]: canonical for canonical, shown in face.arguments.items()}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def names(self) -> tuple[str, ...]:
        """The canonical names."""
        return tuple(self._tools)

    def find(self, name: str) -> Tool | None:
        """The tool that a model means by `name`, in whatever language."""
        return self._tools.get(self._aliases.get(name.strip(), ""))

    def offer(self, names: Iterable[str], locale: Locale) -> list[dict[str, Any]]:
        """The faces of the named tools, as the `tools` of a request to Ollama."""
        wanted = set(names)
        return [_schema(tool, locale) for tool in self if tool.name in wanted]

    def named_arguments(self, name: str, arguments: object) -> dict[str, Any]:
        """The arguments under their canonical names, for labels; {} where they are none."""
        tool = self.find(name)
        given = _decoded(arguments)
        return self._canonical(tool, given) if tool and isinstance(given, dict) else {}

    def execute(
        self, name: str, arguments: Mapping[str, Any] | str | None, context: ToolContext | None = None
    ) -> ToolResult:
        """Run a call. Never raises for what a tool, a model or a server does: `error` tells it."""
        context = context or ToolContext()
        try:
            return self._run(name, arguments, context)
        except Failure as failure:
            return failed(failure, context.locale)
        except Exception as error:
            log.exception("tool %s failed with a defect of its own", name)
            return failed(Failure("internal", error=f"{type(error).__name__}: {error}"), context.locale)

    def _run(self, name: str, arguments: object, context: ToolContext) -> ToolResult:
        tool = self.find(name)
        if tool is None:
            shown = ", ".join(context.locale.face(known).name for known in self._tools)
            raise Failure("unknown_tool", name=name, available=shown)
        given = _decoded(arguments)
        if not isinstance(given, dict):
            raise self._wrong_arguments(tool, context.locale, "not a JSON object")
        defaults = context.locale.face(tool.name).defaults
        try:
            checked = tool.arguments.model_validate({**defaults, **self._canonical(tool, given)})
        except ValidationError as error:
            raise self._wrong_arguments(
                tool, context.locale, _problems(error, tool, context.locale)
            ) from error
        return tool.function(checked, context)

    def _canonical(self, tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
        aliases = self._argument_aliases[tool.name]
        known = tool.arguments.model_fields
        named = {key if key in known else aliases.get(key, key): value for key, value in given.items()}
        return {key: value for key, value in named.items() if value is not None}

    def _wrong_arguments(self, tool: Tool, locale: Locale, problems: str) -> Failure:
        function = _schema(tool, locale)["function"]
        required = function["parameters"]["required"]
        expected = ", ".join(
            f"{name} ({schema['type']}{', required' if name in required else ''})"
            for name, schema in function["parameters"]["properties"].items()
        )
        return Failure("invalid_arguments", name=function["name"], problems=problems, expected=expected)


def failed(failure: Failure, locale: Locale) -> ToolResult:
    """The result of a call that failed: the model reads the cause and the remedy."""
    problem = failure.told(locale)
    return ToolResult(text=f"Error: {problem}", error=problem)


@cache
def default_registry() -> ToolRegistry:
    """The tools of the panel."""
    from tools import create_pdf, pdf_to_text, scrape_url, search_and_fetch, web_search

    return ToolRegistry(
        [web_search.TOOL, scrape_url.TOOL, pdf_to_text.TOOL, search_and_fetch.TOOL, create_pdf.TOOL]
    )


def _decoded(arguments: object) -> object:
    """The arguments as an object; some servers send them as a JSON string, and none as null."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except ValueError:
            return arguments
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


def _problems(error: ValidationError, tool: Tool, locale: Locale) -> str:
    shown = locale.face(tool.name).arguments
    parts = []
    for problem in error.errors():
        name = str(problem["loc"][0]) if problem["loc"] else ""
        parts.append(f"{shown[name]['name'] if name in shown else name}: {problem['msg']}")
    return "; ".join(parts)


def _schema(tool: Tool, locale: Locale) -> dict[str, Any]:
    face = locale.face(tool.name)
    fields: Mapping[str, Any] = _pydantic_schema(tool.arguments)["properties"]
    required = [
        shown["name"]
        for name, shown in face.arguments.items()
        if tool.arguments.model_fields[name].is_required()
    ]
    properties = {
        shown["name"]: _kept(fields[name]) | {"description": shown["description"]}
        for name, shown in face.arguments.items()
    }
    return {
        "type": "function",
        "function": {
            "name": face.name,
            "description": face.description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


@cache
def _pydantic_schema(arguments: type[Arguments]) -> dict[str, Any]:
    return arguments.model_json_schema()


def _kept(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a JSON schema that Ollama keeps. An optional value takes the type it has when given."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    source = {**schema, **options[0]} if options else schema
    kept = {key: source[key] for key in _KEPT_KEYWORDS if key in source}
    if isinstance(kept.get("items"), Mapping):
        kept["items"] = _kept(kept["items"])
    if isinstance(kept.get("properties"), Mapping):
        kept["properties"] = {key: _kept(value) for key, value in kept["properties"].items()}
    return kept
