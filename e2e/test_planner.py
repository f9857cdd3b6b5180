"""The running planner: pods are held, planned and let go, and none is forgotten, whatever happens to it."""

import json
import time
from collections import Counter
from collections.abc import Callable

import pytest

from e2e import fake, objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner
from e2e.objects import Object
from e2e.tradewind import Planner, Tradewind

_PLAN = "tradewind.dev/plan"
_MANY = 300
_NEVER: Object = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "never-preempting"},
    "value": 0,
    "preemptionPolicy": "Never",
}
_ZONE = "topology.kubernetes.io/zone"


def pods_of(api: Api, namespace: str) -> list[Object]:
    listed: list[Object] = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return listed


def gated(api: Api, namespace: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods_of(api, namespace) if pod["spec"].get("schedulingGates")]


def wait_for(api: Api, namespace: str, pod: str, is_met: Callable[[Object], bool]) -> Object:
    query = {"fieldSelector": f"metadata.name={pod}"}
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS, **query):
        if change.object and is_met(change.object):
            return change.object
    raise outcomes.NotSeenError(f"{namespace}/{pod} is not as expected")


def wait_ungated(api: Api, namespace: str, pod: str) -> Object:
    return wait_for(api, namespace, pod, lambda found: not found["spec"].get("schedulingGates"))


@pytest.mark.usefixtures("scheduling")
def test_a_plan_is_written_on_its_pods_and_followed(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    """Two pods of 3 cores and two of 1: together on two nodes, if none goes to the wrong one."""
    add_nodes(
        *(objects.node(name, cpu="4", price=price) for name, price in (("a", 1.0), ("b", 1.1), ("c", 9.0)))
    )
    planner = start_planner({})
    sizes = {"small-1": "1", "small-2": "1", "large-1": "3", "large-2": "3"}
    api.create_all(objects.pod(name, held, cpu=cpu) for name, cpu in sizes.items())
    nodes = outcomes.bound_nodes(api, held, 4)
    assert Counter(nodes.values()) == {"a": 2, "b": 2}
    for pod in pods_of(api, held):
        written = json.loads(pod["metadata"]["annotations"][_PLAN])
        assert written["node"] == pod["spec"]["nodeName"]
        assert written["until"].endswith("Z")
    planner.wait_metric("tradewind_followed_plans_total", 4, outcome="planned")


@pytest.mark.usefixtures("scheduling")
def test_every_pod_is_bound_where_it_was_planned_although_the_order_matters(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    """Spread with no more than one pod of skew, and followers of each of these pods."""
    zones = {f"{zone}{number}": zone for zone in "abc" for number in range(4)}
    add_nodes(*(objects.node(name, cpu="3", labels={_ZONE: zone}) for name, zone in zones.items()))
    planner = start_planner({})
    api.create_all(
        [
            *(_following(held, f"f-{number}") for number in range(12)),
            *(_spread(held, f"s-{number}") for number in range(12)),
        ]
    )
    outcomes.bound_nodes(api, held, 24)
    for pod in pods_of(api, held):
        assert json.loads(pod["metadata"]["annotations"][_PLAN])["node"] == pod["spec"]["nodeName"]
    planner.wait_metric("tradewind_followed_plans_total", 24, outcome="planned")
    events = api.read(f"/api/v1/namespaces/{held}/events")["items"]
    assert [event["message"] for event in events if event["reason"] == "FailedScheduling"] == []


def _spread(namespace: str, name: str) -> Object:
    """As large as to be alone of its kind on a node, and level over the zones."""
    alike = {"labelSelector": {"matchLabels": {"app": "s"}}}
    level = {"topologyKey": _ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **alike}
    return objects.pod(
        name,
        namespace,
        cpu="2",
        labels={"app": "s"},
        topologySpreadConstraints=[level],
    )


def _following(namespace: str, name: str) -> Object:
    near = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "s"}}}
    return objects.pod(
        name,
        namespace,
        cpu="1",
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}},
    )


def test_a_pod_on_its_way_makes_room_for_one_that_has_no_other_place(
    request: pytest.FixtureRequest, api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    """Nobody binds the first while the second is planned; only the cheap node is large enough for that."""
    add_nodes(objects.node("cheap", cpu="2", price=1.0), objects.node("dear", cpu="1", price=9.0))
    planner = start_planner({})
    api.create(objects.pod("small", held, cpu="1"))
    assert wait_ungated(api, held, "small")["status"]["nominatedNodeName"] == "cheap"
    api.create(objects.pod("large", held, cpu="2"))
    assert wait_ungated(api, held, "large")["status"]["nominatedNodeName"] == "cheap"
    request.getfixturevalue("scheduling")
    assert outcomes.bound_nodes(api, held, 2) == {"small": "dear", "large": "cheap"}
    planner.wait_metric("tradewind_followed_plans_total", 2, outcome="planned")


def test_a_pod_whose_node_filled_up_loses_its_nomination(
    request: pytest.FixtureRequest, api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    """kube-scheduler clears none from a pod that never preempts, and Karpenter ignores pods that have one."""
    add_nodes(objects.node("n", cpu="1"))
    start_planner({"planner": {"planSeconds": 300}})
    with fake.existing(api, [_NEVER]):
        api.create(objects.pod("web", held, cpu="1", priorityClassName=_NEVER["metadata"]["name"]))
        assert wait_ungated(api, held, "web")["status"]["nominatedNodeName"] == "n"
        api.create(objects.pod("other", held, cpu="1", nodeName="n"))
        request.getfixturevalue("scheduling")
        refused = wait_for(api, held, "web", lambda pod: "nominatedNodeName" not in pod["status"])
        assert _PLAN not in refused["metadata"].get("annotations", {})
        assert [each["reason"] for each in refused["status"]["conditions"]] == ["Unschedulable"]


@pytest.mark.usefixtures("scheduling")
@pytest.mark.parametrize("placement", ["spread", "pack"])
def test_a_class_says_whether_its_pods_are_spread(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner, placement: str
) -> None:
    add_nodes(*(objects.node(f"n-{number}", cpu="8", price=1.0 + number) for number in range(3)))
    even = {"name": "even", "match": {"namespaces": [held]}, "placement": placement}
    planner = start_planner({"classes": [even]})
    api.create(objects.deployment("web", held, replicas=6, cpu="500m"))
    counts = Counter(outcomes.bound_nodes(api, held, 6).values())
    assert sorted(counts.values()) == ([2, 2, 2] if placement == "spread" else [6])
    planner.wait_metric("tradewind_followed_plans_total", 6, outcome="planned")


@pytest.mark.usefixtures("scheduling")
def test_the_plain_flow_plans_when_it_is_chosen(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    """Also pods that are tied to each other, which it lets in round by round."""
    zones = {f"{zone}{number}": zone for zone in "abc" for number in range(2)}
    add_nodes(*(objects.node(name, cpu="8", labels={_ZONE: zone}) for name, zone in zones.items()))
    planner = start_planner({"planner": {"engine": "flow"}})
    api.create_all(
        [
            *(_following(held, f"f-{number}") for number in range(3)),
            *(_spread(held, f"s-{number}") for number in range(6)),
        ]
    )
    nodes = outcomes.bound_nodes(api, held, 9)
    assert Counter(zones[node] for pod, node in nodes.items() if pod.startswith("s-")) == dict.fromkeys(
        "abc", 2
    )
    planner.wait_metric("tradewind_followed_plans_total", 9, outcome="planned")
    assert planner.metric("tradewind_plans_total", engine="flow") > 0


@pytest.mark.usefixtures("scheduling")
def test_a_pod_that_no_node_can_take_keeps_nobody_waiting_and_is_ungated_at_once(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    add_nodes(*(objects.node(f"n-{number}", cpu="8") for number in range(7)))
    start_planner({"planner": {"holdSeconds": 3600}})
    lost = objects.pod("lost", held, nodeSelector={"disk": "none-has-it"})
    api.create_all([lost, *(objects.pod(f"x-{number}", held) for number in range(499))])
    nodes = outcomes.bound_nodes(api, held, 499, seconds=90)
    assert "lost" not in nodes
    wait_ungated(api, held, "lost")
    outcomes.event(api, held, "lost", "Ungated", containing="no node can take it")
    outcomes.unschedulable(api, held, "lost", "node affinity/selector")


@pytest.mark.usefixtures("scheduling")
def test_no_pod_is_held_while_there_is_no_room(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    add_nodes(objects.node("n", cpu="4"))
    start_planner({"planner": {"holdSeconds": 3600}})
    api.create(objects.pod("running", held, cpu="3", terminationGracePeriodSeconds=0))
    outcomes.bound_nodes(api, held, 1)
    api.create(objects.pod("equal", held, cpu="3"))
    outcomes.unschedulable(api, held, "equal", "Insufficient cpu")
    api.create(objects.pod("critical", held, cpu="3", priorityClassName="system-cluster-critical"))
    assert outcomes.bound_node(api, held, "critical") == "n"


@pytest.mark.usefixtures("scheduling")
def test_when_the_leader_is_killed_the_other_goes_on(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    add_nodes(*(objects.node(f"n-{number}", cpu="4", pods="30") for number in range(12)))
    leader, follower = start_planner({}), start_planner({})
    api.create_all(objects.pod(f"x-{number}", held, cpu="100m") for number in range(_MANY))
    _wait_some_released(api, held)
    leader.kill()
    assert gated(api, held), "all were let go before the leader ended: nothing is shown"
    nodes = outcomes.bound_nodes(api, held, _MANY, seconds=90)
    assert gated(api, held) == []
    assert max(Counter(nodes.values()).values()) <= 30
    assert follower.metric("tradewind_planner_leading") == 1


def _wait_some_released(api: Api, namespace: str) -> None:
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS):
        if change.object and _PLAN in change.object["metadata"].get("annotations", {}):
            return
    raise outcomes.NotSeenError("no pod was let go")


@pytest.mark.usefixtures("scheduling")
def test_a_planner_that_comes_back_finds_the_pods_that_wait(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    add_nodes(objects.node("n", cpu="4"))
    planner = start_planner({})
    planner.stop()
    api.create(objects.pod("x", held))
    assert gated(api, held) == ["x"]
    planner.start()
    assert outcomes.bound_node(api, held, "x") == "n"


@pytest.mark.usefixtures("scheduling")
def test_switched_off_it_lets_everybody_go(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    planner = start_planner({"planner": {"holdSeconds": 3600}})
    api.create(_gang(held, "g-0"))
    outcomes.event(api, held, "g-0", "Unplaced")
    assert gated(api, held) == ["g-0"]
    planner.configure({"planner": {"enabled": False}})
    wait_ungated(api, held, "g-0")
    add_nodes(objects.node("n", cpu="4"))
    api.create_all([_gang(held, "g-1"), _gang(held, "g-2")])
    assert set(outcomes.bound_nodes(api, held, 3).values()) == {"n"}


@pytest.mark.usefixtures("scheduling")
def test_a_gang_is_placed_whole_or_not_at_all(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    add_nodes(objects.node("a", cpu="2"), objects.node("b", cpu="2"))
    start_planner({"planner": {"holdSeconds": 3600}})
    api.create_all(_gang(held, f"g-{number}") for number in range(2))
    outcomes.event(api, held, "g-0", "Unplaced", containing="gang")
    assert sorted(gated(api, held)) == ["g-0", "g-1"]
    api.create(_gang(held, "g-2"))
    nodes = outcomes.bound_nodes(api, held, 3)
    assert set(nodes.values()) == {"a", "b"}
    for pod in pods_of(api, held):
        assert json.loads(pod["metadata"]["annotations"][_PLAN])["strict"]


def _gang(namespace: str, name: str) -> Object:
    return objects.pod(
        name, namespace, cpu="1", annotations={"tradewind.dev/gang": "g", "tradewind.dev/gang-min": "3"}
    )


@pytest.mark.usefixtures("scheduling")
def test_a_pool_that_would_have_to_grow_is_named(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    add_nodes(objects.node("a", cpu="1"))
    pool = {"name": "large", "resources": {"cpu": 8, "memory": "32Gi", "pods": 110}, "price": 0.4}
    start_planner({"planner": {"pools": [pool], "holdSeconds": 3600}})
    api.create(objects.pod("x", held, cpu="4"))
    outcomes.event(api, held, "x", "PlannedOnPool", containing="large")
    wait_ungated(api, held, "x")
    outcomes.unschedulable(api, held, "x", "Insufficient cpu")


@pytest.mark.usefixtures("scheduling")
def test_a_floor_that_is_lowered_wakes_the_pods_that_wait_for_it(
    api: Api, add_nodes: AddNodes, namespace: str, tradewind: Tradewind, start_planner: StartPlanner
) -> None:
    """No event of the cluster tells kube-scheduler of it: the plan that is written on the pod does."""
    strict = {"rules": {"durable_floor": {"min": 1, "strict": True}}}
    tradewind.configure(strict)
    tradewind.wait_metric("tradewind_config_reloads_total", 1, result="taken")
    planner = start_planner(strict)
    add_nodes(objects.node("spot", labels={"karpenter.sh/capacity-type": "spot"}))
    api.create(objects.deployment("web", namespace, replicas=1))
    planner.wait_metric("tradewind_planned_pods_total", 1, outcome="unplaced")
    tradewind.configure({})
    tradewind.wait_metric("tradewind_config_reloads_total", 2, result="taken")
    planner.configure({})
    assert set(outcomes.bound_nodes(api, namespace, 1).values()) == {"spot"}


def test_nothing_is_done_while_nothing_happens(api: Api, held: str, start_planner: StartPlanner) -> None:
    """A quiet cluster is not asked and not planned for; a pod that waits is planned for once."""
    planner = start_planner({"planner": {"holdSeconds": 3600}})
    api.create(_gang(held, "g-0"))
    outcomes.event(api, held, "g-0", "Unplaced")
    before = _plans(planner)
    time.sleep(2.5)  # longer than the planner looks at its own state, to see that it does nothing
    assert _plans(planner) == before


def _plans(planner: Planner) -> float:
    return planner.metric("tradewind_plan_duration_seconds_count")
