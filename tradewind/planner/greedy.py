"""The baseline of every plan: class by class, each pod to the node where it costs least just then.

Quick and always valid, and never undone by a solver that fails.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.planner.deadline import NEVER, is_over
from tradewind.planner.lanes import put, sequence
from tradewind.planner.problem import Assignment, Floats, Problem
from tradewind.planner.state import State

# Pods of a class times nodes up to which they are placed one by one, in about a second. Beyond, what they
# prefer about pods of the batch is ignored here.
_ONE_BY_ONE = 2_000_000


def greedy(problem: Problem, deadline: float = NEVER) -> Assignment:
    return fill(State(problem), deadline=deadline).assignment


def fill(state: State, order: Sequence[int] | None = None, *, deadline: float = NEVER) -> State:
    """Place what is left, as long as anything can be placed; followers come right after their anchors.

    The most urgent pods are placed by the deadline, and gangs wholly or not at all.
    """
    problem = state.problem
    units = _units(problem, order if order is not None else urgency(problem))
    again = bool(problem.gangs) or any(relation.ordered for relation in problem.relations)
    progress = True
    while progress:
        progress = False
        for unit in units:
            progress |= not is_over(deadline) and _place_unit(state, unit, deadline)
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


class _Unit(NamedTuple):
    """A class on its own, or the classes of a gang."""

    classes: Sequence[int]
    min_pods: int = 0  # else none is placed


def _units(problem: Problem, order: Iterable[int]) -> list[_Unit]:
    """A gang is at the place of its first class."""
    gang_of = {index: gang for gang in problem.gangs for index in gang.classes}
    units: list[_Unit] = []
    seen: set[str] = set()
    order = list(order)
    for index in order:
        gang = gang_of.get(index)
        if gang is None:
            units.append(_Unit([index]))
        elif gang.name not in seen:
            seen.add(gang.name)
            units.append(_Unit([member for member in order if member in gang.classes], gang.min_pods))
    return units


def _place_unit(state: State, unit: _Unit, deadline: float) -> bool:
    """Whether any pod more has a place then."""
    start = _left(state, unit)
    if not start:
        return False
    before = _assigned(state, unit) if unit.min_pods else {}
    while _place_once(state, unit, deadline) and len(unit.classes) > 1:
        pass
    if unit.min_pods and sum(_assigned(state, unit).values()) < unit.min_pods:
        for key, pods in _assigned(state, unit).items():
            state.add(*key, before.get(key, 0) - pods)
    return _left(state, unit) < start


def _place_once(state: State, unit: _Unit, deadline: float) -> bool:
    before = _left(state, unit)
    for index in unit.classes:
        if is_over(deadline):
            break
        place(state, index, deadline)
    return _left(state, unit) < before


def _left(state: State, unit: _Unit) -> int:
    return sum(state.left[index] for index in unit.classes)


def _assigned(state: State, unit: _Unit) -> dict[tuple[int, int], int]:
    classes = frozenset(unit.classes)
    return {key: pods for key, pods in state.assignment.items() if key[0] in classes}


def place(state: State, index: int, deadline: float = NEVER) -> None:
    """Put as many pods of the class as possible on the nodes that cost least."""
    if state.wishes[index] and state.left[index] * len(state.problem.node_names) <= _ONE_BY_ONE:
        _place_one_by_one(state, index, deadline)
        return
    each = state.problem.classes[index]
    while state.left[index]:
        room = state.starting_room(index, state.room_alone(index))
        rows = sequence(state, index, room, each.cost, opening_costs(state, index))
        if not rows:
            return
        put(state, index, rows)


def _place_one_by_one(state: State, index: int, deadline: float) -> None:
    """Each pod may change what every node costs the next one."""
    while state.limit(index) and not is_over(deadline):
        rows = np.flatnonzero(state.starting_room(index, state.room(index)))
        if not rows.size:
            return
        costs = (opening_costs(state, index) + further_costs(state, index))[rows]
        state.add(index, int(rows[np.argmin(costs)]), 1)


def further_costs(state: State, index: int) -> Floats:
    """(N,) what one more pod costs beside the node, with what it changes for others."""
    each = state.problem.classes[index]
    costs = each.cost + state.marginal(index)
    if each.step:
        costs += (
            each.step
            * each.share
            * np.array([state.assignment.get((index, row), 0) for row in range(costs.size)])
        )
    return costs


def opening_costs(state: State, index: int) -> Floats:
    """(N,) the part of a node's price that a pod brings with it where it is the first there."""
    problem = state.problem
    return np.where(state.used, 0.0, problem.opening * problem.classes[index].share)


def unit_costs(state: State, index: int) -> Floats:
    """(N,) what one more pod costs: on a new node its part of the price too, on one in use its own alone."""
    return opening_costs(state, index) + state.problem.classes[index].cost
