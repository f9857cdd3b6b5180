import csv
import math
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.scorers.stability import Stability
from tests.builders import NodeBuilder, cluster_of, node, pod
from tradewind.market.learned import (
    HOURS_OF_A_RATE,
    Evidence,
    Learner,
    NodeState,
    Posterior,
    Sighting,
    decode,
    encode,
)
from tradewind.market.market import Market
from tradewind.market.pools import Pool, pool_of

_HOUR = 3600.0
_WEEK_HOURS = 168.0
_Z_95 = 1.96
_BAD, _GOOD = Pool("bad", "z", "spot"), Pool("good", "z", "spot")
_SOME = Pool("some", "z", "spot")

Nodes = Mapping[str, Sighting]


def sighted(count: int, pool: Pool = _SOME, *, lost: int = 0) -> Nodes:
    return {f"{pool.instance_type}-{number}": Sighting(pool) for number in range(lost, count)}


def rate(evidence: Evidence, prior: float = 0.05, worth: float = _WEEK_HOURS) -> float:
    return float(evidence.posterior(prior, worth).rate)


def hazard_interval(posterior: Posterior) -> tuple[float, float]:
    """Where the hazard lies with 95 %, by Wilson and Hilferty's approximation.

    It fails where almost nothing was seen; the upper end is then that of one interruption: too high.
    """

    def quantile(shape: float, z: float) -> float:
        root = 1 - 1 / (9 * shape) + z / math.sqrt(9 * shape)
        return float(shape * max(0.0, root) ** 3 / posterior.node_hours)

    return quantile(posterior.shape, -_Z_95), quantile(max(1.0, posterior.shape), _Z_95)


def after_a_day(count: int) -> Evidence:
    learner = Learner(_WEEK_HOURS)
    learner.observe(0.0, sighted(count))
    for hour in range(1, 25):
        learner.observe(hour * _HOUR, sighted(count))
    learner.observe(24 * _HOUR, sighted(count, lost=1))
    return learner.evidence[_SOME]


def test_one_lost_of_a_hundred_is_not_one_lost_of_one() -> None:
    one, hundred = after_a_day(1), after_a_day(100)
    assert one.interruptions == hundred.interruptions == 1
    assert hundred.node_hours == pytest.approx(100 * one.node_hours)
    assert rate(one) > 0.9
    assert 0.05 < rate(hundred) < 0.3


def test_without_evidence_the_prior_is_the_rate() -> None:
    assert rate(Evidence(), 0.05) == pytest.approx(0.05)
    assert rate(Evidence(), 0.25) == pytest.approx(0.25)


@given(st.floats(0.001, 0.9), st.floats(0, 50), st.floats(1, 1e5), st.floats(0.1, 1000))
def test_more_interruptions_are_worse_and_more_hours_are_better(
    prior: float, interruptions: float, node_hours: float, more: float
) -> None:
    seen = Evidence(interruptions, node_hours).posterior(prior, _WEEK_HOURS)
    assert Evidence(interruptions + more, node_hours).posterior(prior, _WEEK_HOURS).hazard > seen.hazard
    assert Evidence(interruptions, node_hours + more).posterior(prior, _WEEK_HOURS).hazard < seen.hazard
    low, high = hazard_interval(seen)
    assert low < seen.hazard < high
    assert 0 <= seen.rate <= 1


@given(st.lists(st.floats(0.001, 0.9), min_size=1, max_size=8), st.integers(0, 5))
def test_it_does_not_matter_how_often_it_looks(steps: list[float], count: int) -> None:
    often, once = Learner(24.0), Learner(24.0)
    for learner in (often, once):
        learner.observe(0.0, sighted(count))
    for index in range(len(steps)):
        often.observe(sum(steps[: index + 1]) * _HOUR, sighted(count))
    once.observe(sum(steps) * _HOUR, sighted(count))
    for pool in once.evidence:
        assert often.evidence[pool] == pytest.approx(once.evidence[pool])


def test_half_is_forgotten_in_each_half_life() -> None:
    learner = Learner(24.0)
    learner.observe(0, sighted(1))
    learner.observe(60, {})
    before = learner.evidence[_SOME]
    learner.observe(60 + 24 * _HOUR, {})
    assert learner.evidence[_SOME] == pytest.approx(before.faded(0.5))


@pytest.mark.parametrize(
    ("looks", "interruptions"),
    [
        pytest.param([NodeState.STAYING, None], 1, id="vanished"),
        pytest.param([NodeState.STAYING, NodeState.WARNED], 1, id="warned"),
        pytest.param([NodeState.STAYING, NodeState.WARNED, None], 1, id="warned, then gone: once"),
        pytest.param(
            [NodeState.WARNED, NodeState.STAYING, None], 1, id="a warning taken back, then gone: once"
        ),
        pytest.param([NodeState.STAYING, NodeState.LEAVING, None], 0, id="scaled down"),
        pytest.param([NodeState.STAYING, NodeState.DISRUPTED, None], 0, id="consolidated"),
        pytest.param([NodeState.DISRUPTED, NodeState.WARNED, None], 1, id="disrupted, because interrupted"),
        pytest.param([NodeState.LEAVING, NodeState.WARNED, None], 1, id="cordoned, then reclaimed"),
        pytest.param([NodeState.STAYING, NodeState.STAYING], 0, id="still there"),
    ],
)
def test_what_counts_as_an_interruption(looks: list[NodeState | None], interruptions: int) -> None:
    learner = Learner(1e9)
    new = [
        learner.observe(index * 60.0, {} if state is None else {"n": Sighting(_SOME, state)})
        for index, state in enumerate(looks)
    ]
    assert sum(new) == interruptions
    assert learner.evidence[_SOME].interruptions == pytest.approx(interruptions)


def test_an_on_demand_node_that_is_gone_was_given_back() -> None:
    learner = Learner(_WEEK_HOURS)
    pool = Pool("m", "z", "on-demand")
    learner.observe(0, {"a": Sighting(pool), "b": Sighting(pool)})
    assert learner.observe(60, {"b": Sighting(pool, NodeState.WARNED)}) == 1


def test_after_a_long_absence_nobody_knows_why_a_node_is_gone() -> None:
    learner = Learner(_WEEK_HOURS)
    learner.observe(0, sighted(2))
    assert learner.observe(5 * _HOUR, sighted(2, lost=1)) == 0
    assert learner.evidence[_SOME].node_hours == pytest.approx(5, rel=0.02)


def trace(weeks: float, hazards: Mapping[Pool, float], size: int = 20) -> Iterator[tuple[float, Nodes]]:
    """Every node is lost with its pool's hazard, and replaced; a look every quarter of an hour."""
    draw = random.Random(7)
    alive = {f"{pool.instance_type}-{number}": pool for pool in hazards for number in range(size)}
    serial = size
    for quarter in range(int(weeks * _WEEK_HOURS * 4)):
        for name, pool in list(alive.items()):
            if draw.random() < hazards[pool] / 4:
                del alive[name]
                serial += 1
                alive[f"{pool.instance_type}-{serial}"] = pool
        yield quarter * 900.0, {name: Sighting(pool) for name, pool in alive.items()}


_HAZARDS = {_BAD: 0.02, _GOOD: 0.0005}


def test_two_pools_converge_to_their_true_rates_and_placements_move() -> None:
    learner = Learner(_WEEK_HOURS)
    for now, nodes in trace(4, _HAZARDS):
        learner.observe(now, nodes)
    for pool, truth in _HAZARDS.items():
        low, high = hazard_interval(learner.evidence[pool].posterior(0.05, _WEEK_HOURS))
        assert low < truth < high
        assert high < 20 * truth
    market = Market()
    built = [in_pool("bad-x", _BAD), in_pool("good-x", _GOOD)]
    assert preferred(market, built) is None
    market.learn(learner.evidence)
    assert preferred(market, built) == "good-x"


def in_pool(name: str, pool: Pool) -> NodeBuilder:
    built = node(name).label("node.kubernetes.io/instance-type", pool.instance_type)
    built = built.label("topology.kubernetes.io/zone", pool.zone).label("karpenter.sh/capacity-type", "spot")
    assert pool_of(built.build()) == pool
    return built


def preferred(market: Market, built: list[NodeBuilder]) -> str | None:
    """By the stability scorer alone; None for a tie."""
    rates = [market.offer_of(each.build()).interruption_rate for each in built]
    told = [
        each.annotation("tradewind.dev/interruption-rate", repr(rate))
        for each, rate in zip(built, rates, strict=True)
    ]
    nodes = cluster_of(told).nodes
    scores = Stability().score(pod("p").build(), nodes)
    return None if scores[0] == scores[1] else nodes.names[int(scores.argmax())]


def test_a_restart_in_the_middle_changes_nothing() -> None:
    through, restarted = Learner(_WEEK_HOURS), Learner(_WEEK_HOURS)
    for index, (now, nodes) in enumerate(trace(1, _HAZARDS)):
        through.observe(now, nodes)
        restarted.observe(now, nodes)
        if index % 50 == 49:
            saved, restarted = restarted.state(), Learner(_WEEK_HOURS)
            restarted.restore(decode(encode(saved, 2**20)))
    assert restarted.evidence == through.evidence
    assert restarted.state() == through.state()


def test_replicas_believe_whoever_has_watched_for_longer() -> None:
    older, newer = Learner(_WEEK_HOURS), Learner(_WEEK_HOURS)
    for hour in range(48):
        older.observe(hour * _HOUR, sighted(3))
    newer.observe(47 * _HOUR, sighted(3))
    newer.observe(47.5 * _HOUR, sighted(3, lost=1))
    older.observe(47.5 * _HOUR, sighted(3, lost=1))
    newer.merge(older.state())
    assert newer.evidence == older.evidence
    before = dict(older.evidence)
    older.merge(newer.state())
    assert older.evidence == before


def test_a_memory_stays_within_its_size() -> None:
    learner = Learner(_WEEK_HOURS)
    pools = {Pool(f"type-{number}", "zone", "spot"): number + 1 for number in range(50)}
    for hour in (0, 1):
        learner.observe(
            hour * _HOUR,
            {
                f"a-long-name-{pool.instance_type}-{i}": Sighting(pool)
                for pool, count in pools.items()
                for i in range(count)
            },
        )
    small = encode(learner.state(), 2_000)
    assert len(small) <= 2_000
    kept = [each.pool.instance_type for each in decode(small).pools]
    assert kept[0] == "type-49"
    assert 5 < len(kept) < 50


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"at": -1, "pools": []}', '{"at": 1, "pools": [{}]}'])
def test_what_is_no_memory_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(text)


_DATA = Path(os.environ.get("TRADEWIND_DATA") or Path(__file__).parents[3] / "shared" / "data")
_TRACE = _DATA / "spot" / "p3-trace.csv"


@pytest.mark.skipif(not _TRACE.exists(), reason="needs a public trace of spot nodes: set TRADEWIND_DATA")
def test_a_real_trace() -> None:
    """Half a day of a pool that was taken apart again and again, as if it had gone on like that for weeks."""
    with _TRACE.open() as file:
        events = [(int(ms) / 1000, kind, name) for ms, kind, name in csv.reader(file)]
    length = events[-1][0]
    learner, alive, node_hours, lost = Learner(_WEEK_HOURS), dict[str, Sighting](), 0.0, 0
    last = 0.0
    for turn in range(60):
        alive = {}
        learner.observe(turn * length, {name: Sighting(_BAD, NodeState.LEAVING) for name in learner._seen})
        for at, kind, name in events:
            now = turn * length + at
            node_hours += len(alive) * (now - last) / _HOUR
            last = now
            if kind == "add":
                alive[f"{turn}-{name}"] = Sighting(_BAD)
            else:
                lost += alive.pop(f"{turn}-{name}", None) is not None
            learner.observe(now, alive)
    posterior = learner.evidence[_BAD].posterior(0.05, _WEEK_HOURS)
    low, high = hazard_interval(posterior)
    assert low < lost / node_hours < high
    assert posterior.rate == pytest.approx(1.0)
    assert lost / node_hours * HOURS_OF_A_RATE > 100
