"""Clusters too large for brute force: nodes of several shapes and zones, workloads with all kinds of ties."""

import random

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, copies
from tradewind.cluster import hints

_SHAPES = [("4", "8Gi", 1.0), ("8", "64Gi", 2.5), ("16", "32Gi", 3.0), ("2", "16Gi", 0.7)]


def mixed_nodes(count: int) -> list[NodeBuilder]:
    nodes = []
    for number in range(count):
        cpu, memory, price = _SHAPES[number % len(_SHAPES)]
        spot = number % 5 == 0
        each = node(f"n{number:03}").cpu(cpu).memory(memory).label(ZONE, f"z{number % 3}")
        each = each.price(price * 0.4 if spot else price)
        nodes.append(each.label("karpenter.sh/capacity-type", "spot") if spot else each)
    return nodes


def mixed_pods(draw: random.Random, classes: int, *, tied: bool) -> list[PodBuilder]:
    pods: list[PodBuilder] = []
    for number in range(classes):
        app = f"app{number}"
        cpu, memory = draw.choice([100, 250, 500, 900, 1500]), draw.choice([128, 512, 1500, 3000])
        start = pod(app).label("app", app).owner("ReplicaSet", app, app)
        start = start.requests(cpu=f"{cpu}m", memory=f"{memory}Mi")
        if tied:
            start = _tied(draw, start, app)
        pods += copies(start, app, draw.randint(2, 9))
    return pods


def _tied(draw: random.Random, start: PodBuilder, app: str) -> PodBuilder:  # noqa: PLR0911  a table
    other = f"app{draw.randrange(12)}"
    match draw.randrange(10):
        case 0:
            return start.anti_affinity(HOST, {"app": app})
        case 1:
            return start.anti_affinity(ZONE, {"app": other})
        case 2:
            return start.spread(ZONE, {"app": app})
        case 3:
            return start.affinity(ZONE, {"app": other})
        case 4:
            return start.annotation("tradewind.dev/gang", app).limits(memory="4Gi")
        case 5:
            return start.annotation("tradewind.dev/durable-share", "0.5")
        case 6:
            return start.spread(HOST, {"app": app}).spread(ZONE, {"app": other})
        case 7:
            return start.annotation(hints.MAX_PER_ZONE, "2")
        case _:
            return start
