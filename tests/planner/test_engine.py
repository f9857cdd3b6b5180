"""Every engine on clusters too large for brute force: always valid, near the bound where nothing ties."""

import random
from collections.abc import Callable

import pytest

from tests.builders import node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, planned, policy_of, where
from tests.planner.check import gangs_kept, violations
from tests.planner.drawn import mixed_nodes, mixed_pods
from tradewind.config import document as config
from tradewind.planner.batch import make_batch
from tradewind.planner.binding import valid_order
from tradewind.planner.bound import lower_bound
from tradewind.planner.budget import Budget
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import make_plan
from tradewind.planner.planner import plan
from tradewind.planner.problem import Assignment, Outcome, Problem, money
from tradewind.planner.reasons import reasons
from tradewind.planner.rounding import round_relaxation
from tradewind.planner.search import Search
from tradewind.planner.worker import Worker


def _saved(problem: Problem) -> Assignment:
    search = Search(problem, greedy(problem))
    search.save(Budget(1), lambda _: None)
    return search.state.assignment


def _completed(problem: Problem) -> Assignment:
    return Search(problem, {}).place_every(Budget(1))


def _rounded(problem: Problem) -> Assignment:
    return round_relaxation(problem, greedy(problem), 60) or {}


def _flow(problem: Problem) -> Assignment:
    found: list[Outcome] = []
    optimise(problem, {}, 4, found.append, engine="flow")
    assert found[0].engine == "flow"
    return found[-1].assignment


ENGINES = [
    pytest.param(greedy, id="greedy"),
    pytest.param(_rounded, id="rounding"),
    pytest.param(_completed, id="search, a place for every pod"),
    pytest.param(_saved, id="search, for less"),
    pytest.param(_flow, id="flow"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_no_rule_is_broken(engine: Callable[[Problem], Assignment], seed: int) -> None:
    draw = random.Random(seed)
    nodes, pods = mixed_nodes(12), mixed_pods(draw, 25, tied=True)
    cache = filled(nodes, pods)
    batch = batch_of(cache)
    assignment = engine(batch.problem)
    order = valid_order(batch.problem, assignment)
    assert len(order) == sum(assignment.values())
    plan = make_plan(batch, order, reasons(batch, assignment), "any")
    assert list(gangs_kept(cache.all_pods(), plan)) == []
    assert violations(cache, policy_of, plan) == []


@pytest.mark.parametrize("seed", range(2))
def test_packing_without_ties_comes_near_the_bound(seed: int) -> None:
    """The bound is of dollars alone, so nothing but dollars is weighed: stability would be paid for."""
    cache = filled(mixed_nodes(60), mixed_pods(random.Random(seed), 40, tied=False))
    unstable = config.DEFAULT.model_copy(update={"weights": {"stability": 0.0}}).policies()
    batch = make_batch(cache.snapshot(), cache.all_pods(), unstable.of)
    outcomes: list[Outcome] = []
    optimise(batch.problem, greedy(batch.problem), 5, outcomes.append)
    found = outcomes[-1].assignment
    assert sum(found.values()) == batch.problem.pods
    assert money(batch.problem, found) <= 1.05 * lower_bound(batch.problem, found, 20)


def test_a_node_with_agents_only_is_not_in_use() -> None:
    agent = pod("agent").owner("DaemonSet", "agent", "d").on("a")
    batch = batch_of(filled([node("a"), node("b")], [agent, pod("web").on("b")]))
    assert batch.problem.in_use.tolist() == [False, True]


def test_what_is_better_than_the_best_of_the_solver_is_not_called_exact() -> None:
    """Both fit on the cheap node if the pod with the spread is bound first; the solver wants an even end."""
    nodes = [node("cheap").price(1), node("dear").price(9)]
    even = pod("even").label("app", "x").requests(cpu="2").spread(HOST, {"app": "x"})
    plan = planned(nodes, [even, pod("free").label("app", "x").requests(cpu="1")])
    assert where(plan) == {"even": "cheap", "free": "cheap"}
    assert plan.engine == "greedy"


def test_a_pod_that_can_be_bound_is_not_left_out_for_an_even_end() -> None:
    """The solver gains two pods on the full nodes, and would leave one free out: 3 and 1 are uneven."""
    zones = [node("a").cpu("4").label(ZONE, "a"), node("b").cpu("1").label(ZONE, "b")]
    zones = [each.label("pool", "zones") for each in zones]
    full = [node(f"full-{number}").cpu("10").label("pool", "full") for number in range(2)]
    start = pod("p").label("app", "x").requests(cpu="1")
    pods = [
        *copies(start.spread(ZONE, {"app": "x"}).priority(9), "even", 2),
        *copies(start.node_selector("pool", "zones"), "free", 3),
        *copies(pod("p").requests(cpu="6").node_selector("pool", "full"), "large", 2),
        *copies(pod("p").requests(cpu="5").node_selector("pool", "full"), "half", 4),
    ]
    cache = filled([*zones, *full], pods)
    worker = Worker()
    try:
        found = plan(cache.snapshot(), cache.all_pods(), policy_of, worker, 5).plan
    finally:
        worker.close()
    assert found.unplaced.keys() == {"default/large-1", "default/large-2"}
    assert violations(cache, policy_of, found) == []
    assert found.engine != "exact"
