"""Placement hints of pods that nobody holds and no planner plans: kube-scheduler alone keeps none of them.

All pods of a test are created at once, so that each is asked about before the binding of the last is seen.
"""

import time
from collections import Counter

import pytest

from e2e import fake, manifests, objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner
from e2e.objects import Object
from e2e.tradewind import Tradewind
from scoring.filters.beside import Beside
from scoring.filters.conflicts import Conflicts
from scoring.filters.hinted_labels import HintedLabels
from scoring.filters.hinted_node import HintedNode
from scoring.filters.max_per_zone import MaxPerZone
from scoring.filters.one_per_node import OnePerNode
from scoring.filters.replaces import Replaces
from scoring.filters.xor import Xor

_ZONE = "topology.kubernetes.io/zone"
_ZONES = {"a": "x", "b": "x", "c": "y"}
# In which what is wrong would have happened.
_CALM_SECONDS = 4.0


@pytest.fixture
def max_backoff_seconds() -> int:
    """Below _CALM_SECONDS."""
    return 1


@pytest.fixture(autouse=True)
def zones(scheduling: None, add_nodes: AddNodes) -> None:
    del scheduling
    add_nodes(*(objects.node(name, labels={_ZONE: zone, "rack": zone}) for name, zone in _ZONES.items()))


def asking(namespace: str, name: str, node: str = "", cpu: str = "100m", **wishes: str) -> Object:
    """A pod with these hints; with `node`, it is there already."""
    annotations = {f"tradewind.dev/{key.replace('_', '-')}": text for key, text in wishes.items()}
    placed = {"nodeName": node} if node else {}
    return objects.pod(name, namespace, cpu=cpu, annotations=annotations, labels={"app": "same"}, **placed)


def refused(api: Api, namespace: str, name: str, reason: str) -> None:
    assert reason in outcomes.unschedulable(api, namespace, name, containing=reason)


def test_node_and_labels(api: Api, namespace: str) -> None:
    api.create(asking(namespace, "named", node="b"))
    for number in range(4):
        api.create(asking(namespace, f"picky-{number}", node_labels="rack in (y)"))
        api.create(_with(asking(namespace, f"fixed-{number}"), "tradewind.dev/node", "b"))
    nodes = outcomes.bound_nodes(api, namespace, 9)
    assert {nodes[f"picky-{number}"] for number in range(4)} == {"c"}
    assert {nodes[f"fixed-{number}"] for number in range(4)} == {"b"}
    api.create(_with(asking(namespace, "lost"), "tradewind.dev/node", "gone"))
    refused(api, namespace, "lost", HintedNode.reason)
    api.create(asking(namespace, "unmet", node_labels="rack=z"))
    refused(api, namespace, "unmet", HintedLabels.reason)


def test_conflicts_hold_both_ways(api: Api, namespace: str, tradewind: Tradewind) -> None:
    """The noisy ones say nothing themselves: each of the three and its opponents are on different nodes."""
    api.create_all(
        asking(namespace, name, conflicts="noisy-*") if name.startswith("calm") else asking(namespace, name)
        for number in range(4)
        for name in (f"calm-{number}", f"noisy-{number}")
    )
    nodes = outcomes.bound_nodes(api, namespace, 8, seconds=60)
    calm = {node for name, node in nodes.items() if name.startswith("calm")}
    assert calm
    assert calm.isdisjoint(node for name, node in nodes.items() if name.startswith("noisy"))
    known = tradewind.metric("tradewind_cluster_objects", resource="pods")
    api.create_all(asking(namespace, f"noisy-there-{node}", node=node) for node in _ZONES)
    tradewind.wait_metric("tradewind_cluster_objects", known + len(_ZONES), resource="pods")
    api.create(asking(namespace, "calm-late", conflicts="noisy-*"))
    refused(api, namespace, "calm-late", Conflicts.reason)


def test_one_per_node(api: Api, namespace: str) -> None:
    api.create_all(asking(namespace, f"one-{number}", one_per_node="true") for number in range(5))
    nodes = outcomes.bound_nodes(api, namespace, 3, seconds=60)
    assert sorted(nodes.values()) == ["a", "b", "c"]
    time.sleep(_CALM_SECONDS)
    waiting = [pod for pod in pods_of(api, namespace) if not outcomes.bound_to(pod)]
    assert len(waiting) == 2
    refused(api, namespace, waiting[0]["metadata"]["name"], OnePerNode.reason)


def test_max_per_zone(api: Api, namespace: str) -> None:
    api.create_all(asking(namespace, f"two-{number}", max_per_zone="2") for number in range(6))
    nodes = outcomes.bound_nodes(api, namespace, 4, seconds=60)
    assert Counter(_ZONES[node] for node in nodes.values()) == {"x": 2, "y": 2}
    time.sleep(_CALM_SECONDS)
    waiting = [pod for pod in pods_of(api, namespace) if not outcomes.bound_to(pod)]
    assert len(waiting) == 2
    refused(api, namespace, waiting[0]["metadata"]["name"], MaxPerZone.reason)


def test_beside_waits_for_the_other(api: Api, namespace: str) -> None:
    api.create(asking(namespace, "follower", beside="leader"))
    refused(api, namespace, "follower", Beside.reason)
    api.create(_with(asking(namespace, "leader"), "tradewind.dev/node", "c"))
    nodes = outcomes.bound_nodes(api, namespace, 2, seconds=60)
    assert nodes["follower"] == nodes["leader"] == "c"


@pytest.mark.parametrize(("limits", "count", "on_one"), [("", 1, 1), (",p=2", 2, 2), (",p=3,r=1", 3, 1)])
def test_xor(api: Api, namespace: str, limits: str, count: int, on_one: int) -> None:
    api.create_all(asking(namespace, f"v-{number}", xor=f"variant{limits}") for number in range(5))
    outcomes.bound_nodes(api, namespace, count, seconds=60)
    time.sleep(_CALM_SECONDS)
    nodes = [node for pod in pods_of(api, namespace) if (node := outcomes.bound_to(pod))]
    assert len(nodes) == count
    assert max(Counter(nodes).values()) <= on_one
    waiting = next(pod for pod in pods_of(api, namespace) if not outcomes.bound_to(pod))
    refused(api, namespace, waiting["metadata"]["name"], Xor.reason)


def test_replaces(api: Api, namespace: str) -> None:
    api.create(asking(namespace, "old", node="c"))
    api.create_all(asking(namespace, f"new-{number}", replaces="old") for number in range(2))
    nodes = outcomes.bound_nodes(api, namespace, 3)
    assert nodes["new-0"] == nodes["new-1"] == "c"
    api.create(asking(namespace, "next", replaces="never", cpu="64"))
    api.create(asking(namespace, "never"))  # which is replaced before it has a place
    refused(api, namespace, "never", Replaces.reason)


@pytest.mark.parametrize("switched_on", [False, True], ids=["off", "on"])
def test_a_pod_that_is_replaced_is_evicted_where_that_is_switched_on(
    api: Api, namespace: str, start_planner: StartPlanner, *, switched_on: bool
) -> None:
    """There is room for one of them on its node, and for both elsewhere."""
    api.create(asking(namespace, "old", node="c", cpu="3"))
    with fake.existing(api, manifests.component_roles("evict")):
        planner = start_planner({}, *(["--evict"] if switched_on else []))
        api.create(asking(namespace, "new", replaces="old", cpu="3"))
        outcomes.unschedulable(api, namespace, "new")
        if not switched_on:
            time.sleep(_CALM_SECONDS)
            assert [outcomes.bound_to(pod) for pod in pods_of(api, namespace)] == ["", "c"]
            assert planner.metric("tradewind_evictions_total", outcome="evicted") == 0
            return
        planner.wait_metric("tradewind_evictions_total", 1, outcome="evicted")
    # No kubelet ends it here.
    api.delete(f"/api/v1/namespaces/{namespace}/pods/old", gracePeriodSeconds="0")
    assert outcomes.bound_node(api, namespace, "new", seconds=60) == "c"


def test_a_workload_for_every_node_says_which_have_none(
    api: Api, namespace: str, start_planner: StartPlanner
) -> None:
    start_planner({})
    api.create_all(asking(namespace, f"one-{number}", one_per_node="every") for number in range(2))
    nodes = outcomes.bound_nodes(api, namespace, 2, seconds=60)
    (without,) = _ZONES.keys() - set(nodes.values())
    told = f"1 of 3 nodes have no pod of this workload: {without}"
    assert told in outcomes.event(api, namespace, "one-0", "NodesWithout", containing="1 of 3")


def pods_of(api: Api, namespace: str) -> list[Object]:
    listed: list[Object] = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return listed


def _with(pod: Object, key: str, text: str) -> Object:
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "annotations": {**metadata["annotations"], key: text}}}
