"""The worker's own side: it does the jobs that come on its input, until that ends with the panel."""

import gc
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from tools.failure import Failure
from tools.helper.worker import read_frame, write_frame

MEMORY = 1024**3
"""Bytes that a worker may take, where the system has such a limit (Windows has none)."""


def main() -> None:
    jobs, results = sys.stdin.buffer, _own_output()
    _limit_memory()
    _prepare()
    gc.freeze()  # what was loaded stays
    gc.disable()  # between jobs only: it would go through a page's tree again and again while somebody waits
    while True:
        try:
            job = cast(Any, read_frame(jobs))
        except EOFError:
            return
        write_frame(results, _done(job))
        del job
        gc.collect()


def _done(job: tuple[Callable[..., object], tuple[object, ...]]) -> object:
    function, given = job
    try:
        return function(*given)
    except Failure as failure:
        return failure
    except MemoryError:
        return Failure("reading_memory", limit=MEMORY // 1024**2)
    except Exception as error:  # not as it is: some exceptions can't be sent
        return Failure("internal", error=f"{type(error).__name__}: {error}")


def _own_output() -> BinaryIO:
    """The pipe to the panel; what a library prints must not get into it."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return results


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _prepare() -> None:
    """Load what the jobs need while nobody waits for it yet."""
    for name in ("trafilatura", "pypdfium2", "tools.helper.html_text", "tools.helper.pdf_text"):
        importlib.import_module(name)


if __name__ == "__main__":
    main()
