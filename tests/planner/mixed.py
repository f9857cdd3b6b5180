"""Full clusters of many different workloads: each is drawn from a complete placement, which stays hidden.

Unlike `hidden.tight`, workloads differ in size, replicas and constraints, and every node is more than nine
tenths full of cpu and of memory.
"""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE

_CORES = (2, 4, 4, 8, 8, 16)
_GIB_A_CORE = (2, 4, 8)
_POOL = "pool"
_POOLS = ("general", "general", "general", "special")
_ZONES = 3
_MILLICORES, _MIB = 1000, 1024
# What a constraint does to a workload, as often as it stands here.
_KINDS = ("plain", "plain", "apart", "apart", "spread", "zone", "beside", "avoids", "pool")


@dataclass
class _Place:
    number: int
    zone: str
    pool: str
    cpu: int  # millicores that are left
    memory: int  # MiB
    taken_cpu: int = 0
    taken_memory: int = 0
    workloads: list[str] = field(default_factory=list)

    def take(self, size: "_Size", workload: str) -> None:
        self.cpu -= size.cpu
        self.memory -= size.memory
        self.taken_cpu += size.cpu
        self.taken_memory += size.memory
        self.workloads.append(workload)


class _Size(NamedTuple):
    cpu: int
    memory: int


class _Workload(NamedTuple):
    name: str
    kind: str
    size: _Size
    other: str  # that it is beside or avoids

    def built(self) -> PodBuilder:
        start = pod(self.name).label("app", self.name)
        start = start.requests(cpu=f"{self.size.cpu}m", memory=f"{self.size.memory}Mi")
        tied = {
            "apart": start.anti_affinity(HOST, {"app": self.name}),
            "spread": start.spread(ZONE, {"app": self.name}),
            "zone": start.affinity(ZONE, {"app": self.name}),
            "beside": start.affinity(HOST, {"app": self.other}),
            "avoids": start.anti_affinity(HOST, {"app": self.other}),
            "pool": start.node_selector(_POOL, "special"),
        }
        return tied.get(self.kind, start)


def mixed(seed: int, nodes: int, fullest: float = 0.9) -> tuple[list[NodeBuilder], list[PodBuilder]]:
    """About so many nodes, some fewer where nothing came to one; each is at least as full as `fullest`."""
    draw = random.Random(seed)
    places = [_place(draw, number) for number in range(nodes)]
    wanted = round(nodes * draw.uniform(2.7, 3.4))
    workloads = draw.randint(20, 50)
    pods: list[PodBuilder] = []
    names: list[str] = []
    number = 0
    while len(pods) < wanted and number < 20 * workloads:
        each = _workload(draw, f"app{number}", names)
        replicas = max(1, round(wanted / workloads * draw.uniform(0.3, 1.8)))
        number += 1
        placed = _placed(draw, each, replicas, places)
        if not placed:
            continue
        names.append(each.name)
        start = each.built()
        pods += [_named(start, f"{each.name}-{replica}") for replica in range(placed)]
    draw.shuffle(pods)
    return [_built(draw, place, fullest) for place in places if place.workloads], pods


def _place(draw: random.Random, number: int) -> _Place:
    cores = draw.choice(_CORES)
    memory = cores * draw.choice(_GIB_A_CORE) * _MIB
    zone = f"z{number % _ZONES}"
    return _Place(number, zone, draw.choice(_POOLS), cores * _MILLICORES, memory)


def _workload(draw: random.Random, name: str, names: list[str]) -> _Workload:
    kind = draw.choice(_KINDS)
    other = draw.choice(names) if names else ""
    cpu = round(min(draw.lognormvariate(0.35, 0.8), 7) * 100) * 10
    memory = round(cpu * draw.choice((1, 2, 4, 8)) * draw.uniform(0.7, 1.3) * _MIB / _MILLICORES / 64) * 64
    kind = kind if other or kind not in {"beside", "avoids"} else "plain"
    return _Workload(name, kind, _Size(max(cpu, 100), max(memory, 64)), other)


def _placed(draw: random.Random, each: _Workload, replicas: int, places: list[_Place]) -> int:
    """How many of the replicas found a place in the hidden placement."""
    size = each.size
    zones: dict[str, int] = {f"z{zone}": 0 for zone in range(_ZONES)}
    home = draw.choice(sorted(zones))
    done = 0
    for _ in range(replicas):
        fitting = [
            place
            for place in places
            if place.cpu >= size.cpu and place.memory >= size.memory and _accepts(each, place, home, zones)
        ]
        if not fitting:
            break
        # Mostly where it fits well, so that nodes get full.
        place = min(draw.sample(fitting, min(3, len(fitting))), key=lambda p: p.cpu - size.cpu)
        place.take(size, each.name)
        zones[place.zone] += 1
        done += 1
    return done


def _accepts(each: _Workload, place: _Place, home: str, zones: dict[str, int]) -> bool:
    accepted = {
        "apart": each.name not in place.workloads,
        "spread": zones[place.zone] == min(zones.values()),
        "zone": place.zone == home,
        "beside": each.other in place.workloads,
        "avoids": each.other not in place.workloads,
        "pool": place.pool == "special",
    }
    return accepted.get(each.kind, True)


def _built(draw: random.Random, place: _Place, fullest: float) -> NodeBuilder:
    cpu = round(place.taken_cpu / draw.uniform(fullest, 1))
    memory = round(place.taken_memory / draw.uniform(fullest, 1))
    built = node(f"n{place.number:03}").cpu(f"{cpu}m").memory(f"{memory}Mi").label(ZONE, place.zone)
    return built.label(_POOL, place.pool).price(cpu / _MILLICORES * 0.04 + memory / _MIB * 0.005)


def _named(start: PodBuilder, name: str) -> PodBuilder:
    return start.field("metadata", "name", value=name).uid(f"default/{name}")
