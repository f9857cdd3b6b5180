"""A network of arcs with capacities and costs, and the cheapest flow through it, by OR-Tools."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from ortools.graph.python import min_cost_flow  # type: ignore[import-untyped]

from tradewind.planner.problem import Amounts, Codes, Floats

# What the dearest arc costs as an integer; less where the solver's own multiples of it would run over.
_RESOLUTION = 10**12
_INTEGERS = 2**60


class _Arcs(NamedTuple):
    tails: Codes
    heads: Codes
    capacities: Amounts
    costs: Floats


class Network:
    def __init__(self) -> None:
        self._arcs: list[_Arcs] = []
        self._arc_count = 0
        self._vertex_count = 0
        self._supply: dict[int, int] = {}

    def vertices(self, count: int) -> Codes:
        self._vertex_count += count
        return np.arange(self._vertex_count - count, self._vertex_count)

    def supply(self, vertex: int, units: int) -> None:
        """That start there, or end there where negative; the sum of all is 0."""
        self._supply[vertex] = units

    def add(self, tails: ArrayLike, heads: ArrayLike, capacities: ArrayLike, costs: ArrayLike) -> slice:
        """Which arcs of the flows these are."""
        columns = np.broadcast_arrays(tails, heads, capacities, costs)
        tail, head, capacity, cost = (np.ravel(column) for column in columns)
        arcs = _Arcs(
            tail.astype(np.intp), head.astype(np.intp), capacity.astype(np.int64), cost.astype(np.float64)
        )
        self._arcs.append(arcs)
        self._arc_count += tail.size
        return slice(self._arc_count - tail.size, self._arc_count)

    def dearest(self) -> float:
        return max((float(arcs.costs.max(initial=0.0)) for arcs in self._arcs), default=0.0)

    def solve(self) -> Amounts | None:
        """(A,) the units on each arc; None where the solver finds no best flow."""
        tails, heads, capacities, costs = (np.concatenate(column) for column in zip(*self._arcs, strict=True))
        # The solver works with costs times the number of vertices.
        most = min(_RESOLUTION, _INTEGERS // (self._vertex_count + 1))
        units = np.rint(costs * (most / (self.dearest() or 1.0))).astype(np.int64)
        solver = min_cost_flow.SimpleMinCostFlow()
        solver.add_arcs_with_capacity_and_unit_cost(tails, heads, capacities, units)
        for vertex, supplied in self._supply.items():
            solver.set_node_supply(vertex, supplied)
        # To read the flows of any other status ends the process.
        if solver.solve() != solver.OPTIMAL:
            return None
        return np.asarray(solver.flows(np.arange(tails.size)), np.int64)
