"""What a model can do, read from what its server says of it.

Evidence, the strongest first: the owner's word, the capability list of /api/show or /api/tags, the text
of the chat template, the name. Sources of the forms: github.com/ollama/ollama, api/types.go (ShowResponse,
ListModelResponse), types/model/capability.go and server/images.go (Capabilities).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ToolSupport = Literal["yes", "no", "by name", "unknown"]

_FAMILIES = (
    "qwen2.5",
    "qwen2.5-coder",
    "qwen3",
    "llama3.1",
    "llama3.2",
    "llama3.3",
    "mistral-nemo",
    "mistral-small",
    "mistral-large",
    "command-r",
    "command-r-plus",
    "hermes3",
    "firefunction-v2",
)
"""Families whose models call tools, where nothing but the name is known."""

_OTHER_KIND = re.compile(r"-(vl|vision|embed\w*|rerank\w*)(-|$)")
_EMBEDDING_FAMILIES = ("bert", "nomic-bert", "xlm-roberta")


@dataclass(frozen=True)
class ModelInfo:
    """A model as its server knows it. `size` is in bytes; None is "the server does not tell".

    `context_length` is the model's own maximum in tokens, `num_ctx_in_parameters` what its Modelfile
    asks for. With `cloud`, what is said in the chat leaves the machine. A `built_in` model is our own, and no
    server's.
    """

    name: str
    digest: str = ""
    size: int = 0
    tools: ToolSupport = "unknown"
    vision: bool | None = None
    thinking: bool | None = None
    embedding_only: bool = False
    usable_in_chat: bool = True
    context_length: int | None = None
    num_ctx_in_parameters: int | None = None
    cloud: bool = False
    template_mentions_tools: bool = False
    parameter_size: str = ""
    quantization: str = ""
    loaded: bool = False
    built_in: bool = False

    @property
    def calls_tools(self) -> bool:
        """Whether tools are sent to it, and the badge is worn."""
        return self.tools in ("yes", "by name")


def read_model(
    name: str,
    show: Mapping[str, Any] | None,
    row: Mapping[str, Any] | None = None,
    *,
    override: bool | None = None,
    loaded: bool = False,
) -> ModelInfo:
    """The model behind an answer of /api/show and a row of /api/tags; either may be missing.

    `override` is the owner's word on whether it calls tools.
    """
    show, row = show or {}, row or {}
    listed = _capabilities(show) or _capabilities(row)
    embeds = "embedding" in listed and "completion" not in listed if listed else _embeds(name, show, row)
    mentions = _mentions_tools(_text(show, "template"))
    details = {**_mapping(row, "details"), **_mapping(show, "details")}
    return ModelInfo(
        name=name,
        digest=_text(row, "digest"),
        size=_whole(row.get("size")) or 0,
        tools=_tools(name, show, listed, embeds, override),
        vision="vision" in listed if listed else None,
        thinking="thinking" in listed if listed else None,
        embedding_only=embeds,
        usable_in_chat="completion" in listed or not (embeds or listed & {"embedding", "image"}),
        context_length=_context_length(_mapping(show, "model_info")) or _whole(details.get("context_length")),
        num_ctx_in_parameters=_num_ctx(_text(show, "parameters")),
        cloud=bool(show.get("remote_host") or row.get("remote_host")) or _cloud_tag(name),
        template_mentions_tools=mentions,
        parameter_size=_text(details, "parameter_size"),
        quantization=_text(details, "quantization_level"),
        loaded=loaded,
    )


def calls_tools_by_name(name: str) -> bool:
    """Whether the name, without registry, namespace and tag, is that of a family that calls tools.

    A family's name may go on with "-", but not into a model that sees, embeds or ranks.
    """
    model = name.rpartition("/")[2].partition(":")[0].lower()
    return any(
        model == family or (model.startswith(f"{family}-") and not _OTHER_KIND.search(model))
        for family in _FAMILIES
    )


def _tools(
    name: str, show: Mapping[str, Any], listed: frozenset[str], embeds: bool, override: bool | None
) -> ToolSupport:
    if override is not None:
        return "yes" if override else "no"
    if embeds:
        return "no"
    template = _text(show, "template")
    if listed:
        return "yes" if "tools" in listed else "no"
    if template.strip():  # before there was a list, the server looked at nothing else
        return "yes" if _mentions_tools(template) else "no"
    return "by name" if calls_tools_by_name(name) else "unknown"


def _mentions_tools(template: str) -> bool:
    """Whether a template renders tools: a Go template by the variable, a Jinja template by the word."""
    if "{%" in template:
        return "tools" in template or "tool_call" in template
    return re.search(r"\.Tools\b", template) is not None


def _embeds(name: str, show: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether it is an embedding model, where no capability list says so."""
    families = (_text(_mapping(source, "details"), "family") for source in (show, row))
    pooled = any(key.endswith(".pooling_type") for key in _mapping(show, "model_info"))
    return pooled or "embed" in name.lower() or any(family in _EMBEDDING_FAMILIES for family in families)


def _context_length(info: Mapping[str, Any]) -> int | None:
    """The model's maximum; where the architecture is not named, that of the only key that can hold it."""
    own = _whole(info.get(f"{info.get('general.architecture')}.context_length"))
    keys = [key for key in info if key.endswith(".context_length") and ".rope." not in key]
    return own or (_whole(info[keys[0]]) if len(keys) == 1 else None)


def _num_ctx(parameters: str) -> int | None:
    found = re.findall(r"^\s*num_ctx\s+(\d+)", parameters, re.MULTILINE)
    return int(found[-1]) if found else None


def _cloud_tag(name: str) -> bool:
    tag = name.rpartition("/")[2].partition(":")[2]
    return tag == "cloud" or tag.endswith("-cloud")


def _capabilities(source: Mapping[str, Any]) -> frozenset[str]:
    """The list; empty where there is none. Nothing in it is as good as no list: every model can something."""
    listed = source.get("capabilities")
    return frozenset(map(str, listed)) if isinstance(listed, list) else frozenset()


def _mapping(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = source.get(key)
    return value if isinstance(value, Mapping) else {}


def _text(source: Mapping[str, Any], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
