"""Pods that no plan can place are set aside before a solve: for all others it can still be complete."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tradewind.planner.deadline import NEVER, OutOfTimeError, ensure_time
from tradewind.planner.lanes import sequence
from tradewind.planner.problem import Assignment, Problem, placed_counts
from tradewind.planner.state import State


def without_impossible(problem: Problem, placed: Assignment, deadline: float = NEVER) -> Problem:
    """No more pods of a class than have a place where no other pod waits; no fewer than are `placed`.

    The problem as it is, where that is not known by the deadline.
    """
    try:
        most = _most(problem, deadline)
    except OutOfTimeError:
        return problem
    counts = [max(pair) for pair in zip(most, placed_counts(problem, placed), strict=True)]
    classes = zip(problem.classes, counts, strict=True)
    return replace(problem, classes=tuple(replace(each, count=count) for each, count in classes))


def _most(problem: Problem, deadline: float) -> list[int]:
    most = _alone(problem, deadline)
    state = State(problem)
    changed = True
    while changed:
        before = list(most)
        for gang in problem.gangs:
            if sum(most[index] for index in gang.classes) < gang.min_pods:
                _clear(most, gang.classes)
        for relation in problem.relations:
            ensure_time(deadline)
            if relation.anchors() and not any(most[index] for index in relation.anchors()):
                _clear(most, [i for i in relation.dependents() if most[i] and not state.room(i).any()])
        changed = most != before
    return most


def _alone(problem: Problem, deadline: float) -> list[int]:
    """By class, how many of its pods have a place; whatever another pod could open counts as open."""
    state = State(replace(problem, relations=tuple(each for each in problem.relations if not each.ordered)))
    nothing = np.zeros(len(problem.node_names))
    most: list[int] = []
    for index in range(len(problem.classes)):
        ensure_time(deadline)
        most.append(len(sequence(state, index, state.room_alone(index), nothing, nothing)))
    return most


def _clear(most: list[int], classes: Sequence[int] | frozenset[int]) -> None:
    for index in classes:
        most[index] = 0
