"""The download of a built-in model's weights from the Hugging Face Hub, when a person asks for it.

The Hub is asked by its own client, `huggingface_hub`, but the file is kept by us: what came before a stop, a
lost connection or a kill is there for the next attempt, and a file has its name only when it is whole.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.weights import HubFile, best_file
from tools.cancel import Cancel
from tools.failure import Failure

_PIECE = 1024 * 1024
"""Bytes between two looks at whether to stop; the Hub's client takes ten times as many by itself."""


def look_up(wanted: HubFile) -> HubFile:
    """The same with its file and size, as the Hub tells. Raises Failure "hub" or "no_gguf"."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(wanted.repository, files_metadata=True, timeout=20)
    except Exception as error:
        raise _hub_failure(wanted, error) from error
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    file = wanted.file or best_file(list(sizes))
    if not sizes.get(file):
        raise Failure("no_gguf", repository=wanted.repository, file=file or "*.gguf")
    return replace(wanted, file=file, size=sizes[file])


class Download:
    """The download of a file into `folder`, in a thread of its own; it goes on from where the last one
    ended."""

    def __init__(self, wanted: HubFile, folder: Path) -> None:
        self.wanted = wanted
        self.done_bytes = 0
        self.failure: Failure | None = None
        self._file = folder / wanted.repository / wanted.file
        self._cancel = Cancel()
        self._thread = threading.Thread(target=self._run, name="download", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._cancel.set()

    def _run(self) -> None:
        try:
            self._fetch()
        except _Stopped:
            pass
        except Exception as error:
            self.failure = _hub_failure(self.wanted, error)

    def _fetch(self) -> None:
        from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
        from huggingface_hub.file_download import http_get
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # in its docs

        constants.DOWNLOAD_CHUNK_SIZE = _PIECE
        url = hf_hub_url(self.wanted.repository, self.wanted.file)
        told = get_hf_file_metadata(url)
        part = self._part(told.etag or "")
        with part.open("ab") as file:
            http_get(
                url,
                file,
                resume_size=file.tell(),
                expected_size=told.size,
                headers=build_hf_headers(),
                tqdm_class=_counter(self._count, self._cancel),
            )
        part.replace(self._file)

    def _part(self, version: str) -> Path:
        """Where the beginning of this version of the file is; that of another version is no use."""
        part = self._file.with_name(f"{self._file.name}.{version[:16]}.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        for other in part.parent.glob(f"{self._file.name}.*.part"):
            if other != part:
                other.unlink()
        return part

    def _count(self, done: int) -> None:
        self.done_bytes = done


class _Stopped(Exception):
    """Raised within the Hub's client to end a download."""


def _counter(tell: Callable[[int], None], cancel: Cancel) -> Any:
    """A progress bar that draws nothing, as huggingface_hub takes it: it tells how far the file is."""
    from tqdm import tqdm

    class Counter(tqdm):
        def __init__(self, *given: Any, **options: Any) -> None:
            options.pop("name", None)
            super().__init__(*given, **options | {"disable": True})
            self.n = options.get("initial") or 0
            tell(self.n)

        def update(self, n: float | None = 1) -> None:
            if cancel.is_set():
                raise _Stopped
            self.n += n or 0
            tell(int(self.n))

    return Counter


def _hub_failure(wanted: HubFile, error: Exception) -> Failure:
    detail = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return Failure("hub", repository=wanted.repository, detail=detail)
