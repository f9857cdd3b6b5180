"""The network as a linear programme that is kept from one solve to the next. In the solvers' process only.

What did not change is not built again, and the last basis is where the next search starts. Classes and kinds
that are gone stay behind, closed; when they are more than those that are left, everything is built anew.
"""

import logging
import time
from collections.abc import Callable, Hashable, Sequence
from datetime import timedelta
from typing import TypeVar

import numpy as np
from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

from tradewind.cluster.table import Rows
from tradewind.planner.standing.network import Network, Solution

_log = logging.getLogger(__name__)
_Part = TypeVar("_Part")


class Programme:
    def __init__(self) -> None:
        self._model: _Model | None = None

    def solve(self, network: Network, seconds: float) -> Solution | None:
        """None where there was no optimum in time."""
        started = time.monotonic()
        if self._model is None or self._model.outworn(network):
            self._model = _Model(len(network.capacity))
            return self._attempt(network, seconds, started)
        solution = self._attempt(network, seconds, started)
        left = seconds - (time.monotonic() - started)
        if solution is None and left > 0:
            # From an old basis the simplex method sometimes loses its way; from none it does not.
            self._model = _Model(len(network.capacity))
            solution = self._attempt(network, left, started)
        return solution

    def _attempt(self, network: Network, seconds: float, started: float) -> Solution | None:
        assert self._model is not None  # noqa: S101  made before
        model, self._model = self._model, None
        rebuilt = model.update(network)
        if not model.solve(seconds):
            return None
        self._model = model
        return model.solution(network, rebuilt, time.monotonic() - started)


class _Class:
    def __init__(self, model: mathopt.Model) -> None:
        self.cover = model.add_linear_constraint(lb=0.0, ub=0.0)
        self.unplaced = model.add_variable(lb=0.0)
        self.cover.set_coefficient(self.unplaced, 1.0)
        self.moved = model.add_variable(lb=0.0)
        self.moves = model.add_linear_constraint(ub=0.0)
        self.moves.set_coefficient(self.moved, -1.0)


class _Kind:
    def __init__(self, model: mathopt.Model, resources: int) -> None:
        self.kept = model.add_variable(lb=0.0, ub=0.0)
        self.more = model.add_variable(lb=0.0, ub=0.0)
        self.rooms = [model.add_linear_constraint(ub=0.0) for _ in range(resources)]


class _Model:
    """Slots for classes and kinds, in the order in which they came; arrays of what was built last."""

    def __init__(self, resources: int) -> None:
        self._resources = resources
        self._model = mathopt.Model()
        self._solver = mathopt.IncrementalSolver(self._model, mathopt.SolverType.GLOP)
        self._classes: dict[Hashable, tuple[int, _Class]] = {}
        self._kinds: dict[Hashable, tuple[int, _Kind]] = {}
        self._go: dict[tuple[int, int], mathopt.Variable] = {}
        self._stay: dict[tuple[int, int], mathopt.Variable] = {}
        self._cost = np.full((0, 0), np.inf)
        self._running = np.zeros((0, 0))
        self._request = np.zeros((resources, 0))
        self._class_list: list[_Class] = []
        self._kind_list: list[_Kind] = []
        self._result: mathopt.SolveResult | None = None

    def outworn(self, network: Network) -> bool:
        return (
            len(network.capacity) != self._resources
            or len(self._classes) > 2 * len(network.class_keys) + 50
            or len(self._kinds) > 2 * len(network.kind_keys) + 10
        )

    def update(self, network: Network) -> int:
        """How many arcs were built or changed."""
        rows = _slots(self._classes, network.class_keys, lambda: _Class(self._model))
        columns = _slots(self._kinds, network.kind_keys, lambda: _Kind(self._model, self._resources))
        self._class_list = [each for _, each in self._classes.values()]
        self._kind_list = [each for _, each in self._kinds.values()]
        self._grow()
        self._set_kinds(network, columns)
        cost = np.full(self._cost.shape, np.inf)
        running = np.zeros(cost.shape)
        cost[np.ix_(rows, columns)] = network.cost
        running[np.ix_(rows, columns)] = network.running
        request = np.zeros((self._resources, len(cost)))
        request[:, rows] = network.requests
        resized = (request != self._request).any(axis=0)
        self._request = request
        changed = (cost != self._cost) | (resized[:, None] & np.isfinite(cost))
        for row, column in np.argwhere(changed).tolist():
            self._set_arc(self._go, row, column, float(cost[row, column]), np.inf)
        staying = (running != self._running) | ((running > 0) & changed)
        for row, column in np.argwhere(staying).tolist():
            price = float(cost[row, column]) if np.isfinite(cost[row, column]) else 0.0
            self._set_arc(self._stay, row, column, price, float(running[row, column]))
        self._cost, self._running = cost, running
        self._set_classes(network, rows)
        return int(np.count_nonzero(changed) + np.count_nonzero(staying))

    def solve(self, seconds: float) -> bool:
        limit = mathopt.SolveParameters(time_limit=timedelta(seconds=seconds))
        try:
            self._result = self._solver.solve(params=limit)
        except Exception as error:  # noqa: BLE001  GLOP's own failures come as several types
            _log.warning("the standing plan's solver failed: %r", error)
            return False
        return self._result.termination.reason is mathopt.TerminationReason.OPTIMAL

    def solution(self, network: Network, rebuilt: int, seconds: float) -> Solution:
        assert self._result is not None  # noqa: S101  solved before
        values, duals = self._result.variable_values(), self._result.dual_values()
        rows = np.array([self._classes[key][0] for key in network.class_keys], np.intp)
        columns = np.array([self._kinds[key][0] for key in network.kind_keys], np.intp)
        flow = np.zeros(self._cost.shape)
        for arcs in (self._go, self._stay):
            for at, variable in arcs.items():
                flow[at] += values[variable]
        kinds = [self._kinds[key][1] for key in network.kind_keys]
        bids = [[max(-duals[room], 0.0) for room in kind.rooms] for kind in kinds]
        return Solution(
            flow=flow[np.ix_(rows, columns)],
            opened=np.array([values[kind.kept] + values[kind.more] for kind in kinds]),
            bids=np.array(bids).reshape(len(kinds), self._resources).T,
            unplaced=np.array([values[self._classes[key][1].unplaced] for key in network.class_keys]),
            arcs=len(self._go) + len(self._stay),
            rebuilt=rebuilt,
            seconds=seconds,
        )

    def _grow(self) -> None:
        shape = len(self._classes), len(self._kinds)
        add = [(0, new - old) for new, old in zip(shape, self._cost.shape, strict=True)]
        self._cost = np.pad(self._cost, add, constant_values=np.inf)
        self._running = np.pad(self._running, add)
        self._request = np.pad(self._request, [(0, 0), add[0]])

    def _set_arc(
        self, arcs: dict[tuple[int, int], mathopt.Variable], row: int, column: int, cost: float, most: float
    ) -> None:
        variable = arcs.get((row, column))
        if not (np.isfinite(cost) and most > 0):
            if variable is not None:
                variable.upper_bound = 0.0
            return
        each, kind = self._class_list[row], self._kind_list[column]
        if variable is None:
            variable = arcs[row, column] = self._model.add_variable(lb=0.0)
            each.cover.set_coefficient(variable, 1.0)
            if arcs is self._go:
                each.moves.set_coefficient(variable, 1.0)
        variable.upper_bound = most
        self._model.objective.set_linear_coefficient(variable, cost)
        for resource, room in enumerate(kind.rooms):
            room.set_coefficient(variable, float(self._request[resource, row]))

    def _set_kinds(self, network: Network, columns: Rows) -> None:
        listed = set(columns.tolist())
        for number, kind in self._kinds.values():
            if number not in listed:
                kind.kept.upper_bound = kind.more.upper_bound = 0.0
        objective = self._model.objective
        for at, key in enumerate(network.kind_keys):
            kind = self._kinds[key][1]
            price, steady = float(network.price[at]), float(network.steady[at])
            kind.kept.upper_bound, kind.more.upper_bound = steady, float(network.nodes[at]) - steady
            objective.set_linear_coefficient(kind.kept, price * (1 - network.discount))
            objective.set_linear_coefficient(kind.more, price)
            for resource, room in enumerate(kind.rooms):
                for variable in (kind.kept, kind.more):
                    room.set_coefficient(variable, -float(network.capacity[resource, at]))

    def _set_classes(self, network: Network, rows: Rows) -> None:
        listed = set(rows.tolist())
        for number, each in self._classes.values():
            if number not in listed:
                each.cover.lower_bound = each.cover.upper_bound = 0.0
        objective = self._model.objective
        for at, key in enumerate(network.class_keys):
            each = self._classes[key][1]
            pods = float(network.running[at].sum() + network.fresh[at])
            each.cover.lower_bound = each.cover.upper_bound = pods
            each.moves.upper_bound = float(network.fresh[at])
            objective.set_linear_coefficient(each.unplaced, network.worth)
            objective.set_linear_coefficient(each.moved, float(network.move[at]))


def _slots(
    known: dict[Hashable, tuple[int, _Part]], keys: Sequence[Hashable], make: Callable[[], _Part]
) -> Rows:
    for key in keys:
        if key not in known:
            known[key] = len(known), make()
    return np.array([known[key][0] for key in keys], np.intp)
