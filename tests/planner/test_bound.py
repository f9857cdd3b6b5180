"""Nodes of 4 cores for 1 dollar each, in parts."""

import pytest

from tests.builders import node, pod
from tests.planner.cases import batch_of, copies, filled
from tradewind.planner.bound import fits, lower_bound, node_groups


@pytest.mark.parametrize(
    ("pods", "used", "expected"),
    [
        pytest.param(4, 0, 1.0, id="4 cores are one node"),
        pytest.param(6, 0, 1.5, id="6 cores are one and a half"),
        pytest.param(6, 1, 1.75, id="3 cores are free in a node that is paid for: 3 more are three quarters"),
    ],
)
def test_a_bound(pods: int, used: int, expected: float) -> None:
    nodes = [node(f"n{number}").cpu("4").price(1) for number in range(3)]
    old = [pod("old").requests(cpu="1").on("n0")][:used]
    problem = batch_of(filled(nodes, [*old, *copies(pod("p").requests(cpu="1"), "p", pods)])).problem
    assignment = {(0, 0): min(4 - used, pods), (0, 1): pods - min(4 - used, pods)}
    assert lower_bound(problem, {key: n for key, n in assignment.items() if n}, 10) == pytest.approx(expected)


def test_without_pods_it_is_what_is_paid_already() -> None:
    problem = batch_of(filled([node("a").price(3), node("b").price(5)], [pod("old").on("b")])).problem
    assert lower_bound(problem, {}, 10) == 5


def test_equal_nodes_are_one_group() -> None:
    nodes = [node("a").price(1), node("b").price(2), node("c").price(1), node("d").price(1).cpu("1")]
    problem = batch_of(filled(nodes, [pod("p").requests(cpu="100m")])).problem
    assert node_groups(problem) == [[0, 2], [1], [3]]


@pytest.mark.parametrize(("pods", "found"), [(2, True), (3, True), (4, False)])
def test_whether_sizes_alone_leave_a_place(pods: int, found: bool) -> None:
    """Two nodes of 3 cores have 6 for pods of 2: three, if one were divided."""
    nodes = [node("a").cpu("3"), node("b").cpu("3")]
    problem = batch_of(filled(nodes, copies(pod("p").requests(cpu="2"), "p", pods))).problem
    assert fits(problem, [pods], 10) is found
