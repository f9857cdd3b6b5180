"""The bill below which nothing can be: at each moment a linear programme over the pods that are alive.

Pods and nodes may be divided and move for nothing; critical pods use durable nodes only. So even a scheduler
that knows what comes and moves every pod each second pays more.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]

from bench.churn.scenario import Arrival, PricedNode, Scenario

_STEP_SECONDS = 1.0


def bound(scenario: Scenario, seconds: float) -> float:
    """Dollars an hour, in the mean over the replay."""
    moments = np.arange(_STEP_SECONDS, seconds, _STEP_SECONDS)
    return float(np.mean([cheapest(scenario.nodes, scenario.alive(at)) for at in moments]))


def cheapest(nodes: Sequence[PricedNode], pods: Sequence[Arrival]) -> float:
    """Dollars an hour for nodes that may be had in parts."""
    kinds = Counter((each.cpu_milli, each.memory, each.price, each.spot) for each in nodes)
    solver = pywraplp.Solver.CreateSolver("GLOP")
    cost = solver.Objective()
    cost.SetMinimization()
    rooms = []
    for (cpu, memory, price, spot), count in kinds.items():
        opened = solver.NumVar(0.0, count, "")
        cost.SetCoefficient(opened, price)
        cores, gibs = solver.Constraint(-solver.infinity(), 0.0), solver.Constraint(-solver.infinity(), 0.0)
        cores.SetCoefficient(opened, -cpu / 1e3)
        gibs.SetCoefficient(opened, -memory / 2**30)
        rooms.append((cores, gibs, spot))
    sizes = Counter((each.cpu_milli, each.memory, each.critical) for each in pods)
    for (cpu, memory, critical), count in sizes.items():
        placed = solver.Constraint(count, count)
        for cores, gibs, spot in rooms:
            if spot and critical:
                continue
            flow = solver.NumVar(0.0, solver.infinity(), "")
            placed.SetCoefficient(flow, 1.0)
            cores.SetCoefficient(flow, cpu / 1e3)
            gibs.SetCoefficient(flow, memory / 2**30)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise ValueError(f"{len(pods)} pods do not fit on {len(nodes)} nodes, not even divided")
    return float(cost.Value())
