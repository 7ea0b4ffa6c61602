"""The pages that were read lately, so that their next part is not fetched again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tools.helper.html_text import Page

_MOST_CHARACTERS = 20_000_000


@dataclass(frozen=True)
class ReadPage:
    """A page and the address that gave it, after redirects."""

    url: str
    page: Page


_kept: OrderedDict[Hashable, tuple[float, ReadPage]] = OrderedDict()
_lock = threading.Lock()


def page_once(key: Hashable, seconds: float, read: Callable[[], ReadPage]) -> ReadPage:
    """The page kept under `key` for at most `seconds`, else what `read` gives. Failures are not kept."""
    now = time.monotonic()
    with _lock:
        found = _kept.get(key)
    if found and now - found[0] < seconds:
        return found[1]
    page = read()
    with _lock:
        _kept[key] = (now, page)
        _kept.move_to_end(key)
        while sum(len(other.page.text) for _, other in _kept.values()) > _MOST_CHARACTERS:
            _kept.popitem(last=False)
    return page
