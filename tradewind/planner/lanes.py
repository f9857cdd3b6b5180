"""The pods of one class to nodes, one after another, without a look at all nodes for each of them.

Nodes that every spread, floor and cap sees as the same place form a lane. Within a lane the order is fixed
from the start: the nodes by their cost, each until it is full, as one that is open only gets cheaper. So a
pod has as many nodes to choose from as there are lanes that are not shut.
"""

from collections import Counter
from heapq import heapify, heappop, heappush
from typing import Protocol

import numpy as np

from tradewind.planner.problem import Amounts, Cap, Codes, Exclusion, Floats, Floor, Mask, Skew
from tradewind.planner.state import State


class _Gate(Protocol):
    """A relation that one pod of the class after the other changes."""

    places: Codes  # (N,) what it tells nodes apart by

    def shut(self, place: int) -> bool: ...

    def take(self, place: int) -> bool:
        """Count one pod more; whether places that were shut may be open now."""


def sequence(state: State, index: int, room: Amounts, costs: Floats, opening: Floats) -> list[int]:
    """The rows to which the pods of the class go, the cheapest that is open first.

    `room` is what each node alone takes, see `State.room_alone`; `opening` is paid by the first pod on a row.
    """
    limit = state.limit(index)
    rows = np.flatnonzero(room)
    price = (costs + opening)[rows]
    gates = _gates(state, index)
    if not gates:
        return _cheapest(rows, room[rows], price, limit)
    lane_of = np.zeros(rows.size, np.intp)
    for gate in gates:
        both = lane_of * (int(gate.places.max(initial=0)) + 2) + gate.places[rows] + 1
        lane_of = np.unique(both, return_inverse=True)[1]
    order = np.lexsort((price, lane_of))
    return _Lanes(gates, lane_of[order], rows[order], room[rows[order]]).run(limit, price[order], costs)


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

    def __init__(self, gates: list[_Gate], lane_of: Codes, rows: Codes, room: Amounts) -> None:
        self._gates = gates
        self._rows: list[int] = rows.tolist()
        self._room: list[int] = room.tolist()
        starts = np.flatnonzero(np.diff(lane_of, prepend=-1))
        self._at: list[int] = starts.tolist()
        self._end: list[int] = [*self._at[1:], len(self._rows)]
        self._places = [gate.places[rows[starts]].tolist() for gate in gates]

    def run(self, limit: int, price: Floats, costs: Floats) -> list[int]:
        found: list[int] = []
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
            if self._room[at]:
                heappush(heap, (float(costs[row]), row, lane))
            elif at + 1 < self._end[lane]:
                self._at[lane] = at + 1
                heappush(heap, (prices[at + 1], self._rows[at + 1], lane))
            for number, gate in enumerate(self._gates):
                if gate.take(self._places[number][lane]):
                    for each in waiting[number]:
                        heappush(heap, each)
                    waiting[number].clear()
        return found


def _gates(state: State, index: int) -> list[_Gate]:
    problem = state.problem
    gates: list[_Gate] = []
    for kind, number in state.ties[index]:
        match kind:
            case "skew" if problem.skews[number].bearer == index:
                gates.append(_Level(problem.skews[number], state.skew_counts(number)))
            case "floor":
                gates.append(_Durable(problem.floors[number], state.floor_counts(number), problem.durable))
            case "cap" if not problem.caps[number].one_node:
                gates.append(_Few(problem.caps[number], state.cap_counts(number)))
            case "exclusion" if not problem.exclusions[number].one_node:
                if index in problem.exclusions[number].left & problem.exclusions[number].right:
                    gates.append(_Alone(problem.exclusions[number]))
    return gates


class _Level:
    """A spread. The places are the domains twice: where pods of the class are counted, and where not."""

    def __init__(self, each: Skew, counts: Amounts) -> None:
        self._counts: list[int] = counts.tolist()
        self._eligible: list[bool] = each.eligible.tolist()
        self._raised = int(each.itself) - each.most
        self._enough = each.enough
        self._size = len(self._counts)
        counted = (each.counting >= 0) & (each.bearer in each.counted)
        self.places = np.where(each.codes < 0, -1, each.codes + np.where(counted, 0, self._size))
        self._find_least()

    def _find_least(self) -> None:
        among = [count for count, eligible in zip(self._counts, self._eligible, strict=True) if eligible]
        self._least = min(among, default=0) if self._enough else 0
        self._at_least = among.count(self._least) if self._enough else -1

    def shut(self, place: int) -> bool:
        return place < 0 or self._counts[place % self._size] + self._raised > self._least

    def take(self, place: int) -> bool:
        if place >= self._size:
            return False
        self._counts[place] += 1
        if not self._eligible[place] or self._counts[place] != self._least + 1:
            return False
        self._at_least -= 1
        if self._at_least:
            return False
        self._find_least()
        return True


class _Durable:
    def __init__(self, each: Floor, counts: tuple[int, int], durable: Mask) -> None:
        self.places = durable.astype(np.intp)
        self._required = each.required
        self._durable, self._total = counts

    def shut(self, place: int) -> bool:
        after = min(self._total + 1, len(self._required) - 1)
        return not place and self._durable < self._required[after]

    def take(self, place: int) -> bool:
        self._durable += place
        self._total += 1
        return bool(place)


class _Few:
    """A cap on the pods of a domain of several nodes."""

    def __init__(self, each: Cap, counts: Amounts) -> None:
        self.places = each.codes
        self._left = (each.most - counts).tolist()

    def shut(self, place: int) -> bool:
        return place < 0 or self._left[place] <= 0

    def take(self, place: int) -> bool:
        self._left[place] -= 1
        return False


class _Alone:
    """Apart from its own kind, in domains of several nodes."""

    def __init__(self, each: Exclusion) -> None:
        self.places = each.codes
        self._taken: set[int] = set()

    def shut(self, place: int) -> bool:
        return place in self._taken

    def take(self, place: int) -> bool:
        if place >= 0:
            self._taken.add(place)
        return False


def put(state: State, index: int, rows: list[int]) -> None:
    """The pods of the class on these rows, some of which may come more than once."""
    counts = Counter(rows)
    state.add_all(index, np.fromiter(counts, np.intp, len(counts)), np.fromiter(counts.values(), np.int64))
