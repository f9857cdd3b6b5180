"""Large neighbourhood search: pods are lifted off a few nodes and inserted again, over and over.

While pods are without a place, one of them is put on a node and the pods that are in its way are lifted.
Those that have been hard to place are lifted last, after Nagata and Bräysy, "A powerful route minimization
heuristic for the vehicle routing problem with time windows", 2009.

After that the pods of a few nodes or of one workload are lifted and inserted where they cost less, after
Schrimpf and others, "Record breaking optimization results using the ruin and recreate principle", 2000.
"""

import random
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tradewind.planner.binding import assignment_of, valid_order
from tradewind.planner.blockers import Blockers
from tradewind.planner.budget import Budget
from tradewind.planner.problem import Assignment, Floats, Problem, value
from tradewind.planner.state import State

# Nodes whose pods are lifted at once to save money.
_NODES = 4
# How far chance leads from the order of sizes and from the cheapest node.
_NOISE = 0.3
# Pods that are moved by chance after each that was made room for.
_SHUFFLED = 6
# How often a workload is lifted instead of nodes: it takes longer.
_WORKLOADS = 0.05
_MOST_LIFTED = 60  # pods of a workload, and of those that follow it
_LEAST_GAIN = 1e-9
_STEPS = 20  # between two looks at the budget

Report = Callable[[Assignment], object]


class _Lifted(NamedTuple):
    number: int  # of the class
    row: int
    pods: int


class Search:
    """Both parts of the search, over one state; the same draw for the same problem."""

    def __init__(self, problem: Problem, start: Assignment) -> None:
        self._problem = problem
        self.state = State(problem).load(start)
        self._draw = random.Random(1)  # noqa: S311  a search, not a secret
        self._noise = np.random.default_rng(1)
        self._size = _sizes(problem)
        self._blockers = Blockers(problem, self._size, self._draw)
        self._ordered = frozenset[int]().union(*(r.members() for r in problem.relations if r.ordered))
        self._in_gangs = frozenset[int]().union(*(gang.classes for gang in problem.gangs))
        self._together = _together(problem)
        self._rows = len(problem.node_names)

    # -- a place for every pod

    def place_every(self, budget: Budget) -> Assignment:
        """The best placement that was met, by priority; it ends when every pod has a place."""
        best, least = dict(self.state.assignment), self._lost()
        while least and not budget.is_over():
            self._place_one()
            if self._lost() < least:
                self._lift_stranded()
            if (lost := self._lost()) < least:
                best, least = dict(self.state.assignment), lost
        return best

    def _place_one(self) -> None:
        state = self.state
        index = self._next_waiting()
        if not self._insert_snug(index):
            self._blockers.lift(state, index)
            self._insert_snug(index)
            for _ in range(_SHUFFLED):
                self._shuffle()
        for each in sorted(self._waiting(), key=lambda i: (-self._problem.worth[i], -self._size[i])):
            while state.left[each] and self._insert_snug(each):
                pass

    def _waiting(self) -> list[int]:
        return [index for index, left in enumerate(self.state.left) if left]

    def _next_waiting(self) -> int:
        """Mostly one of the highest priority that is large and has been hard to place."""
        waiting, worth = self._waiting(), self._problem.worth
        if self._draw.random() < _NOISE:
            return self._draw.choice(waiting)
        most = max(worth[index] for index in waiting)
        return max(
            (index for index in waiting if worth[index] == most),
            key=lambda i: self._size[i] * self._blockers.penalty[i] * self._draw.uniform(0.5, 1.5),
        )

    def _insert_snug(self, index: int) -> bool:
        """Where the pod leaves least unused, by a measure that varies."""
        state = self.state
        if not state.limit(index):
            return False
        rows = np.flatnonzero(state.starting_room(index, state.room(index)))
        if not rows.size:
            return False
        left = state.free[:, rows] / self._blockers.most - self._blockers.shares[index]
        score = self._draw.random() * left.max(axis=0) + self._draw.random() * left.sum(axis=0)
        score += 0.02 * self._noise.random(rows.size)
        state.add(index, int(rows[np.argmin(score)]), 1)
        return True

    def _shuffle(self) -> None:
        """Move a pod by chance, which may make room where none was."""
        state = self.state
        row = next((r for _ in range(20) if state.on.get(r := self._draw.randrange(self._rows))), None)
        if row is None:
            return
        index = self._draw.choice(list(state.on[row]))
        if self._blockers.followers[index]:
            return
        state.add(index, row, -1)
        rows = np.flatnonzero(state.room(index))
        rows = rows[rows != row]
        state.add(index, int(self._draw.choice(rows.tolist())) if rows.size else row, 1)

    def _lift_stranded(self) -> None:
        """Pods that could not be bound in any order, as what they came for is gone."""
        if not (self._ordered or self._in_gangs):
            return
        bound = assignment_of(valid_order(self._problem, self.state.assignment))
        for key, pods in list(self.state.assignment.items()):
            if pods > bound.get(key, 0):
                self.state.add(*key, bound.get(key, 0) - pods)

    def _lost(self) -> int:
        """The worth of all pods without a place, gangs that fall short among them."""
        lost = list(self.state.left)
        for gang in self._problem.gangs:
            placed = sum(self._problem.classes[i].count - self.state.left[i] for i in gang.classes)
            if placed < gang.min_pods:
                for index in gang.classes:
                    lost[index] = self._problem.classes[index].count
        return sum(pods * self._problem.worth[index] for index, pods in enumerate(lost) if pods)

    # -- the same pods for less

    def save(self, budget: Budget, report: Report) -> None:
        """Until the budget is over; each gain is reported."""
        tied = [i for i in range(len(self._problem.classes)) if i not in self._movable]
        while self.state.assignment and not budget.is_over():
            gained = False
            for _ in range(_STEPS):
                if tied and self._draw.random() < _WORKLOADS:
                    gained |= self._save_on_workload(self._draw.choice(tied))
                else:
                    gained |= self._save_on_nodes()
            if gained:
                report(dict(self.state.assignment))

    @cached_property
    def _movable(self) -> frozenset[int]:
        """Classes whose pods may leave a node without regard to where the others of their workload are."""
        classes = range(len(self._problem.classes))
        stepped = {index for index in classes if self._problem.classes[index].step}
        return frozenset(classes) - self._ordered - self._in_gangs - stepped

    @cached_property
    def _least(self) -> list[float]:
        """By class, what a pod costs where it costs least."""
        return [float(each.cost[each.allowed].min(initial=np.inf)) for each in self._problem.classes]

    def _save_on_nodes(self) -> bool:
        """Whether the placement costs less now; if not, it is what it was."""
        state = self.state
        rows = [row for row, on in state.on.items() if not self._movable.isdisjoint(on)]
        if not rows:
            return False
        rows = self._draw.sample(rows, min(self._draw.randint(1, _NODES), len(rows)))
        lifted = [
            _Lifted(i, row, pods) for row in rows for i, pods in state.on[row].items() if i in self._movable
        ]
        saved = sum(pods * float(self._problem.classes[i].cost[row]) for i, row, pods in lifted)
        wishing = {i for i, _, _ in lifted if state.wishes[i]}
        saved += state.missed(wishing)
        self._lift(lifted)
        saved -= state.missed(wishing)
        saved += float(self._problem.opening[[row for row in rows if not state.used[row]]].sum())
        placed, cost = self._insert_cheaply([i for i, _, pods in lifted for _ in range(pods)], saved)
        if cost < saved - _LEAST_GAIN:
            return True
        self._put_back(placed, lifted)
        return False

    def _save_on_workload(self, index: int) -> bool:
        """The same for all pods of a class and of those that are tied to it by the order of binding."""
        state, problem = self.state, self._problem
        together = self._together[index]
        lifted = [_Lifted(i, row, pods) for (i, row), pods in state.assignment.items() if i in together]
        if not 0 < sum(each.pods for each in lifted) <= _MOST_LIFTED:
            return False
        before = value(problem, state.assignment)
        self._lift(lifted)
        placed: list[tuple[int, int]] = []
        noise = self._noise.uniform(1 - _NOISE, 1 + _NOISE, self._rows)
        waiting = sorted(together, key=lambda i: (self._blockers.depth[i], -self._size[i]))
        progress = True
        while progress:
            progress = False
            for each in waiting:
                while state.left[each] and (row := self._cheapest(each, noise)[0]) >= 0:
                    state.add(each, row, 1)
                    placed.append((each, row))
                    progress = True
        if value(problem, state.assignment) > before and not self._is_stranded():
            return True
        self._put_back(placed, lifted)
        return False

    def _is_stranded(self) -> bool:
        return len(valid_order(self._problem, self.state.assignment)) < sum(self.state.assignment.values())

    def _lift(self, lifted: list[_Lifted]) -> None:
        for index, row, pods in lifted:
            self.state.add(index, row, -pods)

    def _put_back(self, placed: list[tuple[int, int]], lifted: list[_Lifted]) -> None:
        for index, row in placed:
            self.state.add(index, row, -1)
        for index, row, pods in lifted:
            self.state.add(index, row, pods)

    def _insert_cheaply(self, pods: list[int], most: float) -> tuple[list[tuple[int, int]], float]:
        """Class and node of each pod, and what they cost together; not all of them once that is `most`."""
        pods.sort(key=lambda index: -self._size[index] * self._draw.uniform(1 - _NOISE, 1 + _NOISE))
        noise = self._noise.uniform(1 - _NOISE, 1 + _NOISE, self._rows)
        cost = sum(self._least[index] for index in pods)
        placed: list[tuple[int, int]] = []
        for index in pods:
            row, dollars = self._cheapest(index, noise)
            cost += dollars - self._least[index]
            if row < 0 or cost >= most:
                return placed, np.inf
            self.state.add(index, row, 1)
            placed.append((index, row))
        return placed, cost

    def _cheapest(self, index: int, noise: Floats) -> tuple[int, float]:
        """A node with room for one more pod of the class, about the cheapest, and what it costs there."""
        state, each = self.state, self._problem.classes[index]
        if state.ties[index]:
            room = state.room(index) if state.limit(index) else np.zeros(self._rows, np.int64)
            rows = np.flatnonzero(state.starting_room(index, room))
        else:
            fits = each.allowed.copy()
            for at, amount in self._blockers.asked[index]:
                fits &= state.free[at] >= amount
            rows = np.flatnonzero(fits)
        if not rows.size:
            return -1, np.inf
        cost = each.cost[rows]
        if each.step:
            cost = cost + each.step * each.share[rows] * np.array(
                [state.on[row].get(index, 0) for row in rows.tolist()]
            )
        if state.wishes[index]:
            cost = cost + state.marginal(index)[rows]
        used = state.used[rows]
        score = cost + np.where(used, 0.0, self._problem.opening[rows] * each.share[rows])
        at = int(np.argmin(score * noise[rows]))
        row = int(rows[at])
        return row, float(cost[at]) + (0.0 if used[at] else float(self._problem.opening[row]))


def _sizes(problem: Problem) -> list[float]:
    """By class, the largest share of the largest node that a pod asks for."""
    largest = np.maximum(problem.free.max(axis=1, initial=1), 1)
    return [float((each.requests / largest).max(initial=0.0)) for each in problem.classes]


def _together(problem: Problem) -> list[frozenset[int]]:
    """By class, the classes that are lifted with it: without some, others may not be where they are."""
    found = [frozenset({index}) for index in range(len(problem.classes))]
    groups = [each.members() for each in problem.relations if each.ordered]
    for members in [*groups, *(gang.classes for gang in problem.gangs)]:
        together = members.union(*(found[index] for index in members))
        for index in together:
            found[index] = together
    return found
