"""The floor under every plan: class by class, each pod to the node where it costs least just then.

Quick and always valid, and never undone by a solver that fails.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from planner.problem import Assignment, Floats, Problem
from planner.state import State

# Without ties between nodes a class is spread over many nodes in one step; with them node by node.
_NODE_TIES = frozenset({"exclusion", "cap"})


def greedy(problem: Problem) -> Assignment:
    return fill(State(problem)).assignment


def fill(state: State, order: Sequence[int] | None = None) -> State:
    """Place what is left, as long as anything can be placed; followers come right after their anchors."""
    problem = state.problem
    units = _units(problem, order if order is not None else urgency(problem))
    progress = True
    while progress:
        progress = False
        for unit in units:
            before = sum(state.left)
            _place_unit(state, unit)
            progress |= sum(state.left) < before
        progress &= bool(problem.attractions or problem.skews or problem.gangs or problem.floors)
    return state


def urgency(problem: Problem) -> list[int]:
    """Higher priority first, then favour, then anchors before followers, then the larger pods."""
    depth = depths(problem)
    size = [float(np.median(each.share)) if each.share.size else 0.0 for each in problem.classes]
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


def depths(problem: Problem) -> list[int]:
    """How many anchors stand before each class; a circle ends the count."""
    depth = [0] * len(problem.classes)
    for _ in range(min(len(problem.attractions), 8)):
        for each in problem.attractions:
            before = max((depth[target] for target in each.targets - each.followers), default=-1)
            for follower in each.followers:
                depth[follower] = max(depth[follower], before + 1)
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
            units.append(([member for member in order if member in gang.classes], gang.least))
    return units


def _place_unit(state: State, unit: tuple[list[int], int]) -> None:
    classes, least = unit
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


def place(state: State, index: int) -> None:
    """Put as many pods of the class as possible on the nodes that cost least."""
    if not state.left[index]:
        return
    if _step_by_step(state, index):
        while state.left[index] and _place_on_best(state, index):
            pass
        return
    room = state.room(index)
    rows = np.flatnonzero(room)
    rows = rows[np.argsort(unit_costs(state, index)[rows], kind="stable")]
    for row, fitting in zip(rows.tolist(), room[rows].tolist(), strict=True):
        if not state.left[index]:
            return
        state.add(index, row, min(fitting, state.left[index]))


def _step_by_step(state: State, index: int) -> bool:
    problem = state.problem
    for kind, number in state.ties[index]:
        if kind not in _NODE_TIES:
            return True
        relation = problem.exclusions[number] if kind == "exclusion" else problem.caps[number]
        if not relation.one_node:
            return True
    return False


def _place_on_best(state: State, index: int) -> bool:
    room = state.room(index)
    rows = np.flatnonzero(room)
    if not rows.size:
        return False
    row = int(rows[np.argmin(unit_costs(state, index)[rows])])
    state.add(index, row, min(int(room[row]), state.left[index], _at_once(state, index)))
    return True


def _at_once(state: State, index: int) -> int:
    """How many pods may go to a node before everything is looked at again."""
    return 1 if any(kind in {"skew", "floor"} for kind, _ in state.ties[index]) else state.left[index]


def unit_costs(state: State, index: int) -> Floats:
    """(N,) what one more pod costs: on a new node its part of the price too, on one in use its own alone."""
    problem = state.problem
    each = problem.classes[index]
    opening = np.where(state.used, 0.0, problem.price * np.minimum(each.share, 1.0))
    return np.asarray(opening + each.cost, np.float64)
