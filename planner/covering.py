"""Which nodes to open, chosen before any pod is placed: the cheapest set that has enough of everything.

Opening node by node is blind to the end: the cheapest core is often in a node far larger than what is left
to place. Here the whole set is chosen at once, then filled by best fit, and chosen again with what that taught.
"""

import time

import numpy as np
from ortools.sat.python import cp_model

from planner.bound import node_groups
from planner.greedy import fill, urgency
from planner.problem import Assignment, Problem, value
from planner.repack import repack
from planner.state import State

_ROUNDS = 12
_RESOLUTION = 10**6
_CHOICE_SECONDS = 0.2


def cover(problem: Problem, floor: Assignment, deadline: float) -> Assignment:
    """The best of the floor and of what came of every round before the deadline.

    Slope scaling: no node can be filled to the brim, one too small for most pods least of all. Each round sees
    how full the nodes of each kind got, and the next one counts on no more than that.
    """
    best, best_value = floor, value(problem, floor)
    groups = node_groups(problem)
    fullness = np.ones(len(groups))
    for _ in range(_ROUNDS):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        rows = _choose(problem, groups, floor, fullness, min(_CHOICE_SECONDS, left))
        if rows is None:
            break
        found = _filled(problem, rows)
        if value(problem, found) > best_value:
            best, best_value = found, value(problem, found)
        _learn(problem, groups, found, fullness)
    return best


def _learn(problem: Problem, groups: list[list[int]], found: Assignment, fullness: np.ndarray) -> None:
    taken = np.zeros(problem.free.shape)
    for (index, row), pods in found.items():
        taken[:, row] += pods * problem.classes[index].requests
    for number, group in enumerate(groups):
        opened = [row for row in group if taken[:, row].any()]
        if opened and not problem.in_use[group[0]]:
            free = np.maximum(problem.free[:, opened], 1)
            seen = float(np.mean((taken[:, opened] / free).max(axis=0)))
            fullness[number] += 0.5 * (seen - fullness[number])


def _choose(
    problem: Problem, groups: list[list[int]], floor: Assignment, fullness: np.ndarray, seconds: float
) -> list[int] | None:
    """The cheapest nodes with room for all that the floor places, resource by resource."""
    demand = np.zeros(len(problem.free), np.int64)
    for (index, _), pods in floor.items():
        demand += pods * problem.classes[index].requests
    unused = [number for number, group in enumerate(groups) if not problem.in_use[group[0]]]
    open_groups = [groups[number] for number in unused]
    full = fullness[unused].tolist()
    usable = np.array([each.allowed for each in problem.classes]).any(axis=0)
    model = cp_model.CpModel()
    number = [model.new_int_var(0, len(group) if usable[group[0]] else 0, "") for group in open_groups]
    given = problem.free[:, problem.in_use & usable].clip(0).sum(axis=1)
    for resource in np.flatnonzero(demand).tolist():
        scale = demand[resource] / _RESOLUTION
        wanted = int(np.ceil((demand[resource] - given[resource]) / scale))
        free = [
            int(max(problem.free[resource, group[0]], 0) * part / scale)
            for group, part in zip(open_groups, full, strict=True)
        ]
        model.add(sum(each * count for each, count in zip(free, number, strict=True)) >= wanted)
    total = float(problem.price.sum()) or 1.0
    prices = [round(float(problem.price[group[0]]) / total * 10**9) for group in open_groups]
    model.minimize(sum(price * count for price, count in zip(prices, number, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    solver.parameters.num_workers = 2
    if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    chosen = zip(open_groups, number, strict=True)
    return [row for group, count in chosen for row in group[: int(solver.value(count))]]


def _filled(problem: Problem, rows: list[int]) -> Assignment:
    state = State(problem)
    open_rows = problem.in_use.copy()
    open_rows[rows] = True
    weights = _scarcity(problem, open_rows)
    for index in urgency(problem):
        if not state.ties[index] and not _in_gang(problem, index):
            _best_fit(state, index, open_rows, weights)
    fill(state)
    repack(state)
    return state.assignment


def _in_gang(problem: Problem, index: int) -> bool:
    return any(index in gang.classes for gang in problem.gangs)


def _scarcity(problem: Problem, open_rows: np.ndarray) -> np.ndarray:
    """(R, 1) what a unit of each resource weighs: its demand over what the open nodes have of it, squared."""
    demand = sum((each.count * each.requests for each in problem.classes), np.zeros(len(problem.free)))
    supply = np.maximum(problem.free[:, open_rows].clip(0).sum(axis=1), 1)
    size = np.maximum(problem.free[:, open_rows].max(axis=1, initial=1), 1)
    return np.asarray(((demand / supply) ** 2 / size)[:, None])


def _best_fit(state: State, index: int, open_rows: np.ndarray, weights: np.ndarray) -> None:
    """To the open nodes with the least left afterwards, weighed by how scarce it is."""
    room = state.room(index)
    room[~open_rows] = 0
    rows = np.flatnonzero(room)
    leftover = (state.free[:, rows] * weights).sum(axis=0)
    for at in np.argsort(leftover, kind="stable").tolist():
        if not state.left[index]:
            return
        state.add(index, int(rows[at]), min(int(room[rows[at]]), state.left[index]))
