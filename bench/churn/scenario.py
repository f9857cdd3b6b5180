"""What happens in a replay, drawn from public data before anything runs: the same for every contender."""

import csv
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 100.0
NODES = 60
ZONES = ("zone-a", "zone-b", "zone-c")
CRITICAL_PRIORITY = 100_000

_MIB = 2**20
_TYPES = 15
# Neither so small that a pod fills the node nor so large that one node holds them all.
_CPU_MILLI = range(1_900, 34_000)
_ALIVE = 170  # pods at a time, in the mean
_MEAN_LIFE_SECONDS = 25.0
_USED = 0.5  # of all cores, by the pods that are alive
_CRITICAL = 0.15
_BATCH = 0.2
_PREFERS_ZONE = 0.3
# Sped up so that about so many spot nodes vanish in a replay; another of the kind comes a while later.
_VANISHING = 15.0
_BACK_SECONDS = 8.0


@dataclass(frozen=True, kw_only=True)
class PricedNode:
    name: str
    instance_type: str
    zone: str
    cpu_milli: int
    memory: int  # bytes
    pods: int
    price: float  # dollars an hour
    spot: bool
    interruption_rate: float


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A pod that is wanted from `at` to `until`, wherever it is and however often it is interrupted."""

    name: str
    at: float
    until: float
    cpu_milli: int
    memory: int
    kind: str  # critical, batch or plain
    zone: str  # that it prefers, or nothing

    @property
    def critical(self) -> bool:
        return self.kind == "critical"


@dataclass(frozen=True, kw_only=True)
class Vanishing:
    at: float
    node: str
    back_at: float


@dataclass(frozen=True, kw_only=True)
class Scenario:
    seed: int
    nodes: Sequence[PricedNode]
    arrivals: Sequence[Arrival]
    vanishings: Sequence[Vanishing]

    def alive(self, at: float) -> list[Arrival]:
        return [each for each in self.arrivals if each.at <= at < each.until]


def draw(data: Path, seed: int, seconds: float = SECONDS, nodes: int = NODES) -> Scenario:
    chance = random.Random(seed)
    drawn = list(_nodes(data, chance, nodes))
    return Scenario(
        seed=seed,
        nodes=drawn,
        arrivals=list(_arrivals(data, chance, drawn, seconds)),
        vanishings=list(_vanishings(chance, drawn, seconds)),
    )


def _nodes(data: Path, chance: random.Random, count: int) -> Iterator[PricedNode]:
    """Each type on both terms, in every zone."""
    types = [
        row
        for row in _rows(data / "catalogs/aws_us_east_1_instances.csv")
        if int(row["spot_savings_pct"] or 0) > 0
        and not int(row["gpu_count"] or 0)
        and int(row["alloc_cpu_milli"]) in _CPU_MILLI
    ]
    chosen = chance.sample(types, _TYPES)
    for number in range(count):
        row, spot = chosen[number // 2 % len(chosen)], number % 2 == 0
        yield PricedNode(
            name=f"node-{number:03}",
            instance_type=row["instance_type"],
            zone=ZONES[number // 2 % len(ZONES)],
            cpu_milli=int(row["alloc_cpu_milli"]),
            memory=int(row["alloc_memory_mib"]) * _MIB,
            pods=int(row["alloc_pods"]),
            price=float(row["spot_usd_h_est"] if spot else row["on_demand_usd_h"]),
            spot=spot,
            interruption_rate=float(row["interruption_monthly_mid"]) if spot else 0.0,
        )


def _arrivals(
    data: Path, chance: random.Random, nodes: Sequence[PricedNode], seconds: float
) -> Iterator[Arrival]:
    """A cluster in its steady state from the first second on; the sizes are scaled to the nodes."""
    wanted = [row for row in _rows(data / "openb/openb_pod_list_default.csv") if not int(row["num_gpu"])]
    mean_milli = sum(int(row["cpu_milli"]) for row in wanted) / len(wanted)
    scale = _USED * sum(node.cpu_milli for node in nodes) / (_ALIVE * mean_milli)
    largest = max(node.cpu_milli for node in nodes if not node.spot) // 2
    for number, at in enumerate(_times(chance, seconds)):
        row = chance.choice(wanted)
        factor = scale * chance.uniform(0.5, 1.5)
        factor = min(factor, largest / int(row["cpu_milli"]))
        kind = "critical" if (dice := chance.random()) < _CRITICAL else ""
        kind = kind or ("batch" if dice < _CRITICAL + _BATCH else "plain")
        yield Arrival(
            name=f"pod-{number:04}",
            at=at,
            until=at + max(2.0, chance.expovariate(1 / _MEAN_LIFE_SECONDS)),
            cpu_milli=max(10, int(int(row["cpu_milli"]) * factor)),
            memory=max(16, int(int(row["memory_mib"]) * factor)) * _MIB,
            kind=kind,
            zone=chance.choice(ZONES) if chance.random() < _PREFERS_ZONE else "",
        )


def _times(chance: random.Random, seconds: float) -> Iterator[float]:
    """Those that were there before come within the first second, with a whole life before them."""
    yield from sorted(chance.uniform(0.0, 1.0) for _ in range(_ALIVE))
    at = 1.0
    while (at := at + chance.expovariate(_ALIVE / _MEAN_LIFE_SECONDS)) < seconds:
        yield at


def vanishing_speed(nodes: Iterable[PricedNode], seconds: float) -> float:
    """Times its rate, how often a node vanishes in a second."""
    return _VANISHING / (seconds * sum(node.interruption_rate for node in nodes if node.spot))


def _vanishings(chance: random.Random, nodes: Sequence[PricedNode], seconds: float) -> Iterator[Vanishing]:
    spots = [node for node in nodes if node.spot and node.interruption_rate > 0]
    speed = vanishing_speed(nodes, seconds)
    drawn = []
    for node in spots:
        at = 2.0
        while (at := at + chance.expovariate(speed * node.interruption_rate)) < seconds:
            drawn.append(Vanishing(at=at, node=node.name, back_at=at + _BACK_SECONDS))
            at += _BACK_SECONDS
    return iter(sorted(drawn, key=lambda each: each.at))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)
