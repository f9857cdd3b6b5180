"""The linear programme says which nodes are worth opening, and which pods go with them."""

from tests.builders import node, pod
from tests.planner.cases import HOST, batch_of, copies, filled
from tradewind.planner.bound import relax
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import money
from tradewind.planner.rounding import round_relaxation


def test_what_is_open_need_not_be_paid_for() -> None:
    nodes = [node("used").cpu("4").price(9), node("new").cpu("4").price(1)]
    old = pod("old").requests(cpu="1").on("used")
    problem = batch_of(filled(nodes, [old, *copies(pod("p").requests(cpu="1"), "p", 3)])).problem
    found = round_relaxation(problem, greedy(problem), 30)
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
    found = round_relaxation(problem, greedy(problem), 30)
    assert found is not None
    assert len(found) == 3
    assert money(problem, found) == 3
