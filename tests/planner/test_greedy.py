"""The greedy rule takes whole classes at once; the outcome is that of a look at all nodes for every pod."""

import functools
import random

import numpy as np
import pytest

from tests.planner.cases import batch_of, filled
from tests.planner.drawn import mixed_nodes, mixed_pods
from tradewind.planner.binding import assignment_of, valid_order
from tradewind.planner.greedy import greedy, place, unit_costs, urgency
from tradewind.planner.problem import Problem
from tradewind.planner.state import State


@functools.cache
def _problem(seed: int) -> Problem:
    draw = random.Random(seed)
    return batch_of(filled(mixed_nodes(draw.randint(4, 20)), mixed_pods(draw, 30, tied=True))).problem


def _one_by_one(problem: Problem) -> State:
    state = State(problem)
    for index in urgency(problem):
        while True:
            rows = np.flatnonzero(state.room(index))
            if not rows.size:
                break
            state.add(index, int(rows[np.argmin(unit_costs(state, index)[rows])]), 1)
    return state


@pytest.mark.parametrize("seed", range(40))
def test_a_class_at_once_goes_where_its_pods_would_one_by_one(seed: int) -> None:
    problem = _problem(seed)
    state = State(problem)
    for index in urgency(problem):
        place(state, index)
    naive = _one_by_one(problem)
    assert state.assignment == naive.assignment
    assert state.left == naive.left
    np.testing.assert_array_equal(state.free, naive.free)
    np.testing.assert_array_equal(state.used, naive.used)
    for index in range(len(problem.classes)):
        np.testing.assert_array_equal(state.room(index), naive.room(index))


@pytest.mark.parametrize("seed", range(40))
def test_all_that_is_placed_can_be_bound(seed: int) -> None:
    """Also where a spread counts pods of others, and holds in the order of placing only."""
    problem = _problem(seed)
    found = greedy(problem)
    assert assignment_of(valid_order(problem, found)) == found
