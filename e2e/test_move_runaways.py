"""Whatever others do to a real cluster, moves stay within their limits, and end."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from e2e import manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner, StartScheduler
from e2e.objects import Object
from e2e.tradewind import Planner, Tradewind
from tradewind.market.offers import PRICE

_MOVES: dict[str, Any] = {
    "everySeconds": 1,
    "minAgeSeconds": 0,
    "minBalance": 0,
    "nodeCooldownSeconds": 1,
    "placeSeconds": 3,
    "move": ["single-replica"],
    "budget": {"evictions": 3, "perWorkload": 3, "perNamespace": 3},
}
_RECORD = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps/tradewind-moves"
_SECONDS = 90.0
_MORE_TURNS = 10  # of the actor, after a set has ended

Act = Callable[[int], object]


@pytest.fixture
def planner(tradewind: Tradewind, start_scheduler: StartScheduler, start_planner: StartPlanner) -> Planner:
    entry = scheduler.extender(tradewind.url, weight=10, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    return start_planner(moving("off"))


def moving(mode: str) -> dict[str, Any]:
    return {"planner": {"moves": {**_MOVES, "mode": mode}}}


def deployment(name: str, namespace: str, on: str = "", replicas: int = 2) -> Object:
    """No kubelet ends a pod here."""
    spec = {"nodeSelector": {"place": on}} if on else {}
    return objects.deployment(
        name, namespace, replicas=replicas, cpu="300m", terminationGracePeriodSeconds=0, **spec
    )


def place(name: str, price: float) -> Object:
    return objects.node(name, cpu="4", price=price, labels={"place": name})


def pods(api: Api, namespace: str) -> list[Object]:
    return list(api.read(f"/api/v1/namespaces/{namespace}/pods")["items"])


def evictions(api: Api) -> Object:
    found: Object = json.loads(api.read(_RECORD)["data"]["evictions.json"])
    return found


def ended(planner: Planner) -> float:
    return sum(
        planner.metric("tradewind_move_sets_total", outcome=outcome, cause="money")
        for outcome in ("done", "given-up")
    )


def wait(what: str, seen: Callable[[], object], act: Act = lambda _: None) -> None:
    deadline, turn = time.monotonic() + _SECONDS, 0
    while not seen():
        if time.monotonic() > deadline:
            raise outcomes.NotSeenError(what)
        act(turn)
        turn += 1
        time.sleep(0.25)


def run_away(api: Api, planner: Planner, namespace: str, act: Act) -> set[str]:
    """The UIDs of those that were evicted, while the actor acts; then all must be at rest."""
    before = {pod["metadata"]["uid"] for pod in pods(api, namespace)}
    count = len(before)
    planner.configure(moving("act"))
    wait("a set that ends", lambda: ended(planner), act)
    for turn in range(_MORE_TURNS):
        act(turn)
        time.sleep(0.25)
    planner.configure(moving("off"))

    def at_rest() -> bool:
        there, recorded = pods(api, namespace), evictions(api)
        settled = all(outcomes.bound_to(pod) and not _reserved(pod) for pod in there)
        evicted = planner.metric("tradewind_evictions_total", outcome="evicted")
        booked = not recorded["under_way"] and len(recorded["evictions"]) == evicted
        return len(there) == count and settled and booked

    wait("every pod on a node, nobody held, no room kept, every eviction recorded", at_rest, act)
    gone = [each["uid"] for each in evictions(api)["evictions"]]
    assert len(gone) <= _MOVES["budget"]["evictions"]
    assert set(gone) <= before, "what was moved is not moved again"
    return set(gone)


def _reserved(pod: Object) -> bool:
    return "tradewind.dev/move" in (pod["metadata"].get("annotations") or {})


def given_up(api: Api, namespace: str) -> list[str]:
    events = api.read(f"/api/v1/namespaces/{namespace}/events", fieldSelector="reason=MoveGivenUp")["items"]
    return [event["message"] for event in events]


def on_two_nodes(api: Api, add_nodes: AddNodes, movable: str, there: int = 0) -> None:
    """What is on the first fits on the second, which others keep in use."""
    add_nodes(place("left", 3.0))
    api.create(deployment("web", movable))
    outcomes.bound_nodes(api, movable, there + 2)
    add_nodes(place("right", 1.0))
    api.create(deployment("local", movable, on="right"))
    outcomes.bound_nodes(api, movable, there + 4)


def patching(api: Api, name: str, patches: Mapping[int, Object]) -> Act:
    return lambda turn: api.patch(f"/api/v1/nodes/{name}", patches[turn % len(patches)])


def test_prices_that_flip_all_the_time(api: Api, add_nodes: AddNodes, movable: str, planner: Planner) -> None:
    on_two_nodes(api, add_nodes, movable)
    prices = {number: {"metadata": {"annotations": {PRICE: price}}} for number, price in enumerate("39")}
    left, right = patching(api, "left", prices), patching(api, "right", {0: prices[1], 1: prices[0]})
    run_away(api, planner, movable, lambda turn: (left(turn), right(turn)))


def test_an_actor_that_taints_nodes(api: Api, add_nodes: AddNodes, movable: str, planner: Planner) -> None:
    on_two_nodes(api, add_nodes, movable)
    taints = [{"key": "not-now", "effect": "NoSchedule"}]
    run_away(
        api,
        planner,
        movable,
        patching(api, "right", {0: {"spec": {"taints": taints}}, 1: {"spec": {"taints": None}}}),
    )


def test_a_disruption_budget_of_zero(api: Api, add_nodes: AddNodes, movable: str, planner: Planner) -> None:
    """The node of the guarded workload stays as it is, while the other one is emptied."""
    add_nodes(objects.node("small", cpu="400m", price=2.0))
    api.create(deployment("free", movable, replicas=1))
    outcomes.bound_nodes(api, movable, 1)
    on_two_nodes(api, add_nodes, movable, 1)
    api.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "none", "namespace": movable},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
        }
    )
    free = {
        pod["metadata"]["uid"] for pod in pods(api, movable) if pod["metadata"]["labels"]["app"] == "free"
    }
    assert run_away(api, planner, movable, lambda _: None) == free
    assert given_up(api, movable) == []


def test_a_controller_that_recreates_elsewhere(
    api: Api, add_nodes: AddNodes, movable: str, planner: Planner
) -> None:
    """Each replacement may run only where the pod came from: after a change of its template, say."""
    add_nodes(place("left", 3.0))
    metadata = {"namespace": movable}
    owners = {
        name: api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}})
        for name in "abc"
    }
    api.create_all(_owned(owner) for owner in owners.values())
    outcomes.bound_nodes(api, movable, 3)
    add_nodes(place("right", 1.0))
    api.create(deployment("local", movable, on="right"))
    outcomes.bound_nodes(api, movable, 5)

    def recreate(_: int) -> None:
        there = {pod["metadata"]["labels"].get("of") for pod in pods(api, movable)}
        api.create_all(_owned(owners[name], {"place": "left"}) for name in owners.keys() - there)

    assert run_away(api, planner, movable, recreate)
    wait("the reason", lambda: given_up(api, movable))
    reasons = given_up(api, movable)
    assert all("left can become empty: " in reason for reason in reasons), reasons


def _owned(owner: Object, selector: Mapping[str, str] | None = None) -> Object:
    name, namespace = owner["metadata"]["name"], owner["metadata"]["namespace"]
    made = objects.pod(
        f"{name}-{time.monotonic_ns()}",
        namespace,
        labels={"of": name},
        cpu="300m",
        terminationGracePeriodSeconds=0,
        nodeSelector=dict(selector or {}),
    )
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"]}
    made["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    return made
