"""A small API server that plays a script: which list and which watch it answers with, fault by fault.

What the script does not say is an empty list, and a watch that stays open and silent.
"""

import enum
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.builders import NamespaceBuilder, NodeBuilder, PodBuilder

Built = NodeBuilder | PodBuilder | NamespaceBuilder

PATIENCE_SECONDS = 60.0
NO_STATUS = 0


class Do(enum.Enum):
    HOLD = enum.auto()  # say nothing until the server closes
    RESET = enum.auto()  # break the connection


@dataclass(frozen=True)
class Answer:
    """A status and a body in the chunks in which it is sent; `Do` instead of a chunk misbehaves."""

    chunks: Sequence[bytes | Do] = ()
    status: int = 200


def page(*objects: Built, version: int = 1, token: str = "") -> Answer:
    return page_of([each.json() for each in objects], version, token)


def page_of(items: Iterable[bytes], version: int = 1, token: str = "") -> Answer:
    metadata = {"resourceVersion": str(version), "continue": token}
    body = {"metadata": metadata, "items": [msgspec.Raw(item) for item in items]}
    return Answer([msgspec.json.encode(body)])


def refusal(status: int, message: str = "no") -> Answer:
    return Answer([msgspec.json.encode({"kind": "Status", "code": status, "message": message})], status)


def watch(*chunks: bytes | Do) -> Answer:
    return Answer(chunks)


def nothing_but(do: Do) -> Answer:
    """Not even a status line."""
    return Answer([do], NO_STATUS)


def event(kind: str, built: Built) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), built.json())


def bookmark(version: int) -> bytes:
    return b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}\n' % version


def error_event(code: int) -> bytes:
    return b'{"type":"ERROR","object":{"kind":"Status","code":%d,"message":"gone wrong"}}\n' % code


@dataclass(frozen=True)
class Request:
    resource: str
    query: Mapping[str, str]
    token: str | None

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query


@dataclass
class Script:
    lists: deque[Answer] = field(default_factory=deque)
    watches: deque[Answer] = field(default_factory=deque)

    def next(self, request: Request) -> Answer:
        queue, otherwise = (self.watches, watch(Do.HOLD)) if request.is_watch else (self.lists, page())
        return queue.popleft() if queue else otherwise


class ScriptedApi:
    """Listens from its creation until `close`."""

    def __init__(self, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.closing = threading.Event()
        self.scripts = {name: Script() for name in ("nodes", "pods", "namespaces")}
        self._asked = threading.Condition()
        self._requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def script(self, resource: str, *, lists: Iterable[Answer] = (), watches: Iterable[Answer] = ()) -> None:
        self.scripts[resource].lists.extend(lists)
        self.scripts[resource].watches.extend(watches)

    def requests(self, resource: str) -> list[Request]:
        with self._asked:
            return [request for request in self._requests if request.resource == resource]

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Until a request makes it true."""
        with self._asked:
            assert self._asked.wait_for(condition, PATIENCE_SECONDS), self._requests

    def wait_for_watch(self, resource: str, number: int) -> Request:
        """The request of that watch, counted from 1."""

        def watches() -> list[Request]:
            return [request for request in self.requests(resource) if request.is_watch]

        self.wait_for(lambda: len(watches()) >= number)
        return watches()[number - 1]

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> Answer:
        with self._asked:
            self._requests.append(request)
            self._asked.notify_all()
            return self.scripts[request.resource].next(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"api": self})


class _Handler(BaseHTTPRequestHandler):
    api: ScriptedApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        resource = address.path.removeprefix("/api/v1/")
        answer = self.api.answer(Request(resource, query, self.headers["Authorization"]))
        if answer.status == NO_STATUS:
            self._do(answer.chunks[0])
            return
        self.send_response(answer.status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in answer.chunks:
            self._do(chunk)
        if not self.close_connection:
            self.wfile.write(b"0\r\n\r\n")

    def _do(self, chunk: bytes | Do) -> None:
        if isinstance(chunk, bytes):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
            return
        if chunk is Do.HOLD:
            self.api.closing.wait()
        else:
            # A linger time of zero makes closing send a reset instead of an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass
