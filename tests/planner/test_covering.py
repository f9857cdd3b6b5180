"""The set of nodes is chosen as a whole."""

import time

from tests.builders import node, pod
from tests.planner.cases import batch_of, copies, filled
from tradewind.planner.covering import cover, rounded
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Assignment, money


def test_a_last_small_rest_does_not_open_a_large_node() -> None:
    """10 cores: 8 for 4 dollars and 2 for 1.5 are 5.5; the cheapest core twice would be 8."""
    nodes = [node(f"large{n}").cpu("8").price(4) for n in range(2)]
    nodes += [node(f"small{n}").cpu("2").price(1.5) for n in range(2)]
    problem = batch_of(filled(nodes, copies(pod("p").requests(cpu="1"), "p", 10))).problem
    found: list[Assignment] = []
    cover(problem, greedy(problem), time.monotonic() + 30, found.append)
    complete = [each for each in found if sum(each.values()) == 10]
    assert min(money(problem, each) for each in complete) == 5.5


def test_what_is_open_need_not_be_paid_for() -> None:
    nodes = [node("used").cpu("4").price(9), node("new").cpu("4").price(1)]
    old = pod("old").requests(cpu="1").on("used")
    problem = batch_of(filled(nodes, [old, *copies(pod("p").requests(cpu="1"), "p", 3)])).problem
    found = rounded(problem, greedy(problem), problem.in_use, time.monotonic() + 30)
    assert found == {(0, 0): 3}
