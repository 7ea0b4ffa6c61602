"""The process of the built-in model: llama.cpp, driven by lines of JSON.

python -m agent.embedded_worker WEIGHTS NUM_CTX

`xllamacpp` binds llama.cpp's server: requests are those of its /v1/chat/completions, the answers are its
chunks (github.com/ggml-org/llama.cpp, tools/server/README.md). It runs apart from the panel because it ends
its process on a processor or a file that it does not like, and because its Cython types clash with those of
uharfbuzz within one process.

First it tells what was loaded, `{"context_length", "parameters"}`. Then each line of stdin is a request, or
`null` to stop the one under way; each line of stdout is a chunk, and `null` when a request is done. It ends
when stdin does.
"""

import json
import os
import queue
import secrets
import sys
import threading
from typing import Any, TextIO

import httpx
import xllamacpp

CACHE_MIB = 256
THREADS = max(1, min(8, (os.cpu_count() or 2) - 1))
"""One core is left to the rest: threads that wait for each other crawl on a machine that is busy."""


def main(weights: str, num_ctx: int) -> None:
    """Load the weights with a window of `num_ctx` tokens, or the model's own if that is smaller."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the library prints is no part of the conversation
    server, told = _load(weights, num_ctx)
    if told["context_length"] < num_ctx:
        del server
        server, told = _load(weights, told["context_length"])
    _tell(out, told)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(requests, stop), daemon=True).start()
    while True:
        request = requests.get()
        stop.clear()
        _answer(server, request, out, stop)


def _load(weights: str, num_ctx: int) -> tuple[Any, dict[str, int]]:
    """llama.cpp with the model, and what it says of it. It listens on a port of loopback, whether one wants
    it or not: a key that nobody else knows closes it."""
    key = secrets.token_urlsafe(32)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = weights
    parameters.n_ctx = num_ctx
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = THREADS
    parameters.cache_ram_mib = CACHE_MIB
    parameters.verbosity = -1
    parameters.hostnames = ["127.0.0.1"]
    parameters.api_keys = [key]
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    address, headers = f"{server.listening_address}/v1/models", {"Authorization": f"Bearer {key}"}
    [model] = httpx.get(address, headers=headers, trust_env=False).json()["data"]
    return server, {"context_length": model["meta"]["n_ctx_train"], "parameters": model["meta"]["n_params"]}


def _listen(requests: "queue.SimpleQueue[Any]", stop: threading.Event) -> None:
    """Take what the panel says; its end is ours."""
    for line in sys.stdin:
        request = json.loads(line)
        if request is None:
            stop.set()
        else:
            requests.put(request)
    os._exit(0)


def _answer(server: Any, request: Any, out: TextIO, stop: threading.Event) -> None:
    def take(chunk: Any) -> bool:
        _tell(out, chunk)
        return stop.is_set()  # True ends the writing

    refused = server.handle_chat_completions(request, take)
    if refused:
        _tell(out, refused)
    _tell(out, None)


def _tell(out: TextIO, value: Any) -> None:
    print(json.dumps(value), file=out, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
