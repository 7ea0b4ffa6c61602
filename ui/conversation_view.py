"""A conversation as the chat shows it: each question with the messages of its run."""

from agent.history import Conversation
from locales import Locale
from ui.messages import ChatMessage, RunView, question


class ConversationView:
    """Follows a conversation. `update` takes in what happened since, `messages` gives the whole."""

    def __init__(self, conversation: Conversation, locale: Locale) -> None:
        self.locale = locale
        self._conversation = conversation
        self._views: list[RunView] = []
        self._taken: list[int] = []

    def update(self) -> bool:
        """Whether there was anything new."""
        news = False
        for index, run in enumerate(self._conversation.runs):
            if index == len(self._views):
                self._views.append(RunView(self.locale, f"run-{index}"))
                self._taken.append(0)
                news = True
            events = run.job.since(self._taken[index])
            self._views[index].apply(events)
            self._taken[index] += len(events)
            news = news or bool(events)
        return news

    def messages(self) -> list[ChatMessage]:
        """Everything, in Chatbot's form."""
        shown: list[ChatMessage] = []
        for run, view in zip(self._conversation.runs, self._views, strict=False):
            asked = question(run.question, self._conversation.id, run.attached)
            shown += [asked, *view.messages()]
        return shown
