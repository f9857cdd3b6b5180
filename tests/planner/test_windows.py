"""A placement is bettered window by window, and never made worse."""

import time

from tests.builders import node, pod
from tests.planner.cases import batch_of, copies, filled
from tradewind.planner import windows
from tradewind.planner.problem import Assignment, value


def test_pods_move_to_the_cheaper_node() -> None:
    nodes = [node("dear").cpu("4").price(9), node("cheap").cpu("4").price(1)]
    problem = batch_of(filled(nodes, copies(pod("p").requests(cpu="1"), "p", 4))).problem
    reported: list[Assignment] = []
    found = windows.improve(problem, {(0, 0): 4}, time.monotonic() + 10, reported.append)
    assert found == {(0, 1): 4}
    assert reported == [found]


def test_the_best_stays_as_it_is() -> None:
    problem = batch_of(filled([node("a").price(1), node("b").price(2)], [pod("p").requests(cpu="1")])).problem
    reported: list[Assignment] = []
    best = {(0, 0): 1}
    found = windows.improve(problem, best, time.monotonic() + 10, reported.append)
    assert value(problem, found) == value(problem, best)
    assert reported == []


def test_nothing_is_tried_after_the_deadline() -> None:
    problem = batch_of(filled([node("a"), node("b")], [pod("p").requests(cpu="1")])).problem
    assert windows.improve(problem, {(0, 0): 1}, time.monotonic() - 1, lambda _: None) == {(0, 0): 1}
