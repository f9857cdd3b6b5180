"""Every rule decides on the real kube-scheduler, and says why."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e import fake, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner, StartScheduler, next_name
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind
from scoring.filters.disk_type import DiskType
from scoring.filters.durable_floor import DurableFloor
from scoring.filters.limits import Limits
from scoring.filters.network_type import NetworkType
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.registry import SCORERS
from tradewind.cluster.objects import DELETION_COST

# One step of ours outweighs all in-tree scores together.
_DECIDING = 200
_SPOT = {"karpenter.sh/capacity-type": "spot"}

Serve = Callable[..., Tradewind]


@pytest.fixture
def serve(plane: ControlPlane, role_kubeconfig: Path, start_scheduler: StartScheduler) -> Iterator[Serve]:
    """Tradewind with these settings, and a kube-scheduler that asks it."""
    started: list[Tradewind] = []

    def start(settings: Mapping[str, Any], *switches: str, without: str = "") -> Tradewind:
        name = next_name("tradewind")
        service = Tradewind(plane.workspace, role_kubeconfig, name=name, settings=settings, switches=switches)
        started.append(service)
        entry = scheduler.extender(service.url, weight=_DECIDING, ignorable=True)
        profile = scheduler.profile(without={"filter": [without]} if without else {})
        start_scheduler(scheduler.configuration(profiles=[profile], extenders=[entry]))
        return service

    yield start
    for service in started:
        service.stop()


def only(scorer: str, weight: float = 1) -> dict[str, Any]:
    weights = {entry.scorer.name: 0 for entry in SCORERS}
    return {"weights": weights | {scorer: weight}}


_LIMITED = objects.container(requests={"memory": "1Gi"}, limits={"memory": "16Gi"})
_CHECKED = {
    "rules": {"limits": {"overcommit": {"memory": 1.5}}}
}  # 24Gi of the 16Gi that a node has: one of them


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        pytest.param({"containers": [_LIMITED]}, Limits.reason, id="limits"),
        pytest.param({"annotations": {"tradewind.dev/disk-type": "tape"}}, DiskType.reason, id="disk type"),
        pytest.param(
            {"annotations": {"tradewind.dev/network-type": "fast"}}, NetworkType.reason, id="network type"
        ),
    ],
)
def test_reason_of_each_filter_is_in_the_events(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str, *, wanted: dict[str, Any], reason: str
) -> None:
    add_nodes(objects.node("a"), objects.node("b"))
    for node in ("a", "b"):
        api.create(objects.pod(f"resident-{node}", namespace, containers=[_LIMITED], nodeName=node))
    serve(_CHECKED)
    api.create(objects.pod("odd", namespace, **wanted))
    said = f"0/2 nodes are available: 2 {reason}."
    assert said in outcomes.event(api, namespace, "odd", "FailedScheduling")


def required(kind: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        pytest.param(required("podAffinity", "absent"), PodAffinity.reason, id="affinity"),
        pytest.param(required("podAntiAffinity", "present"), PodAntiAffinity.reason, id="anti-affinity"),
    ],
)
def test_reasons_of_rules_that_kube_scheduler_has_too(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str, *, wanted: dict[str, Any], reason: str
) -> None:
    """kube-scheduler's own check is off here: otherwise it would never ask us about these nodes."""
    serve({"recheck": True}, without="InterPodAffinity")
    add_nodes(objects.node("a"))
    api.create(objects.pod("resident", namespace, labels={"app": "present"}, nodeName="a"))
    api.create(objects.pod("odd", namespace, **wanted))
    said = f"0/1 nodes are available: 1 {reason}."
    assert said in outcomes.unschedulable(api, namespace, "odd")


def test_strict_floor_says_its_reason_and_opens_with_a_durable_node(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str
) -> None:
    serve({"rules": {"durable_floor": {"min": 1, "strict": True}}})
    add_nodes(objects.node("spot", labels=_SPOT))
    api.create(objects.deployment("web", namespace, replicas=1))
    pod = first_pod(api, namespace)
    assert f"0/1 nodes are available: 1 {DurableFloor.reason}." in outcomes.unschedulable(api, namespace, pod)
    add_nodes(objects.node("durable"))
    assert outcomes.bound_node(api, namespace, pod) == "durable"


def first_pod(api: Api, namespace: str) -> str:
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS):
        if change.object:
            return str(change.object["metadata"]["name"])
    raise outcomes.NotSeenError("the Deployment made no pod")


def preferring(wish: str, value: str) -> dict[str, Any]:
    return {"annotations": {f"tradewind.dev/{wish}": value, f"tradewind.dev/{wish}-policy": "preferred"}}


@pytest.mark.parametrize(
    ("scorer", "better", "worse", "wanted"),
    [
        pytest.param("resource_fit", {"cpu": "1", "memory": "2Gi"}, {"cpu": "8"}, {}, id="resource_fit"),
        pytest.param(
            "disk_type",
            {"labels": {"tradewind.dev/disk-type": "ssd"}},
            {},
            preferring("disk-type", "ssd"),
            id="disk_type",
        ),
        pytest.param(
            "network_type",
            {"labels": {"tradewind.dev/network-type": "fast"}},
            {},
            preferring("network-type", "fast"),
            id="network_type",
        ),
        pytest.param("price", {"price": 0.1}, {"price": 0.2}, {}, id="price"),
        pytest.param(
            "stability", {}, {"annotations": {"tradewind.dev/interruption-rate": "0.3"}}, {}, id="stability"
        ),
        pytest.param(
            "workload_priority",
            {},
            {"labels": _SPOT},
            {"priorityClassName": "high"},
            id="high priority: durable",
        ),
        pytest.param(
            "workload_priority", {"labels": _SPOT}, {}, {"priorityClassName": "batch"}, id="batch: spot"
        ),
        # Half a core and no memory: the more cores a node has, the less the ratio of the rest changes.
        pytest.param(
            "equivalence", {"cpu": "16"}, {"cpu": "1"}, {"cpu": "500m", "memory": "0"}, id="equivalence"
        ),
    ],
)
def test_each_scorer_alone_decides(
    api: Api,
    serve: Serve,
    add_nodes: AddNodes,
    namespace: str,
    priority_classes: None,
    *,
    scorer: str,
    better: dict[str, Any],
    worse: dict[str, Any],
    wanted: dict[str, Any],
) -> None:
    """The worse nodes are many, and kube-scheduler breaks ties at random: luck is not enough."""
    del priority_classes
    serve(only(scorer))
    add_nodes(objects.node("better", **better), *(objects.node(f"worse-{i}", **worse) for i in range(5)))
    api.create(objects.pod("pod", namespace, **wanted))
    assert outcomes.bound_node(api, namespace, "pod") == "better"


@pytest.fixture
def priority_classes(api: Api, namespace: str) -> Iterator[None]:
    del namespace  # pods go before their classes
    classes = [objects.priority_class("high", 1000), objects.priority_class("batch", -10)]
    with fake.existing(api, classes):
        yield


def test_changed_weights_take_effect_without_a_restart(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str
) -> None:
    service = serve(only("price"))
    risky = {"tradewind.dev/interruption-rate": "0.5"}
    add_nodes(objects.node("cheap", price=0.1, annotations=risky), objects.node("stable", price=0.9))
    api.create(objects.pod("before", namespace))
    assert outcomes.bound_node(api, namespace, "before") == "cheap"

    service.configure(only("stability"))
    service.wait_metric("tradewind_config_reloads_total", 1, result="taken")
    api.create(objects.pod("after", namespace))
    assert outcomes.bound_node(api, namespace, "after") == "stable"

    service.configure({"weights": {"price": -1}})
    service.wait_metric("tradewind_config_reloads_total", 1, result="refused")
    api.create(objects.pod("still", namespace))
    assert outcomes.bound_node(api, namespace, "still") == "stable"


def test_workload_class_has_its_own_weights(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str
) -> None:
    careful = {"name": "careful", "match": {"labels": "tier=db"}} | only("stability")
    serve(only("price") | {"classes": [careful]})
    risky = {"tradewind.dev/interruption-rate": "0.5"}
    add_nodes(objects.node("cheap", price=0.1, annotations=risky), objects.node("stable", price=0.9))
    api.create(objects.pod("web", namespace))
    api.create(objects.pod("db", namespace, labels={"tier": "db"}))
    assert outcomes.bound_node(api, namespace, "web") == "cheap"
    assert outcomes.bound_node(api, namespace, "db") == "stable"


@pytest.mark.usefixtures("kubelets")
def test_floor_holds_while_a_deployment_scales(
    api: Api, serve: Serve, start_planner: StartPlanner, add_nodes: AddNodes, namespace: str
) -> None:
    """Durable nodes have room for six: a plan that comes before kube-scheduler fills those in use first."""
    floor = {"rules": {"durable_floor": {"min": 2}}}
    serve(floor)
    start_planner(floor, "--protect-floor")
    add_nodes(
        *(objects.node(f"durable-{i}", price=0.4, cpu="1") for i in range(2)),
        *(objects.node(f"spot-{i}", price=0.1, labels=_SPOT) for i in range(3)),
    )

    def scaled(replicas: int) -> Counter[str]:
        """How many pods are on nodes of each kind."""
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
        api.patch(path, {"spec": {"replicas": replicas}})
        nodes = exactly(api, namespace, replicas)
        return Counter(node.split("-")[0] for node in nodes.values())

    api.create(objects.deployment("web", namespace, replicas=1, cpu="300m"))
    assert Counter(node.split("-")[0] for node in exactly(api, namespace, 1).values()) == {"durable": 1}
    grown = scaled(10)
    assert grown["durable"] >= 2
    assert grown["spot"] >= 1
    wait_until_protected(api, namespace, 2)
    shrunk = scaled(3)
    assert shrunk["durable"] >= 2
    assert shrunk.total() == 3


@pytest.mark.usefixtures("kubelets")
def test_a_rollout_keeps_the_floor(
    api: Api, serve: Serve, start_planner: StartPlanner, add_nodes: AddNodes, namespace: str
) -> None:
    """Spot nodes are the cheaper ones, so that nothing but the floor brings replicas to durable nodes."""
    floor = {"rules": {"durable_floor": {"min": 2}}}
    serve(floor)
    start_planner(floor, "--protect-floor")
    add_nodes(
        *(objects.node(f"durable-{i}", price=0.4) for i in range(2)),
        *(objects.node(f"spot-{i}", price=0.1, labels=_SPOT) for i in range(3)),
    )
    api.create(objects.deployment("web", namespace, replicas=8, cpu="100m"))
    exactly(api, namespace, 8)
    wait_until_protected(api, namespace, 2)
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    api.patch(path, {"spec": {"template": {"metadata": {"annotations": {"revision": "2"}}}}})
    for count in rolled_out(api, namespace, 8):
        assert count["durable"] >= 2, count


def rolled_out(api: Api, namespace: str, replicas: int) -> Iterator[Counter[str]]:
    """How many pods are on nodes of each kind, from change to change until all are of the new revision.

    Here nothing runs pods: each is reported as ready as soon as it is bound, so that the rollout goes on.
    """
    live: dict[str, tuple[str, bool]] = {}
    listed = False
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS):
        if change.object:
            metadata = change.object["metadata"]
            node = outcomes.bound_to(change.object)
            if metadata.get("deletionTimestamp") or change.type == "DELETED":
                live.pop(metadata["name"], None)
            else:
                new = metadata.get("annotations", {}).get("revision") == "2"
                live[metadata["name"]] = node.split("-")[0], new
                if node:
                    make_ready(api, change.object)
        listed = listed or change.type == "SYNCED"
        if listed:
            yield Counter(kind for kind, _ in live.values() if kind)
            if len(live) == replicas and all(kind and new for kind, new in live.values()):
                return
    raise outcomes.NotSeenError(f"a rollout of {replicas} pods in {namespace}; last: {live}")


def make_ready(api: Api, pod: Mapping[str, Any]) -> None:
    if any(each["type"] == "Ready" for each in pod["status"].get("conditions", [])):
        return
    metadata = pod["metadata"]
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    api.patch(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status", ready)


def test_daemonset_pods_are_bound_to_spot_nodes_under_availability(
    api: Api, serve: Serve, add_nodes: AddNodes, namespace: str
) -> None:
    """Nodes come one after another, so that Tradewind knows where the earlier pods are."""
    serve({"preset": "availability"})
    api.create(objects.daemon_set("cni", namespace))
    add_nodes(objects.node("durable"))
    exactly(api, namespace, 1)
    for count in range(1, 4):
        add_nodes(objects.node(f"spot-{count}", labels=_SPOT))
        placed = exactly(api, namespace, 1 + count)
    assert sorted(placed.values()) == ["durable", "spot-1", "spot-2", "spot-3"]


def wait_until_protected(api: Api, namespace: str, count: int) -> None:
    protected = set()
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS):
        if change.object and DELETION_COST in change.object["metadata"].get("annotations", {}):
            protected.add(change.object["metadata"]["name"])
        if len(protected) == count:
            return
    raise outcomes.NotSeenError(f"{count} protected pods in {namespace}; last: {sorted(protected)}")


def exactly(api: Api, namespace: str, count: int) -> dict[str, str]:
    """The nodes of the pods once there are so many, all bound."""
    nodes: dict[str, str] = {}
    listed = False
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS):
        if change.object:
            nodes[change.object["metadata"]["name"]] = outcomes.bound_to(change.object)
            # Without a kubelet a deleted pod stays until somebody removes it for good.
            if change.object["metadata"].get("deletionTimestamp") or change.type == "DELETED":
                del nodes[change.object["metadata"]["name"]]
        listed = listed or change.type == "SYNCED"
        if listed and len(nodes) == count and all(nodes.values()):
            return nodes
    raise outcomes.NotSeenError(f"{count} bound pods in {namespace}; last: {nodes}")
