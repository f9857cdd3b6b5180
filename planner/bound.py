"""The price below which no plan for these pods can be, from a linear programme.

It lets pods and nodes be divided and forgets what ties pods to each other, so the true best lies above it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp

from planner.problem import Amounts, Assignment, Floats, Mask, Problem, placed_counts

# Variables up to which the programme is solved whole; beyond, classes of pods of the same kind are lumped.
_WHOLE = 60_000


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Nodes in groups of equals, and what the linear programme does with them."""

    groups: tuple[tuple[int, ...], ...]  # rows
    opened: Floats  # (G,) how many of each group are paid for, in parts
    flow: Floats  # (C, G) pods of each class on each group, in parts
    worth: Floats  # (C,) what one pod more of the class would cost
    price: float  # dollars an hour, of the nodes that were not in use before


def lower_bound(problem: Problem, assignment: Assignment, seconds: float) -> float:
    """Dollars an hour of all nodes in use, for the pods that the assignment places."""
    kept = float(problem.price[problem.in_use].sum())
    if not assignment:
        return kept
    relaxed = relax(problem, placed_counts(problem, assignment), seconds)
    return kept + (relaxed.price if relaxed is not None else 0.0)


def relax(problem: Problem, counts: Sequence[int], seconds: float) -> Relaxation | None:
    """None where the solver does not finish in time."""
    groups = node_groups(problem)
    rows = [group[0] for group in groups]
    used = [index for index, count in enumerate(counts) if count]
    allowed = np.array([problem.classes[i].allowed[rows] for i in used]).reshape(len(used), len(rows))
    requests = np.array([problem.classes[i].requests for i in used]).reshape(len(used), -1)
    lumps = _lumps(allowed, requests) if allowed.sum() > _WHOLE else [[i] for i in range(len(used))]
    demand = [sum(counts[used[i]] for i in lump) for lump in lumps]
    mean = np.array(
        [np.average(requests[lump], axis=0, weights=[counts[used[i]] for i in lump]) for lump in lumps]
    ).reshape(len(lumps), -1)
    solved = _solve(problem, groups, np.array([allowed[lump[0]] for lump in lumps]), mean, demand, seconds)
    if solved is None:
        return None
    opened, flow, worth, price = solved
    whole = np.zeros((len(problem.classes), len(groups)))
    values = np.zeros(len(problem.classes))
    for number, lump in enumerate(lumps):
        for i in lump:
            whole[used[i]] = flow[number] * counts[used[i]] / max(demand[number], 1)
            values[used[i]] = worth[number]
    return Relaxation(tuple(map(tuple, groups)), opened, whole, values, price)


def node_groups(problem: Problem) -> list[list[int]]:
    """Nodes that are alike to the linear programme."""
    allowed = np.packbits(np.array([each.allowed for each in problem.classes], np.bool_), axis=0)
    columns = np.concatenate(
        [
            problem.free.T.copy().view(np.uint8).reshape(len(problem.node_names), -1),
            np.ascontiguousarray(np.where(problem.in_use, 0.0, problem.price)).view(np.uint8).reshape(-1, 8),
            allowed.T.reshape(len(problem.node_names), -1),
        ],
        axis=1,
    )
    found: dict[bytes, list[int]] = defaultdict(list)
    for row, column in enumerate(np.ascontiguousarray(columns)):
        found[column.tobytes()].append(row)
    return list(found.values())


def _lumps(allowed: Mask, requests: Amounts) -> list[list[int]]:
    """Classes that may go to the same nodes: their mean stands for them, which can only lower the bound."""
    found: dict[bytes, list[int]] = defaultdict(list)
    for index in range(len(requests)):
        found[allowed[index].tobytes()].append(index)
    return list(found.values())


def _solve(
    problem: Problem,
    groups: list[list[int]],
    allowed: Mask,
    requests: Floats,
    demand: Sequence[int],
    seconds: float,
) -> tuple[Floats, Floats, Floats, float] | None:
    solver = pywraplp.Solver.CreateSolver("GLOP")
    solver.SetTimeLimit(int(seconds * 1000))
    free = [problem.free[:, group[0]] for group in groups]
    opened = []
    objective = solver.Objective()
    for group in groups:
        paid = problem.in_use[group[0]]
        number = solver.NumVar(len(group) if paid else 0, len(group), "")
        objective.SetCoefficient(number, 0.0 if paid else float(problem.price[group[0]]))
        opened.append(number)
    objective.SetMinimization()
    scale = np.maximum(problem.free.max(axis=1, initial=1).astype(np.float64), 1.0)
    flow: dict[tuple[int, int], pywraplp.Variable] = {}
    capacity: dict[tuple[int, int], pywraplp.Constraint] = {}
    for at in range(len(groups)):
        for resource in np.flatnonzero(requests.any(axis=0)).tolist():
            limit = capacity[at, resource] = solver.Constraint(-solver.infinity(), 0)
            limit.SetCoefficient(opened[at], -float(max(free[at][resource], 0)) / float(scale[resource]))
    covers = []
    for index, pods in enumerate(demand):
        cover = solver.Constraint(pods, solver.infinity())
        covers.append(cover)
        resources = np.flatnonzero(requests[index]).tolist()
        for at in np.flatnonzero(allowed[index]).tolist():
            variable = flow[index, at] = solver.NumVar(0, solver.infinity(), "")
            cover.SetCoefficient(variable, 1)
            for resource in resources:
                capacity[at, resource].SetCoefficient(
                    variable, float(requests[index, resource] / scale[resource])
                )
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return None
    flows = np.zeros((len(demand), len(groups)))
    for (index, at), variable in flow.items():
        flows[index, at] = variable.solution_value()
    return (
        np.array([each.solution_value() for each in opened]),
        flows,
        np.array([cover.dual_value() for cover in covers]),
        float(objective.Value()),
    )
