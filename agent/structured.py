"""Tools for models that have none, by structured output: one action at a time, as JSON under a schema.

The model is asked what to do next and can only answer with one of the actions, because the server lets it
write nothing else (Ollama's `format`, the grammar of llama.cpp). An argument that is a whole text, such as
that of a document, is then asked for by itself: small models write it badly within JSON. So is the answer.
"""

import json
import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.chat import Call, ChatRequest, ChatServer, End
from agent.events import Message, Thinking
from agent.ndjson import without_lone_surrogates
from agent.offered import Offered
from agent.turn import Turn, take_turn
from agent.visible import Shown
from locales import Locale
from tools.cancel import Cancel
from tools.registry import ToolRegistry
from tools.tool import Tool

ANSWER = "answer"
"""The action that is no tool: the model answers."""


@dataclass(frozen=True)
class StructuredOutput:
    """Takes turns as `agent.turn.take_turn` does, with a model that knows no tools."""

    registry: ToolRegistry
    locale: Locale

    def take_turn(
        self, server: ChatServer, request: ChatRequest, cancel: Cancel
    ) -> Generator[Shown, None, Turn]:
        """One action, or the answer where no tools are offered or none is wanted. Raises ModelFailure."""
        if not request.tools:
            return (yield from self._answer(server, request, cancel))
        action, end = yield from self._choose(server, request, cancel)
        if end is None:
            return Turn()
        understood = bool(action)
        tool = self.registry.find(action.pop("tool", ANSWER))
        if tool is None or self._is_repeated(tool, action, request.messages):
            turn = yield from self._answer(server, request, cancel)
        elif tool.content:
            turn = yield from self._with_content(server, request, cancel, tool, action)
        else:
            return Turn(calls=(self._call(tool, action),), end=end)
        if not understood:
            turn = replace(turn, broken="malformed")
        return replace(turn, end=_both(end, turn.end))

    def _is_repeated(self, tool: Tool, arguments: Mapping[str, Any], messages: Sequence[Message]) -> bool:
        """Whether the run has made this very call: asked what to do next, a small model does it again."""
        for message in reversed(messages):
            if message["role"] == "user":
                return False
            for made in message.get("tool_calls") or ():
                function = made["function"]
                if self.registry.find(function["name"]) is tool and function["arguments"] == arguments:
                    return True
        return False

    def _answer(
        self, server: ChatServer, request: ChatRequest, cancel: Cancel
    ) -> Generator[Shown, None, Turn]:
        """The answer, in words."""
        last = request.messages[-1]
        asked = self._asked(request, self._after(last)) if last["role"] == "tool" else _plain(request)
        return (yield from take_turn(server, asked, cancel))

    def _after(self, result: Message) -> str:
        """What is asked for after the last result; it is short, since very small models follow little."""
        tool = self.registry.find(result["tool_name"])
        own = f"actions.after.{tool.name}" if tool else ""
        return own if self.locale.get(own) else "prompt.answer_now"

    def _choose(
        self, server: ChatServer, request: ChatRequest, cancel: Cancel
    ) -> Generator[Thinking, None, tuple[dict[str, Any], End | None]]:
        """What the model wants to do; {} where it says nothing that can be done, no End when cancelled."""
        schemas = [tool["function"] for tool in request.tools]
        plain = _plain(request)
        asked = replace(
            plain,
            messages=self._with_examples(plain.messages, schemas),
            format={"anyOf": [*map(self._schema, schemas), _action(ANSWER, {}, ())]},
        )
        text = ""
        for item in server.stream(asked, cancel):
            if isinstance(item, End):
                return _read(text, Offered(request.tools)), item
            text += item.text
            if item.thinking:
                yield Thinking(item.thinking)
        return {}, None

    def _with_content(
        self,
        server: ChatServer,
        request: ChatRequest,
        cancel: Cancel,
        tool: Tool,
        action: dict[str, Any],
    ) -> Generator[Shown, None, Turn]:
        """The call of a tool whose content the model writes now; it is shown while it is written."""
        arguments = self.registry.named_arguments(tool.name, action)
        asked = self._asked(request, f"actions.contents.{tool.name}", **arguments)
        turn = yield from take_turn(server, asked, cancel)
        if turn.end is None:
            return turn
        content = self.locale.face(tool.name).arguments[tool.content]["name"]
        return replace(turn, text="", calls=(self._call(tool, {**action, content: turn.text}),))

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        return Call(f"call_{secrets.token_hex(4)}", self.locale.face(tool.name).name, arguments)

    def _asked(self, request: ChatRequest, key: str, **values: object) -> ChatRequest:
        """The request with one more line from us, which says what is to be written."""
        line = {"role": "user", "content": self.locale(key, **values)}
        return _plain(replace(request, messages=(*request.messages, line)))

    def _schema(self, function: Mapping[str, Any]) -> dict[str, Any]:
        tool = self.registry.find(function["name"])
        parameters = function["parameters"]
        content = self.locale.face(tool.name).arguments[tool.content]["name"] if tool and tool.content else ""
        properties = {
            name: {key: value for key, value in schema.items() if key != "description"}
            for name, schema in parameters["properties"].items()
            if name != content
        }
        required = [name for name in parameters.get("required", ()) if name != content]
        return _action(function["name"], properties, required)

    def _with_examples(
        self, messages: Sequence[Message], schemas: Sequence[Mapping[str, Any]]
    ) -> tuple[Message, ...]:
        """The conversation with the actions and examples before it: a very small model learns the form
        from what it seems to have said itself."""
        has_system = bool(messages) and messages[0]["role"] == "system"
        listed = [f"- {schema['name']}: {schema['description']}" for schema in schemas]
        listed.append(f"- {ANSWER}: {self.locale('actions.answer')}")
        prompt = self.locale("actions.choose", actions="\n".join(listed))
        if has_system:
            prompt = f"{messages[0]['content']}\n\n{prompt}"
        names = {schema["name"] for schema in schemas}
        return (
            {"role": "system", "content": prompt},
            *self._examples(names),
            *messages[has_system:],
        )

    def _examples(self, offered: set[str]) -> Iterator[Message]:
        for example in self.locale.texts["actions"]["examples"].values():
            question, tool = example["question"], example.get("tool")
            if tool is None:
                yield from _exchange(question, {"tool": ANSWER})
                continue
            face = self.locale.face(tool)
            if face.name not in offered:
                continue
            given = {face.arguments[name]["name"]: value for name, value in example["arguments"].items()}
            yield from _exchange(question, {"tool": face.name, **given})
            if result := example.get("result"):
                told = f"{question}\n\n{_told(face.name, given, result)}"
                yield from _exchange(told, {"tool": ANSWER})


def plain_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation for a model whose template knows no tools: what a tool gave stands below the
    question that it was called for, and questions and answers alternate."""
    plain: list[Message] = []
    calls: dict[str, Mapping[str, Any]] = {}
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        for made in message.get("tool_calls") or ():
            calls[made["id"]] = made["function"]
        if role == "tool":
            made = calls.get(message.get("tool_call_id", ""), {})
            role = "user"
            content = _told(message.get("tool_name", ""), made.get("arguments") or {}, content)
        elif message.get("tool_calls"):
            continue
        if plain and plain[-1]["role"] == role == "user":
            plain[-1] = {**plain[-1], "content": f"{plain[-1]['content']}\n\n{content}"}
        else:
            plain.append({**message, "role": role, "content": content})
    return tuple(plain)


def _told(tool: str, arguments: Mapping[str, Any], result: str) -> str:
    """A call and its result, as text; long arguments, such as the text of a document, in their beginning."""
    shown = json.dumps(arguments, ensure_ascii=False)
    return f"[{tool} {shown if len(shown) <= 300 else shown[:300] + '…'}]\n{result}"


def _plain(request: ChatRequest) -> ChatRequest:
    return replace(request, messages=plain_messages(request.messages), tools=())


def _exchange(question: str, action: Mapping[str, Any]) -> Iterator[Message]:
    yield {"role": "user", "content": question}
    yield {"role": "assistant", "content": json.dumps(action, ensure_ascii=False)}


def _action(name: str, properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"type": "string", "enum": [name]}, **properties},
        "required": ["tool", *required],
    }


def _read(text: str, offered: Offered) -> dict[str, Any]:
    """The action that was written; {} where it is none of those that were offered."""
    try:
        action = without_lone_surrogates(json.loads(text))
    except (ValueError, RecursionError):
        return {}
    known = isinstance(action, dict) and action.get("tool") in (*offered.names, ANSWER)
    return action if known else {}


def _both(first: End, second: End | None) -> End | None:
    """What the choice and the text after it took together; the second one knows the longer prompt."""
    if second is None:
        return None
    counts = [count for count in (first.answer_tokens, second.answer_tokens) if count is not None]
    tokens = sum(counts) if counts else None
    return replace(second, answer_tokens=tokens, seconds=first.seconds + second.seconds)
