"""The panel without a face: settings, models, tools, documents and conversations, for any front end."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.chat import OllamaChat
from agent.config_file import SettingsStore
from agent.events import Event, Failed, Finished, RunStarted
from agent.history import Conversation, Conversations, Run
from agent.job import Job
from agent.loop import Setup, run
from agent.models import ModelCatalog, ModelInfo
from agent.prompt import system_prompt
from agent.settings import Settings
from locales import Locale
from tools.cancel import Cancel
from tools.documents import DocumentStore
from tools.failure import Failure
from tools.registry import ToolRegistry, default_registry
from tools.tool import ToolContext


@dataclass(frozen=True)
class Choice:
    """What a chat's own switches say: the model, "" for the default, and the tools that are on.

    `tools` are canonical names; None leaves them to the settings.
    """

    model: str = ""
    tools: tuple[str, ...] | None = None


class Assistant:
    """Answers questions. One for the whole panel; every method may be called from any thread."""

    def __init__(self, store: SettingsStore, registry: ToolRegistry | None = None) -> None:
        self.store = store
        self.registry = registry or default_registry()
        self.documents = DocumentStore(Path(store.current.outputs) / "pdfs")
        self.conversations = Conversations()
        self._lock = threading.Lock()
        self._catalog: ModelCatalog | None = None

    def catalog(self) -> ModelCatalog:
        """The models of the Ollama that the settings name."""
        address = self.store.current.ollama_url
        with self._lock:
            if self._catalog is None or self._catalog.host != address:
                self._catalog = ModelCatalog(address)
            return self._catalog

    def model(self, name: str) -> ModelInfo:
        """What a model can do. Raises ModelFailure."""
        return self.catalog().get(name)

    def chat_models(self) -> list[ModelInfo]:
        """The models that can chat. Raises ModelFailure."""
        return [model for model in self.catalog().list() if model.usable_in_chat]

    def default_model(self, models: list[ModelInfo]) -> str:
        """The model of a new chat: the one of the settings, else the first that calls tools."""
        names = [model.name for model in models]
        wanted = self.store.current.model
        if wanted in names or f"{wanted}:latest" in names:
            return wanted if wanted in names else f"{wanted}:latest"
        return next((model.name for model in models if model.calls_tools), names[0] if names else "")

    def ask(
        self, conversation: Conversation, question: str, choice: Choice, owner: str, locale: Locale
    ) -> Job:
        """Begin the run that answers `question` in the conversation.

        Raises Failure "empty_question" or "still_answering".
        """
        if not question.strip():
            raise Failure("empty_question")
        with self._lock:
            if conversation.running:
                raise Failure("still_answering")
            conversation.messages.append({"role": "user", "content": question})
            job = Job(lambda cancel: self._answer(conversation, choice, owner, locale, cancel), locale)
            conversation.runs.append(Run(question, job))
        return job

    def _first_choice(self) -> str:
        """The default model. Raises Failure "no_model" where there is none, and ModelFailure."""
        model = self.store.current.model or self.default_model(self.chat_models())
        if not model:
            raise Failure("no_model")
        return model

    def _answer(
        self, conversation: Conversation, choice: Choice, owner: str, locale: Locale, cancel: Cancel
    ) -> Iterator[Event]:
        """The run's events; its messages join the conversation before the last of them is told."""
        settings = self.store.current
        try:
            model = self.model(choice.model or self._first_choice())
        except Failure as failure:
            problem = failure.told(locale)
            yield RunStarted(choice.model, ())
            yield Failed(problem.kind, problem.cause, problem.remedy, "offer")
            yield Finished("", (), (), ())
            return
        with OllamaChat(settings.ollama_url) as server:
            setup = self._setup(server, settings, model, choice, owner, locale)
            for event in run(setup, conversation.messages, cancel):
                if isinstance(event, Finished):
                    conversation.messages += event.messages
                yield event

    def _setup(
        self,
        server: OllamaChat,
        settings: Settings,
        model: ModelInfo,
        choice: Choice,
        owner: str,
        locale: Locale,
    ) -> Setup:
        wanted = settings.offered_tools() if choice.tools is None else choice.tools
        offered = wanted if model.calls_tools else ()
        tools = tuple(name for name in self.registry.names() if name in offered)
        return Setup(
            server=server,
            model=model.name,
            registry=self.registry,
            settings=settings,
            context=ToolContext(settings=settings, locale=locale, owner=owner, documents=self.documents),
            tools=tools,
            system=system_prompt(locale, tools, settings.system_prompt),
            num_ctx=min(settings.num_ctx, model.context_length or settings.num_ctx),
        )
