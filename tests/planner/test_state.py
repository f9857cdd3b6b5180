"""What is left on the nodes while pods come and go."""

import random

import numpy as np
import pytest

from tests.builders import node, pod
from tests.planner.cases import HOST, batch_of, copies, filled
from tests.planner.drawn import mixed_nodes, mixed_pods
from tradewind.planner.greedy import greedy
from tradewind.planner.state import State


def test_room_is_what_fits_on_each_node_alone() -> None:
    """4, 2 and half a core for pods of 1 core; of the class three are left."""
    nodes = [node("a").cpu("4"), node("b").cpu("2"), node("c").cpu("500m")]
    state = State(batch_of(filled(nodes, copies(pod("p").requests(cpu="1"), "p", 3))).problem)
    assert state.room(0).tolist() == [3, 2, 0]
    state.add(0, 1, 1)
    assert state.room(0).tolist() == [2, 1, 0]
    assert state.used.tolist() == [False, True, False]


def test_limits_are_an_account_of_their_own() -> None:
    """8 GiB: 8 requests of 1 GiB would fit, but two limits of 4 GiB are all that overcommit 1 allows."""
    start = pod("p").requests(memory="1Gi").limits(memory="4Gi")
    state = State(batch_of(filled([node("a").memory("8Gi")], copies(start, "p", 9))).problem)
    assert state.capacity(0).tolist() == [2]


def test_relations_lower_the_room() -> None:
    start = pod("p").label("app", "p").requests(cpu="1").anti_affinity(HOST, {"app": "p"})
    state = State(batch_of(filled([node("a"), node("b")], copies(start, "p", 3))).problem)
    assert state.capacity(0).tolist() == [3, 3]
    assert state.room(0).tolist() == [1, 1]
    state.add(0, 0, 1)
    assert state.room(0).tolist() == [0, 1]
    assert state.admitted(0, state.ties[0]).tolist() == [False, True]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_put_and_taken_away_leaves_no_trace(seed: int) -> None:
    draw = random.Random(seed)
    problem = batch_of(filled(mixed_nodes(8), mixed_pods(draw, 20, tied=True))).problem
    fresh, state, loaded = State(problem), State(problem), State(problem)
    assignment = greedy(problem)
    loaded.load(assignment)
    for (index, row), pods in assignment.items():
        for _ in range(pods):
            state.add(index, row, 1)
    assert state.assignment == loaded.assignment
    np.testing.assert_array_equal(state.free, loaded.free)
    assert [state.domains_of(row) for row in range(8)] == [loaded.domains_of(row) for row in range(8)]
    for (index, row), pods in assignment.items():
        state.add(index, row, -pods)
    assert (state.assignment, state.left) == ({}, fresh.left)
    for index in range(len(problem.classes)):
        np.testing.assert_array_equal(state.room(index), fresh.room(index))
