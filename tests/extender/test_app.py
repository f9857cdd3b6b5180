"""The HTTP surface: limits, probes, metrics, what is shown to people."""

import asyncio

import pytest
from starlette.types import Message

from extender.app import App
from tests.extender.served import MAX_BODY_BYTES, NAMES, THREE, WANTED, request, service


def test_answers_have_a_length_so_that_the_connection_is_kept() -> None:
    answer = service(*THREE).post("/filter", WANTED, NAMES)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "transfer-encoding" not in answer.headers


@pytest.mark.parametrize("declared", [True, False], ids=["with a length", "chunked"])
def test_a_body_over_the_limit_gets_413(declared: bool) -> None:
    body = b" " * (MAX_BODY_BYTES + 1)
    content = body if declared else iter([body[:10], body[10:]])
    assert service(*THREE).client.post("/filter", content=content).status_code == 413


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:8888", "null"])
@pytest.mark.parametrize("path", ["/filter", "/prioritize", "/preempt"])
def test_web_pages_ask_no_verb(path: str, origin: str) -> None:
    """A page that somebody looks at on this machine can send a POST to loopback, under any name."""
    served = service(*THREE)
    answer = served.client.post(path, content=request(WANTED, NAMES), headers={"Origin": origin})
    assert (answer.status_code, "web pages" in answer.text) == (403, True)
    assert served.client.post("/filter", content=request(WANTED, NAMES)).status_code == 200


@pytest.mark.parametrize("host", ["tradewind.example", "10.96.0.88:8888", "[fd00::88]", ""])
def test_kube_scheduler_may_call_us_by_any_name(host: str) -> None:
    answer = service(*THREE).client.post("/filter", content=request(WANTED, NAMES), headers={"Host": host})
    assert answer.status_code == 200


def test_a_caller_that_hangs_up_gets_no_answer_and_leaves_no_trace() -> None:
    served = service(*THREE)
    messages: list[Message] = [
        {"type": "http.request", "body": b'{"Pod":', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/filter", "headers": []}
    assert isinstance(served.client.app, App)
    asyncio.run(served.client.app(scope, receive, send))
    assert not sent
    assert served.count("requests_total", verb="filter", outcome="malformed") == 0


def test_the_verbs_are_for_posts_only() -> None:
    assert service(*THREE).client.get("/filter").status_code == 404


def test_probes() -> None:
    served = service(*THREE, synced=False)
    assert served.client.get("/healthz").json() == {"status": "ok"}
    assert served.client.get("/readyz").status_code == 503
    assert "nodes: the API server answers 403" in served.client.get("/readyz").json()["reason"]
    served.cluster.synced = True
    assert served.client.get("/readyz").json()["ready"] is True
    assert served.client.get("/version").json()["cluster"] == "a test cluster"


def test_metrics_show_the_cluster_state_and_the_rejections() -> None:
    served = service(*THREE)
    served.filter(WANTED, NAMES)
    text = served.client.get("/metrics").text
    assert 'tradewind_cluster_objects{resource="nodes"} 3.0' in text
    assert 'tradewind_cluster_age_seconds{resource="nodes"} 1.5' in text
    assert 'tradewind_cluster_events_total{resource="nodes"} 7.0' in text
    assert 'tradewind_cluster_unreadable_total{resource="nodes"} 3.0' in text
    assert 'tradewind_rejected_nodes_total{rule="resources"} 1.0' in text
    assert 'tradewind_requests_total{outcome="ok",verb="filter"} 1.0' in text
    assert "tradewind_cluster_synced 1.0" in text


def test_the_openapi_document_shows_the_endpoints_for_people() -> None:
    paths = service().client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/healthz", "/readyz", "/version", "/metrics"}


def test_docs_list_the_verbs_and_load_nothing() -> None:
    answer = service().client.get("/docs")
    assert answer.status_code == 200
    assert all(f"<code>{path}</code>" in answer.text for path in ("/filter", "/prioritize", "/healthz"))
    assert "http" not in answer.text
    assert "<script" not in answer.text
