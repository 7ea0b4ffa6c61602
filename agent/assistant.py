"""The panel without a face: settings, models, tools, documents and conversations, for any front end."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from agent.attached import AttachedFiles, question_message
from agent.built_in import BuiltIn, is_built_in
from agent.chat import ChatServer, OllamaChat
from agent.chat_errors import ModelFailure
from agent.config_file import SettingsStore
from agent.events import Event, Failed, Finished, Message, Notice, RunStarted
from agent.history import Conversation, Conversations, Run
from agent.job import Job
from agent.loop import Setup, run
from agent.models import ModelCatalog, ModelInfo
from agent.prompt import plain_prompt, system_prompt
from agent.settings import Settings
from agent.structured import StructuredOutput
from locales import Locale
from tools.attachments import Attachment
from tools.cancel import Cancel
from tools.documents import DocumentStore
from tools.failure import Failure
from tools.registry import ToolRegistry, default_registry
from tools.tool import ToolContext


@dataclass(frozen=True)
class Choice:
    """What a chat's own switches say: the model, "" for the default, and the tools that are on.

    `tools` are canonical names; `structured` says whether a model that has no tools chooses them by
    structured output. None leaves it to the settings.
    """

    model: str = ""
    tools: tuple[str, ...] | None = None
    structured: bool | None = None


@dataclass(frozen=True)
class _Asked:
    """A question that was taken: where it was asked, with which files, by whom."""

    conversation: Conversation
    attached: tuple[Attachment, ...]
    choice: Choice
    owner: str
    locale: Locale


class Assistant:
    """Answers questions. One for the whole panel; every method may be called from any thread."""

    def __init__(self, store: SettingsStore, registry: ToolRegistry | None = None) -> None:
        self.store = store
        self.registry = registry or default_registry()
        self.documents = DocumentStore(Path(store.current.outputs) / "pdfs")
        self.conversations = Conversations()
        self._lock = threading.Lock()
        self._catalog: ModelCatalog | None = None
        self._built_in: BuiltIn | None = None

    def catalog(self) -> ModelCatalog:
        """The models of the Ollama that the settings name."""
        address = self.store.current.ollama_url
        with self._lock:
            if self._catalog is None or self._catalog.host != address:
                self._catalog = ModelCatalog(address)
            return self._catalog

    def built_in(self) -> BuiltIn:
        """The built-in model that the settings name."""
        named = self.store.current.built_in_model
        with self._lock:
            if self._built_in is None or self._built_in.named != named:
                self._built_in = BuiltIn(named, Path(self.store.current.outputs) / "models")
            return self._built_in

    def model(self, name: str) -> ModelInfo:
        """What a model can do. Raises ModelFailure."""
        return self.built_in().model().info if is_built_in(name) else self.catalog().get(name)

    def chat_models(self) -> list[ModelInfo]:
        """The models that can chat: those of Ollama; where it has none or does not answer, the built-in
        one. Raises ModelFailure where Ollama fails and there is no built-in model either."""
        try:
            models = [model for model in self.catalog().list() if model.usable_in_chat]
        except ModelFailure:
            if not self.built_in().ready:
                raise
            models = []
        if not models and self.built_in().ready:
            return [self.built_in().model().info]
        return models

    def structured_output(self, model: ModelInfo) -> bool:
        """Whether a new chat lets this model choose tools by structured output."""
        names = self.store.current.structured_output
        return model.built_in or model.name in names or model.name.removesuffix(":latest") in names

    def default_model(self, models: list[ModelInfo]) -> str:
        """The model of a new chat: the one of the settings, else the first that calls tools."""
        names = [model.name for model in models]
        wanted = self.store.current.model
        if wanted in names or f"{wanted}:latest" in names:
            return wanted if wanted in names else f"{wanted}:latest"
        return next((model.name for model in models if model.calls_tools), names[0] if names else "")

    def ask(
        self,
        conversation: Conversation,
        question: str,
        choice: Choice,
        owner: str,
        locale: Locale,
        attached: Sequence[Attachment] = (),
    ) -> Job:
        """Begin the run that answers `question` in the conversation; `attached` are files of it.

        Raises Failure "empty_question" or "still_answering".
        """
        if not question.strip() and not attached:
            raise Failure("empty_question")
        with self._lock:
            if conversation.running:
                raise Failure("still_answering")
            conversation.messages.append(question_message(question, attached))
            asked = _Asked(conversation, tuple(attached), choice, owner, locale)
            job = Job(lambda cancel: self._answer(asked, cancel), locale)
            conversation.runs.append(Run(question, job, asked.attached))
        return job

    def _first_choice(self) -> str:
        """The default model. Raises Failure "no_model" where there is none, and ModelFailure."""
        models = self.chat_models()
        wanted = "" if any(model.built_in for model in models) else self.store.current.model
        model = wanted or self.default_model(models)
        if not model:
            raise Failure("no_model")
        return model

    def _answer(self, asked: _Asked, cancel: Cancel) -> Iterator[Event]:
        """The run's events; its messages join the conversation before the last of them is told."""
        messages = asked.conversation.messages
        with ExitStack() as stack:
            try:
                model = self._prepared(asked, cancel)
                setup = self._setup(stack.enter_context(self._server(model)), model, asked)
                notices = self._complete(messages[-1], setup, asked, cancel)
            except Failure as failure:
                yield RunStarted(asked.choice.model, ())
                if not cancel.is_set():
                    problem = failure.told(asked.locale)
                    yield Failed(problem.kind, problem.cause, problem.remedy, "offer")
                yield Finished("", (), (), (), stopped=cancel.is_set())
                return
            for event in run(setup, messages, cancel):
                if isinstance(event, Finished):
                    messages += event.messages
                yield event
                if isinstance(event, RunStarted):
                    yield from notices

    def _prepared(self, asked: _Asked, cancel: Cancel) -> ModelInfo:
        """The model that is to answer. Raises Failure."""
        model = self.model(asked.choice.model or self._first_choice())
        if model.built_in:
            return self.built_in().model().prepare(self.store.current.num_ctx, cancel)
        return model

    def _server(self, model: ModelInfo) -> AbstractContextManager[ChatServer]:
        if model.built_in:
            return nullcontext(self.built_in().model())
        return OllamaChat(self.store.current.ollama_url)

    def _complete(self, message: Message, setup: Setup, asked: _Asked, cancel: Cancel) -> list[Notice]:
        """Put into the question what is in its files. Raises Failure."""
        room = setup.settings.context_chars(setup.num_ctx) // max(len(asked.attached), 1)
        files = AttachedFiles(
            asked.attached,
            asked.conversation.attachments,
            self.registry,
            replace(setup.context, cancel=cancel, max_result_chars=room),
            vision=setup.vision,
            has_tools=bool(setup.tools),
        )
        return files.complete(message)

    def _setup(self, server: ChatServer, model: ModelInfo, asked: _Asked) -> Setup:
        settings, choice, locale = self.store.current, asked.choice, asked.locale
        structured = self.structured_output(model) if choice.structured is None else choice.structured
        able = model.calls_tools or structured
        tools = self._offered(settings, choice) if able else ()
        prompt = system_prompt if model.calls_tools else plain_prompt
        return Setup(
            server=server,
            model=model.name,
            registry=self.registry,
            settings=settings,
            context=ToolContext(
                settings=settings,
                locale=locale,
                owner=asked.owner,
                documents=self.documents,
                attachments=asked.conversation.attachments,
            ),
            tools=tools,
            system=prompt(locale, tools, settings.system_prompt),
            num_ctx=min(settings.num_ctx, model.context_length or settings.num_ctx),
            structured=None if model.calls_tools else StructuredOutput(self.registry, locale),
            vision=bool(model.vision),
        )

    def _offered(self, settings: Settings, choice: Choice) -> tuple[str, ...]:
        wanted = settings.offered_tools() if choice.tools is None else choice.tools
        return tuple(name for name in self.registry.names() if name in wanted)
