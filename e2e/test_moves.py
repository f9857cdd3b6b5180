"""Running pods are moved, so that a node becomes empty: through the real Eviction API and controllers."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from e2e import manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner, StartScheduler
from e2e.objects import Object
from e2e.tradewind import Tradewind

_MOVES: dict[str, Any] = {"mode": "act", "everySeconds": 1, "minAgeSeconds": 0, "minBalance": 0}
_MOVE = "tradewind.dev/move"
_RECORD = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps/tradewind-moves"
_SECONDS = 90.0


@pytest.fixture(autouse=True)
def scheduling(tradewind: Tradewind, start_scheduler: StartScheduler) -> None:
    entry = scheduler.extender(tradewind.url, weight=10, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))


def on_the_dear_node(api: Api, add_nodes: AddNodes, movable: str, replicas: int) -> dict[str, str]:
    """The workload came when there was no other node; now the cheap one is there, and in use."""
    add_nodes(objects.node("dear", cpu="4", price=3.0))
    api.create(deployment("web", movable, replicas, cpu="500m"))
    nodes = outcomes.bound_nodes(api, movable, replicas)
    assert set(nodes.values()) == {"dear"}
    add_nodes(objects.node("cheap", cpu="4", price=1.0, labels={"disk": "ssd"}))
    api.create(deployment("local", movable, 2, cpu="100m", nodeSelector={"disk": "ssd"}))
    outcomes.bound_nodes(api, movable, replicas + 2)
    return nodes


def deployment(name: str, namespace: str, replicas: int, **spec: Any) -> Object:
    # No kubelet ends a pod here.
    return objects.deployment(name, namespace, replicas=replicas, terminationGracePeriodSeconds=0, **spec)


def web(api: Api, namespace: str) -> list[Object]:
    return list(api.read(f"/api/v1/namespaces/{namespace}/pods", labelSelector="app=web")["items"])


def wait(what: str, seen: Callable[[], object]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not seen():
        if time.monotonic() > deadline:
            raise outcomes.NotSeenError(what)
        time.sleep(0.2)


def settled(api: Api, movable: str, replicas: int) -> bool:
    pods = web(api, movable)
    return len(pods) == replicas and all(map(outcomes.bound_to, pods))


def test_a_node_is_emptied_and_its_pods_go_to_their_targets(
    api: Api, add_nodes: AddNodes, movable: str, start_planner: StartPlanner
) -> None:
    planner = start_planner({"planner": {"moves": {**_MOVES, "mode": "advise"}}})
    before = on_the_dear_node(api, add_nodes, movable, 2)
    name = next(iter(before))
    text = outcomes.event(api, movable, name, "MoveAdvised", containing="Moved to cheap", seconds=_SECONDS)
    assert "it would leave dear empty: $3/h less" in text
    assert set(outcomes.bound_nodes(api, movable, 4)) > set(before)
    assert "$3/h: empty dear by moving" in api.read(_RECORD)["data"]["advice.txt"]
    planner.configure({"planner": {"moves": _MOVES}})
    planner.wait_metric("tradewind_move_sets_total", 1, outcome="done", cause="money", seconds=_SECONDS)
    assert {outcomes.bound_to(pod) for pod in web(api, movable)} == {"cheap"}
    assert {pod["metadata"]["name"] for pod in web(api, movable)}.isdisjoint(before)
    assert planner.metric("tradewind_evictions_total", outcome="evicted") == 2
    recorded = json.loads(api.read(_RECORD)["data"]["evictions.json"])
    assert (len(recorded["evictions"]), recorded["under_way"]) == (2, [])
    assert outcomes.event(api, movable, name, "Moved", seconds=_SECONDS)


def test_the_leader_is_killed_between_two_evictions(
    api: Api, add_nodes: AddNodes, movable: str, start_planner: StartPlanner
) -> None:
    """The next one gives the set up, counts all of it as spent, and plans what was left waiting."""
    budget = {"evictions": 3, "perWorkload": 3, "perNamespace": 3}
    first = start_planner({"planner": {"moves": {**_MOVES, "mode": "off"}}})
    before = {
        pod["metadata"]["uid"] for pod in (on_the_dear_node(api, add_nodes, movable, 3), web(api, movable))[1]
    }
    settings = {"planner": {"moves": {**_MOVES, "budget": budget}}}
    first.configure(settings)
    wait("an eviction", lambda: before - {pod["metadata"]["uid"] for pod in web(api, movable)})
    first.kill()
    second = start_planner(settings)
    second.wait_leading()
    wait("every pod on a node", lambda: settled(api, movable, 3))
    wait("no reservation", lambda: not any(_MOVE in _annotations(pod) for pod in web(api, movable)))

    def record() -> Object:
        found: Object = json.loads(api.read(_RECORD)["data"]["evictions.json"])
        return found

    wait("the set is given up", lambda: not record()["under_way"])
    time.sleep(3 * _MOVES["everySeconds"])  # in which more would have been evicted
    gone = before - {pod["metadata"]["uid"] for pod in web(api, movable)}
    assert 1 <= len(gone) <= 3
    assert second.metric("tradewind_evictions_total", outcome="evicted") == 0
    assert len(record()["evictions"]) == 3


def _annotations(pod: Object) -> Object:
    return pod["metadata"].get("annotations") or {}
