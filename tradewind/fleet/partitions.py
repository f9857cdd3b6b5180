"""Which scheduler of several a request is at home with: by the region it asks for, else by what it is like.

A home saves conflicts and is no promise: two that believe they are the home of the same request meet at the
versions of its ledgers and of its binding, and one of them is refused.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from tradewind.fleet.placement import Placement

_BUCKETS = 8  # of each profile, so that several schedulers share it
_GIB_A_CORE = 6  # more memory than that for a core is a profile of its own
_UNEVEN = 1.25  # times the mean load of a scheduler: then partitions move
_LEAST_LOAD = 4.0  # requests of late, below which it is no matter who has them
_HALF_LIFE_SECONDS = 60.0  # of a request in a load


def partition_of(placement: Placement, requests: Mapping[str, int], key: str) -> str:
    """Of one region where the placement names one alone; else of a resource profile."""
    regions = {value for affinity in placement.affinities for value in _regions(affinity.field_selector)}
    if len(regions) == 1:
        return region_partition(min(regions))
    return f"{_profile(requests)} {_number(key) % _BUCKETS}"


def region_partition(region: str) -> str:
    """Of the sites of a region, and of the requests that ask for it alone."""
    return f"region {region}"


def _regions(selector: object) -> tuple[str, ...]:
    expressions = getattr(selector, "match_expressions", None) or ()
    return tuple(
        value
        for each in expressions
        if each.key == "region" and each.operator == "In"
        for value in each.values or ()
    )


def _profile(requests: Mapping[str, int]) -> str:
    if any("/" in resource for resource, amount in requests.items() if amount):
        return "devices"
    cores, gib = requests.get("cpu", 0) / 1000, requests.get("memory", 0) / 2**30
    return "memory" if gib > _GIB_A_CORE * cores else "plain"


def home_of(partition: str, schedulers: Collection[str]) -> str:
    """The highest number of all pairs: when a scheduler comes or goes, only its own partitions move."""
    return max(schedulers, key=lambda scheduler: (_number(f"{partition} {scheduler}"), scheduler), default="")


@dataclass(frozen=True)
class Homes:
    """Of every partition the scheduler: where the mapper has moved it, while that one is alive."""

    alive: frozenset[str]
    moved: Mapping[str, str] = field(default_factory=dict)

    def home(self, partition: str) -> str:
        moved = self.moved.get(partition, "")
        return moved if moved in self.alive else home_of(partition, self.alive)


class Loads:
    """How many requests came of late, by partition. Time is given by the caller."""

    def __init__(self) -> None:
        self._loads: dict[str, tuple[float, float]] = {}  # how many, as of when

    def add(self, partition: str, now: float) -> None:
        self._loads[partition] = (self._faded(partition, now) + 1, now)

    def of(self, now: float) -> dict[str, float]:
        loads = {partition: self._faded(partition, now) for partition in self._loads}
        self._loads = {each: self._loads[each] for each, load in loads.items() if load > 0.01}  # noqa: PLR2004
        return loads

    def _faded(self, partition: str, now: float) -> float:
        load, then = self._loads.get(partition, (0.0, now))
        fading: float = 0.5 ** (max(0.0, now - then) / _HALF_LIFE_SECONDS)
        return load * fading


def evened(homes: Homes, loads: Mapping[str, float]) -> Mapping[str, str]:
    """The partitions to be moved, so that no scheduler has much more to do than the others.

    One after the other goes from the busiest to the idlest, that which evens them best. While no scheduler
    has much more than the mean nothing moves, and what has moved stays.
    """
    moved = {each: to for each, to in homes.moved.items() if to in homes.alive}
    of = {partition: homes.home(partition) for partition in loads}
    totals = dict.fromkeys(homes.alive, 0.0)
    for partition, load in loads.items():
        totals[of[partition]] += load
    if max(totals.values(), default=0.0) * len(totals) <= _UNEVEN * sum(totals.values()):
        return _needed(moved, homes)
    for _ in loads:
        busiest = max(totals, key=lambda each: (totals[each], each))
        idlest = min(totals, key=lambda each: (totals[each], each))
        gap = totals[busiest] - totals[idlest]
        movable = [each for each, home in of.items() if home == busiest and 0 < loads[each] < gap]
        if gap < _LEAST_LOAD or not movable:
            break
        best = min(movable, key=lambda each: (abs(gap / 2 - loads[each]), each))
        moved[best] = of[best] = idlest
        totals[busiest] -= loads[best]
        totals[idlest] += loads[best]
    return _needed(moved, homes)


def _needed(moved: Mapping[str, str], homes: Homes) -> Mapping[str, str]:
    """Without those that are at home there anyway."""
    return {each: to for each, to in moved.items() if home_of(each, homes.alive) != to}


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
