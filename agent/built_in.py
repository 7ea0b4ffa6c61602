"""The built-in model as the panel offers it: there, or to be downloaded."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.download import Download, look_up
from agent.embedded import PREFIX, EmbeddedModel
from agent.weights import HubFile, Weights
from tools.failure import Failure


@dataclass(frozen=True)
class Offer:
    """A download that would make the model usable: what, how far it is, and why it failed."""

    file: HubFile
    running: bool = False
    done_bytes: int = 0
    failure: Failure | None = None

    @property
    def next(self) -> Literal["look_up", "download", "stop"]:
        """What comes next on the way to the model."""
        if self.running:
            return "stop"
        return "download" if self.file.known else "look_up"


class BuiltIn:
    """The built-in model that the setting `built_in_model` names, for the whole panel; `folder` is where
    downloads go."""

    def __init__(self, named: str, folder: Path) -> None:
        self.named = named
        self.folder = folder
        self._weights = Weights(named, folder)
        self._lock = threading.Lock()
        self._model: EmbeddedModel | None = None
        self._download: Download | None = None
        self._looked_up: HubFile | None = None

    @property
    def ready(self) -> bool:
        """Whether its weights are on this machine."""
        try:
            self.model()
        except Failure:
            return False
        return True

    def model(self) -> EmbeddedModel:
        """The model. Raises Failure "weights_missing", or "not_downloaded"."""
        with self._lock:
            if self._model is None:
                path = self._weights.file()
                if path is None:
                    raise Failure("not_downloaded", repository=self._weights.offer().repository)
                self._model = EmbeddedModel(path)
            return self._model

    def offer(self) -> Offer:
        """What can be downloaded, and how far that is. Raises Failure "weights_missing"."""
        with self._lock:
            file = self._looked_up or self._weights.offer()
            if self._download is None:
                return Offer(file)
            done = self._download.done_bytes
            return Offer(file, self._download.running, done, self._download.failure)

    def go_on(self) -> None:
        """Take the next step: ask the Hub for the file and its size, begin the download, or stop it; begun
        again, it goes on from there. Raises Failure "hub" or "no_gguf"."""
        offer = self.offer()
        if offer.next == "look_up":
            found = look_up(offer.file)
            with self._lock:
                self._looked_up = found
            return
        with self._lock:
            if self._download and self._download.running:
                self._download.stop()
            else:
                self._download = Download(offer.file, self.folder)


def is_built_in(name: str) -> bool:
    """Whether this is the name of a built-in model."""
    return name.startswith(PREFIX) or name == PREFIX.rstrip("/")
