"""The replay's arithmetic: what it draws, the bound, and what it adds up."""

from dataclasses import replace

import numpy as np
import pytest

from bench import planner_cases
from bench.churn import fluid, scenario
from bench.churn.ledger import Stay, account
from bench.churn.made_up import SECONDS as MADE_UP_SECONDS
from bench.churn.made_up import made_up
from bench.churn.scenario import Arrival, PricedNode, Scenario, Vanishing
from bench.churn.simulation import simulate
from bench.churn.timeline import Timeline
from bench.churn.ways import PRESETS, WAYS, Way
from scoring.in_tree_scores import extender_scores, plugin_scores
from tests.builders import cluster_of, node, pod

_GIB = 2**30
_SPOT = PricedNode(
    name="spot",
    instance_type="m5.large",
    zone="zone-a",
    cpu_milli=4_000,
    memory=16 * _GIB,
    pods=110,
    price=1.0,
    spot=True,
    interruption_rate=0.1,
)
_DURABLE = replace(_SPOT, name="durable", zone="zone-b", price=3.0, spot=False, interruption_rate=0.0)
_PLAIN = Arrival(name="p", at=0.0, until=10.0, cpu_milli=2_000, memory=_GIB, kind="plain", zone="")
_CRITICAL = replace(_PLAIN, name="c", kind="critical", zone="zone-a")


@pytest.mark.parametrize(
    ("pods", "dollars"),
    [
        # half of the spot node
        pytest.param([_PLAIN], 0.5, id="the cheaper node, in parts"),
        # half of the durable node
        pytest.param([_CRITICAL], 1.5, id="critical pods on durable nodes only"),
        # the whole spot node, and half of the other
        pytest.param([_PLAIN, _PLAIN, _PLAIN], 2.5, id="what does not fit goes to the dearer one"),
        # 12 of 16 GiB
        pytest.param([replace(_PLAIN, memory=12 * _GIB)], 0.75, id="memory decides"),
        pytest.param([], 0.0, id="nothing costs nothing"),
    ],
)
def test_the_bound(pods: list[Arrival], dollars: float) -> None:
    assert fluid.cheapest([_SPOT, _DURABLE], pods) == pytest.approx(dollars)


def test_too_many_pods_have_no_bound() -> None:
    with pytest.raises(ValueError, match="5 pods do not fit on 2 nodes"):
        fluid.cheapest([_SPOT, _DURABLE], [_PLAIN] * 5)


def test_what_a_replay_adds_up() -> None:
    stays = [
        Stay(pod=_PLAIN, created=0.0, bound=1.0, node="spot", ended=5.0, interrupted=True),
        Stay(pod=_PLAIN, created=3.0, bound=4.0, node="spot", ended=6.0),
        Stay(pod=_CRITICAL, created=0.0, bound=2.0, node="durable"),
        Stay(pod=_CRITICAL, created=0.0, bound=8.0, node="spot", ended=9.0),
        Stay(pod=_PLAIN, created=9.0),
    ]
    done = account(stays, {"spot": _SPOT, "durable": _DURABLE}, 10.0)
    # spot is in use from 1 to 6 and from 8 to 9, durable from 2 to 10: (6 x 1 + 8 x 3) / 10
    assert done.dollars == pytest.approx(3.0)
    assert done.interrupted == {"plain": 1}
    # on the spot node for 4, 2 and 1 of 10 s
    assert done.interruptions == pytest.approx(0.1 * 7 / 10)
    # of 15 in 10 s, had only pods that are there for all of it been on it: 0.6 plain, 0.1 critical
    assert done.expected == pytest.approx({"plain": 9.0, "critical": 1.5})
    assert done.critical_on_spot == 1
    assert done.waits == [1.0, 1.0, 2.0, 8.0]
    assert done.zone_kept == 0.5
    assert (done.unplaced, done.lives) == (1, 5)


def test_where_the_time_of_a_pod_went() -> None:
    held = {**pod("p").document, "spec": {"schedulingGates": [{"name": "g"}]}, "status": {}}
    refused = {"type": "PodScheduled", "reason": "Unschedulable", "message": "no room"}
    timeline = Timeline()
    timeline.see(held, 1.0)
    timeline.see(held, 1.2)  # nothing new
    timeline.see(held | {"spec": {}, "status": {"nominatedNodeName": "spot"}}, 1.5)
    timeline.see(held | {"spec": {}, "status": {"conditions": [refused]}}, 2.0)
    timeline.see(held | {"spec": {"nodeName": "durable"}}, 4.0)
    stays = {
        "fast": Stay(pod=_PLAIN, created=1.0, bound=1.1),
        "never": Stay(pod=_PLAIN, created=1.0, ended=3.0),
        "p": Stay(pod=_PLAIN, created=1.0, bound=4.0),
    }
    assert "\n".join(timeline.slowest(stays, 1)).splitlines() == [
        "never (plain, 2000 m, 1.0 GiB) came at 1.00 s, never bound, ended after 2.00 s",
        "p (plain, 2000 m, 1.0 GiB) came at 1.00 s, bound after 3.00 s",
        "    +0.00 s  gates g",
        "    +0.50 s  gates none; nominated spot",
        "    +1.00 s  nominated none; refused no room",
        "    +3.00 s  refused none; node durable",
    ]


def test_kube_schedulers_own_scores() -> None:
    nodes = [node("small").cpu(4).memory("4Gi"), node("large").cpu(8).memory("16Gi")]
    asking = pod("p").requests(cpu=2, memory="2Gi").build()
    # half of both resources: 50 + 100; a quarter and an eighth: 81.25 + 100 - 6.25
    seen = cluster_of(nodes, []).nodes
    assert plugin_scores(asking, seen).tolist() == pytest.approx([150.0, 175.0])
    # a taint that the pod would rather avoid is worth 3 x 100
    tainted = cluster_of([nodes[0], nodes[1].taint("slow", "PreferNoSchedule")], []).nodes
    assert plugin_scores(asking, tainted).tolist() == pytest.approx([150.0, -125.0])
    # the best node's 10 is worth ten plugins' 100 at weight 10
    assert extender_scores(asking, np.array([1.0, 3.0]), seen, 10).tolist() == [0.0, 1000.0]
    # of two that are equally good one is chosen
    assert extender_scores(asking, np.array([2.0, 2.0]), seen, 10).tolist() == [1000.0, 900.0]


_BALANCED = [way for way in WAYS if way.name.endswith("balanced")]


@pytest.mark.parametrize("way", _BALANCED, ids=[way.name for way in _BALANCED])
def test_a_simulated_hour(way: Way) -> None:
    """A critical pod, and a batch pod whose node is taken away for two seconds: Tradewind puts it on spot."""
    batch = replace(_PLAIN, name="b", kind="batch")
    taken = Vanishing(at=4.2, node="spot", back_at=6.2)
    drawn = Scenario(seed=0, nodes=[_SPOT, _DURABLE], arrivals=[_CRITICAL, batch], vanishings=[taken])
    done = simulate(drawn, way, 10.0)
    assert (done.unplaced, done.lives) == (0, 3)
    assert done.interrupted == {"batch": 1}
    assert done.critical_on_spot == 0
    # Bound at 0.5 and, again, at 4.5: the durable node for 9.5 s, the spot node for 3.7 s.
    assert done.dollars == pytest.approx((9.5 * 3 + 3.7 * 1) / 10)


def test_with_solvers_batches_are_closed_as_they_are_live() -> None:
    way = next(way for way in WAYS if way.name == "planned, balanced")
    done = simulate(made_up(1), way, 10.0, exact=True)
    assert done.lives > done.unplaced
    assert 0.15 < max(done.waits) <= 1.0  # of those that came in the first second
    assert done.wait(50) <= 0.15


@pytest.mark.parametrize("preset", PRESETS)
def test_moves_leave_no_pod_without_a_node_that_plans_alone_place(preset: str) -> None:
    """Nor wait for another batch, which would be half a second more: the lives differ by what was moved."""
    ways = {way.name: way for way in WAYS}
    alone = simulate(made_up(1), ways[f"planned, {preset}"], MADE_UP_SECONDS)
    moved = simulate(made_up(1), ways[f"planned + moves, {preset}"], MADE_UP_SECONDS)
    assert moved.evictions > 0
    assert moved.unplaced <= alone.unplaced
    assert moved.wait(99) <= alone.wait(99) + 0.01


@pytest.mark.skipif(planner_cases.data_directory() is None, reason="needs the public data of $TRADEWIND_DATA")
def test_a_scenario_is_the_same_each_time_and_can_be_placed() -> None:
    data = planner_cases.data_directory()
    assert data is not None
    drawn = scenario.draw(data, 1)
    assert drawn == scenario.draw(data, 1)
    assert drawn != scenario.draw(data, 2)
    assert len({each.name for each in drawn.arrivals}) == len(drawn.arrivals)
    assert all(each.at < each.until for each in drawn.arrivals)
    assert {each.kind for each in drawn.arrivals} == {"critical", "batch", "plain"}
    spots = {each.name for each in drawn.nodes if each.spot}
    assert {each.node for each in drawn.vanishings} <= spots
    assert 0 < fluid.bound(drawn, 5.0) < sum(each.price for each in drawn.nodes)
