"""What a run tells, in order: all that a front end ever sees of it.

A run begins with `RunStarted` and ends with `Finished`; every `StepStarted` has its `StepFinished`, also
when the step was denied, failed or stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tools.tool import Document, Source, ToolResult

Message = dict[str, Any]
"""A chat message in Ollama's wire form: role, content and what goes with the role."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The question was taken; `tools` are the names that the model is offered, in its language."""

    model: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of what the model thinks aloud."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the model's answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnRewritten:
    """What the model said in this turn, put right: it replaces the turn's Text and Thinking so far.

    Happens where only the end tells what the beginning was, such as a lone `</think>`.
    """

    text: str
    thinking: str


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A tool begins. `tool` is its canonical name, `label` the line that tells a person what it does."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    label: str


@dataclass(frozen=True, slots=True)
class StepProgress:
    """How far a running step is."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class StepAsked:
    """A step waits for a person, who answers by `Job.answer` with one of `choices`."""

    id: str
    question: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A tool is done; `result.error` tells whether it failed. `seconds` is how long it took."""

    id: str
    result: ToolResult
    seconds: float


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know that did not end the run, such as a limit that was reached."""

    kind: str
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn cost. Counts are tokens; None where the server does not say."""

    prompt_tokens: int | None
    answer_tokens: int | None
    seconds: float
    context_used: int | None
    context_size: int


Retry = Literal["none", "offer"]


@dataclass(frozen=True, slots=True)
class Failed:
    """The model could not go on. `retry` says whether trying again makes sense."""

    kind: str
    text: str
    remedy: str
    retry: Retry


@dataclass(frozen=True, slots=True)
class Finished:
    """The end. `answer` is "" without one; `messages` is what this run adds to the conversation."""

    answer: str
    sources: tuple[Source, ...]
    documents: tuple[Document, ...]
    messages: tuple[Message, ...]
    stopped: bool = False


Event = (
    RunStarted
    | Thinking
    | Text
    | TurnRewritten
    | StepStarted
    | StepProgress
    | StepAsked
    | StepFinished
    | Notice
    | Usage
    | Failed
    | Finished
)
