"""config.yaml read into `Settings` and written back with its comments.

Order of precedence: command line, environment, file, default. A broken file or entry never stops the
panel, and loading never writes: each is told as a `ConfigProblem`, with its line and what was used instead.
"""

import io
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import BaseModel, ValidationError

from agent.settings import Settings
from tools.failure import Failure
from tools.helper.files import write_atomically

ENVIRONMENT = {"OLLAMA_HOST": "ollama_url", "SEARXNG_URL": "searxng_url"}
PREFIX = "PANEL_"
"""Any setting can be given as PANEL_NAME too, such as PANEL_NUM_CTX=8192."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class ConfigProblem:
    """An entry that could not be used. `line` counts from 1, or is 0 where it is not in the file."""

    where: str
    line: int
    entry: str
    reason: str
    used: str


@dataclass(frozen=True)
class _Entry:
    """A setting as somebody wrote it; `path` is ("num_ctx",) or, for a switch, ("tools", "web_search")."""

    path: tuple[str, ...]
    value: Any
    where: str
    line: int = 0


@dataclass(frozen=True)
class _Unreadable:
    """Stands for a value that YAML can't make."""

    reason: str


_LOGIN = re.compile(r"""^\s*["']?auth["']?\s*:""", re.MULTILINE | re.IGNORECASE)
"""A line that asks for a login, in a file that is no YAML as a whole."""


class SettingsStore:
    """The settings in force, and the file that they are kept in.

    `current` is replaced as a whole when something is saved: take it once for each piece of work.
    `locked` names what the command line or the environment fixes; `problems` tells what was passed over.
    """

    def __init__(
        self,
        path: Path,
        environment: Mapping[str, str] = os.environ,
        command_line: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        self.problems: list[ConfigProblem] = []
        self._lock = threading.Lock()
        self._kept = self._usable(self._in_file())
        fixed = [*_in_environment(environment), *_in_mapping(command_line or {}, "command line")]
        self._fixed = self._usable(fixed)
        self.current = self._combined()

    @property
    def locked(self) -> frozenset[str]:
        return frozenset(self._fixed)

    def save(self, changes: Mapping[str, Any]) -> Settings:
        """Take new values and write them into the file, whose comments stay.

        `changes` maps names to values, and "tools" to a mapping of switches. Raises Failure
        "setting_locked", "setting_invalid", "config_broken" (the file is not YAML and is left alone) or
        "config_unwritable"; then nothing has changed.
        """
        if locked := sorted(self.locked & changes.keys()):
            raise Failure("setting_locked", name=", ".join(locked))
        for entry in _in_mapping(changes, "settings"):
            try:
                _validated(entry)
            except ValueError as error:
                raise Failure("setting_invalid", name=".".join(entry.path), reason=_reason(error)) from error
        with self._lock:
            try:
                _write_into(self.path, changes)
            except OSError as error:
                raise Failure("config_unwritable", path=self.path, reason=error.strerror or error) from error
            self._kept = _merged(self._kept, changes)
            self.current = self._combined()
            return self.current

    def _combined(self) -> Settings:
        return Settings.model_validate(_merged(self._kept, self._fixed))

    def _in_file(self) -> list[_Entry]:
        text = ""
        try:
            raw = self.path.read_bytes()
            text = raw.decode("utf-8", "replace")
            node = yaml.compose(raw.decode("utf-8"), Loader=_Loader)
            if node is not None and not isinstance(node, yaml.MappingNode):
                raise yaml.MarkedYAMLError(problem="no `name: value` lines", problem_mark=node.start_mark)
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            line, reason = _yaml_fault(error)
            self.problems.append(ConfigProblem(self.path.name, line, "the file", reason, "the defaults"))
            if _LOGIN.search(text):
                self.problems.append(ConfigProblem(self.path.name, 0, "auth", "it can't be read", "none"))
            return []
        entries = list(_in_node(node, self.path.name)) if node else []
        for entry in _repeated(entries):
            name = ".".join(entry.path)
            problem = ConfigProblem(self.path.name, entry.line, name, "is there twice", "the last one")
            self.problems.append(problem)
        return entries

    def _usable(self, entries: list[_Entry]) -> dict[str, Any]:
        """The entries that are settings, as a mapping; the others are noted as problems."""
        found: dict[str, Any] = {}
        for entry in entries:
            try:
                _validated(entry)
            except (ValueError, RecursionError) as error:
                name, used = ".".join(entry.path), _default(entry.path)
                self.problems.append(ConfigProblem(entry.where, entry.line, name, _reason(error), used))
            else:
                found = _merged(found, _nested(entry.path, entry.value))
        return found


def _repeated(entries: list[_Entry]) -> list[_Entry]:
    """The last of the entries that are there more than once."""
    last = {entry.path: entry for entry in entries}
    often = Counter(entry.path for entry in entries)
    return [entry for path, entry in last.items() if often[path] > 1]


def _in_node(node: yaml.MappingNode, where: str) -> Iterator[_Entry]:
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if isinstance(value, yaml.MappingNode) and _is_group(name):
            for inner, switch in value.value:
                path = (name, str(inner.value))
                yield _Entry(path, _made(switch), where, inner.start_mark.line + 1)
        else:
            yield _Entry((name,), _made(value), where, line)


def _made(node: yaml.Node) -> Any:
    """The value of a node, or why it has none."""
    try:
        return yaml.constructor.SafeConstructor().construct_object(node, deep=True)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        return _Unreadable(_yaml_fault(error)[1])


def _in_mapping(values: Mapping[str, Any], where: str) -> Iterator[_Entry]:
    for name, value in values.items():
        if isinstance(value, Mapping) and _is_group(name):
            yield from (_Entry((name, inner), switch, where) for inner, switch in value.items())
        else:
            yield _Entry((name,), value, where)


def _in_environment(environment: Mapping[str, str]) -> Iterator[_Entry]:
    names = {PREFIX + name.upper(): name for name in Settings.model_fields} | ENVIRONMENT
    for variable, name in names.items():
        if text := environment.get(variable, "").strip():
            is_text = Settings.model_fields[name].annotation is str
            value = text if is_text else _parsed(text)
            yield from (
                _Entry(entry.path, entry.value, variable) for entry in _in_mapping({name: value}, variable)
            )


def _parsed(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        return _Unreadable(_yaml_fault(error)[1])


def _is_group(name: str) -> bool:
    field = Settings.model_fields.get(name)
    return bool(field and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel))


def _validated(entry: _Entry) -> None:
    """Raises ValueError where the entry is no setting or its value none of its type."""
    if isinstance(entry.value, _Unreadable):
        raise ValueError(entry.value.reason)
    Settings.model_validate(_nested(entry.path, entry.value))


def _nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    return {path[0]: value if len(path) == 1 else _nested(path[1:], value)}


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for name, value in over.items():
        both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
        result[name] = _merged(result[name], value) if both else value
    return result


def _default(path: tuple[str, ...]) -> str:
    value: Any = Settings()
    for name in path:
        value = getattr(value, name, None)
    return "nothing for it" if value is None else repr(value)


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    told = {"extra_forbidden": "no such setting"}
    return "; ".join(told.get(fault["type"], fault["msg"]) for fault in error.errors())


def _yaml_fault(error: Exception) -> tuple[int, str]:
    """The line (from 1, 0 where unknown) and the reason that a YAML library gives."""
    mark = getattr(error, "problem_mark", None)
    return (mark.line + 1 if mark else 0), str(getattr(error, "problem", None) or error)


def _write_into(path: Path, changes: Mapping[str, Any]) -> None:
    from ruamel.yaml import YAML  # keeps comments; needed only when something is saved
    from ruamel.yaml.error import YAMLError

    writer = YAML()
    writer.preserve_quotes = True
    writer.width = 4096
    try:
        document = writer.load(path.read_text(encoding="utf-8")) if path.exists() else None
        if document is not None and not isinstance(document, Mapping):
            raise YAMLError("no `name: value` lines")
    except (ValueError, YAMLError) as error:
        line, reason = _yaml_fault(error)
        raise Failure("config_broken", path=path.name, line=line, reason=reason) from error
    document = cast(dict[str, Any], {} if document is None else document)
    for name, value in changes.items():
        if isinstance(value, Mapping) and isinstance(document.get(name), Mapping):
            document[name].update(value)
        else:
            document[name] = value
    text = io.StringIO()
    writer.dump(document, text)
    write_atomically(path, text.getvalue().encode())
