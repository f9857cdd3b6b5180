"""Clusters so full that few placements are complete: each is drawn from one that is, which stays hidden."""

import random
from dataclasses import dataclass, field

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE

_SHAPES = [(4000, 16_000), (8000, 16_000), (8000, 64_000), (16_000, 32_000)]  # millicores, MiB
_ZONES = 3


@dataclass
class _Room:
    number: int
    cpu: int
    memory: int
    apps: set[str] = field(default_factory=set)

    @property
    def zone(self) -> str:
        return f"z{self.number % _ZONES}"

    def take(self, app: str, cpu: int, memory: int) -> None:
        self.cpu -= cpu
        self.memory -= memory
        self.apps.add(app)


def tight(seed: int, nodes: int, filled: float = 0.88) -> tuple[list[NodeBuilder], list[PodBuilder]]:
    """So many nodes; single pods fill this part of what the workloads leave of each."""
    draw = random.Random(seed)
    shapes = [draw.choice(_SHAPES) for _ in range(nodes)]
    rooms = [_Room(number, *shape) for number, shape in enumerate(shapes)]
    built = [
        node(f"n{number:03}").cpu(f"{cpu}m").memory(f"{memory}Mi").label(ZONE, room.zone).price(cpu / 1000)
        for number, ((cpu, memory), room) in enumerate(zip(shapes, rooms, strict=True))
    ]
    pods: list[PodBuilder] = []
    for number in range(nodes):
        pods += _workload(draw, f"app{number}", rooms)
    for room in rooms:
        pods += _rest(draw, room, filled)
    draw.shuffle(pods)
    return built, pods


def _workload(draw: random.Random, app: str, rooms: list[_Room]) -> list[PodBuilder]:
    """A few replicas, with what ties them; as many as find room in the hidden placement."""
    cpu, memory = draw.choice([250, 500, 900, 1500, 2100]), draw.choice([300, 800, 1900, 3500])
    start = pod(app).label("app", app).requests(cpu=f"{cpu}m", memory=f"{memory}Mi")
    fitting = [room for room in rooms if room.cpu >= cpu and room.memory >= memory]
    draw.shuffle(fitting)
    replicas = draw.randint(2, 6)
    kind = draw.choice(["apart", "apart", "spread", "beside", "zone", "plain"])
    chosen = fitting[:replicas]
    if kind == "apart":
        start = start.anti_affinity(HOST, {"app": app})
    elif kind == "spread":
        by_zone = {f"z{zone}": [r for r in fitting if r.zone == f"z{zone}"] for zone in range(_ZONES)}
        most = min(len(each) for each in by_zone.values())
        chosen = [room for each in by_zone.values() for room in each[: min(2, most)]]
        start = start.spread(ZONE, {"app": app})
    elif kind == "beside":
        chosen = [room for room in chosen if room.cpu >= 2 * cpu and room.memory >= 2 * memory][:1] * 2
        start = start.affinity(HOST, {"app": app})
    elif kind == "zone" and chosen:
        chosen = [room for room in fitting if room.zone == chosen[0].zone][:replicas]
        start = start.affinity(ZONE, {"app": app})
    for room in chosen:
        room.take(app, cpu, memory)
    return [_named(start, f"{app}-{number}") for number in range(len(chosen))]


def _rest(draw: random.Random, room: _Room, filled: float) -> list[PodBuilder]:
    """Pods of sizes of their own in what is left of the node."""
    found = []
    parts = draw.randint(1, 3)
    cpu, memory = int(room.cpu * filled) // parts, int(room.memory * filled) // parts
    for number in range(parts):
        if cpu > 0 and memory > 0:
            more = draw.uniform(0.7, 1.0)
            name = f"rest{room.number}-{number}"
            found.append(pod(name).requests(cpu=f"{cpu}m", memory=f"{max(int(memory * more), 1)}Mi"))
    return found


def _named(start: PodBuilder, name: str) -> PodBuilder:
    return start.field("metadata", "name", value=name).uid(f"default/{name}")
