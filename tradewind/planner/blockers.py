"""Which pods are in the way of one that has no place: the fewest, and the easiest to place elsewhere."""

import random
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from tradewind.planner.greedy import depths
from tradewind.planner.problem import Floats, Problem
from tradewind.planner.state import State

# Nodes that are looked at for one pod.
_LOOKED_AT = 60
# All sets of pods of one node are tried up to this size; beyond, one set in the order of what each frees.
_EVERY_SET = 3
# How often a whole workload is lifted instead, with those that it is tied to: all of them may be misplaced.
_WHOLE = 0.01


class Blockers:
    def __init__(self, problem: Problem, size: Sequence[float], draw: random.Random) -> None:
        self._problem = problem
        self._draw = draw
        self._size = size
        self.penalty = [1.0] * len(problem.classes)  # how often no room was found for a pod of the class
        self.most: Floats = np.maximum(problem.free.max(axis=1, initial=1), 1).astype(np.float64)[:, None]
        self.shares = [each.requests[:, None] / self.most for each in problem.classes]
        self.asked = [
            [(at, int(each.requests[at])) for at in np.flatnonzero(each.requests).tolist()]
            for each in problem.classes
        ]
        self.depth = depths(problem)
        classes = range(len(problem.classes))
        self._related = [frozenset[int]() for _ in classes]
        self.followers = [frozenset[int]() for _ in classes]
        self._whole = [frozenset[int]() for _ in classes]
        for relation in problem.relations:
            for index in relation.members():
                self._related[index] |= relation.members()
            for index in relation.anchors():
                self.followers[index] |= relation.dependents()
            for index in relation.first() | relation.dependents():
                self._whole[index] |= relation.members()

    def lift(self, state: State, index: int) -> None:
        """Make room for a pod of the class, which has none."""
        self.penalty[index] += 1
        found = self._fewest(state, index)
        if self._whole[index] and (found is None or self._draw.random() < _WHOLE):
            for (each, row), pods in list(state.assignment.items()):
                if each in self._whole[index]:
                    state.add(each, row, -pods)
        elif found is not None:
            for each in found[1]:
                self._lift_one(state, each, found[0])

    def _lift_one(self, state: State, index: int, row: int) -> None:
        """With the pods on the node that follow it, if it is the last there."""
        if not state.on[row].get(index):
            return
        state.add(index, row, -1)
        if index not in state.on[row]:
            for follower in self.followers[index]:
                if pods := state.on[row].get(follower):
                    state.add(follower, row, -pods)

    def _fewest(self, state: State, index: int) -> tuple[int, list[int]] | None:
        """A node, and the classes of the pods there that are to go, once for each pod."""
        allowed = self._problem.classes[index].allowed
        admitted = state.admitted(index, state.ties[index]) if state.ties[index] else allowed
        resources = [at for at, _ in self.asked[index]]
        lacking = np.array([amount for _, amount in self.asked[index]])[:, None] - state.free[resources]
        best: tuple[int, list[int]] | None = None
        least = np.inf
        worth = self._problem.worth
        urgent = frozenset(each for each, more in enumerate(worth) if more > worth[index])
        rows = [row for row in np.flatnonzero(allowed).tolist() if state.on.get(row)]
        for row in self._draw.sample(rows, min(_LOOKED_AT, len(rows))):
            on = state.on[row]
            forced = () if admitted[row] else tuple(each for each in on if each in self._related[index])
            if not (admitted[row] or forced) or not urgent.isdisjoint(forced):
                continue
            on = {each: pods for each, pods in on.items() if each not in urgent}
            found = self._on_node(on, forced, lacking[:, row].tolist(), resources, least)
            if found is not None:
                least, best = found[0], (row, found[1])
        return best

    def _on_node(
        self,
        on: Mapping[int, int],
        forced: Sequence[int],
        lacking: list[int],
        resources: Sequence[int],
        least: float,
    ) -> tuple[float, list[int]] | None:
        """What it costs in penalties, and the pods; None where that is not below `least`."""
        freed = {each: self._problem.classes[each].requests[list(resources)].tolist() for each in on}
        chosen = [each for each in forced for _ in range(on[each])]
        cost = sum(self.penalty[each] for each in chosen)
        for each in chosen:
            lacking = [lack - more for lack, more in zip(lacking, freed[each], strict=True)]
        if cost >= least:
            return None
        if all(lack <= 0 for lack in lacking):
            return (cost, chosen) if chosen else None
        rest = [each for each, pods in on.items() if each not in forced for _ in range(pods)]
        found = self._smallest_set(rest, freed, lacking, least - cost)
        return None if found is None else (cost + found[0], chosen + found[1])

    def _smallest_set(
        self, rest: list[int], freed: Mapping[int, list[int]], lacking: list[int], least: float
    ) -> tuple[float, list[int]] | None:
        best: tuple[float, list[int]] | None = None
        few = [each for each in dict.fromkeys(rest) for _ in range(min(rest.count(each), _EVERY_SET))]
        for size in range(1, min(_EVERY_SET, len(few)) + 1):
            for tried in dict.fromkeys(combinations(few, size)):
                cost = sum(self.penalty[each] for each in tried)
                if cost < least and all(
                    lack <= sum(freed[each][at] for each in tried) for at, lack in enumerate(lacking)
                ):
                    least, best = cost, (cost, list(tried))
        return best or self._in_order(rest, freed, lacking, least)

    def _in_order(
        self, rest: list[int], freed: Mapping[int, list[int]], lacking: list[int], least: float
    ) -> tuple[float, list[int]] | None:
        """Those first that free most for their penalty."""
        wanted = [(at, max(lack, 1)) for at, lack in enumerate(lacking) if lack > 0]

        def worth(each: int) -> float:
            useful = sum(min(freed[each][at] / lack, 1.0) for at, lack in wanted)
            return useful / self.penalty[each] * self._draw.uniform(0.7, 1.3)

        cost, chosen = 0.0, list[int]()
        for each in sorted(rest, key=worth, reverse=True):
            cost += self.penalty[each]
            if cost >= least:
                return None
            chosen.append(each)
            lacking = [lack - more for lack, more in zip(lacking, freed[each], strict=True)]
            if all(lack <= 0 for lack in lacking):
                return cost, chosen
        return None
