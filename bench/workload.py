"""The nodes and pods of a measurement: mixed in shape, price and size, the same ones every time."""

import random
from collections.abc import Iterator

from e2e.objects import Object, node, pod

_SEED = 20_000
_GIB_A_CORE = {"c6": 2, "m6": 4, "r6": 8}
_CORES = {"xlarge": 4, "2xlarge": 8, "4xlarge": 16}
_ZONES = ("eu-1a", "eu-1b", "eu-1c")
_DOLLARS_A_CORE_HOUR = 0.048
_DOLLARS_A_GIB_HOUR = 0.003
_SPOT_SHARE = 0.6
_SPOT_FACTORS = (0.2, 0.5)
# Requests of ordinary services: most ask for little, a few for a whole core or two.
_MILLICORES = (50, 100, 100, 250, 250, 500, 1_000, 2_000)
_MIB_A_CORE = (1_024, 2_048, 4_096)


def nodes(count: int) -> Iterator[Object]:
    """Three families of three sizes in three zones, more spot than durable, each with a price of its own."""
    chance = random.Random(_SEED)
    for number in range(count):
        family, size = chance.choice(list(_GIB_A_CORE)), chance.choice(list(_CORES))
        cores = _CORES[size]
        gib = cores * _GIB_A_CORE[family]
        spot = chance.random() < _SPOT_SHARE
        price = cores * _DOLLARS_A_CORE_HOUR + gib * _DOLLARS_A_GIB_HOUR
        yield node(
            f"node-{number:05}",
            cpu=str(cores),
            memory=f"{gib}Gi",
            price=round(price * (chance.uniform(*_SPOT_FACTORS) if spot else 1.0), 4),
            labels={
                "node.kubernetes.io/instance-type": f"{family}.{size}",
                "topology.kubernetes.io/zone": chance.choice(_ZONES),
                "karpenter.sh/capacity-type": "spot" if spot else "on-demand",
            },
        )


def pods(count: int, namespace: str, shrink: int = 1) -> Iterator[Object]:
    """On as many nodes all of them fit; requests are divided by `shrink` where there are more."""
    chance = random.Random(_SEED)
    for number in range(count):
        millicores = chance.choice(_MILLICORES)
        mib = max(64, millicores * chance.choice(_MIB_A_CORE) // 1_000)
        yield pod(
            f"pod-{number:05}",
            namespace,
            labels={"app": f"app-{number % 20:02}"},
            cpu=f"{millicores // shrink}m",
            memory=f"{mib // shrink}Mi",
        )
