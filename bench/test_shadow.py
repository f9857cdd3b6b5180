"""What the shadow says is what going live gives, in the simulation."""

import random

import pytest

from bench import planner_cases
from bench.churn import scenario
from bench.churn.scenario import Arrival, PricedNode, Scenario, Vanishing
from bench.churn.shadow import rehearse
from bench.churn.ways import PRESETS

_GIB = 2**30
_SECONDS = 40.0


def _made_up(seed: int) -> Scenario:
    """Without public data: nodes of four sizes on both terms, pods of all kinds, nodes that vanish."""
    chance = random.Random(seed)
    nodes = []
    for number in range(32):
        cores, spot = 4 * (1 + number // 2 % 4), number % 2 == 0
        nodes.append(
            PricedNode(
                name=f"node-{number:02}",
                instance_type=f"m{cores}",
                zone=scenario.ZONES[number % 3],
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
        at = chance.uniform(0.0, _SECONDS)
        milli = chance.choice([500, 1000, 2000, 3000])
        pods.append(
            Arrival(
                name=f"pod-{number:03}",
                at=at,
                until=at + 2 + chance.expovariate(1 / 12),
                cpu_milli=milli,
                memory=3 * milli * _GIB // 1000,
                kind=chance.choice(["critical", "batch", "plain", "plain"]),
                zone=chance.choice([*scenario.ZONES, "", "", ""]),
            )
        )
    vanishing = [Vanishing(at=at, node=f"node-{2 * at:02.0f}", back_at=at + 5) for at in (5.0, 8.0, 13.0)]
    return Scenario(seed=seed, nodes=nodes, arrivals=sorted(pods, key=lambda p: p.at), vanishings=vanishing)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_shadow_says_what_going_live_gives(seed: int) -> None:
    found = rehearse(_made_up(seed), "balanced", 10, _SECONDS)
    assert found.live < 0.8 * found.alone, "there is something to save"
    assert abs(found.saving_off) < 0.1


@pytest.mark.skipif(planner_cases.data_directory() is None, reason="needs the public data of $TRADEWIND_DATA")
@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_with_public_data(preset: str) -> None:
    data = planner_cases.data_directory()
    assert data is not None
    found = rehearse(scenario.draw(data, 1), preset, 10, scenario.SECONDS)
    assert abs(found.saving_off) < 0.1
