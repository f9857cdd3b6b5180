from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.relation import (
    Codes,
    ExactModel,
    Relation,
    Tally,
    Variable,
    WaveCheck,
    distinct,
    padded,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attraction(Relation):
    """`followers` go only where pods of `targets`, or ones placed before, are: in a domain of every key.

    Where there are none anywhere, a follower in `starters` may be the first.
    """

    ordered: ClassVar[bool] = True

    codes: tuple[Codes, ...]  # by key
    existing: tuple[Amounts, ...]  # by key, (D,) pods placed before
    followers: frozenset[int]
    targets: frozenset[int]
    starters: frozenset[int]

    @cached_property
    def one_node(self) -> tuple[bool, ...]:
        return tuple(distinct(codes) for codes in self.codes)

    def members(self) -> frozenset[int]:
        return self.followers | self.targets

    def tally(self) -> "_Attraction":
        return _Attraction(self)

    def anchors(self) -> frozenset[int]:
        return self.targets - self.followers

    def dependents(self) -> frozenset[int]:
        return self.followers

    def first(self) -> frozenset[int]:
        return self.starters


class _Attraction(Tally):
    def __init__(self, relation: Attraction) -> None:
        self._relation = relation
        self._counts = [padded(existing) for existing in relation.existing]

    @property
    def _nobody(self) -> bool:
        """Whether there is nobody to follow anywhere."""
        return not any(count.any() for count in self._counts)

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        if index in self._relation.targets:
            for codes, counts in zip(self._relation.codes, self._counts, strict=True):
                np.add.at(counts, codes[rows], pods)
                counts[-1] = 0

    def admit(self, index: int, room: Amounts) -> None:
        if index not in self._relation.followers:
            return
        starts = self._starts(index)
        for codes, count in zip(self._relation.codes, self._counts, strict=True):
            room[(codes < 0) if starts else (count[codes] <= 0)] = 0

    def limit(self, index: int, pods: int) -> int:
        """The first says where all others go."""
        return min(pods, 1) if self._starts(index) else pods

    def gather(self, index: int, room: Amounts, pods: int) -> None:
        """Only to domains with room for all of them, if there is one."""
        if not self._starts(index):
            return
        for codes in self._relation.codes:
            together = np.bincount(codes + 1, weights=room)
            together[0] = 0
            enough = together >= pods
            if enough.any():
                room[~enough[codes + 1]] = 0

    def wave(self) -> WaveCheck:
        return _Together(self._relation, None if self._nobody else self._counts)

    def sees(self, row: int) -> Hashable:
        seen: list[Hashable] = []
        for codes, counts, alone in zip(
            self._relation.codes, self._counts, self._relation.one_node, strict=True
        ):
            code = int(codes[row])
            seen.append((int(counts[code]) > 0, code < 0) if alone else code)
        return tuple(seen)

    def constrain(self, window: ExactModel) -> None:
        followers = window.placed(sorted(self._relation.followers))
        if not followers:
            return
        starts = [
            self._follow(window, followers, codes, count)
            for codes, count in zip(self._relation.codes, self._counts, strict=True)
        ]
        for other in starts[1:]:
            window.model.add(other == starts[0])

    def _follow(
        self, window: ExactModel, followers: Sequence[tuple[int, Variable]], codes: Codes, count: Amounts
    ) -> Variable:
        """By one key; the sum of the domains that are started, which is 0 or 1."""
        empty = {int(codes[row]) for row, _ in followers if codes[row] >= 0 and not count[codes[row]]}
        anchors = window.by_domain(codes, self._relation.anchors())
        started = self._started(window, codes, empty)
        for row, variable in followers:
            code = int(codes[row])
            if code < 0:
                window.model.add(variable == 0)
            elif code in empty:
                support = sum(anchors.get(code, [])) + started.get(code, 0)
                window.model.add(support >= 1).only_enforce_if(window.any([variable]))
        return sum(started.values())

    def _started(self, window: ExactModel, codes: Codes, empty: set[int]) -> Mapping[int, Variable]:
        """By domain, whether a class that wants to be with itself starts there: in one of them at most."""
        if not (self._relation.starters and self._nobody):
            return {}
        started: dict[int, Variable] = {}
        for code, starters in window.by_domain(codes, self._relation.starters).items():
            if code in empty:
                started[code] = window.model.new_bool_var("")
                window.model.add(sum(starters) >= 1).only_enforce_if(started[code])
        if started:
            window.model.add_at_most_one(started.values())
        return started

    def _starts(self, index: int) -> bool:
        return index in self._relation.starters and self._nobody


class _Together:
    """What a pod follows is there before the wave.

    The first pods of a kind that wants to be with itself may come together, if all that they could follow in
    this wave are in the same domains.
    """

    def __init__(self, relation: Attraction, before: Sequence[Amounts] | None) -> None:
        self._relation = relation
        self._before = before
        self._targets: set[tuple[int, ...]] = set()  # domains, by key, of what may be followed
        self._started: tuple[int, ...] | None = None  # those of the first pods

    def admit(self, index: int, row: int, pods: int) -> int:
        return pods if self._safe(index, self._domains(row)) else 0

    def book(self, index: int, row: int, pods: int) -> None:  # noqa: ARG002  any number
        domains = self._domains(row)
        if index in self._relation.targets:
            self._targets.add(domains)
        if index in self._relation.followers:
            self._started = domains

    def _safe(self, index: int, domains: tuple[int, ...]) -> bool:
        follows = index in self._relation.followers
        if self._before is not None:
            there = (count[code] > 0 for count, code in zip(self._before, domains, strict=True))
            return not follows or all(there)
        if follows:
            starts = index in self._relation.starters and min(domains) >= 0
            return starts and self._targets <= {domains}
        return self._started in {None, domains}

    def _domains(self, row: int) -> tuple[int, ...]:
        return tuple(int(codes[row]) for codes in self._relation.codes)
