"""What a replay has cost and kept: a record of what happened to each pod, added up afterwards."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.churn.scenario import Arrival, PricedNode, vanishing_speed


@dataclass(kw_only=True)
class Stay:
    """One life of a pod: an interrupted one has another after it."""

    pod: Arrival
    created: float  # seconds into the replay, all of them
    bound: float | None = None
    node: str = ""
    ended: float | None = None
    interrupted: bool = False
    evicted: bool = False


@dataclass(frozen=True, kw_only=True)
class Account:
    """All promises of one replay. Kinds are those of pods: critical, batch, plain."""

    dollars: float  # an hour, of nodes in use, in the mean
    interrupted: Mapping[str, int]  # by kind
    expected: Mapping[str, float]  # interruptions, by kind: as the nodes' rates, sped up, let expect
    interruptions: float  # a month, as the nodes' rates let expect, in the mean
    critical_on_spot: int  # bindings
    waits: Sequence[float] = field(repr=False)  # seconds from creation to binding
    zone_kept: float  # share of bindings of pods that prefer a zone which are in it
    unplaced: int  # lives that ended without a node
    lives: int
    evictions: int = 0

    def wait(self, percentile: float) -> float:
        return float(np.percentile(self.waits, percentile)) if self.waits else 0.0


def account(stays: Sequence[Stay], nodes: Mapping[str, PricedNode], seconds: float) -> Account:
    bound = [stay for stay in stays if stay.bound is not None]
    preferring = [stay for stay in bound if stay.pod.zone]
    kept = sum(nodes[stay.node].zone == stay.pod.zone for stay in preferring)
    exposure: dict[str, float] = defaultdict(float)
    for stay in bound:
        exposure[stay.pod.kind] += nodes[stay.node].interruption_rate * _length(stay, seconds)
    speed = vanishing_speed(nodes.values(), seconds)
    return Account(
        dollars=_dollars(bound, nodes, seconds),
        interrupted=Counter(stay.pod.kind for stay in bound if stay.interrupted),
        expected={kind: speed * each for kind, each in exposure.items()},
        interruptions=sum(exposure.values()) / seconds,
        critical_on_spot=sum(stay.pod.critical and nodes[stay.node].spot for stay in bound),
        waits=sorted(stay.bound - stay.created for stay in bound if stay.bound is not None),
        zone_kept=kept / len(preferring) if preferring else 1.0,
        unplaced=len(stays) - len(bound),
        lives=len(stays),
        evictions=sum(stay.evicted for stay in stays),
    )


def _dollars(bound: Iterable[Stay], nodes: Mapping[str, PricedNode], seconds: float) -> float:
    """A node is paid for while a pod is on it."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for stay in bound:
        start, end = _span(stay, seconds)
        if end > start:
            spans[stay.node].append((start, end))
    return sum(nodes[name].price * _covered(each) for name, each in spans.items()) / seconds


def _span(stay: Stay, seconds: float) -> tuple[float, float]:
    return stay.bound or 0.0, seconds if stay.ended is None else min(stay.ended, seconds)


def _length(stay: Stay, seconds: float) -> float:
    start, end = _span(stay, seconds)
    return max(0.0, end - start)


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union."""
    total, reach = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total
