"""The mass of a large batch as one min-cost flow: classes of pods, kinds of nodes, nodes, "unscheduled".

A unit of flow is a pod. A flow knows no sizes, so a node offers as many places as pods of average size fit,
in steps of rising cost, and what comes out is fitted: placed where it really fits, the rest by the greedy
rule. The price of a node that is not in use is no cost of an arc; slope scaling makes it one: solve, divide
the price of each node by the pods that came to it, solve again.
"""

import time
from collections import defaultdict

import numpy as np
from ortools.graph.python import min_cost_flow  # type: ignore[import-untyped]

from planner.greedy import fill, urgency
from planner.problem import Amounts, Assignment, Floats, Problem, value
from planner.repack import repack
from planner.state import State

_ROUNDS = 3
_STEPS = 2  # places of a node come in so many steps of rising cost
_SCALE = 10**6  # costs are integers, at most this, so that a path through all nodes stays within 64 bits
_UNSCHEDULED = 4 * _SCALE


def place(problem: Problem, deadline: float) -> Assignment:
    """The best of the rounds before the deadline, of one at least; valid, as all pods were fitted."""
    kinds = _kinds(problem)
    places = _places(problem)
    slope = np.where(problem.in_use, 0.0, problem.price / np.maximum(places, 1))
    best: Assignment = {}
    for _ in range(_ROUNDS):
        if best and time.monotonic() > deadline:
            break
        flows = _solve(problem, kinds, places, slope)
        if flows is None:
            break
        found = _fitted(problem, kinds, flows)
        if not best or value(problem, found) > value(problem, best):
            best = found
        taken = np.zeros(len(problem.node_names))
        for (_, row), pods in found.items():
            taken[row] += pods
        # A node that stayed empty keeps its slope: what it would cost was too much at that already.
        slope = np.where(problem.in_use | (taken == 0), slope, problem.price / np.maximum(taken, 1))
    return best


def _kinds(problem: Problem) -> list[list[int]]:
    """Rows by who may go there, size and price; how much of it is free does not divide them."""
    allowed = np.packbits(np.array([each.allowed for each in problem.classes], np.bool_), axis=0)
    found: dict[bytes, list[int]] = defaultdict(list)
    price = np.ascontiguousarray(problem.price)
    for row in range(len(problem.node_names)):
        found[allowed[:, row].tobytes() + price[row].tobytes()].append(row)
    return list(found.values())


def _places(problem: Problem) -> Amounts:
    """(N,) how many pods of the batch's average size a node takes."""
    total = sum((each.count * each.requests for each in problem.classes), np.zeros(len(problem.free)))
    mean = total / max(problem.pods, 1)
    asked = np.flatnonzero(mean)
    fitting = np.floor(problem.free[asked] / mean[asked, None]).min(axis=0, initial=problem.pods)
    return np.asarray(np.clip(fitting, 0, problem.pods), np.int64)


def _solve(
    problem: Problem, kinds: list[list[int]], places: Amounts, slope: Floats
) -> dict[tuple[int, int], int] | None:
    """Pods of each class to each kind of node; None where the solver finds nothing."""
    classes, count, nodes = len(problem.classes), len(kinds), len(problem.node_names)
    rows = np.array([kind[0] for kind in kinds])
    allowed = np.array([each.allowed[rows] for each in problem.classes]).reshape(classes, count)
    costs = np.array([each.cost[rows] for each in problem.classes]).reshape(classes, count)
    unit = _SCALE / max(float(slope.max(initial=0.0) * 2 + costs.max(initial=0.0)), 1e-12)
    supply = np.array([each.count for each in problem.classes], np.int64)
    sink, unscheduled = classes + count + nodes, classes + count + nodes + 1
    from_class, to_kind = np.nonzero(allowed)
    kind_of = np.empty(nodes, np.int64)
    for number, kind in enumerate(kinds):
        kind_of[kind] = number
    worth = np.array(problem.worth) / max(min(problem.worth, default=1.0), 1e-12)
    tails, heads, capacities, unit_costs = (np.concatenate(parts) for parts in zip(
        (from_class, classes + to_kind, supply[from_class], costs[from_class, to_kind] * unit),
        *[
            (
                classes + kind_of,
                classes + count + np.arange(nodes),
                (places + step) // _STEPS,
                slope * (1 + 0.01 * step) * unit,
            )
            for step in range(_STEPS)
        ],
        (classes + count + np.arange(nodes), np.full(nodes, sink), places, np.zeros(nodes)),
        (np.arange(classes), np.full(classes, unscheduled), supply, np.minimum(worth, 1000) * _UNSCHEDULED),
        (np.array([unscheduled]), np.array([sink]), np.array([supply.sum()]), np.zeros(1)),
        strict=True,
    ))  # fmt: skip
    solver = min_cost_flow.SimpleMinCostFlow()
    arcs = solver.add_arcs_with_capacity_and_unit_cost(
        tails.astype(np.int32),
        heads.astype(np.int32),
        capacities.astype(np.int64),
        unit_costs.astype(np.int64),
    )
    solver.set_nodes_supplies(np.arange(classes, dtype=np.int32), supply)
    solver.set_nodes_supplies(np.array([sink], np.int32), -supply.sum(keepdims=True))
    if solver.solve() != solver.OPTIMAL:
        return None  # reading flows now would crash the interpreter
    flows = solver.flows(arcs)[: from_class.size]
    return {
        (int(from_class[arc]), int(to_kind[arc])): int(flows[arc]) for arc in np.flatnonzero(flows).tolist()
    }


def _fitted(problem: Problem, kinds: list[list[int]], flows: dict[tuple[int, int], int]) -> Assignment:
    """The larger pods first, each class to its kinds of nodes, there to the fullest node that takes it."""
    state = State(problem)
    in_gang = {index for gang in problem.gangs for index in gang.classes}
    by_class: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (index, kind), pods in flows.items():
        by_class[index].append((kind, pods))
    for index in urgency(problem):
        if state.ties[index] or index in in_gang:
            continue  # the greedy rule looks after these
        for kind, pods in by_class[index]:
            _fit(state, index, np.array(kinds[kind]), pods)
    fill(state)
    if problem.pods <= 2000:  # noqa: PLR2004  node by node: too slow for more, and less is gained there
        repack(state)
    return state.assignment


def _fit(state: State, index: int, rows: np.ndarray, pods: int) -> None:
    room = state.room(index)[rows]
    order = np.lexsort((rows, ~state.used[rows]))
    for at in order.tolist():
        if not pods:
            return
        fitting = min(int(room[at]), pods, state.left[index])
        if fitting > 0:
            state.add(index, int(rows[at]), fitting)
            pods -= fitting
