"""A placement in the making: what is left on the nodes, and what each class may still do."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from planner.problem import Amounts, Assignment, Attraction, Cap, Exclusion, Floor, Mask, Problem, Skew

_ENDLESS = np.iinfo(np.int64).max // 4


class _Tie(NamedTuple):
    """What is counted for one relation: pods by domain, in a last place those outside of all."""

    left: Amounts
    right: Amounts


class State:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.free = problem.free.copy()
        self.used = problem.in_use.copy()
        self.assignment: dict[tuple[int, int], int] = {}
        self.left = [each.count for each in problem.classes]
        self._pods_on = np.zeros(len(problem.node_names), np.int64)
        self._exclusions = [
            _Tie(_zeros(_size(each.codes)), _zeros(_size(each.codes))) for each in problem.exclusions
        ]
        self._attractions = [
            [_padded(existing) for existing in each.existing] for each in problem.attractions
        ]
        self._skews = [_padded(each.existing) for each in problem.skews]
        self._caps = [_padded(each.existing) for each in problem.caps]
        self._floors = [[each.durable, each.total] for each in problem.floors]
        self._choices = [0 for _ in problem.choices]
        self.ties = _ties(problem)

    def room(self, index: int) -> Amounts:
        """(N,) how many more pods of the class each node alone would take now."""
        room = self.capacity(index)
        if self.ties[index]:
            self._apply_ties(index, room)
        return room

    def capacity(self, index: int) -> Amounts:
        """(N,) the same, were there no other classes of pods."""
        each = self.problem.classes[index]
        room = np.where(each.allowed, min(self.left[index], _ENDLESS), 0)
        for row in np.flatnonzero(each.needs):
            spare = self.free[row] - each.needs[row]
            if each.requests[row]:
                np.minimum(room, spare // each.requests[row] + 1, out=room)
            else:
                room[spare < 0] = 0
        return np.maximum(room, 0, out=room)

    def exclusion_counts(self, number: int) -> _Tie:
        return self._exclusions[number]

    def attraction_counts(self, number: int) -> Sequence[Amounts]:
        return self._attractions[number]

    def skew_counts(self, number: int) -> Amounts:
        return self._skews[number][:-1]

    def cap_counts(self, number: int) -> Amounts:
        return self._caps[number]

    def floor_counts(self, number: int) -> Sequence[int]:
        return self._floors[number]

    def choice_count(self, number: int) -> int:
        return self._choices[number]

    def tie_mask(self, index: int, kind: str) -> Mask:
        """(N,) the nodes to which the relations of this kind alone would let one more pod of the class go."""
        ties = self.ties[index]
        room = np.ones(len(self.problem.node_names), np.int64)
        self.ties[index] = [tie for tie in ties if tie[0] == kind]
        self._apply_ties(index, room)
        self.ties[index] = ties
        return room > 0

    def domains_of(self, row: int) -> tuple[Hashable, ...]:
        """What the relations see of a node: its domain, or where that is the node alone, what is on it."""
        problem = self.problem
        seen: list[Hashable] = []
        for exclusion, tie in zip(problem.exclusions, self._exclusions, strict=True):
            code = int(exclusion.codes[row])
            seen.append((int(tie.left[code]), int(tie.right[code]), code < 0) if exclusion.one_node else code)
        for cap, counts in zip(problem.caps, self._caps, strict=True):
            code = int(cap.codes[row])
            seen.append((int(counts[code]), code < 0) if cap.one_node else code)
        for attraction, by_key in zip(problem.attractions, self._attractions, strict=True):
            for codes, counts, alone in zip(attraction.codes, by_key, attraction.one_node, strict=True):
                code = int(codes[row])
                seen.append((int(counts[code]) > 0, code < 0) if alone else code)
        seen.extend((int(skew.codes[row]), int(skew.counting[row])) for skew in problem.skews)
        return tuple(seen)

    def fits(self, index: int, row: int) -> bool:
        """Whether one more pod of the class may go to this node now."""
        each = self.problem.classes[index]
        if not each.allowed[row] or np.any((self.free[:, row] < each.needs) & (each.needs > 0)):
            return False
        if not self.ties[index]:
            return True
        # Looked at for every pod with a spread: far quicker than the arrays of one node.
        if not all(self._is_level(number, index, row) for kind, number in self.ties[index] if kind == "skew"):
            return False
        room = np.full(1, 1, np.int64)
        self._apply_ties(index, room, row)
        return bool(room[0])

    def _is_level(self, number: int, index: int, row: int) -> bool:
        each = self.problem.skews[number]
        code = each.codes[row]
        if index != each.bearer:
            return True
        pods = self._skews[number][:-1]
        least = pods[each.eligible].min(initial=_ENDLESS) if each.enough else 0
        return bool(code >= 0 and pods[code] + each.itself - least <= each.most)

    def add(self, index: int, row: int, pods: int) -> None:
        """Put so many pods there, or take them away where negative; whether they fit is not looked at."""
        problem = self.problem
        self.free[:, row] -= pods * problem.classes[index].requests
        self.left[index] -= pods
        self._pods_on[row] += pods
        self.used[row] = problem.in_use[row] or self._pods_on[row] > 0
        key = (index, row)
        self.assignment[key] = self.assignment.get(key, 0) + pods
        if not self.assignment[key]:
            del self.assignment[key]
        for kind, number in self.ties[index]:
            self._count(kind, number, index, row, pods)

    def load(self, assignment: Assignment) -> "State":
        for (index, row), pods in assignment.items():
            self.add(index, row, pods)
        return self

    def _count(  # noqa: C901  one line or two for each kind
        self, kind: str, number: int, index: int, row: int, pods: int
    ) -> None:
        problem = self.problem
        match kind:
            case "exclusion":
                exclusion = problem.exclusions[number]
                tie = self._exclusions[number]
                code = exclusion.codes[row]
                if index in exclusion.left:
                    tie.left[code] += pods
                if index in exclusion.right:
                    tie.right[code] += pods
                tie.left[-1] = tie.right[-1] = 0
            case "attraction":
                attraction = problem.attractions[number]
                if index in attraction.targets:
                    for codes, counts in zip(attraction.codes, self._attractions[number], strict=True):
                        counts[codes[row]] += pods
                        counts[-1] = 0
            case "skew":
                skew = problem.skews[number]
                if index in skew.counted:
                    self._skews[number][skew.counting[row]] += pods
            case "cap":
                self._caps[number][problem.caps[number].codes[row]] += pods
            case "floor":
                self._floors[number][0] += pods * int(problem.durable[row])
                self._floors[number][1] += pods
            case "choice":
                self._choices[number] += pods

    def _apply_ties(self, index: int, room: Amounts, row: int | None = None) -> None:
        """Lower `room` to what the relations let in; for one node, where `row` is given."""
        problem = self.problem
        for kind, number in self.ties[index]:
            match kind:
                case "exclusion":
                    self._exclude(problem.exclusions[number], self._exclusions[number], index, room, row)
                case "attraction":
                    self._attract(problem.attractions[number], self._attractions[number], index, room, row)
                case "skew" if row is None:
                    self._level(problem.skews[number], self._skews[number], index, room)
                case "cap":
                    _limit(problem.caps[number], self._caps[number], room, row)
                case "floor":
                    self._keep_floor(problem.floors[number], self._floors[number], room, row)
                case "choice":
                    np.minimum(room, problem.choices[number].most - self._choices[number], out=room)
        np.maximum(room, 0, out=room)

    @staticmethod
    def _exclude(each: Exclusion, tie: _Tie, index: int, room: Amounts, row: int | None) -> None:
        codes = each.codes if row is None else each.codes[row : row + 1]
        if index in each.left:
            room[tie.right[codes] > 0] = 0
        if index in each.right:
            room[tie.left[codes] > 0] = 0
        if index in each.left and index in each.right:
            room[codes >= 0] = np.minimum(room[codes >= 0], 1)

    @staticmethod
    def _attract(each: Attraction, counts: list[Amounts], index: int, room: Amounts, row: int | None) -> None:
        if index not in each.followers:
            return
        columns = [codes if row is None else codes[row : row + 1] for codes in each.codes]
        first = index in each.starters and not any(count.any() for count in counts)
        for codes, count in zip(columns, counts, strict=True):
            room[(codes < 0) if first else (count[codes] <= 0)] = 0

    @staticmethod
    def _level(each: Skew, counts: Amounts, index: int, room: Amounts) -> None:
        if index != each.bearer:
            return
        codes, counting = each.codes, each.counting
        pods = counts[:-1]
        least = pods[each.eligible].min() if each.enough and each.eligible.any() else 0
        headroom = np.append(each.most + least - pods, 0)[codes]
        blocked = (codes < 0) | (headroom < int(each.itself))
        if index in each.counted:
            growing = counting >= 0
            room[growing] = np.minimum(room[growing], headroom[growing])
        room[blocked] = 0

    def _keep_floor(self, each: Floor, counts: list[int], room: Amounts, row: int | None) -> None:
        durable = self.problem.durable if row is None else self.problem.durable[row : row + 1]
        on_durable, total = counts
        spot = int(on_durable >= each.required[min(total + 1, len(each.required) - 1)])
        room[~durable] = np.minimum(room[~durable], spot)


def _limit(each: Cap, counts: Amounts, room: Amounts, row: int | None) -> None:
    codes = each.codes if row is None else each.codes[row : row + 1]
    np.minimum(room, np.where(codes >= 0, each.most - counts[codes], 0), out=room)


def _ties(problem: Problem) -> list[list[tuple[str, int]]]:
    """By class, the relations that it is part of."""
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for number, exclusion in enumerate(problem.exclusions):
        for index in exclusion.left | exclusion.right:
            found[index].append(("exclusion", number))
    for number, attraction in enumerate(problem.attractions):
        for index in attraction.followers | attraction.targets:
            found[index].append(("attraction", number))
    for number, skew in enumerate(problem.skews):
        for index in skew.counted | {skew.bearer}:
            found[index].append(("skew", number))
    others = (
        *(("cap", number, each.classes) for number, each in enumerate(problem.caps)),
        *(("floor", number, each.classes) for number, each in enumerate(problem.floors)),
        *(("choice", number, each.classes) for number, each in enumerate(problem.choices)),
    )
    for kind, number, classes in others:
        for index in classes:
            found[index].append((kind, number))
    return [found[index] for index in range(len(problem.classes))]


def _size(codes: np.ndarray) -> int:
    return int(codes.max(initial=-1)) + 1


def _zeros(size: int) -> Amounts:
    return np.zeros(size + 1, np.int64)


def _padded(counts: Amounts) -> Amounts:
    return np.append(counts, 0)
