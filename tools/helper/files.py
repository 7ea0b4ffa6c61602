"""Writing files so that a kill at any moment leaves the old one or the new one, whole."""

import os
import secrets
import shutil
from pathlib import Path

TEMPORARY = ".tmp"


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` under a temporary name beside `path`, flush it to the disk, then rename it.

    Raises OSError; then `path` is as it was.
    """
    if path.is_symlink():
        path = path.resolve()  # the link stays, and leads to the new content
    temporary = path.with_name(f".{path.name[:60]}-{secrets.token_hex(6)}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make the rename itself last through a power cut. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
