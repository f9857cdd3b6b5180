"""Every pod gets a place where there is one, then the same pods cost less; no rule is broken on the way."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, policy_of
from tests.planner.check import violations
from tests.planner.drawn import mixed_nodes, mixed_pods
from tests.planner.hidden import tight
from tests.planner.mixed import mixed
from tradewind.planner.binding import valid_order
from tradewind.planner.budget import Budget
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import make_plan
from tradewind.planner.problem import Assignment, Problem, placed_counts, value
from tradewind.planner.rent import Rent
from tradewind.planner.search import Search
from tradewind.planner.state import State


def _completed(problem: Problem, start: Assignment, seconds: float = 60.0) -> Assignment:
    return Search(problem, start).place_every(Budget(seconds))


@pytest.mark.parametrize("nodes", [12, 40, 120])
@pytest.mark.parametrize("kind", ["equal workloads", "different workloads"])
def test_every_pod_of_a_full_cluster_has_a_place(nodes: int, kind: str) -> None:
    cache = filled(*(tight(101, nodes) if kind == "equal workloads" else mixed(201, nodes)))
    batch = batch_of(cache)
    floor = greedy(batch.problem)
    assert sum(floor.values()) < batch.problem.pods, "not tight"
    found = _completed(batch.problem, floor)
    assert sum(found.values()) == batch.problem.pods
    order = valid_order(batch.problem, found)
    assert len(order) == batch.problem.pods
    assert violations(cache, policy_of, make_plan(batch, order, {}, "any")) == []


def _sized(name: str, cpu: int) -> PodBuilder:
    return pod(name).label("app", name).requests(cpu=str(cpu))


def test_others_make_room_for_the_last_pod() -> None:
    """1 + 1 and 2 cores are on two nodes of 3, and the pod without a place wants 2: one of 1 has to move."""
    pods = [*copies(_sized("s", 1), "s", 2), *copies(_sized("l", 2), "l", 2)]
    problem = batch_of(filled([node("a").cpu("3"), node("b").cpu("3")], pods)).problem
    assert sum(_completed(problem, {(0, 0): 2, (1, 1): 1}).values()) == 4


def test_pods_that_belong_together_move_together() -> None:
    """Two of them are where a third finds no room; the zone across has some for all."""
    nodes = [node("a").cpu("2").label(ZONE, "a"), node("b").cpu("3").label(ZONE, "b")]
    tied = _sized("t", 1).affinity(ZONE, {"app": "t"})
    problem = batch_of(filled(nodes, copies(tied, "t", 3))).problem
    assert _completed(problem, {(0, 0): 2}) == {(0, 1): 3}


def test_a_follower_moves_with_the_pod_that_it_follows() -> None:
    """The only node for the last pod has one that another of the zone follows: both go, or none."""
    nodes = [node(name).cpu("1").label(ZONE, name[0]) for name in ("a1", "a2", "b1", "b2")]
    last = _sized("last", 1).node_selector(HOST, "a1").uid("last")
    pods = [
        _sized("anchor", 1).uid("anchor"),
        _sized("f", 1).affinity(ZONE, {"app": "anchor"}).uid("f"),
        last,
    ]
    batch = batch_of(filled([each.label(HOST, each.build().name) for each in nodes], pods))
    index = {group.pod.name: number for number, group in enumerate(batch.groups)}
    found = _completed(batch.problem, {(index["anchor"], 0): 1, (index["f"], 1): 1})
    assert len(valid_order(batch.problem, found)) == 3


def test_what_matters_more_keeps_its_place() -> None:
    """One core, and either the critical pod or a plain one on it."""
    pods = [_sized("plain", 1).uid("plain"), _sized("critical", 1).uid("critical").priority(9_000)]
    batch = batch_of(filled([node("a").cpu("1")], pods))
    first = [group.pod.name for group in batch.groups].index("critical")
    for start in ({(first, 0): 1}, {(1 - first, 0): 1}):
        found = _completed(batch.problem, start, 0.2)
        assert placed_counts(batch.problem, found)[first] == 1


def test_a_pod_that_rivals_in_vain_leaves_the_search_to_the_others() -> None:
    """Two urgent pods rival for one node; 1 + 1 and 2 cores are on two nodes of 3 beside it."""
    disk = node("disk").cpu("1").label("disk", "ssd")
    urgent = _sized("urgent", 1).node_selector("disk", "ssd").priority(9_000)
    pods = [*copies(urgent, "urgent", 2), *copies(_sized("s", 1), "s", 2), *copies(_sized("l", 2), "l", 2)]
    batch = batch_of(filled([disk, node("a").cpu("3"), node("b").cpu("3")], pods))
    index = {group.pod.name.split("-")[0]: number for number, group in enumerate(batch.groups)}
    start = {(index["urgent"], 0): 1, (index["s"], 1): 2, (index["l"], 2): 1}
    found = _completed(batch.problem, start, 0.5)
    assert placed_counts(batch.problem, found)[index["urgent"]] == 1
    assert sum(found.values()) == 5


def test_half_a_gang_is_never_placed() -> None:
    gang = _sized("g", 2).annotation("tradewind.dev/gang", "g")
    pods = [*copies(gang, "g", 2), _sized("p", 1).uid("p")]
    batch = batch_of(filled([node("a").cpu("3")], pods))
    found = _completed(batch.problem, {}, 0.2)
    index = [group.pod.name for group in batch.groups].index("p")
    assert found == {(index, 0): 1}


def test_pods_apart_stay_apart() -> None:
    """Both nodes have one of each; what is missing is a place for a pod that wants most of a node."""
    apart = _sized("a", 1).anti_affinity(HOST, {"app": "a"})
    pods = [*copies(apart, "a", 2), *copies(_sized("s", 1), "s", 2), _sized("l", 3).uid("l")]
    cache = filled([node("x").cpu("4"), node("y").cpu("3")], pods)
    batch = batch_of(cache)
    found = _completed(batch.problem, greedy(batch.problem))
    plan = make_plan(batch, valid_order(batch.problem, found), {}, "any")
    assert len(plan.placements) == 5
    assert violations(cache, policy_of, plan) == []


def _problem(nodes: list[NodeBuilder], pods: list[PodBuilder]) -> Problem:
    return batch_of(filled(nodes, pods)).problem


def _looks(number: int) -> Budget:
    """Cancelled after so many looks at it, long before its end."""
    looks = iter(range(number))
    return Budget(60, is_cancelled=lambda: next(looks, None) is None)


def _saved(problem: Problem, start: Assignment) -> Assignment:
    search = Search(problem, start)
    search.save(_looks(20), lambda _: None)
    return search.state.assignment


def _ones(count: int) -> list[PodBuilder]:
    return copies(pod("p").requests(cpu="1"), "p", count)


def test_pods_go_to_a_cheaper_node_that_is_not_open_yet() -> None:
    problem = _problem([node("dear").cpu("4").price(9), node("cheap").cpu("4").price(1)], _ones(4))
    reported: list[Assignment] = []
    search = Search(problem, {(0, 0): 4})
    search.save(_looks(20), reported.append)
    assert search.state.assignment == {(0, 1): 4}
    assert reported == [{(0, 1): 4}]


def test_three_nodes_become_one() -> None:
    """Two pods on each of three nodes for 3 dollars; the fourth has room for all six for 2."""
    nodes = [node(f"n{number}").cpu("2").price(1) for number in range(3)] + [node("large").cpu("6").price(2)]
    assert _saved(_problem(nodes, _ones(6)), {(0, 0): 2, (0, 1): 2, (0, 2): 2}) == {(0, 3): 6}


def test_a_node_in_use_costs_nothing() -> None:
    nodes = [node("used").cpu("4").price(9), node("new").cpu("4").price(1)]
    problem = _problem(nodes, [pod("old").requests(cpu="1").on("used"), *_ones(3)])
    assert _saved(problem, {(0, 1): 3}) == {(0, 0): 3}


def test_the_best_stays_as_it_is() -> None:
    problem = _problem([node("a").price(1), node("b").price(2)], [pod("p").requests(cpu="1")])
    reported: list[Assignment] = []
    search = Search(problem, {(0, 0): 1})
    search.save(_looks(20), reported.append)
    assert search.state.assignment == {(0, 0): 1}
    assert reported == []


@pytest.mark.parametrize("tie", ["none", "apart", "together", "spread"])
def test_a_workload_moves_to_the_cheap_nodes_whatever_ties_it(tie: str) -> None:
    dear = [node(f"dear{number}").cpu("2").price(9).label(ZONE, "dear") for number in range(2)]
    cheap = [node(f"cheap{number}").cpu("2").price(1).label(ZONE, "cheap") for number in range(2)]
    start = _sized("p", 1)
    if tie == "apart":
        start = start.anti_affinity(HOST, {"app": "p"})
    elif tie == "together":
        start = start.affinity(ZONE, {"app": "p"})
    elif tie == "spread":
        start = start.spread(HOST, {"app": "p"}, maxSkew=2)
    named = [each.label(HOST, each.build().name) for each in (*dear, *cheap)]
    problem = _problem(named, copies(start, "p", 2))
    found = _saved(problem, {(0, 0): 1, (0, 1): 1})
    assert {row for _, row in found} <= {2, 3}
    assert len(valid_order(problem, found)) == 2


def test_nothing_is_tried_after_the_deadline() -> None:
    problem = _problem([node("dear").price(9), node("cheap").price(1)], _ones(1))
    search = Search(problem, {(0, 0): 1})
    search.save(Budget(-1), lambda _: None)
    assert search.state.assignment == {(0, 0): 1}
    assert Search(problem, {}).place_every(Budget(-1)) == {}


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(0, 4))
def test_every_pod_with_a_place_has_one_for_less(seed: int, rent: float) -> None:
    """And free, used and assignment are what the assignment alone makes them."""
    cache = filled(mixed_nodes(12), mixed_pods(random.Random(seed), 8, tied=seed % 2 == 0))
    problem = batch_of(cache, Rent(rent)).problem
    start = greedy(problem)
    search = Search(problem, start)
    reported: list[Assignment] = []
    search.save(_looks(3), reported.append)
    state, again = search.state, State(problem).load(search.state.assignment)
    assert (state.free == again.free).all()
    assert (state.free >= 0).all()
    assert (state.used == again.used).all()
    assert state.left == again.left
    assert placed_counts(problem, state.assignment) == placed_counts(problem, start)
    values = [value(problem, each) for each in (start, *reported)]
    assert values == sorted(values)
    for each in reported:
        assert len(valid_order(problem, each)) == sum(each.values())
