"""The verbs over HTTP, as kube-scheduler calls them."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from extender.app import App, add_verbs
from extender.metrics import ExtenderMetrics
from extender.verbs import UNKNOWN_NODE, Verbs
from scoring.filters.resources import Resources
from scoring.policy import Policy
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.config.document import DEFAULT
from tradewind.runtime.probes import add_probes

_MAX_BODY_BYTES = 100_000


@dataclass
class Watch:
    name: str = "nodes"
    age_seconds: float = 1.5
    events: int = 7
    relists: int = 1
    errors: int = 2
    unreadable: int = 3
    trouble: str = "the API server answers 403"


@dataclass
class Cluster:
    cache: Cache = field(default_factory=lambda: Cache(offer_of))
    synced: bool = True
    stale: str = ""
    name: str = "a test cluster"

    watches: tuple[Watch, ...] = (Watch(),)


@dataclass
class Service:
    cluster: Cluster
    metrics: ExtenderMetrics
    client: TestClient

    def filter(self, wanted: PodBuilder, names: list[str]) -> dict[str, Any]:
        answer: dict[str, Any] = self.post("/filter", wanted, names).json()
        return answer

    def post(self, path: str, wanted: PodBuilder, names: list[str]) -> httpx2.Response:
        return self.client.post(path, content=request(wanted, names))

    def scores(self, wanted: PodBuilder, names: list[str]) -> dict[str, int]:
        answer = self.post("/prioritize", wanted, names).json()
        return {entry["Host"]: entry["Score"] for entry in answer}

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"tradewind_{name}", labels) or 0


def request(wanted: PodBuilder, names: list[str]) -> bytes:
    return json.dumps({"Pod": wanted.document, "Nodes": None, "NodeNames": names}).encode()


def service(
    *nodes: NodeBuilder,
    synced: bool = True,
    policy_of: Callable[[Pod], Policy] = lambda _: DEFAULT.policies().default,
) -> Service:
    cluster, metrics = Cluster(synced=synced), ExtenderMetrics()
    for each in nodes:
        cluster.cache.apply_node(each.build())
    app = App()
    add_verbs(app, Verbs(cluster, policy_of, metrics), _MAX_BODY_BYTES)
    add_probes(app, cluster, metrics.registry)
    return Service(cluster, metrics, TestClient(app))


_THREE = (node("small").cpu("1").price(0.01), node("cheap").price(0.1), node("dear").price(0.5))
_NAMES = ["small", "cheap", "dear"]
_WANTED = pod("web").requests(cpu="2", memory="2Gi")


def test_filter_keeps_what_fits_and_says_why_the_rest_does_not() -> None:
    assert service(*_THREE).filter(_WANTED, _NAMES) == {
        "Nodes": None,
        "NodeNames": ["cheap", "dear"],
        "FailedNodes": {"small": Resources.reason},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


def test_prioritize_prefers_the_cheaper_node() -> None:
    assert service(*_THREE).scores(_WANTED, ["cheap", "dear"]) == {"cheap": 10, "dear": 0}


def test_prioritize_ranks_what_filter_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens between the two, as long as prioritize follows at once and about the same nodes."""
    served, wanted, names = service(*_THREE), pod("wanted").requests(cpu="1"), ["cheap", "dear"]
    assert served.filter(wanted, names)["NodeNames"] == names
    served.cluster.cache.apply_node(node("cheap").price(9.0).build())
    assert served.scores(wanted, names)["cheap"] == 10
    assert served.scores(pod("another").requests(cpu="1"), names)["dear"] == 10
    served.filter(wanted, names)
    assert served.scores(wanted, names)["dear"] == 10

    served.cluster.cache.apply_node(node("cheap").price(0.1).build())
    monkeypatch.setattr("extender.lookup._VIEW_SECONDS", -1.0)
    served.filter(wanted, names)
    served.cluster.cache.apply_node(node("cheap").price(9.0).build())
    assert served.scores(wanted, names)["dear"] == 10


def test_scores_are_integer_literals() -> None:
    body = service(*_THREE).post("/prioritize", _WANTED, ["cheap"]).content
    assert body == b'[{"Host":"cheap","Score":10}]'


def test_answers_have_a_length_so_that_the_connection_is_kept() -> None:
    answer = service(*_THREE).post("/filter", _WANTED, _NAMES)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "transfer-encoding" not in answer.headers


def test_whole_nodes_are_answered_with_the_same_whole_nodes() -> None:
    items = [{**each.document, "oddField": {"kept": [1, None]}} for each in _THREE]
    body = json.dumps({"Pod": _WANTED.document, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None})
    answer = service(*_THREE).client.post("/filter", content=body.encode()).json()
    assert answer["Nodes"]["items"] == items[1:]
    assert answer["NodeNames"] is None
    assert answer["FailedNodes"] == {"small": Resources.reason}


def test_an_unknown_node_is_rejected_with_a_reason_and_counted() -> None:
    served = service(*_THREE)
    answer = served.filter(_WANTED, ["cheap", "ghost"])
    assert answer["NodeNames"] == ["cheap"]
    assert answer["FailedNodes"] == {"ghost": UNKNOWN_NODE}  # our watch may bring it: try again
    assert answer["FailedAndUnresolvableNodes"] == {}
    assert served.count("unknown_nodes_total") == 1
    assert served.scores(_WANTED, ["cheap", "ghost"]) == {"cheap": 10, "ghost": 0}


def test_no_candidates_at_all() -> None:
    served = service(*_THREE)
    assert served.filter(_WANTED, [])["NodeNames"] == []
    assert served.scores(_WANTED, []) == {}


def test_before_the_first_list_every_node_passes_and_is_counted() -> None:
    served = service(synced=False)
    answer = served.filter(_WANTED, ["any", "other"])
    assert answer["NodeNames"] == ["any", "other"]
    assert not answer["FailedNodes"]
    assert not answer["FailedAndUnresolvableNodes"]
    assert served.scores(_WANTED, ["any", "other"]) == {"any": 0, "other": 0}
    assert served.count("requests_total", verb="filter", outcome="not_synced") == 1


def test_with_stale_state_every_node_passes_and_is_counted() -> None:
    served = service(*_THREE)
    served.cluster.stale = "the watch of nodes has been silent for 75 s"
    names = ["small", "new"]
    answer = served.filter(_WANTED, names)
    assert answer["NodeNames"] == names
    assert not answer["FailedNodes"]
    assert served.scores(_WANTED, names) == {"small": 0, "new": 0}
    for verb in ("filter", "prioritize"):
        assert served.count("requests_total", verb=verb, outcome="stale") == 1
    ready = served.client.get("/readyz")
    assert (ready.status_code, ready.json()["reason"]) == (503, served.cluster.stale)
    assert "tradewind_cluster_stale 1.0" in served.client.get("/metrics").text
    served.cluster.stale = ""
    assert served.filter(_WANTED, ["small"])["FailedNodes"] == {"small": Resources.reason}
    assert served.client.get("/readyz").status_code == 200
    assert "tradewind_cluster_stale 0.0" in served.client.get("/metrics").text


def test_a_node_that_the_request_carries_is_known() -> None:
    """4 cores and 2 example.com/gpu, of which pods that our watch has brought already take 3 and 0."""
    served = service(*_THREE)
    new = node("new").resource("example.com/gpu", 2).price(0.01)
    served.cluster.cache.apply_pod(pod("early").requests(cpu="3").on("new").build())
    items = [each.document for each in (*_THREE, new)]

    def kept(wanted: PodBuilder) -> list[str]:
        body = {"Pod": wanted.document, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}
        answer = served.client.post("/filter", content=json.dumps(body).encode()).json()
        assert set(answer["FailedNodes"].values()) <= {Resources.reason}
        scores = served.client.post("/prioritize", content=json.dumps(body).encode()).json()
        assert len(scores) == len(items)
        return [each["metadata"]["name"] for each in answer["Nodes"]["items"]]

    assert kept(pod("one").requests(cpu="1")) == [*_NAMES, "new"]
    assert kept(pod("two").requests(cpu="2")) == ["cheap", "dear"]
    assert kept(pod("gpu").requests({"example.com/gpu": 2})) == ["new"]
    assert served.count("unknown_nodes_total") == 0


def test_a_carried_node_that_cannot_be_read_is_unknown() -> None:
    served = service(*_THREE)
    items = [node("cheap").document, node("odd").cpu("4Gb").document]
    body = {"Pod": _WANTED.document, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}
    answer = served.client.post("/filter", content=json.dumps(body).encode()).json()
    assert answer["FailedNodes"] == {"odd": UNKNOWN_NODE}


def test_a_rule_that_fails_never_blocks_a_pod() -> None:
    def broken(_pod: Pod) -> Policy:
        raise ZeroDivisionError

    served = service(*_THREE, policy_of=broken)
    assert served.filter(_WANTED, _NAMES)["NodeNames"] == _NAMES
    assert set(served.scores(_WANTED, _NAMES).values()) == {0}
    assert served.count("requests_total", verb="filter", outcome="failed") == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "truncated", id="nothing"),
        pytest.param(b"{", "truncated", id="half an object"),
        pytest.param(b"[]", "Expected `object`, got `array`", id="an array"),
        pytest.param(b'{"Pod": null}', "the request has no Pod", id="no pod"),
        pytest.param(b"\xff\xfe", "", id="not text"),
        pytest.param(b'{"Pod":{"metadata":{"name":"\xff"}},"NodeNames":[]}', "", id="broken text in a name"),
        pytest.param(
            request(_WANTED, []).replace(b'"NodeNames": []', b'"NodeNames": null'),
            "pod default/web",
            id="no nodes",
        ),
        pytest.param(b'{"Pod":' + b"[" * 2_000, "", id="nested too deep"),
        pytest.param(
            request(_WANTED, []).replace(b"[]", b"[7]"),
            "NodeNames: Expected `str`",
            id="a number as a node name",
        ),
        pytest.param(
            request(pod("cart").namespace("shop").requests(cpu="4Gb"), ["a"]),
            'reading quantity "4Gb" (cpu) of container "main" in pod shop/cart',
            id="an impossible quantity",
        ),
    ],
)
def test_a_malformed_request_gets_an_error_that_kube_scheduler_reads(body: bytes, message: str) -> None:
    served = service(*_THREE)
    answer = served.client.post("/filter", content=body)
    assert answer.status_code == 200
    assert message in answer.json()["Error"]
    assert answer.json()["Error"]
    assert served.client.post("/prioritize", content=body).status_code == 400
    assert served.count("requests_total", verb="filter", outcome="malformed") == 1


def test_extra_keys_are_skipped() -> None:
    body = json.loads(request(_WANTED.field("spec", "futureField", value=[1]), ["cheap"])) | {"NewKey": {}}
    assert service(*_THREE).client.post("/filter", content=json.dumps(body)).json()["NodeNames"] == ["cheap"]


@pytest.mark.parametrize("declared", [True, False], ids=["with a length", "chunked"])
def test_a_body_over_the_limit_gets_413(declared: bool) -> None:
    body = b" " * (_MAX_BODY_BYTES + 1)
    content = body if declared else iter([body[:10], body[10:]])
    assert service(*_THREE).client.post("/filter", content=content).status_code == 413


def test_a_caller_that_hangs_up_gets_no_answer_and_leaves_no_trace() -> None:
    served = service(*_THREE)
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
    asyncio.run(cast("App", served.client.app)(scope, receive, send))
    assert not sent
    assert served.count("requests_total", verb="filter", outcome="malformed") == 0


def test_the_verbs_are_for_posts_only() -> None:
    assert service(*_THREE).client.get("/filter").status_code == 404


def test_probes() -> None:
    served = service(*_THREE, synced=False)
    assert served.client.get("/healthz").json() == {"status": "ok"}
    assert served.client.get("/readyz").status_code == 503
    assert "nodes: the API server answers 403" in served.client.get("/readyz").json()["reason"]
    served.cluster.synced = True
    assert served.client.get("/readyz").json()["ready"] is True
    assert served.client.get("/version").json()["cluster"] == "a test cluster"


def test_metrics_show_the_cluster_state_and_the_rejections() -> None:
    served = service(*_THREE)
    served.filter(_WANTED, _NAMES)
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
