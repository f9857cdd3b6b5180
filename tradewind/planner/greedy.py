"""The floor under every plan: class by class, each pod to the node where it costs least just then.

Quick and always valid, and never undone by a solver that fails.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from tradewind.planner.lanes import put, sequence
from tradewind.planner.problem import Assignment, Floats, Problem
from tradewind.planner.state import State


def greedy(problem: Problem) -> Assignment:
    return fill(State(problem)).assignment


def fill(state: State, order: Sequence[int] | None = None) -> State:
    """Place what is left, as long as anything can be placed; followers come right after their anchors."""
    problem = state.problem
    units = _units(problem, order if order is not None else urgency(problem))
    again = bool(problem.gangs) or any(relation.ordered for relation in problem.relations)
    progress = True
    while progress:
        progress = False
        for unit in units:
            progress |= _place_unit(state, unit)
        progress &= again
    return state


def urgency(problem: Problem) -> list[int]:
    """Higher priority first, then favour, then anchors before followers, then the larger pods."""
    depth = depths(problem)
    size = _sizes(problem)
    freedom = [int(each.allowed.sum()) for each in problem.classes]
    everywhere = max(freedom, default=0)
    return sorted(
        range(len(problem.classes)),
        key=lambda i: (
            -problem.classes[i].priority,
            -problem.classes[i].favour,
            depth[i],
            freedom[i] * 2 >= everywhere,
            -size[i],
        ),
    )


def _sizes(problem: Problem) -> list[float]:
    """By class, the share of a node that a pod takes; many classes have this column in common."""
    shares = {id(each.share): each.share for each in problem.classes}
    median = {key: float(np.median(share)) if share.size else 0.0 for key, share in shares.items()}
    return [median[id(each.share)] for each in problem.classes]


def depths(problem: Problem) -> list[int]:
    """How many anchors stand before each class; a circle ends the count."""
    depth = [0] * len(problem.classes)
    chains = [(each.anchors(), each.dependents()) for each in problem.relations if each.dependents()]
    for _ in range(min(len(chains), 8)):
        for anchors, dependents in chains:
            before = max((depth[anchor] for anchor in anchors), default=-1)
            for index in dependents:
                depth[index] = max(depth[index], before + 1)
    return depth


def _units(problem: Problem, order: Iterable[int]) -> list[tuple[list[int], int]]:
    """Gangs as a whole at the place of their first class, with the number that must be placed."""
    gang_of = {index: gang for gang in problem.gangs for index in gang.classes}
    units: list[tuple[list[int], int]] = []
    seen: set[str] = set()
    order = list(order)
    for index in order:
        gang = gang_of.get(index)
        if gang is None:
            units.append(([index], 0))
        elif gang.name not in seen:
            seen.add(gang.name)
            units.append(([member for member in order if member in gang.classes], gang.min_pods))
    return units


def _place_unit(state: State, unit: tuple[list[int], int]) -> bool:
    """Whether any pod more has a place then."""
    classes, least = unit
    start = sum(state.left[index] for index in classes)
    if not start:
        return False
    before = {key: pods for key, pods in state.assignment.items() if key[0] in classes} if least else {}
    progress = True
    while progress:
        count = sum(state.left[index] for index in classes)
        for index in classes:
            place(state, index)
        progress = len(classes) > 1 and sum(state.left[index] for index in classes) < count
    if least and sum(state.problem.classes[i].count - state.left[i] for i in classes) < least:
        for key, pods in [(key, pods) for key, pods in state.assignment.items() if key[0] in classes]:
            state.add(*key, before.get(key, 0) - pods)
    return sum(state.left[index] for index in classes) < start


def place(state: State, index: int) -> None:
    """Put as many pods of the class as possible on the nodes that cost least."""
    each = state.problem.classes[index]
    while state.left[index]:
        rows = sequence(state, index, state.room_alone(index), each.cost, opening_costs(state, index))
        if not rows:
            return
        put(state, index, rows)


def opening_costs(state: State, index: int) -> Floats:
    """(N,) the part of a node's price that a pod brings with it where it is the first there."""
    problem = state.problem
    return np.where(state.used, 0.0, problem.price * problem.classes[index].share)


def unit_costs(state: State, index: int) -> Floats:
    """(N,) what one more pod costs: on a new node its part of the price too, on one in use its own alone."""
    return opening_costs(state, index) + state.problem.classes[index].cost
