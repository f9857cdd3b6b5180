"""Requests over real sockets, however they are cut: uvicorn's own protocol says what is right."""

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from extender.app import App
from tests.extender.served import request
from tests.extender.sockets import BODY, LIMIT, WANTED, Reply, Service, post, serving


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
    monkeypatch.setattr("extender.lookup._WAIT_SECONDS", 0.01)


_CHUNKED = post("/filter", b'5\r\n{"Pod\r\n0\r\n\r\n', length="Transfer-Encoding: chunked")
_PLAIN = [
    post("/filter", BODY),
    post("/prioritize", BODY, "User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip"),
    post("/prioritize", request(WANTED, ["cheap", "dear"]), "content-TYPE: application/json"),
    post("/preempt", b'{"Pod":{"metadata":{"name":"web"}},"NodeNameToMetaVictims":{}}'),
    post("/filter", b"this is no JSON"),
    post("/prioritize", b"this is no JSON"),
    post("/filter", b""),
    post("/filter", BODY, length=f"cOnTeNt-LeNgTh: {len(BODY)}"),
]
# Each is answered once; whether the connection is kept is a part of the answer.
_ODD = [
    post("/filter", request(WANTED, ["cheap", "ghost"])),
    post("/prioritize", request(WANTED, ["cheap", "phantom"])),
    post("/filter", BODY, "Connection: close"),
    post("/filter", BODY, "Connection: keep-alive"),
    post("/filter", BODY, version="1.0"),
    post("/filter", BODY, length=f"Content-Length:   {len(BODY)}  "),
    post("/filter", BODY, length=f"Content-Length: {len(BODY)}\r\nContent-Length: {len(BODY)}"),
    post("/filter", BODY, length=f"Content-Length: {len(BODY)}\r\nContent-Length: 1"),
    post("/filter", BODY, length=f"Content-Length: +{len(BODY)}"),
    post("/filter", BODY, length=f"Content-Length : {len(BODY)}"),
    post("/filter", BODY, f"X-Odd: {'a' * 50}"),
    post("/filter", BODY, "User-Agent: a\x07b"),
    post("/filter", BODY, "Origin: null"),
    post("/filter", BODY, "Upgrade: websocket", "Connection: Upgrade"),
    post("/filter?a=b", BODY),
    post("/FILTER", BODY),
    post("/bind", BODY),
    post("/nothing", BODY),
    post("/filter", b" " * (LIMIT + 1)),
    post("/filter", b'{"Pod":' + b"[" * 5000),
    post("/filter", BODY).replace(b"POST", b"post"),
    post("/filter", BODY).replace(b"POST", b"PUT"),
    b"\r\n" + post("/filter", BODY),
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
    with service.client() as client:
        replies: list[Reply | None] = []
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
    data = post("/filter", BODY)
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
    parts = [Sending(data, [], 1), Sending(post("/filter", BODY), [], 1)]
    assert conversation(ours, parts) == conversation(oracle, parts)


def test_a_body_is_promised_and_waited_for(ours: Service, oracle: Service) -> None:
    data = post("/filter", BODY, "Expect: 100-continue")
    parts = [Sending(data[: -len(BODY)], [], 1), Sending(BODY, [], 1)]
    replies = conversation(ours, parts)
    assert replies == conversation(oracle, parts)
    assert [reply and reply.status for reply in replies] == [100, 200]


def test_nothing_in_the_rest_of_a_refused_body_is_taken_for_a_request(ours: Service) -> None:
    hidden = post("/filter", BODY)
    with ours.client() as client:
        client.send(post("/filter", b" ", length=f"Content-Length: {LIMIT + 1}"))
        refusal = client.read()
        assert refusal is not None
        assert refusal.status == 413
        client.send(hidden + b" " * (LIMIT - len(hidden)) + post("/prioritize", BODY), [len(hidden)])
        answer = client.read()
        assert answer is not None
        assert answer.body.startswith(b"[")


def test_uvicorn_has_what_is_used_of_it_and_not_promised() -> None:
    """Fails on an uvicorn that has changed; docs/adr/0014-rooms.md says what to do then."""
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
