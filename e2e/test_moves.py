"""Running pods are moved, so that a node becomes empty: through the real Eviction API and controllers."""

import time

import pytest

from e2e import moving, objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner
from e2e.moving import QUICK, SECONDS, deployment, wait
from e2e.objects import Object

pytestmark = pytest.mark.usefixtures("scheduling")


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


def web(api: Api, namespace: str) -> list[Object]:
    return list(api.read(f"/api/v1/namespaces/{namespace}/pods", labelSelector="app=web")["items"])


def settled(api: Api, movable: str, replicas: int) -> bool:
    pods = web(api, movable)
    return len(pods) == replicas and all(map(outcomes.bound_to, pods))


def test_a_node_is_emptied_and_its_pods_go_to_their_targets(
    api: Api, add_nodes: AddNodes, movable: str, start_planner: StartPlanner
) -> None:
    planner = start_planner({"planner": {"moves": {**QUICK, "mode": "advise"}}})
    before = on_the_dear_node(api, add_nodes, movable, 2)
    name = next(iter(before))
    text = outcomes.event(api, movable, name, "MoveAdvised", containing="Moved to cheap", seconds=SECONDS)
    assert "it would leave dear empty: $3/h less" in text
    assert set(outcomes.bound_nodes(api, movable, 4)) > set(before)
    assert "$3/h: empty dear by moving" in moving.advice(api)
    planner.configure({"planner": {"moves": QUICK}})
    planner.wait_metric("tradewind_move_sets_total", 1, outcome="done", cause="money", seconds=SECONDS)
    assert {outcomes.bound_to(pod) for pod in web(api, movable)} == {"cheap"}
    assert {pod["metadata"]["name"] for pod in web(api, movable)}.isdisjoint(before)
    assert planner.metric("tradewind_evictions_total", outcome="evicted") == 2
    recorded = moving.record(api)
    assert (len(recorded["evictions"]), recorded["under_way"]) == (2, [])
    assert outcomes.event(api, movable, name, "Moved", seconds=SECONDS)


def test_the_leader_is_killed_between_two_evictions(
    api: Api, add_nodes: AddNodes, movable: str, start_planner: StartPlanner
) -> None:
    """The next one gives the set up, counts all of it as spent, and plans what was left waiting."""
    budget = {"evictions": 3, "perWorkload": 3, "perNamespace": 3}
    first = start_planner({"planner": {"moves": {**QUICK, "mode": "off"}}})
    before = {
        pod["metadata"]["uid"] for pod in (on_the_dear_node(api, add_nodes, movable, 3), web(api, movable))[1]
    }
    settings = {"planner": {"moves": {**QUICK, "budget": budget}}}
    first.configure(settings)
    wait("an eviction", lambda: before - {pod["metadata"]["uid"] for pod in web(api, movable)})
    first.kill()
    second = start_planner(settings)
    second.wait_leading()
    wait("every pod on a node", lambda: settled(api, movable, 3))
    wait("no reservation", lambda: not any(map(moving.reserved, web(api, movable))))
    wait("the set is given up", lambda: not moving.record(api)["under_way"])
    time.sleep(3 * QUICK["everySeconds"])  # in which more would have been evicted
    gone = before - {pod["metadata"]["uid"] for pod in web(api, movable)}
    assert 1 <= len(gone) <= 3
    assert second.metric("tradewind_evictions_total", outcome="evicted") == 0
    assert len(moving.record(api)["evictions"]) == 3
