"""Nodes are emptied one by one onto the others, as long as that saves money: greedy, in several orders."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradewind.cluster.table import Rows
from tradewind.planner.problem import Assignment, Floats, Mask, Problem
from tradewind.planner.state import State

Step = tuple[int, int, int]
"""So many pods (last) of a class (first) go to a row."""


class Strategy(NamedTuple):
    by_load: bool  # the emptiest first, by price for what is moved; else the dearest first
    settle: bool  # fill nodes that stay anyway before others; else the cheapest for the pod


STRATEGIES = tuple(Strategy(by_load, settle) for by_load in (True, False) for settle in (True, False))


class Emptied(NamedTuple):
    emptied: Sequence[tuple[int, Sequence[Step]]]  # row and steps, in order
    saved: float  # dollars an hour, what the moved pods cost more there taken off
    pods: int  # moved

    @property
    def worth(self) -> tuple[float, int]:
        return round(self.saved, 9), -self.pods


class Emptying:
    def __init__(self, problem: Problem, assignment: Assignment, rows: Rows) -> None:
        """`assignment` is how it is now; `rows` may be emptied."""
        self._problem = problem
        self._assignment = assignment
        self._rows = rows
        self._load = np.zeros(len(problem.node_names))  # what would have to be moved, in shares of the node
        for (index, row), pods in assignment.items():
            self._load[row] += pods * problem.classes[index].share[row]

    def run(self, strategy: Strategy) -> Emptied:
        order = self._order(strategy)
        run = _Run(self._problem, self._assignment, order, settle=strategy.settle)
        emptied, saved, pods = [], 0.0, 0
        for row in order.tolist():
            found = run.empty(row)
            if found is not None:
                steps, gain = found
                emptied.append((row, steps))
                saved += gain
                pods += sum(number for _, _, number in steps)
        return Emptied(emptied, saved, pods)

    def _order(self, strategy: Strategy) -> Rows:
        price, load = self._problem.price[self._rows], self._load[self._rows]
        key = price / np.maximum(load, 1e-3) if strategy.by_load else price
        return np.asarray(self._rows[np.lexsort((self._rows, load, -key))])


class _Run:
    def __init__(self, problem: Problem, assignment: Assignment, order: Rows, *, settle: bool) -> None:
        self._state = State(problem).load(assignment)
        self._settle = settle
        nodes = len(problem.node_names)
        self._turn = np.full(nodes, nodes)  # when a node is to be emptied; those that stay come last
        self._turn[order] = np.arange(order.size)
        self._open: Mask = np.ones(nodes, np.bool_)  # that may take pods
        self._taken: Mask = np.zeros(nodes, np.bool_)  # that have taken some, and stay

    def empty(self, row: int) -> tuple[list[Step], float] | None:
        """Move all pods of the node elsewhere if that pays; what was done, and what it saves."""
        state, problem = self._state, self._state.problem
        on = sorted(state.on[row].items(), key=lambda item: -float(problem.classes[item[0]].share[row]))
        if self._taken[row] or not on or any(problem.classes[index].step for index, _ in on):
            return None  # pods that are to be spread are not crowded to save money
        self._open[row] = False
        wishing = [index for index, _ in on if state.wishes[index]]
        gain = float(problem.price[row]) + state.missed(wishing)
        for index, pods in on:
            state.add(index, row, -pods)
        steps: list[Step] = []
        for index, pods in on:
            gain += pods * float(problem.classes[index].cost[row])
            for target, number in self._place(index, pods):
                steps.append((index, target, number))
                gain -= number * float(problem.classes[index].cost[target])
        gain -= state.missed(wishing)
        if gain > 0 and sum(number for *_, number in steps) == sum(pods for _, pods in on):
            self._taken[[target for _, target, _ in steps]] = True
            return steps, gain
        for index, target, number in steps:
            state.add(index, target, -number)
        for index, pods in on:
            state.add(index, row, pods)
        self._open[row] = True
        return None

    def _place(self, index: int, pods: int) -> list[tuple[int, int]]:
        """Where, and how many; fewer than `pods` where there is no room for all."""
        state = self._state
        found: list[tuple[int, int]] = []
        at_once = not state.ties[index]  # else each pod may change what the next one finds
        while pods:
            room = state.room(index) * (self._open & state.used)
            rows = np.flatnonzero(room)
            if not rows.size:
                break
            for target in rows[np.lexsort(self._keys(index, rows))].tolist():
                number = min(int(room[target]), pods) if at_once else 1
                state.add(index, target, number)
                found.append((target, number))
                pods -= number
                if not (pods and at_once):
                    break
        return found

    def _keys(self, index: int, rows: Rows) -> tuple[Floats | Rows, ...]:
        """For lexsort, the most important last."""
        cost = np.round(self._state.problem.classes[index].cost[rows], 9)
        stays = np.where(self._taken[rows], len(self._turn), self._turn[rows])
        return (-stays, cost) if not self._settle else (cost, -stays)
