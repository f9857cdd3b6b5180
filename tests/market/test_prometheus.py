"""The client against a small server on a real connection; the e2e tests have a real Prometheus."""

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tradewind.errors import PriceSourceError
from tradewind.market import prometheus
from tradewind.market.pools import Pool
from tradewind.market.prometheus import Prometheus
from tradewind.market.settings import KARPENTER_OFFERINGS, PrometheusSettings

Answer = Callable[[str], tuple[int, bytes]]


class Server:
    """Answers queries; keeps what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = lambda _query: (200, vector({}))
        self.seen: list[tuple[str, str]] = []  # query and authorization
        self.delay = threading.Event()
        self.delayed = False
        self.drips = False
        self.location = ""  # that every answer redirects to
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                query = parse_qs(body)["query"][0]
                served.seen.append((query, self.headers.get("Authorization", "")))
                if served.delayed:
                    served.delay.wait(60)
                status, data = served.answer(query)
                self.send_response(status)
                self.send_header("Content-Length", str(len(data) + 2**20 * served.drips))
                if served.location:
                    self.send_header("Location", served.location)
                self.end_headers()
                if served.drips:
                    self._drip()
                self.wfile.write(data)

            def _drip(self) -> None:
                """Never silent for long, and never done."""
                with contextlib.suppress(OSError):
                    while not served.delay.wait(0.05):
                        self.wfile.write(b" ")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.delay.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def vector(values: dict[str, str], label: str = "node") -> bytes:
    result = [
        {"metric": {"__name__": "x", label: name}, "value": [1.5, text]} for name, text in values.items()
    ]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def ask(server: Server, **settings: Any) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """What is asked of nodes; offerings have a test of their own."""
    client = Prometheus(PrometheusSettings(url=server.url, offering_price=None, **settings))
    try:
        answers = client.ask()
    finally:
        client.close()
    return {field: dict(found) for field, found in answers.samples.items()}, answers.errors


def test_every_value_has_its_query(server: Server) -> None:
    server.answer = lambda query: (200, vector({"a": "0.5" if "quantile" in query else "0.25"}))
    samples, errors = ask(server)
    assert samples == {"price": {"a": 0.25}, "median_price": {"a": 0.5}}
    assert not errors
    assert [query for query, _ in server.seen] == [
        "node_total_hourly_cost",
        "quantile_over_time(0.5, node_total_hourly_cost[7d])",
    ]


def test_nodes_by_the_first_label_that_is_there(server: Server) -> None:
    server.answer = lambda _query: (200, vector({"a": "1"}, label="host"))
    assert ask(server, node_labels=("node", "host"), median_price=None)[0] == {"price": {"a": 1.0}}
    assert ask(server, node_labels=("node",), median_price=None)[0] == {"price": {}}


def test_numbers_that_are_none_come_as_nan(server: Server) -> None:
    server.answer = lambda _query: (200, vector({"a": "NaN", "b": "+Inf", "c": "x"}))
    found = ask(server, median_price=None)[0]["price"]
    assert math.isnan(found["a"])
    assert math.isinf(found["b"])
    assert math.isnan(found["c"])


@pytest.mark.parametrize("bad", ["NaN", "+Inf", "-1", "1e9", "x"])
@pytest.mark.parametrize("first", [True, False])
def test_a_series_that_is_no_price_hides_none(server: Server, bad: str, *, first: bool) -> None:
    def series(value: str, **labels: str) -> dict[str, Any]:
        pool = {"instance_type": "m5.large", "zone": "a", "capacity_type": "spot"}
        return {"metric": {"node": "a", **pool, **labels}, "value": [1.5, value]}

    good = [series("0.25", job="old"), series("0.5", job="new")]
    odd = [series(bad, job="odd")]
    result = [*odd, *good] if first else [*good, *odd]
    body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
    server.answer = lambda _query: (200, body)
    client = Prometheus(PrometheusSettings(url=server.url))
    answers = client.ask()
    client.close()
    assert answers.samples["price"] == {"a": 0.5}
    assert answers.offerings == {Pool("m5.large", "a", "spot"): 0.5}


def test_a_failed_query_of_offerings_is_no_answer(server: Server) -> None:
    server.answer = lambda query: (400, b"{}") if query == KARPENTER_OFFERINGS else (200, vector({"a": "1"}))
    client = Prometheus(PrometheusSettings(url=server.url))
    answers = client.ask()
    client.close()
    assert answers.offerings is None
    assert answers.errors[0].startswith("offering_price: ")


def test_the_token_is_read_anew_for_each_question(server: Server, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    settings = PrometheusSettings(
        url=server.url, bearer_token_file=token, median_price=None, offering_price=None
    )
    client = Prometheus(settings)
    client.ask()
    token.write_text("two\n")
    client.ask()
    client.close()
    assert [authorization for _, authorization in server.seen] == ["Bearer one", "Bearer two"]


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://prometheus.monitoring:9090", False),
        ("http://127.0.0.1.example.com", False),
        ("http://127.0.0.1@example.com", False),
        ("https://prometheus.monitoring:9090", True),
        ("http://localhost:9090", True),
        ("http://[::1]:9090", True),
    ],
)
def test_a_token_needs_https_or_loopback(url: str, *, sent: bool) -> None:
    with contextlib.nullcontext() if sent else pytest.raises(ValueError, match="needs an https:// url"):
        PrometheusSettings(url=url, bearer_token_file=Path("token"))
    PrometheusSettings(url=url)


@pytest.mark.parametrize(
    ("path", "in_pod", "message"),
    [
        ("mounted/token", True, None),
        ("mounted/data/token", True, None),
        ("account/serviceaccount/token", False, "own service account"),
        ("account/serviceaccount/token", True, "own service account"),
        ("mounted/link", True, "own service account"),
        ("mounted/../other", True, "is not in"),
        ("other", True, "is not in"),
        ("other", False, None),
    ],
)
def test_only_mounted_tokens_are_sent(
    path: str,
    message: str | None,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    in_pod: bool,
) -> None:
    for name in ("mounted/data/token", "account/serviceaccount/token", "other"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("secret")
    (tmp_path / "mounted/token").symlink_to("data/token")  # as Secrets are mounted
    (tmp_path / "mounted/link").symlink_to(tmp_path / "account/serviceaccount/token")
    monkeypatch.setattr(prometheus, "_MOUNTED", tmp_path / "mounted")
    monkeypatch.setattr(prometheus, "_ACCOUNTS", tmp_path / "account")
    if in_pod:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    else:
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    _, errors = ask(server, median_price=None, bearer_token_file=tmp_path / path)
    if message is None:
        assert not errors
        assert [sent for _, sent in server.seen] == ["Bearer secret"]
    else:
        assert message in errors[0]
        assert not server.seen


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (503, b'{"status": "error", "error": "starting"}', "503 starting"),
        (200, b"<html>", "asking http"),
        (200, b'{"status": "success", "data": {"resultType": "matrix", "result": []}}', "gives a matrix"),
        (200, b'{"status": "success", "data": {"resultType": "vector", "result": [{}]}}', "metric"),
        (302, b"{}", "status"),
    ],
)
def test_trouble_is_told_and_is_no_answer(server: Server, status: int, body: bytes, message: str) -> None:
    server.answer = lambda _query: (status, body)
    samples, errors = ask(server, median_price=None)
    assert samples == {}
    assert message in errors[0]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_token_follows_no_redirect(server: Server, tmp_path: Path, status: int) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    with contextlib.closing(Server()) as elsewhere:
        server.answer = lambda _query: (status, vector({"a": "1"}))
        server.location = f"{elsewhere.url}/api/v1/query"
        samples, errors = ask(server, median_price=None, bearer_token_file=token)
        assert (samples, len(server.seen), elsewhere.seen) == ({}, 1, [])
        assert f"says {status}" in errors[0]


def test_an_answer_beyond_the_limit_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "_MAX_BYTES", 1000)
    server.answer = lambda _query: (200, vector({"a" * 1000: "1"}))
    samples, errors = ask(server, median_price=None)
    assert samples == {}
    assert "too long" in errors[0]


def test_one_query_that_fails_does_not_spoil_the_other(server: Server) -> None:
    server.answer = lambda query: (400, b"{}") if "quantile" in query else (200, vector({"a": "1"}))
    samples, errors = ask(server)
    assert samples == {"price": {"a": 1.0}}
    assert errors[0].startswith("median_price: ")


def test_a_slow_server_is_given_up(server: Server) -> None:
    server.delayed = True
    start = time.monotonic()
    _, errors = ask(server, median_price=None, timeout_seconds=0.2)
    assert "timed out" in errors[0]
    assert time.monotonic() - start < 30  # and not the minute that the server takes


def test_a_server_that_drips_is_given_up_too(server: Server) -> None:
    server.drips = True
    _, errors = ask(server, median_price=None, timeout_seconds=1.5)
    assert "too slow" in errors[0]


def test_nobody_there() -> None:
    client = Prometheus(PrometheusSettings(url="http://127.0.0.1:9", median_price=None))
    assert "refused" in client.ask().errors[0]


def test_missing_certificates_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(PriceSourceError, match="no-such"):
        Prometheus(PrometheusSettings(url="https://localhost", ca_file=tmp_path / "no-such.pem"))


def test_offerings_are_read_by_their_labels(server: Server) -> None:
    def series(value: str, **labels: str) -> dict[str, Any]:
        return {"metric": {"__name__": KARPENTER_OFFERINGS, **labels}, "value": [1.5, value]}

    def answer(query: str) -> tuple[int, bytes]:
        if query != KARPENTER_OFFERINGS:
            return 200, vector({})
        result = [
            series("0.03", instance_type="m5.large", zone="a", capacity_type="spot"),
            series("0.09", instance_type="m5.large", zone="a", capacity_type="on-demand", nodepool="x"),
            series("0.5", instance_type="m5.large", capacity_type="spot"),
        ]
        return 200, json.dumps(
            {"status": "success", "data": {"resultType": "vector", "result": result}}
        ).encode()

    server.answer = answer
    client = Prometheus(PrometheusSettings(url=server.url))
    answers = client.ask()
    client.close()
    assert answers.offerings == {
        Pool("m5.large", "a", "spot"): 0.03,
        Pool("m5.large", "a", "on-demand"): 0.09,
    }
    assert not answers.errors
