"""How starts of pods went on each node, as seen: troubles and starts, forgotten by half in each half-life.

A failed start is a trouble, a slow one half of it. What is told of a node is the share of its starts that
were troubles, as if two more had gone well: one failure is not yet a pattern, and what fades is forgiven.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from statistics import median
from typing import NamedTuple

import msgspec

from tradewind.cluster.starts import Outcome

_HALF_LIFE_HOURS = 24.0
_PRIOR_STARTS = 2.0
_SLOW = 0.5  # of a failure
# Slow is what takes so many times as long as most starts in the cluster, and not just a moment.
_SLOW_RATIO = 4.0
_LEAST_SLOW_SECONDS = 20.0
_LEAST_STARTS = 20  # before anything is called slow
_RECENT_STARTS = 256
_FORGOTTEN = 0.01


class Tally(NamedTuple):
    starts: float = 0.0  # failed ones too
    troubles: float = 0.0

    @property
    def share(self) -> float:
        return self.troubles / (_PRIOR_STARTS + self.starts)

    def faded(self, factor: float) -> "Tally":
        return Tally(self.starts * factor, self.troubles * factor)


class NodeMemory(msgspec.Struct):
    name: str
    starts: float
    troubles: float


class NodeHistory:
    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self._recent: deque[float] = deque(maxlen=_RECENT_STARTS)  # seconds

    def record(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether there was a trouble among them."""
        news = 0.0
        for outcome in outcomes:
            trouble = 1.0 if outcome.failed else _SLOW * self._slow(outcome.seconds)
            if not outcome.failed:
                self._recent.append(outcome.seconds)
            before = self.tallies.get(outcome.node, Tally())
            self.tallies[outcome.node] = Tally(before.starts + 1, before.troubles + trouble)
            news += trouble
        return news > 0

    def pass_time(self, hours: float, nodes: Collection[str]) -> None:
        """What was seen before counts less; nodes that are gone are forgotten."""
        factor = 0.5 ** (hours / _HALF_LIFE_HOURS)
        faded = {name: tally.faded(factor) for name, tally in self.tallies.items() if name in nodes}
        self.tallies = {name: tally for name, tally in faded.items() if tally.starts >= _FORGOTTEN}

    def shares(self) -> Mapping[str, float]:
        """Of the nodes that had troubles; rounded, so that time alone seldom changes them."""
        shares = {name: round(tally.share, 3) for name, tally in self.tallies.items()}
        return {name: share for name, share in shares.items() if share}

    def state(self) -> list[NodeMemory]:
        """Of the same nodes: no others have anything to lose."""
        shares = self.shares()
        return [NodeMemory(name, *tally) for name, tally in self.tallies.items() if name in shares]

    def restore(self, kept: Iterable[NodeMemory]) -> None:
        self.tallies = {each.name: Tally(each.starts, each.troubles) for each in kept}

    def merge(self, kept: Iterable[NodeMemory], hours: float, nodes: Collection[str]) -> None:
        """For each of these nodes keep what has seen more starts; never add up, both saw the same pods."""
        factor = 0.5 ** (hours / _HALF_LIFE_HOURS)
        for each in kept:
            if each.name not in nodes:
                continue
            theirs = Tally(each.starts, each.troubles).faded(factor)
            if theirs.starts > self.tallies.get(each.name, Tally()).starts:
                self.tallies[each.name] = theirs

    def _slow(self, seconds: float) -> bool:
        if seconds <= _LEAST_SLOW_SECONDS or len(self._recent) < _LEAST_STARTS:
            return False
        return seconds > _SLOW_RATIO * median(self._recent)
