from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from scoring.topology import SpreadDomains
from tradewind.cluster.snapshot import Amounts
from tradewind.planner.relations.relation import (
    Codes,
    ExactModel,
    Gate,
    Relation,
    Tally,
    Variable,
    WaveCheck,
    padded,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Skew(Relation):
    """With a pod of `bearer`, a domain has at most so many counted pods more than the emptiest."""

    ordered: ClassVar[bool] = True

    bearer: int
    domains: SpreadDomains
    counted: frozenset[int]

    def members(self) -> frozenset[int]:
        return self.counted | {self.bearer}

    def tally(self) -> "_Skew":
        return _Skew(self)

    def grows(self, index: int, row: int) -> bool:
        """Whether a pod of the class is counted on the node."""
        return index in self.counted and bool(self.domains.counting[row] >= 0)


class _Skew(Tally):
    def __init__(self, relation: Skew) -> None:
        self._relation = relation
        self._domains = relation.domains
        self._counts = padded(relation.domains.existing)

    @property
    def _pods(self) -> Amounts:
        return self._counts[:-1]

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:
        if index in self._relation.counted:
            np.add.at(self._counts, self._domains.counting[rows], pods)

    def admit(self, index: int, room: Amounts) -> None:
        if index != self._relation.bearer:
            return
        codes = self._domains.codes
        headroom = padded(self._domains.headroom(self._pods))[codes]
        if index in self._relation.counted:
            growing = self._domains.counting >= 0
            room[growing] = np.minimum(room[growing], headroom[growing])
        room[(codes < 0) | (headroom < int(self._domains.itself))] = 0

    def admit_across(self, index: int, room: Amounts) -> None:
        """A pod in the emptiest domain opens all others."""

    def gate(self, index: int) -> Gate | None:
        return _Rising(self._relation, self._pods) if index == self._relation.bearer else None

    def wave(self) -> WaveCheck:
        return _Level(self._relation, self._pods)

    def sees(self, row: int) -> Hashable:
        return int(self._domains.codes[row]), int(self._domains.counting[row])

    def constrain(self, window: ExactModel) -> None:
        bearers = window.placed([self._relation.bearer])
        if not bearers:
            return
        counted = window.by_domain(self._domains.counting, self._relation.counted)
        pods = [count + sum(counted.get(code, [])) for code, count in enumerate(self._pods.tolist())]
        emptiest = self._emptiest(window, pods)
        for row, variable in bearers:
            code = int(self._domains.codes[row])
            if code < 0:
                window.model.add(variable == 0)
                continue
            uncounted = int(self._domains.itself and not self._relation.grows(self._relation.bearer, row))
            fits = pods[code] + uncounted - emptiest <= self._domains.max_skew
            window.model.add(fits).only_enforce_if(window.any([variable]))

    def _emptiest(self, window: ExactModel, pods: list[Variable]) -> Variable:
        if not self._domains.enough:
            return 0
        level = window.model.new_int_var(0, int(self._pods.max(initial=0)) + window.pods, "")
        for code in np.flatnonzero(self._domains.eligible).tolist():
            window.model.add(level <= pods[code])
        return level


class _Rising:
    """The places are the domains twice: where pods of the class are counted, and where not."""

    def __init__(self, relation: Skew, pods: Amounts) -> None:
        domains = relation.domains
        self._domains = domains
        self._counts: list[int] = pods.tolist()
        self._eligible: list[bool] = domains.eligible.tolist()
        self._raised = int(domains.itself) - domains.max_skew
        self._size = len(self._counts)
        counted = (domains.counting >= 0) & (relation.bearer in relation.counted)
        self.places = np.where(domains.codes < 0, -1, domains.codes + np.where(counted, 0, self._size))
        self._find_emptiest()

    def _find_emptiest(self) -> None:
        among = [count for count, eligible in zip(self._counts, self._eligible, strict=True) if eligible]
        self._least = min(among, default=0) if self._domains.enough else 0
        self._at_least = among.count(self._least) if self._domains.enough else -1

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
        self._find_emptiest()
        return True


class _Level:
    """The worst order: a domain with all that the wave adds to it, against the emptiest before the wave."""

    def __init__(self, relation: Skew, pods: Amounts) -> None:
        self._relation = relation
        self._domains = relation.domains
        self._before = pods
        self._added = Counter[int]()  # counted pods by domain
        self._bearers: dict[int, int] = {}  # by domain, what its bearers see on top of all that are counted

    @cached_property
    def _headroom(self) -> Amounts:
        return self._domains.headroom(self._before)

    def admit(self, index: int, row: int, pods: int) -> int:
        domain = int(self._domains.codes[row])
        grows = self._relation.grows(index, row)
        seen = [self._bearers[domain]] if domain in self._bearers else []
        if index == self._relation.bearer:
            if domain < 0:
                return 0
            seen.append(self._on_top(grows))
        elif not grows:
            return pods
        if not seen:  # nobody there minds
            return pods
        room = int(self._headroom[domain]) - self._added[domain] - max(seen)
        if grows:
            return min(pods, max(room, 0))
        return pods if room >= 0 else 0

    def book(self, index: int, row: int, pods: int) -> None:
        domain = int(self._domains.codes[row])
        grows = self._relation.grows(index, row)
        if grows:
            self._added[domain] += pods
        if index == self._relation.bearer:
            on_top = self._on_top(grows)
            self._bearers[domain] = max(on_top, self._bearers.get(domain, on_top))

    def _on_top(self, grows: bool) -> int:
        """A bearer adds itself to what it sees; where it is counted it is among the added pods already."""
        return int(self._domains.itself) - int(grows)
