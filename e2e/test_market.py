"""What nodes cost and how likely they are to vanish decides on the real control plane, from real sources."""

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e import fake, manifests, objects, outcomes, prometheus, scheduler
from e2e.api import Api
from e2e.certs import Authority
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.plane import ControlPlane
from e2e.processes import Workspace
from e2e.prometheus import Exporter, NoPrometheusError, Prometheus
from e2e.tradewind import Tradewind
from scoring.registry import SCORERS
from tradewind.market.learning import LEASE
from tradewind.market.memory import NAME as MEMORY
from tradewind.market.prometheus import Prometheus as Source
from tradewind.market.settings import PrometheusSettings

# One step of ours outweighs all in-tree scores together.
_DECIDING = 200
_TYPE = "node.kubernetes.io/instance-type"
_SPOT = {"karpenter.sh/capacity-type": "spot"}
_LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{manifests.NAMESPACE}/leases"
_MEMORY_PATH = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps"

Serve = Callable[..., Tradewind]


@pytest.fixture
def serve(plane: ControlPlane, role_kubeconfig: Path, start_scheduler: StartScheduler) -> Iterator[Serve]:
    """Tradewind with one scorer and these sources of prices, and a kube-scheduler that asks it."""
    started: list[Tradewind] = []

    def start(scorer: str, market: Mapping[str, Any], *switches: str) -> Tradewind:
        weights = {entry.scorer.name: 0 for entry in SCORERS} | {scorer: 1}
        service = Tradewind(
            plane.workspace,
            role_kubeconfig,
            name=next_name("tradewind"),
            settings={"weights": weights, "market": dict(market)},
            switches=switches,
        )
        started.append(service)
        entry = scheduler.extender(service.url, weight=_DECIDING, ignorable=True)
        start_scheduler(scheduler.configuration(extenders=[entry]))
        return service

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    exporter = Exporter({"a": 0.5, "b": 0.2, "c": 0.6})
    yield exporter
    exporter.close()


def _program() -> Path:
    try:
        return prometheus.find()
    except NoPrometheusError as error:
        pytest.skip(f"{error}; with a prometheus on PATH this test runs")


@pytest.fixture
def prices(plane: ControlPlane, exporter: Exporter) -> Iterator[Prometheus]:
    """A Prometheus that knows what the nodes a, b and c cost."""
    with Prometheus(_program(), plane.workspace, exporter, next_name("prometheus")) as server:
        server.wait_price("c", 0.6)
        yield server


def asking(server: Prometheus) -> dict[str, Any]:
    return {"prometheus": {"url": server.url, "intervalSeconds": 1, "timeoutSeconds": 1}}


def wait_polls(service: Tradewind, count: int, outcome: str) -> None:
    before = service.metric("tradewind_market_polls_total", outcome=outcome)
    service.wait_metric("tradewind_market_polls_total", before + count, outcome=outcome)


def place(api: Api, namespace: str, name: str) -> str:
    api.create(objects.pod(name, namespace))
    return outcomes.bound_node(api, namespace, name)


def test_a_price_drop_moves_the_next_pod_within_one_poll(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str, *, prices: Prometheus, exporter: Exporter
) -> None:
    add_nodes(*(objects.node(name) for name in ("a", "b", "c")))
    service = serve("price", asking(prices))
    wait_polls(service, 1, "answered")
    assert place(api, namespace, "before") == "b"
    exporter.set("a", 0.05)
    prices.wait_price("a", 0.05)
    wait_polls(service, 2, "answered")  # the first of them may have been under way
    assert place(api, namespace, "after") == "a"
    labels = {"quantity": "price", "source": "prometheus"}
    assert service.metric("tradewind_market_coverage_ratio", **labels) == 1


def test_without_prometheus_the_last_prices_go_on_and_their_age_shows(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str, prices: Prometheus
) -> None:
    add_nodes(*(objects.node(name) for name in ("a", "b", "c")))
    service = serve("price", asking(prices))
    wait_polls(service, 1, "answered")
    assert place(api, namespace, "before") == "b"
    prices.kill()
    wait_polls(service, 2, "failed")
    young = service.metric("tradewind_market_age_seconds", source="prometheus")
    assert place(api, namespace, "after") == "b"
    wait_polls(service, 2, "failed")
    assert service.metric("tradewind_market_age_seconds", source="prometheus") > young > 0


def test_prometheus_is_asked_over_mutual_tls(exporter: Exporter, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki", "prices")
    client = authority.client("tradewind")
    trusted = ssl.create_default_context(cafile=str(authority.cert))
    trusted.load_cert_chain(client.cert, client.key)
    tls = prometheus.Tls(serving=authority.server("prometheus"), client_ca=authority.cert, trusted=trusted)
    with Workspace() as workspace, Prometheus(_program(), workspace, exporter, "secured", tls) as server:
        known: dict[str, Any] = {"url": server.url, "median_price": None, "ca_file": authority.cert}
        source = Source(PrometheusSettings(**known, cert_file=client.cert, key_file=client.key))
        deadline = time.monotonic() + outcomes.SECONDS
        while not source.ask().samples.get("price") and time.monotonic() < deadline:
            time.sleep(0.1)  # until it has scraped for the first time
        assert source.ask().samples["price"] == {"a": 0.5, "b": 0.2, "c": 0.6}
        assert not Source(PrometheusSettings(**known)).ask().samples
        assert "certificate verify failed" in str(
            Source(PrometheusSettings(url=server.url, median_price=None)).ask().errors
        )


def test_an_annotation_beats_the_table_and_a_new_table_counts_at_once(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str, tmp_path: Path
) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("instance_type,price\ncheap,0.25\nmiddle,0.3\ndear,0.8\n")
    add_nodes(
        objects.node("told", labels={_TYPE: "cheap"}, price=0.7),
        objects.node("middle", labels={_TYPE: "middle"}),
        *(objects.node(f"dear-{i}", labels={_TYPE: "dear"}) for i in range(3)),
    )
    service = serve("price", {"table": str(table)})
    service.wait_metric("tradewind_market_coverage_ratio", 0.8, quantity="price", source="table")
    assert place(api, namespace, "before") == "middle"

    table.write_text("instance_type,price\ncheap,0.25\nmiddle,-0.3\ndear,0.05\n")
    service.wait_metric("tradewind_price_table_reloads_total", 1, result="refused")
    assert place(api, namespace, "still") == "middle"

    table.write_text("instance_type,price\ncheap,0.25\nmiddle,0.3\ndear,0.05\n")
    service.wait_metric("tradewind_price_table_reloads_total", 1, result="taken")
    assert place(api, namespace, "after").startswith("dear")


def test_a_node_that_is_about_to_go_is_avoided(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str
) -> None:
    risky = {"tradewind.dev/interruption-rate": "0.4"}
    add_nodes(
        objects.node("calm", labels=_SPOT),
        *(objects.node(f"risky-{i}", labels=_SPOT, annotations=risky) for i in range(3)),
    )
    service = serve("stability", {})
    assert place(api, namespace, "before") == "calm"
    warning = {"type": "PreemptScheduled", "status": "True", "reason": "PreemptScheduled", "message": ""}
    node = api.read("/api/v1/nodes/calm")
    conditions = [*node["status"]["conditions"], warning]
    api.patch("/api/v1/nodes/calm/status", {"status": {"conditions": conditions}})
    service.wait_metric(
        "tradewind_market_coverage_ratio", 0.25, quantity="interruption_rate", source="notice"
    )
    assert place(api, namespace, "after").startswith("risky")


@pytest.fixture
def learning(api: Api, role_kubeconfig: Path) -> Iterator[None]:
    """What the manifests add to the account so that it may keep what it learns."""
    del role_kubeconfig  # the account comes first
    with fake.existing(api, manifests.component_roles("market")):
        yield
        api.delete(_MEMORY_PATH, fieldSelector=f"metadata.name={MEMORY}")
        api.delete(_LEASE_PATH, fieldSelector=f"metadata.name={LEASE}")


def test_lost_nodes_are_learned_from_and_remembered_over_a_restart(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str, learning: None
) -> None:
    del learning
    bad, good = ([objects.node(f"{kind}-{i}", labels=_SPOT | {_TYPE: kind}) for i in range(4)]
                 for kind in ("bad", "good"))  # fmt: skip
    fake.add_nodes(api, bad[:2])  # not for the fixture to remove: the test does
    add_nodes(*bad[2:], *good)
    service = serve("stability", {}, "--learn")
    service.wait_metric("tradewind_learned_rates_writes_total", 1, result="written")
    fake.remove_nodes(api, ["bad-0", "bad-1"])
    service.wait_metric("tradewind_interruptions_total", 2)
    assert place(api, namespace, "before").startswith("good")
    service.stop()
    assert {name: round(seen) for name, seen in remembered(api).items()} == {"bad": 2, "good": 0}

    service.start()
    service.wait_metric(
        "tradewind_market_coverage_ratio", 2 / 6, quantity="interruption_rate", source="learned"
    )
    assert service.metric("tradewind_interruptions_total") == 0
    assert place(api, namespace, "after").startswith("good")


def test_another_replica_goes_on_where_the_leader_was_killed(
    api: Api, plane: ControlPlane, role_kubeconfig: Path, add_nodes: AddNodes, learning: None
) -> None:
    del learning
    bad = [objects.node(f"bad-{i}", labels=_SPOT | {_TYPE: "bad"}) for i in range(5)]
    fake.add_nodes(api, bad[:3])  # not for the fixture to remove: the test does
    add_nodes(*bad[3:])
    first, second = (
        Tradewind(plane.workspace, role_kubeconfig, name=next_name("learner"), switches=["--learn"])
        for _ in range(2)
    )
    try:
        leader, other = in_order(first, second)
        leader.wait_metric("tradewind_learned_rates_writes_total", 1, result="written")
        fake.remove_nodes(api, ["bad-0", "bad-1"])
        leader.wait_metric("tradewind_interruptions_total", 2)
        other.wait_metric(
            "tradewind_market_coverage_ratio", 1, quantity="interruption_rate", source="learned"
        )
        assert round(remembered(api)["bad"]) == 2
        leader.kill()
        fake.remove_nodes(api, ["bad-2"])  # while nobody leads
        other.wait_metric("tradewind_interruptions_total", 1, seconds=60)
        assert other.metric("tradewind_interruptions_total") == 1
        assert other.metric("tradewind_learning_leader") == 1
        assert other.stop() == 0
        assert round(remembered(api)["bad"]) == 3
        assert not api.read(f"{_LEASE_PATH}/{LEASE}")["spec"].get("holderIdentity")
    finally:
        first.stop()
        second.stop()


def in_order(*replicas: Tradewind) -> list[Tradewind]:
    """The leader first, as soon as there is one."""
    deadline = time.monotonic() + outcomes.SECONDS
    while time.monotonic() < deadline:
        found = sorted(replicas, key=lambda each: -each.metric("tradewind_learning_leader"))
        if found[0].metric("tradewind_learning_leader"):
            return found
        time.sleep(0.1)
    raise AssertionError("nobody leads")


def remembered(api: Api) -> dict[str, float]:
    """Interruptions by instance type."""
    data = json.loads(api.read(f"{_MEMORY_PATH}/{MEMORY}")["data"]["rates.json"])
    return {pool["instanceType"]: pool.get("interruptions", 0) for pool in data["pools"]}


def test_only_interruptions_are_learned_from_what_karpenter_disrupts(
    api: Api, plane: ControlPlane, role_kubeconfig: Path, add_nodes: AddNodes, learning: None
) -> None:
    del learning
    disrupted = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    kinds = ("reclaimed", "consolidated", "kept")
    nodes = [objects.node(f"{kind}-0", labels=_SPOT | {_TYPE: kind}) for kind in kinds]
    fake.add_nodes(api, nodes[:2])  # not for the fixture to remove: the test does
    add_nodes(nodes[2])
    service = Tradewind(plane.workspace, role_kubeconfig, name=next_name("learner"), switches=["--learn"])
    try:
        service.wait_metric("tradewind_learned_rates_writes_total", 1, result="written")
        api.create(spot_interrupted("reclaimed-0"))
        for kind in ("consolidated", "reclaimed"):
            api.patch(f"/api/v1/nodes/{kind}-0", {"spec": {"taints": disrupted}})
        service.wait_metric("tradewind_interruptions_total", 1)
        fake.remove_nodes(api, ["consolidated-0", "reclaimed-0"])
        service.wait_metric("tradewind_learned_rates_writes_total", 2, result="written")
        assert service.stop() == 0
        assert round(remembered(api)["reclaimed"]) == 1
        assert round(remembered(api).get("consolidated", 0)) == 0
    finally:
        service.stop()


def spot_interrupted(node: str) -> dict[str, Any]:
    """As Karpenter's AWS provider writes it."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{node}.", "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node},
        "type": "Warning",
        "reason": "SpotInterrupted",
        "message": "Spot interruption warning was triggered",
        "source": {"component": "karpenter"},
    }
