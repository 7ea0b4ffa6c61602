"""The trivial protocol of a peer's process: a line in is a run, a line out its seconds and its answer."""

import json
import sys
import time
from collections.abc import Callable

QUESTION = "What does the tool say?"
TOLD = "It says hello."
MODEL = "qwen2.5:14b"


def serve(ask: Callable[[str], str]) -> None:
    """Answer with `ask` for every line that comes."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # agents may print what they do
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        answer = ask(QUESTION)
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "answer": answer}), file=answers, flush=True)
