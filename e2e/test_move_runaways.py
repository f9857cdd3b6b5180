"""Whatever others do to a real cluster, moves stay within their limits, and end.

One pod is worth least to move, and free to go only when all else is done: once it was moved, the planner has
looked at the others again, and has left alone what it must.
"""

from collections import Counter
from typing import Any

import pytest

from e2e import moving, objects, outcomes
from e2e.api import Api, path
from e2e.conftest import AddNodes, StartPlanner
from e2e.moving import Act, wait
from e2e.objects import PRICE, Object
from e2e.tradewind import Planner

pytestmark = pytest.mark.usefixtures("scheduling")

_BUDGET = 8
_KEPT = "karpenter.sh/do-not-disrupt"


class Scene:
    """Nodes that each have what they were filled with, and a planner that moves nothing yet."""

    def __init__(self, api: Api, add_nodes: AddNodes, namespace: str, planner: Planner) -> None:
        self.api = api
        self.namespace = namespace
        self.planner = planner
        self._add_nodes = add_nodes
        self._count = 0  # of pods
        self._evictions = _BUDGET
        self.before: dict[str, str] = {}  # UIDs of pods to the workloads that they are of

    def fill(self, node: str, price: float, *workloads: Object) -> None:
        """A new node, with room for nobody else."""
        count = sum(each["spec"]["replicas"] for each in workloads)
        self._add_nodes(objects.node(node, cpu=f"{300 * count + 100}m", price=price, labels={"place": node}))
        self.api.create_all(workloads)
        self._count += count
        outcomes.bound_nodes(self.api, self.namespace, self._count)

    def grow(self, *nodes: str) -> None:
        room = {"cpu": "4"}
        for node in nodes:
            self.api.patch(
                f"/api/v1/nodes/{node}/status", {"status": {"allocatable": room, "capacity": room}}
            )

    def workload(self, name: str, replicas: int = 2, kind: str = "Deployment", **spec: Any) -> Object:
        made = moving.deployment(name, self.namespace, replicas, cpu="300m", **spec)
        return {**made, "kind": kind}

    def local(self, node: str) -> Object:
        """Whose pods stay on their node, which so stays in use."""
        return self.workload("local", nodeSelector={"place": node})

    def last(self) -> Object:
        return self.workload("last", 1, annotations={_KEPT: "true"})

    def move_last(self, act: Act = lambda _: None) -> None:
        """Nothing that was worth more could be moved meanwhile."""
        assert "last" not in self.evicted()
        [pod] = [pod for pod in self.pods() if pod["metadata"]["labels"]["app"] == "last"]
        self.api.patch(
            f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}",
            {"metadata": {"annotations": {_KEPT: None}}},
        )
        wait("the last", lambda: "last" in self.evicted(), act)

    def patch_node(self, name: str, patch: Object) -> None:
        self.api.patch(f"/api/v1/nodes/{name}", patch)

    def pods(self) -> list[Object]:
        return list(self.api.read(f"/api/v1/namespaces/{self.namespace}/pods")["items"])

    def move(self, evictions: int = _BUDGET, *, pause: float = 0.1, **moves: Any) -> None:
        """Nothing but the budget and cool-downs of pods is in the way; replacements wait for the pause."""
        self._evictions = evictions
        if not self.before:
            self.before = {pod["metadata"]["uid"]: pod["metadata"]["labels"]["app"] for pod in self.pods()}
        budget = dict.fromkeys(("evictions", "perWorkload", "perNamespace"), evictions)
        settings = {**moving.QUICK, "nodeCooldownSeconds": 0, "move": ["single-replica"], "budget": budget}
        batch = {"pauseSeconds": pause, "waitSeconds": pause}
        self.planner.configure({"planner": {"moves": settings | moves, "batch": batch}})

    def evicted(self) -> list[str]:
        """The workloads of pods that were, in order, of the sets that have ended."""
        found = sorted(moving.record(self.api)["evictions"], key=lambda each: each["at"])
        return [self.before.get(each["uid"], "moved twice") for each in found]

    def given_up(self) -> list[str]:
        events = f"/api/v1/namespaces/{self.namespace}/events"
        found = self.api.read(events, fieldSelector="reason=MoveGivenUp")["items"]
        return [event["message"] for event in found]

    def sets(self, outcome: str) -> float:
        causes = ("money", "notice")
        return sum(
            self.planner.metric("tradewind_move_sets_total", outcome=outcome, cause=cause) for cause in causes
        )

    def check(self) -> None:
        """Once all is at rest."""
        wait("every pod on a node, nobody held, no room kept, every set ended, all recorded", self._at_rest)
        wait("a reason for each set that was given up", lambda: self.given_up() or not self.sets("given-up"))
        assert "moved twice" not in self.evicted()
        assert len(self.evicted()) <= self._evictions

    def _at_rest(self) -> bool:
        there, record = self.pods(), moving.record(self.api)
        wanted = Counter(self.before.values())
        settled = all(outcomes.bound_to(pod) and not moving.reserved(pod) for pod in there)
        evicted = self.planner.metric("tradewind_evictions_total", outcome="evicted")
        return (
            settled
            and Counter(pod["metadata"]["labels"]["app"] for pod in there) == wanted
            and not self.planner.metric("tradewind_moving")
            and not record["under_way"]
            and len(record["evictions"]) == evicted
        )


@pytest.fixture
def scene(api: Api, add_nodes: AddNodes, movable: str, start_planner: StartPlanner) -> Scene:
    return Scene(api, add_nodes, movable, start_planner({}))


def test_prices_that_flip_all_the_time(scene: Scene) -> None:
    """One of two nodes is emptied; a third has room soon for what is on the other, which flips on."""
    scene.fill("later", 1.0, scene.last())
    scene.fill("left", 20.0, scene.workload("web"))
    scene.fill("right", 8.0, scene.workload("api"))
    scene.fill("base", 1.0, scene.local("base"))
    scene.grow("left", "right")

    def flip(turn: int) -> None:
        for number, node in enumerate(("left", "right")):
            price = ("20", "8")[(turn + number) % 2]
            scene.patch_node(node, {"metadata": {"annotations": {PRICE: price}}})

    scene.move()
    wait("evictions, of a set that has ended", scene.evicted, flip)
    scene.grow("base")
    scene.move_last(flip)
    scene.check()


def test_an_actor_that_taints_nodes(scene: Scene) -> None:
    """Whenever a pod waits, the target of the moves is closed."""
    scene.fill("later", 1.0, scene.last())
    scene.fill("left", 9.0, scene.workload("web"))
    scene.fill("right", 1.0, scene.local("right"))
    scene.grow("right")

    def taint(_: int = 0) -> None:
        waiting = not all(map(outcomes.bound_to, scene.pods()))
        taints = [{"key": "not-now", "effect": "NoSchedule"}] if waiting else None
        scene.patch_node("right", {"spec": {"taints": taints}})

    scene.move(pause=1.0, placeSeconds=3)
    wait("evictions, of a set that has ended", scene.evicted, taint)
    scene.move_last(taint)
    wait("every pod on a node", lambda: all(map(outcomes.bound_to, scene.pods())), taint)
    scene.patch_node("right", {"spec": {"taints": None}})
    scene.check()


def test_a_disruption_budget_of_zero(scene: Scene) -> None:
    """The guarded pods stay, without a try; the others go."""
    scene.fill("later", 1.0, scene.last())
    scene.fill("left", 9.0, scene.workload("web"))
    scene.fill("right", 1.0, scene.local("right"))
    scene.grow("right")
    guard = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "none", "namespace": scene.namespace},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    scene.api.create(guard)
    wait("the guard", lambda: scene.api.read(path(guard)).get("status", {}).get("expectedPods") == 2)
    scene.move()
    scene.move_last()
    scene.check()
    assert scene.evicted() == ["last"]
    assert not any("left" in reason for reason in scene.given_up())


def test_a_controller_that_recreates_elsewhere(scene: Scene) -> None:
    """Each replacement may only be where the pod came from; without end, were it not for the limits."""
    sources = {"a": 5.0, "b": 4.0, "c": 3.0}
    for name, price in sources.items():
        scene.fill(f"of-{name}", price, scene.workload(name, 1, "ReplicaSet"))
    scene.fill("right", 1.0, scene.local("right"))
    scene.grow("right")
    for name in sources:
        template = {"spec": {"nodeSelector": {"place": f"of-{name}"}}}
        replica_set = f"/apis/apps/v1/namespaces/{scene.namespace}/replicasets/{name}"
        scene.api.patch(replica_set, {"spec": {"template": template}})
    scene.move(evictions=2, placeSeconds=3)
    wait(
        "the budget is spent", lambda: "(not now: more than 2 evictions an hour)" in moving.advice(scene.api)
    )
    scene.check()
    assert scene.evicted() == ["a", "b"]
    assert scene.sets("done") == 0
    wait("both reasons", lambda: len(scene.given_up()) >= 2)
    assert all("can become empty: " in reason for reason in scene.given_up()), scene.given_up()


def test_the_pods_of_a_node_with_a_termination_notice_leave_first(scene: Scene) -> None:
    """Those that are the only replica too, although more could be saved elsewhere."""
    scene.fill("left", 9.0, scene.workload("web"))
    scene.fill("going", 1.0, scene.workload("db", 1), scene.workload("cache", 1))
    scene.fill("right", 1.0, scene.local("right"))
    scene.grow("right")
    notice = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}
    scene.patch_node("going", {"spec": {"taints": [notice]}})
    scene.move(mode="advise", move=[])
    wait("both are found", lambda: all(each in moving.advice(scene.api) for each in ("notice: ", "$9/h: ")))
    scene.move(move=[])
    wait("all of both nodes", lambda: len(scene.evicted()) == 4)
    scene.check()
    assert sorted(scene.evicted()[:2]) == ["cache", "db"]
    assert scene.evicted()[2:] == ["web", "web"]
    causes = [each["cause"] for each in moving.record(scene.api)["evictions"]]
    assert causes == ["notice", "notice", "money", "money"]
    assert {outcomes.bound_to(pod) for pod in scene.pods()} == {"right"}
