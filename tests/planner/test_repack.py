"""Nodes are closed or swapped while that saves money, and pods that others may follow stay."""

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, batch_of, copies, filled
from tradewind.planner.problem import Assignment
from tradewind.planner.repack import repack
from tradewind.planner.state import State


def _repacked(nodes: list[NodeBuilder], pods: list[PodBuilder], start: Assignment) -> tuple[bool, Assignment]:
    state = State(batch_of(filled(nodes, pods)).problem).load(start)
    return repack(state), state.assignment


def _three() -> list[PodBuilder]:
    return copies(pod("p").requests(cpu="1"), "p", 3)


def test_a_node_whose_pods_fit_elsewhere_is_closed() -> None:
    nodes = [node("a").cpu("4").price(1), node("b").cpu("4").price(2)]
    assert _repacked(nodes, _three(), {(0, 0): 2, (0, 1): 1}) == (True, {(0, 0): 3})


def test_a_node_is_swapped_for_a_cheaper_one() -> None:
    nodes = [node("dear").cpu("4").price(9), node("cheap").cpu("4").price(1)]
    assert _repacked(nodes, _three(), {(0, 0): 3}) == (True, {(0, 1): 3})


def test_what_cannot_be_better_stays() -> None:
    nodes = [node("a").cpu("4").price(1), node("small").cpu("2").price(0.5)]
    assert _repacked(nodes, _three(), {(0, 0): 3}) == (False, {(0, 0): 3})


def test_pods_with_relations_stay() -> None:
    nodes = [node("dear").cpu("4").price(9), node("cheap").cpu("4").price(1)]
    start = pod("p").label("app", "p").requests(cpu="1").affinity(HOST, {"app": "p"})
    assert _repacked(nodes, copies(start, "p", 3), {(0, 0): 3}) == (False, {(0, 0): 3})
