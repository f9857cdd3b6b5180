"""Priority is absolute: no number of pods keeps one of a higher priority out."""

import functools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import batch_of, copies, filled
from tradewind.planner import exact
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Assignment, Outcome, Problem, value, worths
from tradewind.planner.settings import Engine
from tradewind.planner.state import State

_LEVELS = 7


def _level(priority: int, cpus: int, pods: int) -> list[PodBuilder]:
    start = pod("p").requests(cpu=str(cpus)).priority(priority).label("level", str(priority))
    return copies(start, f"p{priority}", pods)


def _placed(problem: Problem, assignment: Assignment) -> list[int]:
    """Pods of the highest priority, of the next, ..."""
    levels = sorted({each.priority for each in problem.classes}, reverse=True)
    return [
        sum(pods for (index, _), pods in assignment.items() if problem.classes[index].priority == level)
        for level in levels
    ]


def _most(nodes: Sequence[int], levels: Sequence[tuple[int, int]]) -> list[int]:
    """By trying everything: as many as can be of the first (size, pods), then of the next, ..."""
    chosen: list[int] = []
    for number, (_, pods) in enumerate(levels):
        sizes = [size for (size, _), count in zip(levels, chosen, strict=False) for _ in range(count)]
        more = levels[number][0]
        chosen.append(max(n for n in range(pods + 1) if _fit(tuple(nodes), (*sizes, *[more] * n))))
    return chosen


@functools.cache
def _fit(free: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    if not sizes:
        return True
    first, *rest = sorted(sizes, reverse=True)
    options = {
        tuple(sorted([*free[:at], left - first, *free[at + 1 :]]))
        for at, left in enumerate(free)
        if left >= first
    }
    return any(_fit(option, tuple(rest)) for option in options)


_SIZES = st.tuples(st.integers(1, 4), st.integers(1, 3))  # cores, pods


@settings(max_examples=30)
@given(
    nodes=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    levels=st.lists(_SIZES, min_size=_LEVELS, max_size=_LEVELS),
    engine=st.sampled_from(["auto", "flow"]),
)
def test_as_many_as_can_be_of_the_highest_priority_then_of_the_next(
    nodes: list[int], levels: list[tuple[int, int]], engine: Engine
) -> None:
    machines = [node(f"n{number}").cpu(str(cpus)) for number, cpus in enumerate(nodes)]
    pods = [
        each for number, (cpus, count) in enumerate(levels) for each in _level(1000 - number, cpus, count)
    ]
    problem = batch_of(filled(machines, pods)).problem
    floor = greedy(problem)
    found = [Outcome(floor, "greedy")]
    optimise(problem, floor, 5, found.append, engine=engine)
    best = _placed(problem, found[-1].assignment)
    assert all(_placed(problem, each.assignment) >= _placed(problem, floor) for each in found)
    if engine == "auto":
        assert found[-1].engine == "exact"
        assert best == _most(nodes, levels)


def test_a_small_pod_of_higher_priority_goes_before_large_ones() -> None:
    pods = [*_level(0, 4, 3), *_level(1, 1, 2), *_level(2, 2, 1)]
    problem = batch_of(filled([node("n").cpu("4")], pods)).problem
    assert _placed(problem, greedy(problem)) == [1, 2, 0]


@pytest.mark.parametrize(
    ("levels", "each"),
    [
        pytest.param(7, 10, id="within what the solver can sum"),
        pytest.param(30, 10, id="beyond: by groups of priorities"),
        pytest.param(400, 1, id="beyond what a float holds"),
    ],
)
def test_one_pod_stays_before_all_of_lower_priorities(levels: int, each: int) -> None:
    """All of them fill the node without it."""
    pods = [one for priority in range(levels) for one in _level(priority, 1, each)]
    room = levels * each
    problem = batch_of(filled([node("n").cpu(str(room)).pods(room)], [*pods, *_level(2000, room, 1)])).problem
    (high,) = [index for index, one in enumerate(problem.classes) if one.priority == 2000]
    counts = {index: one.count for index, one in enumerate(problem.classes)}
    assert greedy(problem) == {(high, 0): 1}
    low = {(index, 0): count for index, count in counts.items() if index != high}
    assert value(problem, {(high, 0): 1}) > value(problem, low)
    found = exact.solve(State(problem), [0], counts, seconds=60, hint=low)
    assert found is not None
    assert found.optimal
    assert found.assignment == {(high, 0): 1}


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 2), st.integers(1, 50)), max_size=12))
def test_a_pod_is_worth_more_than_all_of_lower_priorities(levels: list[tuple[int, int, int]]) -> None:
    found = worths(levels)
    for (priority, _, _), own in zip(levels, found, strict=True):
        below = [n * each for (p, _, n), each in zip(levels, found, strict=True) if p < priority]
        assert own > sum(below)
