"""Requests over real sockets, however they are cut: uvicorn's own protocol says what is right."""

import asyncio
import contextlib
import inspect
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
import uvicorn
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from e2e.certs import Authority
from extender.app import App, add_verbs
from extender.direct import DirectProtocol
from extender.metrics import ExtenderMetrics
from extender.tls import Certificates
from extender.verbs import Verbs
from tests.builders import node, pod
from tests.extender.served import Cluster, request
from tradewind.config.document import DEFAULT
from tradewind.explain.decisions import Decisions
from tradewind.runtime.probes import add_probes
from tradewind.runtime.server import Server

_LIMIT = 20_000
_NODES = (node("small").cpu("1").price(0.01), node("cheap").price(0.1), node("dear").price(0.5))
_WANTED = pod("web").requests(cpu="2", memory="2Gi")
_BODY = request(_WANTED, ["small", "cheap", "dear"])
_GAP_SECONDS = 0.002  # between the pieces of a request, so that they are read one by one
_PATIENCE_SECONDS = 5.0


class _App(App):
    """Counts what comes uvicorn's way."""

    asked = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await super().__call__(scope, receive, send)


@dataclass
class Service:
    server: Server
    app: _App
    metrics: ExtenderMetrics
    decisions: Decisions
    thread: threading.Thread

    def connect(self, context: ssl.SSLContext | None = None) -> socket.socket:
        address = self.server.socket.getsockname()
        connection = socket.create_connection(address, _PATIENCE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(connection, server_hostname="localhost") if context else connection

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
    add_verbs(app, Verbs(cluster, lambda _: DEFAULT.policies().default, metrics, None, decisions), _LIMIT)
    add_probes(app, cluster, metrics.registry)
    server = Server(app, "127.0.0.1", 0, context, DirectProtocol)
    server.config.timeout_keep_alive = keep_alive
    if not direct:
        server.config.http = "httptools"
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


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def send(self, data: bytes, cuts: Sequence[int] = ()) -> None:
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            with contextlib.suppress(ConnectionError):  # it may have been closed for good reason
                self._connection.sendall(data[start:end])
            if end < len(data):
                time.sleep(_GAP_SECONDS)

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


@pytest.fixture(scope="module")
def ours() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.fixture(scope="module")
def oracle() -> Iterator[Service]:
    with serving(direct=False) as service:
        yield service


@pytest.fixture(autouse=True)
def no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extender.lookup._UNKNOWN_NODE_WAIT_SECONDS", 0.01)


_CHUNKED = post("/filter", b'5\r\n{"Pod\r\n0\r\n\r\n', length="Transfer-Encoding: chunked")
_PLAIN = [
    post("/filter", _BODY),
    post("/prioritize", _BODY, "User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip"),
    post("/prioritize", request(_WANTED, ["cheap", "dear"]), "content-TYPE: application/json"),
    post("/preempt", b'{"Pod":{"metadata":{"name":"web"}},"NodeNameToMetaVictims":{}}'),
    post("/filter", b"this is no JSON"),
    post("/prioritize", b"this is no JSON"),
    post("/filter", b""),
    post("/filter", _BODY, length=f"cOnTeNt-LeNgTh: {len(_BODY)}"),
]
# Each is answered once; whether the connection is kept is a part of the answer.
_ODD = [
    post("/filter", request(_WANTED, ["cheap", "ghost"])),
    post("/prioritize", request(_WANTED, ["cheap", "phantom"])),
    post("/filter", _BODY, "Connection: close"),
    post("/filter", _BODY, "Connection: keep-alive"),
    post("/filter", _BODY, version="1.0"),
    post("/filter", _BODY, length=f"Content-Length:   {len(_BODY)}  "),
    post("/filter", _BODY, length=f"Content-Length: {len(_BODY)}\r\nContent-Length: {len(_BODY)}"),
    post("/filter", _BODY, length=f"Content-Length: {len(_BODY)}\r\nContent-Length: 1"),
    post("/filter", _BODY, length=f"Content-Length: +{len(_BODY)}"),
    post("/filter", _BODY, length=f"Content-Length : {len(_BODY)}"),
    post("/filter", _BODY, f"X-Odd: {'a' * 50}"),
    post("/filter", _BODY, "User-Agent: a\x07b"),
    post("/filter", _BODY, "Upgrade: websocket", "Connection: Upgrade"),
    post("/filter?a=b", _BODY),
    post("/FILTER", _BODY),
    post("/bind", _BODY),
    post("/nothing", _BODY),
    post("/filter", b" " * (_LIMIT + 1)),
    post("/filter", b'{"Pod":' + b"[" * 5000),
    post("/filter", _BODY).replace(b"POST", b"post"),
    post("/filter", _BODY).replace(b"POST", b"PUT"),
    b"\r\n" + post("/filter", _BODY),
    b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01 this is no HTTP\r\n\r\n",
    _CHUNKED,
]


class Sending(NamedTuple):
    data: bytes
    cuts: Sequence[int]
    answers: int


@st.composite
def sendings(draw: st.DrawFn) -> Sending:
    together = draw(
        st.one_of(
            st.lists(st.sampled_from(_PLAIN), min_size=1, max_size=1),
            st.lists(st.sampled_from(_ODD), min_size=1, max_size=1),
            st.lists(st.sampled_from(_PLAIN), min_size=2, max_size=3),  # one after another without a wait
        )
    )
    data = b"".join(together)
    cuts = draw(st.lists(st.integers(1, len(data) - 1), max_size=3, unique=True))
    return Sending(data, sorted(cuts), len(together))


def conversation(service: Service, parts: Sequence[Sending]) -> list[Reply | None]:
    with service.connect() as connection:
        client, replies = Client(connection), list[Reply | None]()
        for part in parts:
            client.send(part.data, part.cuts)
            replies += [client.read() for _ in range(part.answers)]
            if replies[-1] is None:
                break
        return replies


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(sendings(), min_size=1, max_size=4))
def test_answers_are_those_of_uvicorn_wherever_a_request_is_cut(
    ours: Service, oracle: Service, parts: list[Sending]
) -> None:
    assert conversation(ours, parts) == conversation(oracle, parts)


@pytest.mark.parametrize("cut", range(1, 180))
def test_a_request_may_be_cut_anywhere(ours: Service, cut: int) -> None:
    data = post("/filter", _BODY)
    [reply] = conversation(ours, [Sending(data, [cut], 1)])
    assert reply is not None
    assert reply.status == 200
    assert reply.body.startswith(b'{"Nodes":null,"NodeNames":["cheap","dear"]')


@pytest.mark.parametrize("data", _PLAIN)
def test_a_plain_request_is_answered_without_uvicorn(ours: Service, data: bytes) -> None:
    asked = ours.app.asked
    head = data.index(b"\r\n\r\n") + 4
    cuts = [head, head + 7] if len(data) > head + 7 else []
    assert None not in conversation(ours, [Sending(data, [], 1), Sending(data, cuts, 1)])
    assert ours.app.asked == asked


@pytest.mark.parametrize("data", _ODD)
def test_any_other_request_goes_the_way_of_uvicorn(ours: Service, oracle: Service, data: bytes) -> None:
    parts = [Sending(data, [], 1), Sending(post("/filter", _BODY), [], 1)]
    assert conversation(ours, parts) == conversation(oracle, parts)


def test_a_body_is_promised_and_waited_for(ours: Service, oracle: Service) -> None:
    data = post("/filter", _BODY, "Expect: 100-continue")
    parts = [Sending(data[: -len(_BODY)], [], 1), Sending(_BODY, [], 1)]
    replies = conversation(ours, parts)
    assert replies == conversation(oracle, parts)
    assert [reply and reply.status for reply in replies] == [100, 200]


def test_a_client_that_goes_in_mid_body_leaves_no_trace() -> None:
    with serving() as service:
        with service.connect() as connection:
            connection.sendall(post("/filter", _BODY)[:-5])
            time.sleep(0.05)
        with service.connect() as connection:
            client = Client(connection)
            client.send(post("/prioritize", _BODY))
            assert client.read()
        assert service.count("filter", "ok") == service.count("filter", "malformed") == 0
        assert service.app.asked == 0


def test_a_request_under_way_is_answered_before_the_end() -> None:
    with serving() as service, service.connect() as connection, service.connect() as idle:
        client = Client(connection)
        data = post("/filter", _BODY)
        client.send(data[:-5])
        Client(idle).send(post("/filter", _BODY))
        assert Client(idle).read()
        service.server.should_exit = True
        assert Client(idle).read() is None  # it is closed at once
        client.send(data[-5:])
        reply = client.read()
        assert reply is not None
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert client.read() is None


def test_an_idle_connection_is_closed_in_time_but_not_in_mid_body() -> None:
    with serving(keep_alive=1) as service, service.connect() as connection:
        client, data = Client(connection), post("/filter", _BODY)
        client.send(data)
        assert client.read()
        client.send(data[:-5])
        time.sleep(1.5)
        client.send(data[-5:])
        assert client.read()
        started = time.monotonic()
        assert client.read() is None
        assert 0.5 < time.monotonic() - started < 3


def test_a_client_that_reads_late_gets_every_answer() -> None:
    names = [f"node-{i:04d}" for i in range(400)]
    asks = [post("/prioritize", request(pod(f"p{i}"), names[i:])) for i in range(250)]
    lengths = list(itertools.accumulate(map(len, asks)))
    with serving() as service, service.connect() as connection:
        client = Client(connection)
        writer = threading.Thread(target=client.send, args=(b"".join(asks), lengths[:-1]))
        writer.start()
        time.sleep(1)
        answers = [client.read() for _ in asks]
        writer.join()
    for i, answer in enumerate(answers):
        assert answer is not None
        assert answer.body.startswith(b'[{"Host":"node-%04d"' % i)


def test_a_client_that_never_reads_is_not_answered_for_ever() -> None:
    ask = post("/prioritize", request(_WANTED, ["cheap", "dear"] * 900))

    def answered(service: Service, number: int) -> bool:
        deadline = time.monotonic() + 1
        while service.count("prioritize", "ok") < number and time.monotonic() < deadline:
            time.sleep(_GAP_SECONDS)
        return service.count("prioritize", "ok") >= number

    with serving() as service, service.connect() as connection:
        for number in range(1, 300):
            connection.sendall(ask)
            if not answered(service, number):
                break
        assert 10 < number < 250


def test_nothing_in_the_rest_of_a_refused_body_is_taken_for_a_request(ours: Service) -> None:
    hidden = post("/filter", _BODY)
    with ours.connect() as connection:
        client = Client(connection)
        client.send(post("/filter", b" ", length=f"Content-Length: {_LIMIT + 1}"))
        refusal = client.read()
        assert refusal is not None
        assert refusal.status == 413
        client.send(hidden)
        time.sleep(0.05)
        client.send(b" " * (_LIMIT - len(hidden)) + post("/prioritize", _BODY))
        answer = client.read()
        assert answer is not None
        assert answer.body.startswith(b"[")


def contexts(root: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server that asks for certificates, and of a client that has one."""
    authority = Authority(root)
    pair, ours = authority.server("tradewind"), authority.client("kube-scheduler")
    context = ssl.create_default_context(cafile=str(authority.cert))
    context.load_cert_chain(ours.cert, ours.key)
    return Certificates(pair.cert, pair.key, authority.cert).context(), context


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
def test_no_record_delays_or_changes_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tls: bool
) -> None:
    served, called = contexts(tmp_path) if tls else (None, None)
    recorded = threading.Event()

    def slow_and_broken(*_arguments: object, **_named: object) -> NoReturn:
        time.sleep(0.5)
        recorded.set()
        raise ZeroDivisionError

    with serving(context=served) as service, service.connect(called) as connection:
        monkeypatch.setattr(service.decisions, "filtered", slow_and_broken)
        client = Client(connection)
        client.send(post("/filter", _BODY))
        assert client.read()
        assert not recorded.is_set()
        client.send(post("/prioritize", _BODY))
        reply = client.read()
        assert recorded.wait(30)
        assert reply is not None
        assert reply.status == 200
        assert service.app.asked == 0
    assert "ZeroDivisionError" in caplog.text
    assert len(caplog.text) < 2000  # no arrays


def test_a_large_request_over_tls(tmp_path: Path) -> None:
    served, called = contexts(tmp_path)
    with serving(context=served) as service, service.connect(called) as connection:
        client = Client(connection)
        for verb in ("filter", "prioritize"):
            client.send(post(f"/{verb}", _BODY.rstrip() + b" " * (_LIMIT - len(_BODY))))
            reply = client.read()
            assert reply is not None
            assert reply.status == 200
        assert service.app.asked == 0


def test_uvicorn_has_what_is_used_of_it_and_not_promised() -> None:
    """Fails on an uvicorn that has changed; docs/adr/0016-direct-http.md says what to do then."""
    taken = [*inspect.signature(HttpToolsProtocol.__init__).parameters]
    assert taken == ["self", "config", "server_state", "app_state", "_loop"]
    overridden_or_called = {
        "data_received": ["self", "data"],
        "on_message_begin": ["self"],
        "on_message_complete": ["self"],
        "on_response_complete": ["self"],
        "shutdown": ["self"],
        "_unset_keepalive_if_required": ["self"],
    }
    for name, parameters in overridden_or_called.items():
        assert [*inspect.signature(getattr(HttpToolsProtocol, name)).parameters] == parameters, name
    assert STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n"
    assert "response_complete" in inspect.getsource(RequestResponseCycle.__init__)
    assert "write_paused" in inspect.getsource(FlowControl.__init__)
    assert ServerState().default_headers == []

    async def made() -> HttpToolsProtocol:
        config = uvicorn.Config(App(), http=HttpToolsProtocol)
        config.load()
        return HttpToolsProtocol(config, ServerState(), {})

    protocol = asyncio.run(made())
    assert vars(protocol)["cycle"] is None
    assert vars(protocol).keys() >= {"transport", "flow", "server_state"}
