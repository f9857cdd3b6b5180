"""Nodes are emptied and filled again until every pod has a place, and nothing is given up for that."""

import time

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, policy_of
from tests.planner.check import violations
from tests.planner.hidden import tight
from tradewind.planner.binding import valid_order
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import make_plan
from tradewind.planner.problem import Assignment, Problem, placed_counts
from tradewind.planner.refilling import refill


def _refilled(problem: Problem, start: Assignment, seconds: float = 60.0) -> Assignment:
    return refill(problem, start, time.monotonic() + seconds)


@pytest.mark.parametrize("nodes", [30, 60, 120])
@pytest.mark.parametrize("seed", [101, 103])
def test_every_pod_of_a_tight_cluster_has_a_place(nodes: int, seed: int) -> None:
    cache = filled(*tight(seed, nodes))
    batch = batch_of(cache)
    floor = greedy(batch.problem)
    assert sum(floor.values()) < batch.problem.pods, "not tight"
    found = _refilled(batch.problem, floor)
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
    assert sum(_refilled(problem, {(0, 0): 2, (1, 1): 1}).values()) == 4


def test_pods_that_belong_together_move_together() -> None:
    """Two of them are where a third finds no room; the zone across has some for all."""
    nodes = [node("a").cpu("2").label(ZONE, "a"), node("b").cpu("3").label(ZONE, "b")]
    tied = _sized("t", 1).affinity(ZONE, {"app": "t"})
    problem = batch_of(filled(nodes, copies(tied, "t", 3))).problem
    assert _refilled(problem, {(0, 0): 2}) == {(0, 1): 3}


def test_nobody_is_left_behind_by_what_it_came_for() -> None:
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
    found = _refilled(batch.problem, {(index["anchor"], 0): 1, (index["f"], 1): 1})
    assert len(valid_order(batch.problem, found)) == 3


def test_what_matters_more_keeps_its_place() -> None:
    """One core, and either the critical pod or a plain one on it."""
    pods = [_sized("plain", 1).uid("plain"), _sized("critical", 1).uid("critical").priority(9_000)]
    batch = batch_of(filled([node("a").cpu("1")], pods))
    first = [group.pod.name for group in batch.groups].index("critical")
    for start in ({(first, 0): 1}, {(1 - first, 0): 1}):
        found = _refilled(batch.problem, start, 0.2)
        assert placed_counts(batch.problem, found)[first] == 1


def test_half_a_gang_is_never_placed() -> None:
    gang = _sized("g", 2).annotation("tradewind.dev/gang", "g")
    pods = [*copies(gang, "g", 2), _sized("p", 1).uid("p")]
    batch = batch_of(filled([node("a").cpu("3")], pods))
    found = _refilled(batch.problem, {}, 0.2)
    index = [group.pod.name for group in batch.groups].index("p")
    assert found == {(index, 0): 1}


def test_pods_apart_stay_apart() -> None:
    """Both nodes have one of each; what is missing is a place for a pod that wants most of a node."""
    apart = _sized("a", 1).anti_affinity(HOST, {"app": "a"})
    pods = [*copies(apart, "a", 2), *copies(_sized("s", 1), "s", 2), _sized("l", 3).uid("l")]
    cache = filled([node("x").cpu("4"), node("y").cpu("3")], pods)
    batch = batch_of(cache)
    found = _refilled(batch.problem, greedy(batch.problem))
    plan = make_plan(batch, valid_order(batch.problem, found), {}, "any")
    assert len(plan.placements) == 5
    assert violations(cache, policy_of, plan) == []
