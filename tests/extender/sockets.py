"""The verbs on a real socket, and a client that decides in which pieces the server reads a request."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import uvloop
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from extender.app import App, add_verbs
from extender.direct import DirectProtocol
from extender.metrics import ExtenderMetrics
from extender.verbs import Verbs
from tests.builders import node, pod
from tests.extender.served import Cluster, request
from tradewind.config.document import DEFAULT
from tradewind.explain.decisions import Decisions
from tradewind.runtime.probes import add_probes
from tradewind.runtime.server import Server

LIMIT = 20_000
WANTED = pod("web").requests(cpu="2", memory="2Gi")
BODY = request(WANTED, ["small", "cheap", "dear"])
_NODES = (node("small").cpu("1").price(0.01), node("cheap").price(0.1), node("dear").price(0.5))
_PATIENCE_SECONDS = 60.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.0005)


class Observed(HttpToolsProtocol):
    """The server's end of a connection, which says how much of it was read."""

    read_bytes = 0
    closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        cast("_App", self.config.app).connections.append(self)

    def data_received(self, data: bytes) -> None:
        self.read_bytes += len(data)
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.closed = True


class _ObservedDirect(Observed, DirectProtocol):
    pass


class _App(App):
    """Counts what comes uvicorn's way."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.connections: list[Observed] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await super().__call__(scope, receive, send)


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    def __init__(self, connection: socket.socket, server_side: Observed) -> None:
        self.server_side = server_side
        self._connection = connection
        self._sent_bytes = 0
        self._unread = b""

    def send(self, data: bytes, cuts: Sequence[int] = ()) -> None:
        """All of it; the server has read each piece before the next is sent."""
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            self.wait_until_read()
            with contextlib.suppress(ConnectionError):  # it may have been closed for good reason
                self._connection.sendall(data[start:end])
            self._sent_bytes += end - start

    def wait_until_read(self) -> None:
        server = self.server_side
        until(lambda: server.read_bytes == self._sent_bytes or server.closed)

    def read(self) -> Reply | None:
        """The next answer, None where the connection was closed."""
        while b"\r\n\r\n" not in self._unread:
            if not self._more():
                return None
        head, self._unread = self._unread.split(b"\r\n\r\n", 1)
        status, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        length = int(headers.get("content-length", 0))
        while len(self._unread) < length:
            assert self._more()
        body, self._unread = self._unread[:length], self._unread[length:]
        headers.pop("date", None)
        return Reply(int(status.split()[1]), headers, body)

    def _more(self) -> bool:
        try:
            data = self._connection.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._unread += data
        return bool(data)


@dataclass
class Service:
    server: Server
    app: _App
    metrics: ExtenderMetrics
    decisions: Decisions
    thread: threading.Thread

    @contextlib.contextmanager
    def client(self, context: ssl.SSLContext | None = None) -> Iterator[Client]:
        """On a connection of its own; one at a time may be opened."""
        connections = self.app.connections
        opened = len(connections)
        with contextlib.ExitStack() as stack:
            address = self.server.socket.getsockname()
            connection = stack.enter_context(socket.create_connection(address, _PATIENCE_SECONDS))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context:
                connection = stack.enter_context(context.wrap_socket(connection, server_hostname="localhost"))
            until(lambda: len(connections) > opened)
            yield Client(connection, connections[opened])

    def count(self, verb: str, outcome: str) -> float:
        labels = {"verb": verb, "outcome": outcome}
        return self.metrics.registry.get_sample_value("tradewind_requests_total", labels) or 0

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(_PATIENCE_SECONDS)
        assert not self.thread.is_alive()


@contextlib.contextmanager
def serving(
    *, direct: bool = True, context: ssl.SSLContext | None = None, keep_alive: int = 120
) -> Iterator[Service]:
    cluster, metrics, decisions, app = Cluster(), ExtenderMetrics(), Decisions(100, 3600), _App()
    for each in _NODES:
        cluster.cache.apply_node(each.build())
    verbs = Verbs(
        cluster, lambda _: DEFAULT.policies().default, metrics, decisions=decisions, recheck=lambda: True
    )
    add_verbs(app, verbs, LIMIT)
    add_probes(app, cluster, metrics.registry)
    server = Server(app, "127.0.0.1", 0, context, _ObservedDirect if direct else Observed)
    server.config.timeout_keep_alive = keep_alive
    work = server.serve(sockets=[server.socket])
    thread = threading.Thread(target=uvloop.run, args=(work,))
    service = Service(server, app, metrics, decisions, thread)
    thread.start()
    try:
        yield service
    finally:
        service.stop()


def post(path: str, body: bytes, *headers: str, version: str = "1.1", length: str | None = None) -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: localhost", *headers]
    lines.append(length if length is not None else f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body
