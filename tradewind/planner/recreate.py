"""Ruin and recreate: the pods of a few nodes are placed anew in another order, and stay so if it costs less.

After Schrimpf and others, "Record breaking optimization results using the ruin and recreate principle", 2000.
A step takes less than a millisecond: thousands are tried in the time that a solver takes for a few windows.
"""

import random
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from tradewind.planner.problem import Assignment, Floats, Problem
from tradewind.planner.progress import Progress
from tradewind.planner.state import State

MOMENT_SECONDS = 0.05  # in which most of what it gains is gained

_NODES = 4  # at most, whose pods are lifted at once
_NOISE = 0.3  # how far chance leads from the order of sizes, and from the cheapest node
_LEAST_GAIN = 1e-9
_STEPS = 20  # between two looks at the clock, and at whether pods wait

Report = Callable[[Assignment], None]


def improve(
    problem: Problem, start: Assignment, deadline: float, report: Report, progress: Progress | None = None
) -> Assignment:
    """Until the deadline (of time.monotonic), or until nothing seems to be gained any more.

    Pods with ties, of gangs, and to be spread stay where they are: the solver's windows move these.
    """
    progress = progress or Progress()
    search = _Search(problem, start)
    while search.rows() and time.monotonic() < deadline and not progress.stalled():
        if sum(search.step() for _ in range(_STEPS)):
            report(dict(search.state.assignment))
    return search.state.assignment


class _Pods(NamedTuple):
    """Of one class."""

    resources: list[tuple[int, int]]  # those that one of them requests, and how much of each
    size: float
    least: float  # what one of them costs where it costs least


class _Search:
    def __init__(self, problem: Problem, start: Assignment) -> None:
        self._problem = problem
        self.state = State(problem).load(start)
        self._draw = random.Random(1)  # noqa: S311  a search, not a secret
        self._noise = np.random.default_rng(1)
        gangs = frozenset[int]().union(*(gang.classes for gang in problem.gangs))
        largest = np.maximum(problem.free.max(axis=1, initial=1), 1)
        self._pods = {
            index: _Pods(
                [(at, int(each.requests[at])) for at in np.flatnonzero(each.requests).tolist()],
                float((each.requests / largest).max(initial=0.0)),
                float(each.cost[each.allowed].min(initial=np.inf)),
            )
            for index, each in enumerate(problem.classes)
            if not (self.state.ties[index] or each.step or index in gangs)
        }

    def rows(self) -> list[int]:
        """Nodes with pods that may be lifted."""
        return [row for row, on in self.state.on.items() if not self._pods.keys().isdisjoint(on)]

    def step(self) -> bool:
        """Whether the placement costs less now; if not, it is what it was."""
        state, rows = self.state, self.rows()
        rows = self._draw.sample(rows, min(self._draw.randint(1, _NODES), len(rows)))
        lifted = [(i, row, pods) for row in rows for i, pods in state.on[row].items() if i in self._pods]
        for index, row, pods in lifted:
            state.add(index, row, -pods)
        emptied = [row for row in rows if not state.used[row]]
        saved = sum(pods * float(self._problem.classes[i].cost[row]) for i, row, pods in lifted)
        saved += float(self._problem.opening[emptied].sum())
        placed, cost = self._place(lifted, saved)
        if cost < saved - _LEAST_GAIN:
            return True
        for index, row in placed:
            state.add(index, row, -1)
        for index, row, pods in lifted:
            state.add(index, row, pods)
        return False

    def _place(
        self, lifted: Iterable[tuple[int, int, int]], most: float
    ) -> tuple[list[tuple[int, int]], float]:
        """Class and node of each pod, and what they cost together; not all of them once that is too much."""
        pods = [index for index, _, count in lifted for _ in range(count)]
        pods.sort(key=lambda index: -self._pods[index].size * self._draw.uniform(1 - _NOISE, 1 + _NOISE))
        noise = self._noise.uniform(1 - _NOISE, 1 + _NOISE, len(self._problem.node_names))
        cost = sum(self._pods[index].least for index in pods)
        placed: list[tuple[int, int]] = []
        for index in pods:
            row, above = self._cheapest(index, noise)
            cost += above
            if cost >= most:
                return placed, np.inf
            self.state.add(index, row, 1)
            placed.append((index, row))
        return placed, cost

    def _cheapest(self, index: int, noise: Floats) -> tuple[int, float]:
        """A node with room for the pod, and what it costs there above the least that it could cost."""
        state, problem, each, pod = self.state, self._problem, self._problem.classes[index], self._pods[index]
        fits = each.allowed.copy()
        for at, amount in pod.resources:
            fits &= state.free[at] >= amount
        rows = np.flatnonzero(fits)
        if not rows.size:
            return -1, np.inf
        used = state.used[rows]
        cost = each.cost[rows] + np.where(used, 0.0, problem.opening[rows] * each.share[rows])
        at = int(np.argmin(cost * noise[rows]))
        row = int(rows[at])
        opened = 0.0 if used[at] else float(problem.opening[row])
        return row, float(each.cost[row]) + opened - pod.least
