"""A placement in the making: what is left on the nodes, and what each class may still do."""

from collections import defaultdict
from collections.abc import Hashable, Iterable

import numpy as np

from tradewind.planner.problem import Amounts, Assignment, Codes, Floats, Mask, Problem
from tradewind.planner.relations.preference import PreferenceTally  # noqa: TC001  as Tally is
from tradewind.planner.relations.relation import Tally

_ENDLESS = np.iinfo(np.int64).max // 4


class State:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.free = problem.free.copy()
        self.used = problem.in_use.copy()
        self.assignment: dict[tuple[int, int], int] = {}
        self.on: dict[int, dict[int, int]] = defaultdict(dict)  # the same by row, pods by class
        self.left = [each.count for each in problem.classes]
        self._pods_on = np.zeros(len(problem.node_names), np.int64)
        self.tallies = [relation.tally() for relation in problem.relations]
        self.ties: list[list[Tally]] = [[] for _ in problem.classes]  # by class, those that it is part of
        for relation, tally in zip(problem.relations, self.tallies, strict=True):
            for index in relation.members():
                self.ties[index].append(tally)
        self.preferences = [preference.tally() for preference in problem.preferences]
        self.wishes: list[list[PreferenceTally]] = [[] for _ in problem.classes]  # by class, as `ties`
        for preference, wish in zip(problem.preferences, self.preferences, strict=True):
            for index in preference.members():
                self.wishes[index].append(wish)

    def room(self, index: int) -> Amounts:
        """(N,) how many more pods of the class each node alone would take now."""
        room = self.capacity(index)
        for tally in self.ties[index]:
            tally.admit(index, room)
        return np.maximum(room, 0, out=room)

    def room_alone(self, index: int) -> Amounts:
        """(N,) the same, without what the pods of the class do to each other across nodes."""
        room = self.capacity(index)
        for tally in self.ties[index]:
            tally.admit_across(index, room)
        return np.maximum(room, 0, out=room)

    def starting_room(self, index: int, room: Amounts) -> Amounts:
        """`room`, of which the first pod of a class takes none that would leave the others without."""
        start = room.copy()
        for tally in self.ties[index]:
            tally.gather(index, start, self.left[index])
        return start if start.any() else room

    def limit(self, index: int) -> int:
        """How many more pods of the class may be placed at all, before everything is looked at again."""
        limit = self.left[index]
        for tally in self.ties[index]:
            limit = tally.limit(index, limit)
        return max(limit, 0)

    def capacity(self, index: int) -> Amounts:
        """(N,) the same, were there no other classes of pods."""
        each = self.problem.classes[index]
        room = np.where(each.allowed, min(self.left[index], _ENDLESS), 0)
        for row in np.flatnonzero(each.requests):
            np.minimum(room, self.free[row] // each.requests[row], out=room)
        return np.maximum(room, 0, out=room)

    def admitted(self, index: int, tallies: Iterable[Tally]) -> Mask:
        """(N,) the nodes to which these relations alone would let one more pod of the class go."""
        room = np.ones(len(self.problem.node_names), np.int64)
        for tally in tallies:
            tally.admit(index, room)
        return room > 0

    def marginal(self, index: int) -> Floats:
        """(N,) dollars an hour that one more pod of the class adds by preferences between pods."""
        added = np.zeros(len(self.problem.node_names))
        for tally in self.wishes[index]:
            added += tally.marginal(index)
        return added

    def missed(self, classes: Iterable[int]) -> float:
        """Dollars an hour of the preferences that these classes are part of."""
        tallies = dict.fromkeys(tally for index in classes for tally in self.wishes[index])
        return sum(tally.total() for tally in tallies)

    def domains_of(self, row: int) -> tuple[Hashable, ...]:
        """What the relations and preferences see of a node."""
        return (
            *(tally.sees(row) for tally in self.tallies),
            *(tally.sees(row) for tally in self.preferences),
        )

    def add(self, index: int, row: int, pods: int) -> None:
        """Put so many pods there, or take them away where negative; whether they fit is not looked at."""
        problem = self.problem
        self.free[:, row] -= pods * problem.classes[index].requests
        self.left[index] -= pods
        self._pods_on[row] += pods
        self.used[row] = problem.in_use[row] or self._pods_on[row] > 0
        self._assign(index, row, pods)
        for tally in self.ties[index]:
            tally.count(index, row, pods)
        for wish in self.wishes[index]:
            wish.count(index, row, pods)

    def add_all(self, index: int, rows: Codes, pods: Amounts) -> None:
        """The same for many rows, all different, in one step."""
        problem = self.problem
        self.free[:, rows] -= problem.classes[index].requests[:, None] * pods
        self.left[index] -= int(pods.sum())
        self._pods_on[rows] += pods
        self.used[rows] = problem.in_use[rows] | (self._pods_on[rows] > 0)
        for row, more in zip(rows.tolist(), pods.tolist(), strict=True):
            self._assign(index, row, more)
        for tally in self.ties[index]:
            tally.count(index, rows, pods)
        for wish in self.wishes[index]:
            wish.count(index, rows, pods)

    def _assign(self, index: int, row: int, pods: int) -> None:
        total = self.assignment.get((index, row), 0) + pods
        if total:
            self.assignment[index, row] = self.on[row][index] = total
        else:
            del self.assignment[index, row], self.on[row][index]

    def load(self, assignment: Assignment) -> "State":
        by_class: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for (index, row), pods in assignment.items():
            by_class[index][0].append(row)
            by_class[index][1].append(pods)
        for index, (rows, counts) in by_class.items():
            self.add_all(index, np.array(rows), np.array(counts))
        return self
