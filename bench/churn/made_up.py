"""A replay without public data, for tests."""

import random

from bench.churn.scenario import ZONES, Arrival, PricedNode, Scenario, Vanishing

SECONDS = 40.0
_GIB = 2**30


def made_up(seed: int) -> Scenario:
    """Nodes of four sizes on both terms, pods of all kinds, nodes that vanish."""
    chance = random.Random(seed)
    nodes = []
    for number in range(32):
        cores, spot = 4 * (1 + number // 2 % 4), number % 2 == 0
        nodes.append(
            PricedNode(
                name=f"node-{number:02}",
                instance_type=f"m{cores}",
                zone=ZONES[number % 3],
                cpu_milli=1000 * cores,
                memory=4 * cores * _GIB,
                pods=110,
                price=cores * 0.05 * chance.uniform(0.9, 1.1) * (0.35 if spot else 1.0),
                spot=spot,
                interruption_rate=0.1 if spot else 0.0,
            )
        )
    pods = []
    for number in range(300):
        at = chance.uniform(0.0, SECONDS)
        milli = chance.choice([500, 1000, 2000, 3000])
        pods.append(
            Arrival(
                name=f"pod-{number:03}",
                at=at,
                until=at + 2 + chance.expovariate(1 / 12),
                cpu_milli=milli,
                memory=3 * milli * _GIB // 1000,
                kind=chance.choice(["critical", "batch", "plain", "plain"]),
                zone=chance.choice([*ZONES, "", "", ""]),
            )
        )
    vanishing = [Vanishing(at=at, node=f"node-{2 * at:02.0f}", back_at=at + 5) for at in (5.0, 8.0, 13.0)]
    return Scenario(seed=seed, nodes=nodes, arrivals=sorted(pods, key=lambda p: p.at), vanishings=vanishing)
