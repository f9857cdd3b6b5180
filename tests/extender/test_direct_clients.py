"""Clients that leave, wait, or read late, over real sockets; and what is recorded after an answer."""

import itertools
import ssl
import threading
import time
from pathlib import Path
from typing import NoReturn

import pytest

from e2e.certs import Authority
from extender.tls import Certificates
from tests.builders import pod
from tests.extender.served import request
from tests.extender.sockets import BODY, LIMIT, WANTED, post, serving, until


@pytest.fixture(autouse=True)
def no_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extender.lookup._WAIT_SECONDS", 0.01)


def test_a_client_that_goes_in_mid_body_leaves_no_trace() -> None:
    with serving() as service:
        with service.client() as client:
            client.send(post("/filter", BODY)[:-5])
            client.wait_until_read()
        until(lambda: client.server_side.closed)
        with service.client() as client:
            client.send(post("/prioritize", BODY))
            assert client.read()
        assert service.count("filter", "ok") == service.count("filter", "malformed") == 0
        assert service.app.asked == 0


def test_a_request_under_way_is_answered_before_the_end() -> None:
    with serving() as service, service.client() as client, service.client() as idle:
        data = post("/filter", BODY)
        client.send(data[:-5])
        idle.send(post("/filter", BODY))
        assert idle.read()
        client.wait_until_read()
        service.server.should_exit = True
        assert idle.read() is None  # it is closed at once
        client.send(data[-5:])
        reply = client.read()
        assert reply is not None
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert client.read() is None


def test_an_idle_connection_is_closed_in_time_but_not_in_mid_body() -> None:
    with serving(keep_alive=1) as service, service.client() as client:
        data = post("/filter", BODY)
        client.send(data)
        assert client.read()
        client.send(data[:-5])
        time.sleep(1.5)
        started = time.monotonic()
        client.send(data[-5:])
        assert client.read()
        assert client.read() is None
        assert time.monotonic() - started >= 1


def test_a_client_that_reads_late_gets_every_answer() -> None:
    names = [f"n{i:04d}" for i in range(1600)]
    asks = [post("/prioritize", request(pod(f"p{i}"), names[i:])) for i in range(250)]
    lengths = list(itertools.accumulate(map(len, asks)))
    with serving() as service, service.client() as client:
        writer = threading.Thread(target=client.send, args=(b"".join(asks), lengths[:-1]))
        writer.start()
        until(lambda: client.server_side.flow.write_paused)
        answers = [client.read() for _ in asks]
        writer.join()
    for i, answer in enumerate(answers):
        assert answer is not None
        assert answer.body.startswith(b'[{"Host":"n%04d"' % i)


def test_a_client_that_never_reads_is_not_answered_for_ever() -> None:
    ask = post("/prioritize", request(WANTED, ["cheap", "dear"] * 900))
    with serving() as service, service.client() as client:

        def answered() -> int:
            return int(service.count("prioritize", "ok"))

        flow = client.server_side.flow
        while not flow.write_paused:
            before = answered()
            assert before < 250
            client.send(ask)
            until(lambda: flow.write_paused or answered() > before)  # noqa: B023  called at once
        before = answered()
        assert before > 10
        client.send(ask * 5)
        with service.client() as other:
            for _ in range(10):  # in which those would have been answered too
                other.send(post("/filter", BODY))
                assert other.read()
        assert answered() <= before + 1  # which uvicorn has written before it waits


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
    answered, recorded = threading.Event(), threading.Event()

    def slow_and_broken(*_arguments: object, **_named: object) -> NoReturn:
        answered.wait(30)
        recorded.set()
        raise ZeroDivisionError

    with serving(context=served) as service, service.client(called) as client:
        monkeypatch.setattr(service.decisions, "filtered", slow_and_broken)
        client.send(post("/filter", BODY))
        assert client.read()  # while it is being recorded
        answered.set()
        client.send(post("/prioritize", BODY))
        reply = client.read()
        assert recorded.wait(30)
        assert reply is not None
        assert reply.status == 200
        assert service.app.asked == 0
    assert "ZeroDivisionError" in caplog.text
    assert len(caplog.text) < 2000  # no arrays


def test_a_large_request_over_tls(tmp_path: Path) -> None:
    served, called = contexts(tmp_path)
    with serving(context=served) as service, service.client(called) as client:
        for verb in ("filter", "prioritize"):
            client.send(post(f"/{verb}", BODY.rstrip() + b" " * (LIMIT - len(BODY))))
            reply = client.read()
            assert reply is not None
            assert reply.status == 200
        assert service.app.asked == 0
