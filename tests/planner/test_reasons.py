"""A pod without a place is told the rule that keeps it out."""

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, copies, planned
from tradewind.cluster import hints


def _start() -> PodBuilder:
    return pod("p").label("app", "p").requests(cpu="100m")


@pytest.mark.parametrize(
    ("start", "source"),
    [
        pytest.param(
            _start().anti_affinity(HOST, {"app": "p"}), "pod_anti_affinity: node(s) didn't match", id="apart"
        ),
        pytest.param(_start().host_port(80), "host_ports: node(s) didn't have free ports", id="host port"),
        pytest.param(
            _start().annotation(hints.CONFLICTS, "p-*"), "conflicts: node(s) had a pod that", id="conflict"
        ),
        pytest.param(
            _start().annotation(hints.ONE_PER_NODE, "true"),
            "one_per_node: node(s) had a pod of the workload",
            id="one per node",
        ),
        pytest.param(_start().requests(cpu="900m"), "resources: cpu: node(s) had insufficient", id="cpu"),
        pytest.param(_start().requests(cpu="2"), "resources: cpu: more than any node has", id="too large"),
    ],
)
def test_the_second_of_two_pods_is_told_what_the_first_took(start: PodBuilder, source: str) -> None:
    found = planned([node("only").cpu("1")], copies(start, "p", 2), solve=False)
    reason = found.unplaced["default/p-2"]
    told, in_its_way = reason.split(" (1 of 1 nodes; 1 would do without this)")
    assert told.startswith(source)
    if "more than any" in told:
        assert in_its_way == ""
    elif "resources" in told:
        assert in_its_way == "; most of it is taken by default/p-1; 1 more node like only would take it"
    else:
        assert in_its_way == "; in its way: default/p-1"


def test_of_alternatives_the_second_waits() -> None:
    pods = copies(_start().annotation(hints.XOR, "either"), "p", 2)
    assert planned([node("a"), node("b")], pods).unplaced == {
        "default/p-2": "another of the alternatives default/either has a place"
    }


def test_a_gang_says_how_many_it_needs() -> None:
    gang = copies(_start().requests(cpu="600m").annotation("tradewind.dev/gang", "ring"), "p", 2)
    found = planned([node("only").cpu("1")], gang)
    assert set(found.unplaced) == {"default/p-1", "default/p-2"}
    assert found.unplaced["default/p-1"].startswith(
        "gang default/ring needs 2 of 2 waiting pods placed together; there is room for 1 of them; resources"
    )
    assert len(set(found.unplaced.values())) == 1


def test_a_cluster_without_nodes_says_so() -> None:
    assert planned([], [_start()]).unplaced == {"default/p": "the cluster has no node"}


def test_limits_add_up_on_a_node() -> None:
    """Requests of 3 x 1Gi would fit into 8Gi, limits of 3 x 4Gi do not."""
    found = planned(
        [node("n").memory("8Gi")], copies(pod("p").requests(memory="1Gi").limits(memory="4Gi"), "p", 3)
    )
    assert len(found.placements) == 2
    (reason,) = found.unplaced.values()
    assert "limits: memory: " in reason


def _deployment(name: str, cpu: str, count: int) -> list[PodBuilder]:
    start = pod(name).label("app", name).label("pod-template-hash", "77").requests(cpu=cpu)
    return copies(start.owner("ReplicaSet", f"{name}-77", f"uid-{name}"), name, count)


def test_a_pod_without_room_is_told_who_has_it_and_how_many_nodes_would_do() -> None:
    """An agent of half a core runs on each node, so that three pods of a core fit on a new one."""
    nodes = [
        node("small").cpu("1").price(0.1),
        node("dear").cpu("4").price(9).label("node.kubernetes.io/instance-type", "x.dear"),
        node("cheap").cpu("4").price(2).label("node.kubernetes.io/instance-type", "x.cheap"),
    ]
    agents = [
        pod(f"agent-{each}").owner("DaemonSet", "agent", "a").requests(cpu="500m").on(each)
        for each in ("small", "dear", "cheap")
    ]
    web = [each.on("dear") for each in _deployment("web", "1500m", 2)]
    job = pod("job").owner("Job", "etl", "uid-etl").requests(cpu="2").on("cheap")
    small = pod("bare").requests(cpu="1").on("cheap")
    found = planned(nodes, [*agents, *web, job, small, *_deployment("late", "1", 4)], solve=False)
    assert set(found.unplaced) == {f"default/late-{number}" for number in (1, 2, 3, 4)}
    [reason] = set(found.unplaced.values())
    assert reason == (
        "resources: cpu: node(s) had insufficient free resources (3 of 3 nodes; 3 would do without this); "
        "most of it is taken by Deployment default/web (2 pods), Job default/etl and 2 more; "
        "2 more nodes like cheap (x.cheap) would take all 4 of them"
    )


def test_pods_of_the_batch_take_room_too() -> None:
    urgent = [each.priority(100) for each in _deployment("urgent", "1", 2)]
    found = planned([node("only").cpu("2")], [*urgent, *_deployment("late", "1", 3)])
    [reason] = set(found.unplaced.values())
    assert "taken by Deployment default/urgent (2 pods); 2 more nodes like only would take all 3" in reason


def test_nodes_that_it_may_not_use_are_neither_counted_nor_offered() -> None:
    nodes = [node("gpu").cpu("1").label("gpu", "yes").price(5), node("plain").cpu("8").price(1)]
    held = [each.on("gpu") for each in _deployment("there", "1", 1)]
    other = [each.on("plain") for each in _deployment("elsewhere", "8", 1)]
    late = [each.node_selector("gpu", "yes") for each in _deployment("late", "1", 1)]
    [reason] = planned(nodes, [*held, *other, *late]).unplaced.values()
    assert reason.endswith("taken by Deployment default/there; 1 more node like gpu would take it")


def test_a_gang_that_fits_only_without_others_says_so() -> None:
    """By priority the single pod goes first, and the gang would have room for all of it beside nothing."""
    urgent = [each.priority(100) for each in _deployment("urgent", "2", 1)]
    gang = [each.annotation("tradewind.dev/gang", "ring") for each in _deployment("ring", "1", 4)]
    found = planned([node("only").cpu("4")], [*urgent, *gang])
    [reason] = set(found.unplaced.values())
    assert "placed together; there is room for 2 of them; resources: cpu" in reason
    assert "taken by Deployment default/urgent" in reason


def test_running_pods_that_keep_away_are_named() -> None:
    """By its anti-affinity or by theirs, on the node or in its zone; who fills another node has no part."""
    nodes = [
        node("a").label(ZONE, "1"),
        node("b").label(ZONE, "1"),
        node("c").label(ZONE, "2"),
        node("full").cpu("1").label(ZONE, "3"),
    ]
    theirs = [each.anti_affinity(HOST, {"app": "late"}) for each in _deployment("theirs", "100m", 1)]
    own = [each.on("b") for each in _deployment("own", "100m", 3)]
    there = [*own, theirs[0].on("c")]
    elsewhere = [*(each.on("full") for each in _deployment("big", "900m", 1)), pod("free").on("a")]
    late = [each.anti_affinity(ZONE, {"app": "own"}) for each in _deployment("late", "500m", 2)]
    [reason] = set(planned(nodes, [*there, *elsewhere, *late]).unplaced.values())
    assert reason.endswith(
        "pod anti-affinity rules (3 of 4 nodes; 3 would do without this) or "
        "resources: cpu: node(s) had insufficient free resources (1 of 4 nodes; 1 would do without this); "
        "in its way: Deployment default/own (3 pods) and Deployment default/theirs"
    )
