"""The plain min-cost flow: a pod is a unit, a node so many slots, and every arc has one cost.

Classes of pods -> classes of nodes -> nodes -> sink, and from each class an arc to "unscheduled". A slot is
as large as the mean pod, so that what was routed is checked and what does not fit is routed again. Pods that
rules tie to each other come in rounds: in one round no two classes that share a relation.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.planner.greedy import fill, opening_costs, unit_costs, urgency
from tradewind.planner.lanes import lane_of, put, sequence
from tradewind.planner.min_cost_flow import Network
from tradewind.planner.problem import Amounts, Assignment, Codes, Problem
from tradewind.planner.relations.relation import Gate
from tradewind.planner.state import State

# Arcs of one network; classes beyond them come in the next round.
_MAX_ARCS = 1_000_000
# Nodes, or groups of equal nodes, that a class has arcs to: for each pod, and at least.
_ROWS_A_POD, _LEAST_ROWS = 4, 64
# For pods that are spread, slots of a node beyond what an even distribution takes: so many times.
_SLOTS = 3
# Where nothing costs anything, staying unscheduled still does.
_LEAST_COST = 1e-9


def route(problem: Problem, deadline: float) -> Assignment:
    """Until nothing more can be routed, or the deadline (of time.monotonic); greedy places what is left."""
    state, order = State(problem), urgency(problem)
    while time.monotonic() < deadline:
        admitted = _admitted(state, order)
        if not admitted or not _Round(state, admitted).run():
            break
    return fill(state).assignment


def _admitted(state: State, order: Sequence[int]) -> dict[int, Amounts]:
    """Classes that share no relation, in the order of urgency, each with its room by node."""
    admitted: dict[int, Amounts] = {}
    busy: set[int] = set()
    arcs = 0
    for index in order:
        ties = {id(tally) for tally in state.ties[index]}
        if not state.limit(index) or not busy.isdisjoint(ties):
            continue
        room = state.starting_room(index, state.room_alone(index))
        rows = min(int(np.count_nonzero(room)), _reach(state.limit(index)))
        if rows and (not admitted or arcs + rows <= _MAX_ARCS):
            admitted[index] = room
            busy |= ties
            arcs += rows
    return admitted


def _reach(pods: int) -> int:
    """The nodes, or groups of them, that so many pods of a class have arcs to."""
    return max(_ROWS_A_POD * pods, _LEAST_ROWS)


class _Route(NamedTuple):
    """What one class may use: some of its arcs end at these rows, or at these groups of rows."""

    arcs: slice
    ends: Codes


class _Round:
    def __init__(self, state: State, admitted: Mapping[int, Amounts]) -> None:
        self._state = state
        self._rooms = admitted
        self._free = {i for i in admitted if not (state.ties[i] or state.problem.classes[i].step)}
        self._limits = {index: state.limit(index) for index in admitted}
        self._slots = _slots(state, admitted)
        self._groups = self._grouped()
        self._firsts = np.array([rows[0] for rows in self._groups], np.intp)
        self._network = Network()
        self._rows = self._network.vertices(len(state.problem.node_names))
        self._group_vertices = self._network.vertices(len(self._groups))
        self._vertex_of = dict(zip(admitted, self._network.vertices(len(admitted)), strict=True))
        self._sink = self._network.vertices(1)
        self._routes: dict[int, _Route] = {}

    def run(self) -> bool:
        """Whether any pod found a place."""
        to_sink = self._nodes()
        for index in self._rooms:
            self._routes[index] = self._class(index)
        self._leave_out()
        flows = self._network.solve()
        return flows is not None and self._take(flows, flows[to_sink])

    def _grouped(self) -> list[Codes]:
        """Nodes that are the same to every class without ties: open to it, at the same cost and price."""
        problem, free = self._state.problem, sorted(self._free)
        if not free:
            return []
        masks = np.packbits(np.array([self._rooms[index] > 0 for index in free]), axis=0)
        costs = {id(problem.classes[index].cost): problem.classes[index].cost for index in free}
        opening = np.where(self._state.used, 0.0, problem.opening)
        exact = np.array([opening, *costs.values()]).T.copy().view(np.uint8)
        keys = np.concatenate([masks.T, exact], axis=1)
        found: dict[bytes, list[int]] = defaultdict(list)
        for row in np.flatnonzero(masks.any(axis=0)).tolist():
            found[keys[row].tobytes()].append(row)
        return [np.array(rows) for rows in found.values()]

    def _nodes(self) -> slice:
        """A slot of a node that is not in use costs its part of the price; equal nodes fill one by one."""
        problem = self._state.problem
        price = np.where(self._state.used, 0.0, problem.opening)
        turn = np.empty(price.size)
        turn[np.argsort(price, kind="stable")] = np.arange(price.size)
        step = float(price.max(initial=0.0)) / max(price.size, 1) / 1000
        cost = price / np.maximum(self._slots, 1) + step * turn
        if self._groups:
            rows = np.concatenate(self._groups)
            tails = np.repeat(self._group_vertices, [len(group) for group in self._groups])
            self._network.add(tails, self._rows[rows], self._slots[rows], 0.0)
        return self._network.add(self._rows, self._sink, self._slots, cost)

    def _class(self, index: int) -> _Route:
        network, vertex = self._network, self._vertex_of[index]
        if index in self._free:
            ends = self._cheapest_groups(index)
            costs = self._state.problem.classes[index].cost[self._firsts[ends]]
            arcs = network.add(vertex, self._group_vertices[ends], self._limits[index], costs)
            return _Route(arcs, ends)
        gates = [gate for tally in self._state.ties[index] if (gate := tally.gate(index)) is not None]
        rows = self._cheapest(index, gates)
        if not gates:
            return self._slotwise(index, vertex, rows)
        codes = lane_of(gates, rows)
        capacities = _evenly(gates, codes, rows, self._limits[index])
        between = network.vertices(capacities.size)
        network.add(vertex, between, capacities, 0.0)
        return self._slotwise(index, between[codes], rows)

    def _slotwise(self, index: int, tails: Codes | int, rows: Codes) -> _Route:
        """To each row, by one arc for each slot where the next pod there costs a step more."""
        each, room = self._state.problem.classes[index], self._rooms[index]
        if not each.step:
            return _Route(self._network.add(tails, self._rows[rows], room[rows], each.cost[rows]), rows)
        there = np.array([self._state.on[row].get(index, 0) for row in rows.tolist()])
        most = min(int(room[rows].max()), _SLOTS * -(-self._limits[index] // rows.size))
        number = np.repeat(np.arange(most), rows.size)
        rows, tails = np.tile(rows, most), np.tile(np.broadcast_to(tails, rows.shape), most)
        costs = each.cost[rows] + each.step * each.share[rows] * (np.tile(there, most) + number)
        return _Route(self._network.add(tails, self._rows[rows], number < room[rows], costs), rows)

    def _cheapest_groups(self, index: int) -> Codes:
        """The groups that a class without ties has arcs to."""
        ends = np.flatnonzero(self._rooms[index][self._firsts])
        most = _reach(self._limits[index])
        if ends.size <= most:
            return ends
        order = np.argsort(unit_costs(self._state, index)[self._firsts[ends]], kind="stable")
        return np.sort(ends[order[:most]])

    def _cheapest(self, index: int, gates: list[Gate]) -> Codes:
        """The rows that a tied class has arcs to: so many of each lane."""
        rows = np.flatnonzero(self._rooms[index])
        most = _reach(self._limits[index])
        if rows.size <= most:
            return rows
        codes = lane_of(gates, rows)
        order = np.lexsort((unit_costs(self._state, index)[rows], codes))
        starts = np.searchsorted(codes[order], codes[order])
        turn = np.arange(rows.size) - starts
        return np.sort(rows[order[np.argsort(turn, kind="stable")[:most]]])

    def _leave_out(self) -> None:
        """Every pod may stay unscheduled, at more than any way through the network; of most worth last."""
        network, problem = self._network, self._state.problem
        above = 2 * (len(self._rooms) + 1) * max(network.dearest(), _LEAST_COST)
        level = {worth: number for number, worth in enumerate(sorted(set(problem.worth)), 1)}
        unscheduled = network.vertices(1)
        for index, pods in self._limits.items():
            network.supply(self._vertex_of[index], pods)
            network.add(self._vertex_of[index], unscheduled, pods, above * level[problem.worth[index]])
        pods = sum(self._limits.values())
        network.supply(int(self._sink[0]), -pods)
        network.add(unscheduled, self._sink, pods, 0.0)

    def _take(self, flows: Amounts, on_nodes: Amounts) -> bool:
        """Place what was routed, as far as it fits."""
        state = self._state
        before = sum(state.left)
        left = on_nodes.copy()
        for index, route in self._routes.items():
            if index not in self._free:
                np.subtract.at(left, route.ends, flows[route.arcs])
        for index, route in self._routes.items():
            if index not in self._free:
                room = np.zeros(left.size, np.int64)
                np.add.at(room, route.ends, flows[route.arcs])
                room = np.minimum(room, state.room_alone(index))
                rows = sequence(
                    state, index, room, state.problem.classes[index].cost, opening_costs(state, index)
                )
                put(state, index, rows)
            else:
                self._take_free(index, route, flows[route.arcs], left)
        return sum(state.left) < before

    def _take_free(self, index: int, route: _Route, flows: Amounts, left: Amounts) -> None:
        room = np.minimum(self._state.capacity(index), left)
        for number, pods in zip(route.ends.tolist(), flows.tolist(), strict=True):
            if not pods:
                continue
            rows = self._groups[number]
            here = room[rows]
            taken = np.clip(pods - (np.cumsum(here) - here), 0, here)
            self._state.add_all(index, rows[taken > 0], taken[taken > 0])
            left[rows] -= taken


def _slots(state: State, admitted: Mapping[int, Amounts]) -> Amounts:
    """(N,) how many pods of the mean size each node takes; one at least where any pod fits."""
    problem = state.problem
    pods = np.array([state.limit(index) for index in admitted])
    requests = np.array([problem.classes[index].requests for index in admitted])
    mean = (pods[:, None] * requests).sum(axis=0) / pods.sum()
    slots = np.full(len(problem.node_names), int(pods.sum()), np.int64)
    for row in np.flatnonzero(mean).tolist():
        np.minimum(slots, (state.free[row] / mean[row]).astype(np.int64), out=slots)
    total = np.zeros(slots.size, np.int64)
    for room in admitted.values():
        total += room
    return np.where(total > 0, np.clip(slots, 1, total), 0)


def _evenly(gates: Sequence[Gate], codes: Codes, rows: Codes, pods: int) -> Amounts:
    """By lane, how many of so many pods come to it if they go round, one after another."""
    starts = np.unique(codes, return_index=True)[1]
    places = [gate.places[rows[starts]].tolist() for gate in gates]
    taken = np.zeros(starts.size, np.int64)
    for lane in _going_round(gates, places, pods):
        taken[lane] += 1
    return np.maximum(taken, 1)


def _going_round(gates: Sequence[Gate], places: Sequence[Sequence[int]], pods: int) -> Iterator[int]:
    moved = True
    while moved:
        moved = False
        for lane in range(len(places[0])):
            if not any(gate.shut(places[number][lane]) for number, gate in enumerate(gates)):
                for number, gate in enumerate(gates):
                    gate.take(places[number][lane])
                yield lane
                pods -= 1
                moved = True
                if not pods:
                    return
