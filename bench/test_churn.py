"""The replay's arithmetic: what it draws, the bound, and what it adds up."""

from dataclasses import replace

import pytest

from bench import planner_cases
from bench.churn import fluid, scenario
from bench.churn.ledger import Stay, account
from bench.churn.scenario import Arrival, PricedNode

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
    assert done.critical_on_spot == 1
    assert done.waits == [1.0, 1.0, 2.0, 8.0]
    assert done.zone_kept == 0.5
    assert (done.unplaced, done.lives) == (1, 5)


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
