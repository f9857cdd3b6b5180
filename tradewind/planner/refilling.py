"""A place for the last pods: a few nodes are emptied by chance and filled again, until every pod has one.

No step proves anything, but a thousand are done in a second, also where pods are tied to each other: pods of
a class whose relations depend on the order of bindings are lifted all together or not at all.
"""

import random
import time
from collections.abc import Mapping

import numpy as np

from tradewind.planner.covering import alignment
from tradewind.planner.problem import Assignment, Floats, Problem, worths
from tradewind.planner.state import State

# Nodes that are emptied in one step.
_FEWEST, _MOST = 2, 6
# How often a class that is lifted as a whole is, if it is on one of these nodes, or waits itself.
_LIFTED, _LIFTED_TO_PLACE = 0.2, 0.7
# The order of the largest first is shaken by so much.
_SHAKEN = 0.4
# What decides between nodes that are about as good, in parts of the largest node.
_EITHER = 0.02
# A node without anything left is emptied too, if rarely.
_LEAST_SLACK = 1e-2
# Sizes are whole numbers of these parts of the largest node, as worths may be too large for floats.
_SIZES = 1000


def refill(problem: Problem, start: Assignment, deadline: float) -> Assignment:
    """The best that was met by the deadline (of time.monotonic); it ends when every pod has a place."""
    search = _Search(problem, start)
    while not search.complete and time.monotonic() < deadline:
        search.step()
    return search.best


class _Search:
    def __init__(self, problem: Problem, start: Assignment) -> None:
        self._problem = problem
        self._state = State(problem).load(start)
        self._draw = random.Random(1)  # noqa: S311  a search, not a secret
        self._chance = np.random.default_rng(1)
        self._most: Floats = np.maximum(problem.free.max(axis=1, initial=1), 1).astype(np.float64)[:, None]
        self._requests = [each.requests[:, None] / self._most for each in problem.classes]
        self._size = [max(round(_SIZES * float(each.max(initial=0.0))), 1) for each in self._requests]
        self._worth = worths([(each.priority, each.favour, each.count * _SIZES) for each in problem.classes])
        self._whole = _whole(problem)
        self._journal: list[tuple[int, int, int]] = []
        self._missing, self._least = self._missed(), self._lost()
        self.best: Assignment = dict(start)

    @property
    def complete(self) -> bool:
        return not any(self._state.left)

    def step(self) -> None:
        """Undone if more would be missing then; what is as good is kept, as it leads elsewhere."""
        self._journal.clear()
        waiting = [index for index, left in enumerate(self._state.left) if left]
        self._empty(self._draw.choice(waiting))
        self._fill()
        missing = self._missed()
        if missing > self._missing:
            for index, row, pods in reversed(self._journal):
                self._state.add(index, row, -pods)
            return
        self._missing = missing
        if (lost := self._lost()) < self._least:
            self._least, self.best = lost, dict(self._state.assignment)

    def _lost(self) -> int:
        return sum(left * self._problem.worth[index] for index, left in enumerate(self._state.left))

    def _missed(self) -> int:
        """A large pod counts for more: two small ones in its stead are placed more easily."""
        worth, size = self._worth, self._size
        return sum(left * worth[index] * size[index] for index, left in enumerate(self._state.left))

    def _add(self, index: int, row: int, pods: int) -> None:
        self._state.add(index, row, pods)
        self._journal.append((index, row, pods))

    def _empty(self, wanted: int) -> None:
        """Some nodes that the pod may use, mostly those with much left."""
        state = self._state
        rows = np.flatnonzero(self._problem.classes[wanted].allowed)
        slack = (state.free[:, rows] / self._most).clip(0).sum(axis=0) + _LEAST_SLACK
        count = self._draw.randint(_FEWEST, _MOST)
        chosen = rows[np.argsort(-slack * self._chance.random(rows.size))[:count]].tolist()
        if wanted in self._whole and self._draw.random() < _LIFTED_TO_PLACE:
            chosen += self._lift(wanted)[:_MOST]
        for row in chosen:
            for index, pods in list(state.on[row].items()):
                if index not in self._whole:
                    self._add(index, row, -pods)
                elif self._draw.random() < _LIFTED:
                    self._lift(index)

    def _lift(self, index: int) -> list[int]:
        """All pods of the class and of those it is lifted with, wherever they are."""
        together = self._whole[index]
        found = [(key, pods) for key, pods in self._state.assignment.items() if key[0] in together]
        for (each, row), pods in found:
            self._add(each, row, -pods)
        return [row for (_, row), _ in found]

    def _fill(self) -> None:
        """The larger pods first, about; each where it fits best, by a measure that varies."""
        state = self._state
        waiting = [index for index, left in enumerate(state.left) if left]
        turn = {i: self._size[i] * self._draw.uniform(1 - _SHAKEN, 1 + _SHAKEN) for i in waiting}
        for index in sorted(waiting, key=lambda i: (-self._problem.worth[i], -turn[i])):
            self._place(index)
        for gang in self._problem.gangs:
            placed = [(key, pods) for key, pods in state.assignment.items() if key[0] in gang.classes]
            if sum(pods for _, pods in placed) < gang.min_pods:
                for (index, row), pods in placed:
                    self._add(index, row, -pods)

    def _place(self, index: int) -> None:
        state = self._state
        while state.limit(index):
            rows = np.flatnonzero(state.starting_room(index, state.room(index)))
            if not rows.size:
                return
            free = state.free[:, rows] / self._most
            aligned = self._draw.random() * alignment(self._requests[index], free)
            snug = self._draw.random() * (free - self._requests[index]).max(axis=0)
            either = _EITHER * self._chance.random(rows.size)
            self._add(index, int(rows[np.argmin(aligned + snug + either)]), 1)


def _whole(problem: Problem) -> Mapping[int, frozenset[int]]:
    """By class, those that are lifted together: to take away some may break what the others came for."""
    found: dict[int, frozenset[int]] = {}
    ordered = [relation.members() for relation in problem.relations if relation.ordered]
    for members in [*ordered, *(gang.classes for gang in problem.gangs)]:
        together = members.union(*(found.get(index, members) for index in members))
        found |= dict.fromkeys(together, together)
    return found
