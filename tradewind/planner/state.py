"""A placement in the making: what is left on the nodes, and what each class may still do."""

from collections import defaultdict
from collections.abc import Container, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.planner.problem import Amounts, Assignment, Cap, Codes, Exclusion, Floor, Mask, Problem, Skew

_ENDLESS = np.iinfo(np.int64).max // 4
_KINDS = frozenset({"exclusion", "attraction", "skew", "cap", "floor", "choice"})
_ACROSS = _KINDS - {"skew", "floor"}


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
        self.on: dict[int, dict[int, int]] = defaultdict(dict)  # the same by row, pods by class
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
        return self._apply_ties(index, self.capacity(index), _KINDS)

    def room_alone(self, index: int) -> Amounts:
        """(N,) the same, without what the pods of the class do to each other across nodes."""
        return self._apply_ties(index, self.capacity(index), _ACROSS)

    def limit(self, index: int) -> int:
        """How many more pods of the class may be placed at all, before everything is looked at again."""
        limit = self.left[index]
        for kind, number in self.ties[index]:
            if kind == "choice":
                limit = min(limit, self.problem.choices[number].most - self._choices[number])
            elif kind == "attraction" and self._starts(number, index):
                limit = min(limit, 1)  # which says where all others go
        return max(limit, 0)

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

    def floor_counts(self, number: int) -> tuple[int, int]:
        durable, total = self._floors[number]
        return durable, total

    def choice_count(self, number: int) -> int:
        return self._choices[number]

    def tie_mask(self, index: int, kind: str) -> Mask:
        """(N,) the nodes to which the relations of this kind alone would let one more pod of the class go."""
        return self._apply_ties(index, np.ones(len(self.problem.node_names), np.int64), {kind}) > 0

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

    def add(self, index: int, row: int, pods: int) -> None:
        """Put so many pods there, or take them away where negative; whether they fit is not looked at."""
        problem = self.problem
        self.free[:, row] -= pods * problem.classes[index].requests
        self.left[index] -= pods
        self._pods_on[row] += pods
        self.used[row] = problem.in_use[row] or self._pods_on[row] > 0
        self._assign(index, row, pods)
        for kind, number in self.ties[index]:
            self._count(kind, number, index, row, pods)

    def add_all(self, index: int, rows: Codes, pods: Amounts) -> None:
        """The same for many rows, all different, in one step."""
        problem = self.problem
        self.free[:, rows] -= problem.classes[index].requests[:, None] * pods
        self.left[index] -= int(pods.sum())
        self._pods_on[rows] += pods
        self.used[rows] = problem.in_use[rows] | (self._pods_on[rows] > 0)
        for row, more in zip(rows.tolist(), pods.tolist(), strict=True):
            self._assign(index, row, more)
        for kind, number in self.ties[index]:
            self._count(kind, number, index, rows, pods)

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

    def _count(  # noqa: C901  one line or two for each kind
        self, kind: str, number: int, index: int, rows: Codes | int, pods: Amounts | int
    ) -> None:
        problem = self.problem
        match kind:
            case "exclusion":
                exclusion = problem.exclusions[number]
                tie = self._exclusions[number]
                if index in exclusion.left:
                    np.add.at(tie.left, exclusion.codes[rows], pods)
                if index in exclusion.right:
                    np.add.at(tie.right, exclusion.codes[rows], pods)
                tie.left[-1] = tie.right[-1] = 0
            case "attraction":
                attraction = problem.attractions[number]
                if index in attraction.targets:
                    for codes, counts in zip(attraction.codes, self._attractions[number], strict=True):
                        np.add.at(counts, codes[rows], pods)
                        counts[-1] = 0
            case "skew":
                skew = problem.skews[number]
                if index in skew.counted:
                    np.add.at(self._skews[number], skew.counting[rows], pods)
            case "cap":
                np.add.at(self._caps[number], problem.caps[number].codes[rows], pods)
            case "floor":
                self._floors[number][0] += int(np.sum(pods * problem.durable[rows]))
                self._floors[number][1] += int(np.sum(pods))
            case "choice":
                self._choices[number] += int(np.sum(pods))

    def _apply_ties(self, index: int, room: Amounts, kinds: Container[str]) -> Amounts:
        """Lower `room` to what the relations of these kinds let in."""
        problem = self.problem
        for kind, number in self.ties[index]:
            if kind not in kinds:
                continue
            match kind:
                case "exclusion":
                    _exclude(problem.exclusions[number], self._exclusions[number], index, room)
                case "attraction":
                    self._attract(number, index, room)
                case "skew":
                    _level(problem.skews[number], self._skews[number], index, room)
                case "cap":
                    _limit(problem.caps[number], self._caps[number], room)
                case "floor":
                    self._keep_floor(problem.floors[number], self._floors[number], room)
                case "choice":
                    np.minimum(room, problem.choices[number].most - self._choices[number], out=room)
        return np.maximum(room, 0, out=room)

    def _starts(self, number: int, index: int) -> bool:
        """Whether a pod of the class would be the first of those that it wants to be with."""
        starters = self.problem.attractions[number].starters
        return index in starters and not any(count.any() for count in self._attractions[number])

    def _attract(self, number: int, index: int, room: Amounts) -> None:
        each = self.problem.attractions[number]
        if index not in each.followers:
            return
        first = self._starts(number, index)
        for codes, count in zip(each.codes, self._attractions[number], strict=True):
            room[(codes < 0) if first else (count[codes] <= 0)] = 0

    def _keep_floor(self, each: Floor, counts: list[int], room: Amounts) -> None:
        durable = self.problem.durable
        on_durable, total = counts
        spot = int(on_durable >= each.required[min(total + 1, len(each.required) - 1)])
        room[~durable] = np.minimum(room[~durable], spot)


def _exclude(each: Exclusion, tie: _Tie, index: int, room: Amounts) -> None:
    codes = each.codes
    if index in each.left:
        room[tie.right[codes] > 0] = 0
    if index in each.right:
        room[tie.left[codes] > 0] = 0
    if index in each.left and index in each.right:
        room[codes >= 0] = np.minimum(room[codes >= 0], 1)


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


def _limit(each: Cap, counts: Amounts, room: Amounts) -> None:
    np.minimum(room, np.where(each.codes >= 0, each.most - counts[each.codes], 0), out=room)


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
