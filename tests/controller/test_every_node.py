"""Which nodes have no pod of a workload that wants one on every node."""

import pytest

from tests.builders import PodBuilder, cluster_of, node, pod
from tradewind.cluster import hints
from tradewind.controller.every_node import nodes_without


def _wanting(name: str, text: str = "every") -> PodBuilder:
    return pod(name).owner("ReplicaSet", "agent", "agent").annotation(hints.ONE_PER_NODE, text)


_NODES = [
    node("a"),
    node("b"),
    node("c").label("gpu", "yes"),
    node("d").taint("dedicated"),
    node("e").unschedulable(),
]


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        pytest.param(
            [_wanting("x").on("a")], ["x: 2 of 3 nodes have no pod of this workload: b, c"], id="one"
        ),
        pytest.param([_wanting(name).on(name) for name in "abc"], [], id="all"),
        pytest.param(
            [_wanting("x")], ["x: 3 of 3 nodes have no pod of this workload: a, b, c"], id="none yet"
        ),
        pytest.param([_wanting("x", "true").on("a")], [], id="wants at most one"),
        pytest.param(
            [_wanting("x").node_selector("gpu", "yes")],
            ["x: 1 of 1 nodes have no pod of this workload: c"],
            id="on some nodes",
        ),
        pytest.param(
            [_wanting("x").toleration(key="dedicated", operator="Exists").on("a"), pod("other").on("b")],
            ["x: 3 of 4 nodes have no pod of this workload: b, c, d"],
            id="tolerates",
        ),
    ],
)
def test_nodes_without(pods: list[PodBuilder], told: list[str]) -> None:
    found = nodes_without(cluster_of(_NODES, pods))
    assert [f"{each.name}: {text}" for each, text in found] == told


def test_of_many_only_a_few_are_named() -> None:
    nodes = [node(f"n{number}") for number in range(9)]
    ((_, text),) = nodes_without(cluster_of(nodes, [_wanting("x").on("n0")]))
    assert text == "8 of 9 nodes have no pod of this workload: n1, n2, n3, n4, n5 and 3 more"
