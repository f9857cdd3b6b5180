"""A pod without a place is told the rule that keeps it out."""

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import HOST, copies, planned
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
    assert reason.startswith(source)
    assert reason.endswith("(1 of 1 nodes; 1 would do without this)")


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
        "gang default/ring needs 2 of 2 waiting pods placed together; there is room"
    )


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
