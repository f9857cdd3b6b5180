"""The pods of one class to nodes, one after another, without a look at all nodes for each of them.

Nodes that every spread, floor and cap sees as the same place form a lane. Within a lane the order is fixed
from the start: the nodes by their cost, each until it is full, as one that is open only gets cheaper. So a
pod has as many nodes to choose from as there are lanes that are not shut.
"""

from collections import Counter
from heapq import heapify, heappop, heappush

import numpy as np

from tradewind.planner.problem import Amounts, Codes, Floats
from tradewind.planner.relations.relation import Gate
from tradewind.planner.state import State


def sequence(state: State, index: int, room: Amounts, costs: Floats, opening: Floats) -> list[int]:
    """The rows to which the pods of the class go, the cheapest that is open first.

    `room` is what each node alone takes, see `State.room_alone`; `opening` is paid by the first pod on a row.
    """
    limit = state.limit(index)
    rows = np.flatnonzero(room)
    price = (costs + opening)[rows]
    gates = [gate for tally in state.ties[index] if (gate := tally.gate(index)) is not None]
    each = state.problem.classes[index]
    if not (gates or each.step):
        return _cheapest(rows, room[rows], price, limit)
    lanes = lane_of(gates, rows)
    steps = each.step * each.share
    if each.step:
        # A node gets dearer with each pod, so that no order within a lane stands.
        lanes = np.arange(rows.size)
        there = np.array([state.on[row].get(index, 0) for row in rows.tolist()])
        price, costs = price + steps[rows] * there, costs.copy()
        costs[rows] += steps[rows] * there
    order = np.lexsort((price, lanes))
    return _Lanes(gates, lanes[order], rows[order], room[rows[order]]).run(limit, price[order], costs, steps)


def lane_of(gates: list[Gate], rows: Codes) -> Codes:
    """The lane of each of the rows: the same for two that are the same place to every gate."""
    lanes = np.zeros(rows.size, np.intp)
    for gate in gates:
        places = int(gate.places.max(initial=0)) + 2
        lanes = np.unique(lanes * places + gate.places[rows] + 1, return_inverse=True)[1]
    return lanes


def _cheapest(rows: Codes, room: Amounts, price: Floats, limit: int) -> list[int]:
    """No more rows than pods are needed, so that mostly few have to be sorted."""
    if limit < rows.size:
        near = price <= np.partition(price, limit)[limit]
        rows, room, price = rows[near], room[near], price[near]
    order = np.argsort(price, kind="stable")
    order = order[: int(np.searchsorted(np.cumsum(room[order]), limit)) + 1]
    return [int(row) for row in np.repeat(rows[order], room[order])[:limit]]


class _Lanes:
    """Rows in the order of their lanes, with a pointer into each."""

    def __init__(self, gates: list[Gate], lane_of: Codes, rows: Codes, room: Amounts) -> None:
        self._gates = gates
        self._rows: list[int] = rows.tolist()
        self._room: list[int] = room.tolist()
        starts = np.flatnonzero(np.diff(lane_of, prepend=-1))
        self._at: list[int] = starts.tolist()
        self._end: list[int] = [*self._at[1:], len(self._rows)]
        self._places = [gate.places[rows[starts]].tolist() for gate in gates]

    def run(self, limit: int, price: Floats, costs: Floats, steps: Floats) -> list[int]:
        found: list[int] = []
        taken = Counter[int]()
        prices: list[float] = price.tolist()
        # The row breaks ties, so that the outcome is that of a look at all nodes.
        heap = [(prices[at], self._rows[at], lane) for lane, at in enumerate(self._at)]
        heapify(heap)
        waiting: list[list[tuple[float, int, int]]] = [[] for _ in self._gates]
        while heap and len(found) < limit:
            entry = heappop(heap)
            _, row, lane = entry
            shut = next((n for n, g in enumerate(self._gates) if g.shut(self._places[n][lane])), None)
            if shut is not None:
                waiting[shut].append(entry)
                continue
            found.append(row)
            at = self._at[lane]
            self._room[at] -= 1
            taken[row] += 1
            if self._room[at]:
                heappush(heap, (float(costs[row] + steps[row] * taken[row]), row, lane))
            elif at + 1 < self._end[lane]:
                self._at[lane] = at + 1
                heappush(heap, (prices[at + 1], self._rows[at + 1], lane))
            for number, gate in enumerate(self._gates):
                if gate.take(self._places[number][lane]):
                    for each in waiting[number]:
                        heappush(heap, each)
                    waiting[number].clear()
        return found


def put(state: State, index: int, rows: list[int]) -> None:
    """The pods of the class on these rows, some of which may come more than once."""
    counts = Counter(rows)
    state.add_all(index, np.fromiter(counts, np.intp, len(counts)), np.fromiter(counts.values(), np.int64))
