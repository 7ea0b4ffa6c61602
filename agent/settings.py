"""The settings of the panel, typed; `agent.config_file` reads and writes them."""

import ipaddress
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tools.settings import ToolSettings

Chars = Literal["auto"] | int


class ToolSwitches(BaseModel):
    """Which tools are offered to a model in a new chat."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    web_search: bool = True
    scrape_url: bool = True
    pdf_to_text: bool = True
    search_and_fetch: bool = True
    create_pdf: bool = True


class Settings(ToolSettings):
    """Every setting with its default; config.yaml tells what each means."""

    ollama_url: str = "http://localhost:11434"
    model: str = ""
    num_ctx: int = Field(default=16384, ge=1024, le=1_048_576)
    keep_alive: str = "5m"
    system_prompt: str = ""
    structured_output: tuple[str, ...] = ()
    built_in_model: str = ""

    tools_enabled: bool = True
    tools: ToolSwitches = ToolSwitches()
    max_iterations: int = Field(default=10, ge=1, le=50)
    max_tool_result_chars: Chars = "auto"
    max_tool_context_chars: Chars = "auto"

    language: str = "auto"
    outputs: str = "outputs"
    auth: str = ""

    @field_validator("ollama_url")
    @classmethod
    def _ollama_address(cls, value: str) -> str:
        return client_address(value, default_port=11434)

    @field_validator("searxng_url")
    @classmethod
    def _searxng_address(cls, value: str) -> str:
        return client_address(value)

    @field_validator("auth")
    @classmethod
    def _accounts(cls, value: str) -> str:
        parse_accounts(value)
        return value

    @field_validator("max_tool_result_chars", "max_tool_context_chars")
    @classmethod
    def _within_reason(cls, value: Chars) -> Chars:
        if value != "auto" and not 500 <= value <= 1_000_000:
            raise ValueError("must be auto or between 500 and 1000000")
        return value

    def offered_tools(self) -> tuple[str, ...]:
        """The tools of a new chat, by their canonical names."""
        switches = self.tools.model_dump()
        return tuple(name for name, on in switches.items() if on and self.tools_enabled)

    def result_chars(self, num_ctx: int) -> int:
        """Characters that one tool result may have in a window of `num_ctx` tokens."""
        chosen = self.max_tool_result_chars
        return min(max(num_ctx // 2, 2_000), 40_000) if chosen == "auto" else chosen

    def context_chars(self, num_ctx: int) -> int:
        """Characters that all tool results of one run may have together."""
        chosen = self.max_tool_context_chars
        return min(max(2 * num_ctx, 8_000), 160_000) if chosen == "auto" else chosen


def parse_accounts(text: str) -> dict[str, str]:
    """Logins from `name:password,name:password`. Raises ValueError for anything else."""
    accounts: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, password = entry.partition(":")
        if not (colon and name and password):
            raise ValueError("logins are written as name:password, several with commas")
        accounts[name] = password
    if text.strip() and not accounts:
        raise ValueError("there is no name:password in it")
    return accounts


def client_address(value: str, default_port: int | None = None) -> str:
    """The URL to call for what people write: `host`, `:port`, `host:port/`, `0.0.0.0:11434`, a URL.

    `0.0.0.0` and `::` are where a server listens; a client calls the loopback address instead. The
    forms are those of OLLAMA_HOST (github.com/ollama/ollama, envconfig). Raises ValueError.
    """
    scheme, has_scheme, rest = value.strip().rstrip("/").rpartition("://")
    authority, slash, path = rest.partition("/")
    if authority.count(":") > 1 and not authority.startswith("["):
        authority = f"[{authority}]"  # a bare IPv6 address
    host, colon, port = authority, "", ""
    if ":" in authority and not authority.endswith("]"):
        host, colon, port = authority.rpartition(":")
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    if not port and not has_scheme and default_port:
        port = str(default_port)
    wrong_host = ("[" in host or "]" in host) and not _is_ipv6(host)
    wrong_port = (colon or port) and not (port.isdecimal() and 0 < int(port) < 65536)
    wrong = wrong_host or wrong_port or any(c.isspace() or c == "@" for c in rest)
    if wrong or scheme not in ("", "http", "https"):
        raise ValueError(f"{value!r} is not an address such as http://localhost:11434")
    return f"{scheme or 'http'}://{host}{':' + port if port else ''}{slash}{path}"


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return False
    return host.startswith("[") and host.endswith("]")
