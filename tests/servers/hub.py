"""A Hugging Face Hub on loopback that holds one model: what huggingface_hub asks where HF_ENDPOINT names it.

with ScriptedHub({"model.Q4_K_M.gguf": weights}) as hub:
    hf_hub_download(hub.repository, "model.Q4_K_M.gguf", endpoint=hub.url, cache_dir=folder)

As at the real one, small files are answered by a redirect within the Hub, and large ones ("LFS") by one to
another origin, which knows nothing of repositories and tokens. None is stored by Xet, so that each download
goes by HTTP. Statuses, headers and messages are those that were recorded of huggingface.co in 2026, with one
exception: to strangers it answers 401 for what does not exist, which its client takes for "not found" at
https addresses alone. So this one answers to everybody as it does to who is logged in.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tests.servers.http import LoopbackServer, Reply, Request

_LFS = (".gguf", ".bin", ".safetensors", ".onnx", ".zip")
"""What is kept outside of git, as a new repository's .gitattributes has it; and whatever is large."""

_LARGE = 10 * 1024 * 1024
_PIECE = 64 * 1024
_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json; charset=utf-8"
_SINCE = "2026-01-01T00:00:00.000Z"


class ScriptedHub(LoopbackServer):
    """Serves `files` as the model `repository`. `bytes_per_second` paces what is downloaded.

    A `gated` one shows its list of files to everybody, and the files to who sends a token.
    """

    def __init__(
        self,
        files: Mapping[str, bytes | Path],
        repository: str = "scripted/model-GGUF",
        gated: bool = False,
        bytes_per_second: float = 0,
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self.repository = repository
        self.gated = gated
        self.bytes_per_second = bytes_per_second
        self.cdn = f"http://localhost:{self.port}"
        """Where large files are: the same server by another name, which makes it another origin."""
        self._files = {name: _File(name, content) for name, content in files.items()}
        self._cuts: list[int] = []

    @cached_property
    def commit(self) -> str:
        """The only commit; the branch `main` is at it."""
        tree = "".join(f"{file.blob_id} {file.name}\n" for file in self._files.values())
        return hashlib.sha1(tree.encode()).hexdigest()

    def cut_after(self, length: int) -> None:
        """End the connection of the next download that is so long after so many bytes; each call is one."""
        self._cuts.append(length)

    def downloads(self) -> list[Request]:
        """The requests for a file's content, in order; `headers` tells the Range."""
        parts = ("/lfs/", "/api/resolve-cache/")
        return [one for one in self.requests if one.method == "GET" and one.path.startswith(parts)]

    def handle(self, request: Request, reply: Reply) -> None:
        path = unquote(request.path)
        if path.startswith("/lfs/"):
            self._answer_from_cdn(path, request, reply)
        elif path.startswith("/api/resolve-cache/models/"):
            _, _, place = path.partition("/models/")
            self._answer_from_git(place.removeprefix(f"{self.repository}/{self.commit}/"), request, reply)
        elif path.startswith("/api/models/"):
            repository, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            self._answer_info(repository, revision or "main", request, reply)
        elif "/resolve/" in path:
            repository, _, place = path[1:].partition("/resolve/")
            revision, _, name = place.partition("/")
            self._answer_resolve(repository, revision, name, request, reply)
        else:
            self._refuse(reply, request, 404, "", "Sorry, we can't find the page you are looking for.")

    def _answer_info(self, repository: str, revision: str, request: Request, reply: Reply) -> None:
        if self._misses(repository, revision, request, reply):
            return
        blobs = request.query.get("blobs", "").lower() in ("true", "1")
        info = {
            "_id": self.commit[:24],
            "id": repository,
            "modelId": repository,
            "author": repository.partition("/")[0],
            "sha": self.commit,
            "lastModified": _SINCE,
            "createdAt": _SINCE,
            "private": False,
            "gated": "manual" if self.gated else False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "library_name": "gguf",
            "tags": ["gguf", "region:us"],
            "siblings": [file.sibling(blobs) for file in self._files.values()],
            "usedStorage": sum(file.size for file in self._files.values()),
        }
        self._send(reply, request, 200, json.dumps(info).encode(), _JSON, {})

    def _answer_resolve(
        self, repository: str, revision: str, name: str, request: Request, reply: Reply
    ) -> None:
        """Where the file is, and all that a client must know of it before it goes there."""
        if self._misses(repository, revision, request, reply):
            return
        if self.gated and "authorization" not in request.headers:
            told = (
                f"Access to model {repository} is restricted. You must have access to it and be "
                "authenticated to access it. Please log in."
            )
            self._refuse(reply, request, 401, "GatedRepo", told)
            return
        file = self._files.get(name)
        if file is None:
            self._refuse(reply, request, 404, "EntryNotFound", "Entry not found", self._commit_header())
            return
        headers = self._commit_header() | {
            "Accept-Ranges": "bytes",
            "X-Linked-Size": str(file.size),
            "X-Linked-ETag": f'"{file.etag}"',
        }
        if file.is_lfs:
            disposition = quote(f"inline; filename*=UTF-8''{name}; filename=\"{name}\";")
            place = f"{self.cdn}/lfs/{file.etag}?response-content-disposition={disposition}"
            self._redirect(reply, request, 302, "Found", place, headers)
        else:
            asked = quote(request.path, safe="")
            place = f"/api/resolve-cache/models/{repository}/{self.commit}/{quote(name)}?{asked}="
            place += f"&etag={quote(chr(34) + file.etag + chr(34))}"
            self._redirect(reply, request, 307, "Temporary Redirect", place, headers)

    def _answer_from_git(self, name: str, request: Request, reply: Reply) -> None:
        file = self._files.get(name)
        if file is None:
            self._refuse(reply, request, 404, "EntryNotFound", "Entry not found", self._commit_header())
            return
        headers = self._commit_header() | {"Content-Disposition": _disposition(name)}
        self._send_file(file, request, reply, _TEXT, headers)

    def _answer_from_cdn(self, path: str, request: Request, reply: Reply) -> None:
        """The other origin: it has the bytes, and no header of the Hub's."""
        etag = path.removeprefix("/lfs/")
        file = next((one for one in self._files.values() if one.is_lfs and one.etag == etag), None)
        if file is None:
            reply.send(403, b"<Error><Code>AccessDenied</Code></Error>", "application/xml")
            return
        headers = {"Content-Disposition": _disposition(file.name)}
        self._send_file(file, request, reply, "application/octet-stream", headers)

    def _send_file(
        self, file: "_File", request: Request, reply: Reply, content_type: str, headers: Mapping[str, str]
    ) -> None:
        """The content, or the part of it that a Range header asks for."""
        headers = {**headers, "Accept-Ranges": "bytes", "ETag": f'"{file.etag}"'}
        begin = _first_byte(request.headers.get("range", ""))
        if begin >= file.size > 0:
            headers["Content-Range"] = f"bytes */{file.size}"
            reply.send(416, b"", content_type, headers)
            return
        if "range" in request.headers:
            headers["Content-Range"] = f"bytes {begin}-{file.size - 1}/{file.size}"
        headers["Content-Length"] = str(file.size - begin)
        reply.send(206 if "range" in request.headers else 200, b"", content_type, headers)
        if request.method == "GET":
            self._write(file, begin, reply)

    def _write(self, file: "_File", begin: int, reply: Reply) -> None:
        cut = next((length for length in self._cuts if length < file.size - begin), None)
        if cut is not None:
            self._cuts.remove(cut)
        end = file.size if cut is None else begin + cut
        per_piece = int(self.bytes_per_second / 20) or _PIECE
        for piece in file.pieces(begin, end, per_piece):
            reply.write(piece)
            if self.bytes_per_second and not reply.pause(len(piece) / self.bytes_per_second):
                raise ConnectionAbortedError
        if cut is not None:
            reply.hang_up()

    def _misses(self, repository: str, revision: str, request: Request, reply: Reply) -> bool:
        """Whether there is no such repository or revision, and the answer said so."""
        if repository != self.repository:
            self._refuse(reply, request, 404, "RepoNotFound", "Repository not found", content_type=_JSON)
            return True
        if revision not in ("main", self.commit):
            told = f"Invalid rev id: {revision}"
            self._refuse(reply, request, 404, "RevisionNotFound", told, content_type=_JSON)
            return True
        return False

    def _refuse(
        self,
        reply: Reply,
        request: Request,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        content_type: str = _TEXT,
    ) -> None:
        told = {"X-Error-Code": code, "X-Error-Message": message, **(headers or {})}
        if status == 401:
            told["WWW-Authenticate"] = 'Bearer realm="Authentication required", charset="UTF-8"'
        body = json.dumps({"error": message}) if content_type == _JSON else message
        self._send(reply, request, status, body.encode(), content_type, told)

    def _redirect(
        self, reply: Reply, request: Request, status: int, name: str, place: str, headers: Mapping[str, str]
    ) -> None:
        body = f"{name}. Redirecting to {place}".encode()
        self._send(reply, request, status, body, _TEXT, {**headers, "Location": place})

    def _send(
        self,
        reply: Reply,
        request: Request,
        status: int,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str],
    ) -> None:
        """An answer of the Hub itself; without its body where only the head was asked for."""
        hub = {
            "X-Powered-By": "huggingface-moon",
            "X-Request-Id": f"Root=1-{len(self.requests):08x}-{self.commit[:24]}",
            "Content-Length": str(len(body)),
        }
        reply.send(status, b"" if request.method == "HEAD" else body, content_type, hub | dict(headers))

    def _commit_header(self) -> dict[str, str]:
        return {"X-Repo-Commit": self.commit}


@dataclass(frozen=True)
class _File:
    """A file in the repository: in git itself, or by a pointer in git to where large files are."""

    name: str
    content: bytes | Path

    @cached_property
    def size(self) -> int:
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    @property
    def is_lfs(self) -> bool:
        return self.name.endswith(_LFS) or self.size > _LARGE

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for piece in self.pieces(0, self.size, _LARGE):
            digest.update(piece)
        return digest.hexdigest()

    @property
    def etag(self) -> str:
        """The content's SHA-256 where it is large, else the id that git gives it."""
        return self.sha256 if self.is_lfs else self.blob_id

    @cached_property
    def in_git(self) -> bytes:
        """What git has: the content, or the pointer (https://github.com/git-lfs/git-lfs/tree/main/docs)."""
        if not self.is_lfs:
            return b"".join(self.pieces(0, self.size, _LARGE))
        version = "version https://git-lfs.github.com/spec/v1"
        return f"{version}\noid sha256:{self.sha256}\nsize {self.size}\n".encode()

    @cached_property
    def blob_id(self) -> str:
        return hashlib.sha1(b"blob %d\0%s" % (len(self.in_git), self.in_git)).hexdigest()

    def sibling(self, blobs: bool) -> dict[str, Any]:
        """Its entry in the model's info."""
        entry: dict[str, Any] = {"rfilename": self.name}
        if blobs:
            entry |= {"blobId": self.blob_id, "size": self.size}
            if self.is_lfs:
                pointer = len(self.in_git)
                entry["lfs"] = {"sha256": self.sha256, "size": self.size, "pointerSize": pointer}
        return entry

    def pieces(self, begin: int, end: int, length: int) -> Iterator[bytes]:
        """The bytes from `begin` to `end`."""
        if isinstance(self.content, bytes):
            for start in range(begin, end, length):
                yield self.content[start : min(start + length, end)]
            return
        with self.content.open("rb") as file:
            file.seek(begin)
            while begin < end and (piece := file.read(min(length, end - begin))):
                begin += len(piece)
                yield piece


def _first_byte(range_header: str) -> int:
    """Where "bytes=N-" begins; nobody here asks for anything else."""
    unit, _, asked = range_header.partition("=")
    begin = asked.partition("-")[0]
    return int(begin) if unit == "bytes" and begin.isdecimal() else 0


def _disposition(name: str) -> str:
    return f"inline; filename*=UTF-8''{quote(name)}; filename=\"{name}\";"
