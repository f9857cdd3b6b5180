"""An order in which kube-scheduler can bind the pods of an assignment, one after another."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.planner.deadline import NEVER, is_over
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


def filled_order(problem: Problem, assignment: Assignment, deadline: float = NEVER) -> list[Step]:
    """An order for the assignment, then for all pods that still have a place after it.

    The solvers want a spread to hold when all is bound, kube-scheduler asks for it pod by pod: so they leave
    out pods that can be bound.
    """
    order = valid_order(problem, assignment, deadline=deadline)
    before = assignment_of(order)
    if is_over(deadline):
        return order
    after = fill(State(problem).load(before), deadline=deadline).assignment
    return order + valid_order(problem, Counter(after) - Counter(before), before, deadline=deadline)


def valid_order(
    problem: Problem,
    assignment: Assignment,
    before: Assignment | None = None,
    *,
    deadline: float = NEVER,
) -> list[Step]:
    """An order for all of it, unless pods wait for each other in a circle: these are left out.

    A gang that then falls short is dropped as a whole, until nothing more falls. `before` is bound already.
    At the deadline, the order ends.
    """
    before = before or {}
    while True:
        order = _binding_order(problem, assignment, before, deadline)
        short = _short(problem, order, before)
        if not short:
            return order
        if is_over(deadline):
            return independent(problem, order, before)
        assignment = {key: pods for key, pods in assignment_of(order).items() if key[0] not in short}


def independent(problem: Problem, order: Sequence[Step], before: Assignment | None = None) -> list[Step]:
    """The steps that hold in any order and without all others; of gangs that fall short then, none."""
    ordered = frozenset[int]().union(*(each.members() for each in problem.relations if each.ordered))
    kept = [step for step in order if step.number not in ordered]
    while short := _short(problem, kept, before or {}):
        kept = [step for step in kept if step.number not in short]
    return kept


def _short(problem: Problem, order: Sequence[Step], before: Assignment) -> set[int]:
    """The classes with steps that are of gangs with too few pods."""
    placed = Counter(step.number for step in order)
    bound = Counter(placed)
    for (index, _), pods in before.items():
        bound[index] += pods
    return {
        index
        for gang in problem.gangs
        if sum(bound[index] for index in gang.classes) < gang.min_pods
        for index in gang.classes
        if placed[index]
    }


def assignment_of(order: Sequence[Step]) -> Assignment:
    return Counter(order)


def _binding_order(
    problem: Problem, assignment: Assignment, before: Assignment, deadline: float
) -> list[Step]:
    """Every pod; those that can never be bound are left out.

    Anchors come before their followers. Where that is not enough, the order in which the assignment lists
    them is tried: it is the one in which the greedy rule placed them. Where a class wants to be with itself,
    the first of it may have to come before others that it would accept too.
    """
    pods = sum(assignment.values())
    steps: list[Step] = []
    for binding, first in _attempts(problem, assignment, before):
        steps = max(steps, binding.run(first, deadline), key=len)
        if len(steps) == pods or is_over(deadline):
            break
    return steps


def _attempts(
    problem: Problem, assignment: Assignment, before: Assignment
) -> Iterator[tuple["_Binding", tuple[int, int] | None]]:
    ordered = dict(sorted(assignment.items()))
    depth = depths(problem)
    yield _Binding(problem, ordered, before, depth), None
    yield _Binding(problem, assignment, before), None
    starters = frozenset().union(*(each.first() for each in problem.relations))
    for first in [key for key in assignment if key[0] in starters][:_STARTS]:
        yield _Binding(problem, ordered, before, depth), first


class _Binding:
    def __init__(
        self,
        problem: Problem,
        assignment: Assignment,
        before: Assignment,
        depth: Sequence[int] | None = None,
    ) -> None:
        """In the order of `depth` by class, else as listed."""
        self._state = State(problem).load(before)
        self._waiting: dict[int, Counter[int]] = defaultdict(Counter)  # by class, pods by row
        for (index, row), pods in assignment.items():
            self._waiting[index][row] = pods
        self._order = list(self._waiting)
        if depth is not None:
            self._order.sort(key=depth.__getitem__)
        self._steps: list[Step] = []

    def run(self, first: tuple[int, int] | None, deadline: float = NEVER) -> list[Step]:
        if first is not None and self._state.room(first[0])[first[1]]:
            self._bind(first[0], [first[1]])
        bound = True
        while bound:
            bound = False
            for index in self._order:
                if is_over(deadline):
                    return self._steps
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
