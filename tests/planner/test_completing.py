"""Where a complete placement exists, the plan has it; where none does, that is proved."""

import os

import pytest

from tests.builders import node, pod
from tests.planner.cases import HOST, batch_of, copies, filled, policy_of
from tests.planner.check import violations
from tests.planner.hidden import tight
from tradewind.planner.binding import valid_order
from tradewind.planner.engine import optimise
from tradewind.planner.exact import Solution, solve
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import make_plan
from tradewind.planner.problem import Outcome
from tradewind.planner.state import State

# TRADEWIND_TIGHT=10 looks at more of them, of every size.
_SEEDS = int(os.environ.get("TRADEWIND_TIGHT", "2"))
_SIZES = (12, 30, 60, 120) if _SEEDS > 2 else (12, 30)


@pytest.mark.parametrize("nodes", _SIZES)
@pytest.mark.parametrize("seed", range(100, 100 + _SEEDS))
def test_every_pod_of_a_tight_cluster_has_a_place(nodes: int, seed: int) -> None:
    built, pods = tight(seed, nodes)
    cache = filled(built, pods)
    batch = batch_of(cache)
    floor = greedy(batch.problem)
    assert sum(floor.values()) < batch.problem.pods, "not tight"
    found = [Outcome(floor, "greedy")]
    optimise(batch.problem, floor, 10, found.append, 60, idle=0.1)
    assignment = found[-1].assignment
    assert sum(assignment.values()) == batch.problem.pods
    plan = make_plan(batch, valid_order(batch.problem, assignment), {}, "any")
    assert violations(cache, policy_of, plan) == []


def test_pods_that_want_to_be_together_start_where_all_have_room() -> None:
    """The cheaper node has room for one of the two."""
    nodes = [node("cheap").cpu("1").price(1), node("dear").cpu("2").price(9)]
    start = pod("p").label("app", "p").requests(cpu="1").affinity(HOST, {"app": "p"})
    problem = batch_of(filled(nodes, copies(start, "p", 2))).problem
    assert greedy(problem) == {(0, 1): 2}


def test_that_there_is_no_place_for_all_is_proved() -> None:
    """6 cores are enough for three pods of 2 cores, but each of the two nodes has 3."""
    problem = batch_of(
        filled([node("a").cpu("3"), node("b").cpu("3")], copies(pod("p").requests(cpu="2"), "p", 3))
    ).problem
    assert solve(State(problem), [0, 1], {0: 3}, seconds=60, every=True) == Solution({}, optimal=True)


@pytest.mark.parametrize(
    ("pods", "proved"),
    [
        pytest.param(2, False, id="there is a place"),
        pytest.param(3, True, id="three would fit if one were divided"),
        pytest.param(4, True, id="there is too little for four"),
    ],
)
def test_who_looks_for_a_place_for_all_says_where_there_is_none(pods: int, proved: bool) -> None:
    nodes = [node("a").cpu("3"), node("b").cpu("3")]
    problem = batch_of(filled(nodes, copies(pod("p").requests(cpu="2"), "p", pods))).problem
    found: list[Outcome] = []
    optimise(problem, {}, 10, found.append, 10)
    assert any(each.impossible for each in found) is proved
