"""The price below which no plan for these pods can be, from a linear programme.

It lets pods and nodes be divided and forgets what ties pods to each other, so the true best lies above it. As
a guide it also knows what each pod costs on each node, beside the node's price; as a bound of prices not.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]

from tradewind.planner.problem import Amounts, Assignment, Floats, Mask, Problem, placed_counts

# Variables up to which the programme is solved as it is; beyond, alike classes are lumped.
_WHOLE = 60_000
# How finely: requests within a tenth, in steps of their logarithm. For guidance a coarser look is enough.
_FINE = 0.1
_COARSE = 0.4
# How finely nodes and classes are told apart by what pods cost: in parts of a pod's mean share of a node.
_COST_STEP = 0.25
# Groups of nodes times classes up to which costs tell nodes apart; beyond, a group has the mean of its nodes.
_TOLD_APART = 20_000


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Nodes in groups of equals, classes in lumps of near equals, and what the linear programme does."""

    groups: tuple[tuple[int, ...], ...]  # rows
    opened: Floats  # (G,) how many of each group are paid for, in parts
    lump_of: Mapping[int, int]  # by class
    flow: Floats  # (L, G) pods of each lump on each group, in parts
    cost: float  # dollars an hour: of nodes that were not in use before, and with arcs of pods on nodes


def lower_bound(problem: Problem, assignment: Assignment, seconds: float) -> float:
    """Dollars an hour of all nodes in use, for the pods that the assignment places."""
    kept = float(problem.price[problem.in_use].sum())
    if not assignment:
        return kept
    problem = replace(problem, opening=problem.price)
    relaxed = relax(problem, placed_counts(problem, assignment), seconds, guidance=False)
    return kept + (relaxed.cost if relaxed is not None else 0.0)


def fits(problem: Problem, counts: Sequence[int], seconds: float) -> bool | None:
    """Whether the sizes of the pods alone leave a place for all of them; None where that took too long."""
    return _Lumped(problem, counts, guidance=False, arcs=False).programme.fits(seconds)


def relax(
    problem: Problem, counts: Sequence[int], seconds: float, *, guidance: bool, arcs: bool = False
) -> Relaxation | None:
    """None where the solver does not finish in time.

    As a bound a lump asks for the least that any of its classes does, and all of them together for their sum;
    as guidance for their mean. With `arcs` it counts what each pod costs on each node too.
    """
    lumped = _Lumped(problem, counts, guidance=guidance, arcs=arcs)
    found = lumped.programme.solve(seconds)
    if found is None:
        return None
    opened, flow, cost = found
    return Relaxation(tuple(map(tuple, lumped.groups)), opened, lumped.lump_of, flow, cost)


class _Lumped:
    """The programme of some pods of each class, for nodes in groups and classes in lumps."""

    def __init__(self, problem: Problem, counts: Sequence[int], *, guidance: bool, arcs: bool) -> None:
        self.groups = groups = _told_apart(problem) if arcs else node_groups(problem)
        rows = [group[0] for group in groups]
        used = [index for index, count in enumerate(counts) if count]
        allowed = np.array([problem.classes[i].allowed[rows] for i in used])
        requests = np.array([problem.classes[i].requests for i in used])
        step = _COARSE if guidance else _FINE if allowed.sum() > _WHOLE else 0.0
        costs = _group_costs(problem, used, groups) if arcs else np.zeros(allowed.shape)
        profiles = cost_profiles(problem, used, costs)
        lumps = _lumps(allowed, requests, profiles, step)
        pods = np.array([counts[index] for index in used])
        self.lump_of = {used[i]: number for number, lump in enumerate(lumps) for i in lump}
        self.programme = _Programme(
            problem,
            groups,
            allowed=np.array([allowed[lump[0]] for lump in lumps]),
            requests=np.array([_asked(requests[lump], pods[lump], guidance=guidance) for lump in lumps]),
            demand=[int(pods[lump].sum()) for lump in lumps],
            costs=np.array([np.average(costs[lump], axis=0, weights=pods[lump]) for lump in lumps]),
            total=(pods[:, None] * requests).sum(axis=0),
        )


def _asked(requests: Amounts, pods: Amounts, *, guidance: bool) -> Floats:
    """(R,) by a pod of the lump."""
    return np.asarray(np.average(requests, axis=0, weights=pods) if guidance else requests.min(axis=0))


def _told_apart(problem: Problem) -> list[list[int]]:
    """Nodes that are alike in what pods cost there too, unless these are too many groups."""
    every = range(len(problem.classes))
    costs = np.array([each.cost for each in problem.classes]).reshape(len(problem.classes), -1)
    groups = node_groups(problem, cost_profiles(problem, every, costs))
    return groups if len(groups) * len(problem.classes) <= _TOLD_APART else node_groups(problem)


def _group_costs(problem: Problem, used: Sequence[int], groups: list[list[int]]) -> Floats:
    """(len(used), G) the mean over the nodes of a group."""
    group_of = np.empty(len(problem.node_names), np.intp)
    for number, group in enumerate(groups):
        group_of[group] = number
    sizes = np.bincount(group_of, minlength=len(groups))
    costs = [
        np.bincount(group_of, weights=problem.classes[i].cost, minlength=len(groups)) / sizes for i in used
    ]
    return np.array(costs).reshape(len(used), len(groups))


def cost_profiles(problem: Problem, used: Sequence[int], costs: Floats) -> Amounts:
    """Costs in steps, for each class those above its cheapest."""
    share = np.array([float((problem.price * problem.classes[i].share).mean()) for i in used])
    step = np.maximum(_COST_STEP * share, 1e-12)[:, None]
    above = costs - costs.min(axis=1, keepdims=True, initial=np.inf)
    return np.asarray(np.minimum(above / step + 0.5, 127), np.int64)


def node_groups(problem: Problem, profiles: Amounts | None = None) -> list[list[int]]:
    """Nodes that are alike to the linear programme."""
    allowed = np.packbits(np.array([each.allowed for each in problem.classes], np.bool_), axis=0)
    columns = np.concatenate(
        [
            problem.free.T.copy().view(np.uint8).reshape(len(problem.node_names), -1),
            np.where(problem.in_use, 0.0, problem.opening).view(np.uint8).reshape(-1, 8),
            allowed.T.reshape(len(problem.node_names), -1),
            *([] if profiles is None else [profiles.T.astype(np.uint8)]),
        ],
        axis=1,
    )
    found: dict[bytes, list[int]] = defaultdict(list)
    for row, column in enumerate(np.ascontiguousarray(columns)):
        found[column.tobytes()].append(row)
    return list(found.values())


def _lumps(allowed: Mask, requests: Amounts, profiles: Amounts, step: float) -> list[list[int]]:
    """Classes that may go to the same nodes at like costs and whose requests are in the same step.

    0 keeps all apart.
    """
    if not step:
        return [[index] for index in range(len(requests))]
    steps = np.floor(np.log(np.maximum(requests, 1)) / step).astype(np.int64)
    found: dict[tuple[bytes, ...], list[int]] = defaultdict(list)
    for index in range(len(requests)):
        key = (allowed[index].tobytes(), steps[index].tobytes(), profiles[index].tobytes())
        found[key].append(index)
    return list(found.values())


class _Programme:
    def __init__(
        self,
        problem: Problem,
        groups: list[list[int]],
        *,
        allowed: Mask,
        requests: Floats,
        demand: Sequence[int],
        costs: Floats,
        total: Amounts,
    ) -> None:
        self._problem = problem
        self._groups = groups
        self._allowed = allowed
        self._requests = requests
        self._demand = demand
        self._costs = costs  # (L, G) what one pod costs there, beside the node
        self._total = total  # (R,) what all pods together ask for
        # Bytes and cores in one programme: each resource in parts of the largest node.
        self._scale = np.maximum(problem.free.max(axis=1, initial=1).astype(np.float64), 1.0)
        self._solver = pywraplp.Solver.CreateSolver("GLOP")

    def fits(self, seconds: float) -> bool | None:
        self._flows(self._capacities(self._opened()))
        status = self._status(seconds)
        return {pywraplp.Solver.OPTIMAL: True, pywraplp.Solver.INFEASIBLE: False}.get(status)

    def solve(self, seconds: float) -> tuple[Floats, Floats, float] | None:
        opened = self._opened()
        flow = self._flows(self._capacities(opened))
        if self._status(seconds) != pywraplp.Solver.OPTIMAL:
            return None
        flows = np.zeros(self._allowed.shape)
        for (index, at), variable in flow.items():
            flows[index, at] = variable.solution_value()
        numbers = np.array([each.solution_value() for each in opened])
        return numbers, flows, float(self._solver.Objective().Value())

    def _status(self, seconds: float) -> int:
        self._solver.SetTimeLimit(max(int(seconds * 1000), 1))
        return int(self._solver.Solve())

    def _opened(self) -> list[Any]:
        objective = self._solver.Objective()
        objective.SetMinimization()
        opened = []
        for group in self._groups:
            paid = bool(self._problem.in_use[group[0]])
            number = self._solver.NumVar(len(group) if paid else 0, len(group), "")
            objective.SetCoefficient(number, 0.0 if paid else float(self._problem.opening[group[0]]))
            opened.append(number)
        return opened

    def _capacities(self, opened: list[Any]) -> dict[tuple[int, int], Any]:
        capacity: dict[tuple[int, int], Any] = {}
        for resource in np.flatnonzero(self._total).tolist():
            scale = float(self._scale[resource])
            enough = self._solver.Constraint(float(self._total[resource]) / scale, self._solver.infinity())
            for at, group in enumerate(self._groups):
                free = float(max(self._problem.free[resource, group[0]], 0)) / scale
                limit = capacity[at, resource] = self._solver.Constraint(-self._solver.infinity(), 0)
                limit.SetCoefficient(opened[at], -free)
                enough.SetCoefficient(opened[at], free)
        return capacity

    def _flows(self, capacity: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
        flow: dict[tuple[int, int], Any] = {}
        objective = self._solver.Objective()
        for index, pods in enumerate(self._demand):
            cover = self._solver.Constraint(pods, self._solver.infinity())
            resources = np.flatnonzero(self._requests[index]).tolist()
            for at in np.flatnonzero(self._allowed[index]).tolist():
                variable = flow[index, at] = self._solver.NumVar(0, self._solver.infinity(), "")
                cover.SetCoefficient(variable, 1)
                objective.SetCoefficient(variable, float(self._costs[index, at]))
                for resource in resources:
                    amount = float(self._requests[index, resource] / self._scale[resource])
                    capacity[at, resource].SetCoefficient(variable, amount)
        return flow
