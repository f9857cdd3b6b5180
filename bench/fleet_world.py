"""A day of a fleet, drawn from a seed: sites and their nodes, requests, prices, sites that vanish.

Nodes are counted one by one, for every contender in the same way: a replica that was sent to a site takes the
cheapest node that fits it, and waits where none does.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from bench.fleet import RESOURCES
from tradewind.cluster.objects import Pod
from tradewind.fleet.placement import Placement
from tradewind.fleet.request import Point, Request
from tradewind.fleet.scorers.locality import great_circle_km
from tradewind.fleet.sites import Floats, Site
from tradewind.fleet.summary import NodeKind, NodeRow, Place, Summary

GIB = 2**30
STEP_HOURS = 0.25
REGIONS: Mapping[str, Point] = {
    "eu": (50.0, 8.0),
    "us": (39.0, -77.0),
    "ap": (1.0, 104.0),
    "sa": (-23.0, -46.0),
    "af": (-26.0, 28.0),
}
# Cores, GiB, whether spot. Memory for a core differs, so that one of the two can run out first.
_KINDS = ((4, 8, True), (8, 32, False), (16, 64, True), (4, 32, False))
_SIZES = ((500, 1), (1000, 2), (2000, 4), (1000, 8), (3000, 6), (6000, 12))
_LIFE_HOURS = 4.0
AGGREGATED = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
}


@dataclass
class Member:
    """A site's nodes as they are; amounts as in a summary."""

    name: str
    region: str
    place: Place
    kinds: list[NodeKind]
    kind_of: list[int]  # of each node
    free: list[list[int]]
    spot_factor: float = 1.0
    gone: bool = False
    running: dict[str, list[int]] = field(default_factory=dict)  # nodes of a request's replicas

    def price(self, kind: int) -> float:
        found = self.kinds[kind]
        assert found.price is not None
        return found.price * (1.0 if found.durable else self.spot_factor)

    def start(self, request: Request, replicas: int) -> int:
        """How many found a node."""
        needs = [request.requests.get(name, 0) for name in RESOURCES]
        nodes = self.running.setdefault(request.key, [])
        for _ in range(replicas):
            fits = [
                node
                for node, free in enumerate(self.free)
                if all(have >= need for have, need in zip(free, needs, strict=True))
                and _suits(request, self.kinds[self.kind_of[node]])
            ]
            if not fits:
                break
            best = min(fits, key=lambda node: (self.cost(request, node), self.free[node][0]))
            self.free[best] = [have - need for have, need in zip(self.free[best], needs, strict=True)]
            nodes.append(best)
        return len(nodes)

    def stop(self, request: Request, replicas: int | None = None) -> None:
        nodes = self.running.get(request.key, [])
        needs = [request.requests.get(name, 0) for name in RESOURCES]
        for _ in range(len(nodes) if replicas is None else min(replicas, len(nodes))):
            node = nodes.pop()
            self.free[node] = [have + need for have, need in zip(self.free[node], needs, strict=True)]
        if not nodes:
            self.running.pop(request.key, None)

    def cost(self, request: Request, node: int) -> float:
        """Dollars an hour of one replica there."""
        kind = self.kind_of[node]
        total = self.kinds[kind].allocatable
        share = max(request.requests.get(name, 0) / each for name, each in zip(RESOURCES, total, strict=True))
        return self.price(kind) * share

    def summary(self, now: float) -> Summary:
        """Of every node."""
        kinds = tuple(
            msgspec.structs.replace(kind, price=self.price(code)) for code, kind in enumerate(self.kinds)
        )
        rows = tuple(
            NodeRow(kind, 1, tuple(free)) for kind, free in zip(self.kind_of, self.free, strict=True)
        )
        totals = [self.kinds[kind].allocatable for kind in self.kind_of]
        return Summary(
            site=self.name, generation=0, time=now, resources=RESOURCES, nodes=len(rows),
            free=tuple(map(sum, zip(*self.free, strict=True))),
            allocatable=tuple(map(sum, zip(*totals, strict=True))),
            kinds=kinds, rows=rows, place=self.place,
        )  # fmt: skip

    def record(self, now: float) -> Site:
        return Site(name=self.name, region=self.region, ready=not self.gone, summary=self.summary(now))


def _suits(request: Request, kind: NodeKind) -> bool:
    return all(kind.labels.get(key) == value for key, value in request.pod.node_selector.items())


@dataclass(frozen=True)
class Arrival:
    request: Request
    at: float  # hours
    until: float


@dataclass
class World:
    """The same for every contender, from the same seed."""

    members: dict[str, Member]
    arrivals: list[Arrival]
    random: random.Random
    hours: float

    @classmethod
    def drawn(cls, sites: int, requests: int, hours: float, seed: int) -> "World":
        random_ = random.Random(seed)
        members = {each.name: each for each in (_member(number, random_) for number in range(sites))}
        arrivals = sorted(
            (_arrival(number, hours, random_) for number in range(requests)), key=lambda a: a.at
        )
        return cls(members, arrivals, random.Random(seed + 1), hours)

    def steps(self) -> Iterator[float]:
        """The time of each step, after prices have moved and sites have vanished or come back."""
        for step in range(round(self.hours / STEP_HOURS)):
            if step and step % round(1 / STEP_HOURS) == 0:
                for member in self.members.values():
                    moved = member.spot_factor * math.exp(self.random.gauss(0, 0.2))
                    member.spot_factor = min(2.5, max(0.4, moved))
                    if member.gone:
                        member.gone = self.random.random() < 0.6
                    else:
                        member.gone = self.random.random() < 0.005
            yield step * STEP_HOURS


def _member(number: int, random_: random.Random) -> Member:
    region = random_.choice(tuple(REGIONS))
    latitude, longitude = REGIONS[region]
    level = random_.uniform(0.7, 1.4)  # of a place's prices
    arch = random_.choice(("amd64", "amd64", "arm64"))
    kinds, kind_of = [], []
    for code, (cores, memory, spot) in enumerate(_KINDS):
        price = round(cores * 0.04 * level * random_.uniform(0.9, 1.1) * (0.35 if spot else 1.0), 4)
        labels = {"kubernetes.io/arch": arch}
        rate = random_.uniform(0.02, 0.2) if spot else 0.0
        kinds.append(NodeKind(labels, (), (cores * 1000, memory * GIB, 110), price, rate, not spot))
        kind_of += [code] * random_.randint(1, 4)
    place = Place(
        region=region,
        latitude=latitude + random_.uniform(-8, 8),
        longitude=longitude + random_.uniform(-8, 8),
        watts_per_core=random_.uniform(3, 6),
        carbon=random_.uniform(20, 700),
    )
    free = [list(kinds[kind].allocatable) for kind in kind_of]
    return Member(f"site-{number:03d}", region, place, kinds, kind_of, free)


def _arrival(number: int, hours: float, random_: random.Random) -> Arrival:
    cpu, memory = random_.choice(_SIZES)
    placement: dict[str, object] = dict(AGGREGATED)
    home = random_.choice(tuple(REGIONS))
    if random_.random() < 0.25:
        within = {"key": "region", "operator": "In", "values": [home]}
        placement["clusterAffinity"] = {"fieldSelector": {"matchExpressions": [within]}}
    selector = {"kubernetes.io/arch": "arm64"} if random_.random() < 0.15 else {}
    amounts = {"cpu": cpu, "memory": memory * GIB, "pods": 1}
    request = Request(
        key=f"request-{number}",
        pod=Pod("bench", str(number), "", {}, {}, amounts, {}, node_selector=selector),
        replicas=random_.choice((1, 3, 6, 12, 30)),
        placement=msgspec.convert(placement, Placement),
        near=REGIONS[home],
    )
    at = random_.uniform(0, hours)
    return Arrival(request, at, at + random_.expovariate(1 / _LIFE_HOURS))


@dataclass
class Tally:
    """What a day came to, summed over time."""

    dollars: float = 0.0
    core_hours: float = 0.0  # that ran
    asked: float = 0.0  # core hours
    interruptions: float = 0.0  # of replicas, as expected from the nodes' rates, and where a site vanished
    kilometres: float = 0.0  # times core hours
    grams: float = 0.0
    stranded: Sequence[float] = ()  # share of free cores that a replica of 1 core and 4 GiB cannot use
    moved: int = 0  # replicas

    def add(self, world: World, requests: Mapping[str, Request]) -> None:
        """One step of the world as it stands."""
        for member in world.members.values():
            for key, nodes in member.running.items():
                self._add(member, requests[key], nodes)
        free = [(free[0], free[1]) for each in world.members.values() for free in each.free]
        lost = sum(cpu for cpu, memory in free if memory < 4 * GIB or cpu < 1000)
        self.stranded = (*self.stranded, lost / max(1, sum(cpu for cpu, _ in free)))

    def _add(self, member: Member, request: Request, nodes: Sequence[int]) -> None:
        cores = len(nodes) * request.requests["cpu"] / 1000 * STEP_HOURS
        place = member.place
        assert place.latitude is not None
        assert place.longitude is not None
        assert place.watts_per_core is not None
        assert place.carbon is not None
        assert isinstance(request.near, tuple)
        self.core_hours += cores
        self.dollars += sum(member.cost(request, node) for node in nodes) * STEP_HOURS
        rates = [member.kinds[member.kind_of[node]].interruption_rate for node in nodes]
        self.interruptions += sum(rates) * STEP_HOURS
        far: Floats = great_circle_km(request.near, np.array([place.latitude]), np.array([place.longitude]))
        self.kilometres += float(far[0]) * cores
        self.grams += cores * place.watts_per_core * place.carbon / 1000
