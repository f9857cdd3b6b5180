"""An order in which kube-scheduler can bind the pods of an assignment, one after another."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.planner.greedy import depths, fill
from tradewind.planner.lanes import put, sequence
from tradewind.planner.problem import Assignment, Problem
from tradewind.planner.state import State

# How many pods of a class that wants to be with itself are tried as the first of it.
_STARTS = 20


class Step(NamedTuple):
    """One pod of a class is bound to a node."""

    number: int  # of the class
    row: int


def filled_order(problem: Problem, assignment: Assignment) -> list[Step]:
    """An order for the assignment, then for all pods that still have a place after it.

    The solvers want a spread to hold when all is bound, kube-scheduler asks for it pod by pod: so they leave
    out pods that can be bound.
    """
    order = valid_order(problem, assignment)
    before = assignment_of(order)
    after = fill(State(problem).load(before)).assignment
    return order + valid_order(problem, Counter(after) - Counter(before), before)


def valid_order(problem: Problem, assignment: Assignment, before: Assignment | None = None) -> list[Step]:
    """An order for all of it, unless pods wait for each other in a circle: these are left out.

    A gang that then falls short is dropped as a whole, until nothing more falls. `before` is bound already.
    """
    before = before or {}
    bound = Counter[int]()
    for (index, _), pods in before.items():
        bound[index] += pods
    while True:
        order = _binding_order(problem, assignment, before)
        placed = Counter(step.number for step in order)
        short = {
            index
            for gang in problem.gangs
            if sum(placed[index] + bound[index] for index in gang.classes) < gang.min_pods
            for index in gang.classes
        }
        if short.isdisjoint(placed):
            return order
        assignment = {key: pods for key, pods in assignment_of(order).items() if key[0] not in short}


def assignment_of(order: Sequence[Step]) -> Assignment:
    return Counter(order)


def _binding_order(problem: Problem, assignment: Assignment, before: Assignment) -> list[Step]:
    """Every pod; those that can never be bound are left out.

    Anchors come before their followers. Where that is not enough, the order in which the assignment lists
    them is tried: it is the one in which the greedy rule placed them. Where a class wants to be with itself,
    the first of it may have to come before others that it would accept too.
    """
    pods = sum(assignment.values())
    steps: list[Step] = []
    for binding, first in _attempts(problem, assignment, before):
        steps = max(steps, binding.run(first), key=len)
        if len(steps) == pods:
            break
    return steps


def _attempts(
    problem: Problem, assignment: Assignment, before: Assignment
) -> Iterator[tuple["_Binding", tuple[int, int] | None]]:
    ordered = dict(sorted(assignment.items()))
    yield _Binding(problem, ordered, before), None
    yield _Binding(problem, assignment, before, as_listed=True), None
    starters = frozenset().union(*(each.first() for each in problem.relations))
    for first in [key for key in assignment if key[0] in starters][:_STARTS]:
        yield _Binding(problem, ordered, before), first


class _Binding:
    def __init__(
        self, problem: Problem, assignment: Assignment, before: Assignment, *, as_listed: bool = False
    ) -> None:
        self._state = State(problem).load(before)
        self._depth = depths(problem)
        self._waiting: dict[int, Counter[int]] = defaultdict(Counter)  # by class, pods by row
        for (index, row), pods in assignment.items():
            self._waiting[index][row] = pods
        self._order = list(self._waiting)
        if not as_listed:
            self._order.sort(key=lambda index: self._depth[index])
        self._steps: list[Step] = []

    def run(self, first: tuple[int, int] | None) -> list[Step]:
        if first is not None and self._state.room(first[0])[first[1]]:
            self._bind(first[0], [first[1]])
        bound = True
        while bound:
            bound = False
            for index in self._order:
                while self._waiting[index] and (rows := self._bindable(index)):
                    self._bind(index, rows)
                    bound = True
        return self._steps

    def _bind(self, index: int, rows: list[int]) -> None:
        put(self._state, index, rows)
        self._steps.extend([Step(index, row) for row in rows])
        self._waiting[index] -= Counter(rows)

    def _bindable(self, index: int) -> list[int]:
        """What can be bound now; of a class without ties all of it, as the engines saw to."""
        waiting = self._waiting[index]
        if not self._state.ties[index]:
            return list(waiting.elements())
        nodes = len(self._state.problem.node_names)
        rows = list(waiting)
        wanted, place = np.zeros(nodes, np.int64), np.zeros(nodes)
        wanted[rows] = list(waiting.values())
        place[rows] = range(len(rows))
        room = np.minimum(wanted, self._state.room_alone(index))
        return sequence(self._state, index, room, place, np.zeros(nodes))
