"""Pods are lifted and placed anew: what that leaves costs less, and everybody still has a place."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, batch_of, copies, filled
from tests.planner.drawn import mixed_nodes, mixed_pods
from tradewind.planner import recreate
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Assignment, Problem, placed_counts, value
from tradewind.planner.progress import Progress
from tradewind.planner.rent import Rent
from tradewind.planner.state import State


def _problem(nodes: list[NodeBuilder], pods: list[PodBuilder]) -> Problem:
    return batch_of(filled(nodes, pods)).problem


def _found(problem: Problem, start: Assignment) -> Assignment:
    """Long before the deadline: it is `told` to end after some looks."""
    looks = iter(range(20))
    progress = Progress(idle=60, told=lambda: next(looks, None) is None)
    return recreate.improve(problem, start, time.monotonic() + 60, lambda _: None, progress)


def _ones(count: int) -> list[PodBuilder]:
    return copies(pod("p").requests(cpu="1"), "p", count)


def test_pods_go_to_a_cheaper_node_that_is_not_open_yet() -> None:
    problem = _problem([node("dear").cpu("4").price(9), node("cheap").cpu("4").price(1)], _ones(4))
    reported: list[Assignment] = []
    found = recreate.improve(problem, {(0, 0): 4}, time.monotonic() + 0.2, reported.append)
    assert found == {(0, 1): 4}
    assert reported == [found]


def test_three_nodes_become_one() -> None:
    """Two pods on each of three nodes for 3 dollars; the fourth has room for all six for 2."""
    nodes = [node(f"n{number}").cpu("2").price(1) for number in range(3)] + [node("large").cpu("6").price(2)]
    assert _found(_problem(nodes, _ones(6)), {(0, 0): 2, (0, 1): 2, (0, 2): 2}) == {(0, 3): 6}


def test_a_node_in_use_is_there_for_nothing() -> None:
    nodes = [node("used").cpu("4").price(9), node("new").cpu("4").price(1)]
    problem = _problem(nodes, [pod("old").requests(cpu="1").on("used"), *_ones(3)])
    assert _found(problem, {(0, 1): 3}) == {(0, 0): 3}


def test_the_best_stays_as_it_is() -> None:
    problem = _problem([node("a").price(1), node("b").price(2)], [pod("p").requests(cpu="1")])
    reported: list[Assignment] = []
    best = {(0, 0): 1}
    assert recreate.improve(problem, best, time.monotonic() + 0.1, reported.append) == best
    assert reported == []


def test_pods_with_ties_stay_and_others_beside_them_move() -> None:
    """The dear node stays open for the tied pod: only for its own cost does the other one leave."""
    nodes = [node("dear").cpu("4").price(9), node("cheap").cpu("4").price(1)]
    tied = pod("tied").label("app", "t").requests(cpu="1").anti_affinity(HOST, {"app": "t"})
    pods = [tied, pod("free").requests(cpu="1")]
    problem = batch_of(filled(nodes, pods), Rent(2.0)).problem
    [free] = [index for index, each in enumerate(problem.classes) if not State(problem).ties[index]]
    found = _found(problem, {(free, 0): 1, (1 - free, 0): 1})
    assert found == {(free, 1): 1, (1 - free, 0): 1}


def test_nobody_to_lift_is_no_search() -> None:
    problem = _problem([node("a")], [pod("p").requests(cpu="1").spread(HOST, {"app": "p"})])
    assert recreate.improve(problem, {}, time.monotonic() + 60, lambda _: None) == {}


def test_nothing_is_tried_after_the_deadline() -> None:
    problem = _problem([node("dear").price(9), node("cheap").price(1)], _ones(1))
    assert recreate.improve(problem, {(0, 0): 1}, time.monotonic() - 1, lambda _: None) == {(0, 0): 1}


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(0, 4))
def test_whoever_had_a_place_has_one_for_less(seed: int, rent: float) -> None:
    """And the books are right: free, used and assignment are what the assignment alone makes them."""
    cache = filled(mixed_nodes(12), mixed_pods(random.Random(seed), 8, tied=seed % 2 == 0))
    problem = batch_of(cache, Rent(rent)).problem
    start = greedy(problem)
    search = recreate._Search(problem, start)
    before = value(problem, start)
    for _ in range(30 if search.rows() else 0):
        gained = search.step()
        state, again = search.state, State(problem).load(search.state.assignment)
        assert (state.free == again.free).all()
        assert (state.free >= 0).all()
        assert (state.used == again.used).all()
        assert state.left == again.left
        assert placed_counts(problem, state.assignment) == placed_counts(problem, start)
        after = value(problem, state.assignment)
        assert after[1] > before[1] if gained else after == pytest.approx(before)  # sums in another order
        before = after
