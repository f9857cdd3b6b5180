"""The set of nodes is chosen as a whole."""

import time

from tests.builders import node, pod
from tests.planner.cases import HOST, batch_of, copies, filled
from tradewind.planner.bound import relax
from tradewind.planner.covering import cover, rounded
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Assignment, money
from tradewind.planner.progress import Progress


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


def test_the_programme_knows_what_pods_cost_on_nodes() -> None:
    """A critical pod on the spot node would cost 2 more than its price says; without that it is cheaper."""
    spot = node("spot").cpu("4").price(1).label("karpenter.sh/capacity-type", "spot")
    nodes = [spot, node("durable").cpu("4").price(3)]
    problem = batch_of(filled(nodes, [pod("p").requests(cpu="3").priority(5000)])).problem
    for arcs, row in ((True, 1), (False, 0)):
        relaxed = relax(problem, [1], 10, guidance=True, arcs=arcs)
        assert relaxed is not None
        assert relaxed.groups[int(relaxed.flow[0].argmax())] == (row,)
        assert round(float(relaxed.flow[0].max()), 6) == 1


def test_pods_with_ties_go_where_the_programme_has_them() -> None:
    """Each alone on a node: three small nodes for 3 dollars, not three large ones."""
    nodes = [node(f"large{n}").cpu("8").price(4) for n in range(3)]
    nodes += [node(f"small{n}").cpu("2").price(1) for n in range(3)]
    start = pod("p").label("app", "p").requests(cpu="1").anti_affinity(HOST, {"app": "p"})
    problem = batch_of(filled(nodes, copies(start, "p", 3))).problem
    found = rounded(problem, greedy(problem), problem.in_use, time.monotonic() + 30)
    assert len(found) == 3
    assert money(problem, found) == 3


def test_a_plan_that_is_near_the_bound_is_not_waited_for() -> None:
    """4 cores on one node are what the programme says; with nobody waiting there are more rounds."""
    nodes = [node(f"n{n}").cpu("4").price(1) for n in range(3)]
    problem = batch_of(filled(nodes, copies(pod("p").requests(cpu="1"), "p", 4))).problem
    rounds = []
    for progress in (Progress(idle=60), Progress()):
        found: list[Assignment] = []
        cover(problem, greedy(problem), time.monotonic() + 30, found.append, progress)
        rounds.append(len(found))
    assert rounds[0] == 1 < rounds[1]
