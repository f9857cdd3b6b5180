"""The journal of batches: bounded, readable only as written, and its bound is one."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from tests.builders import node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.planning import Planning
from tradewind.planner.journal import MAX_BATCHES, BatchNote, Emptying, Journal, decode


def batch(at: float, **changes: float) -> BatchNote:
    plain = BatchNote(
        at=at, placed=3, unplaced=1, waves=2, engine="greedy", seconds=0.1, in_flight=0, cost=2.0, bound=1.0
    )
    return msgspec.structs.replace(plain, **changes)


def test_only_the_newest_are_kept() -> None:
    journal = Journal()
    for number in range(MAX_BATCHES + 7):
        journal.add(batch(number), priced=True)
    journal.empty(Emptying("spot-a1", 5, 2))
    record = decode(journal.encoded())
    assert [each.at for each in record.batches] == list(range(7, MAX_BATCHES + 7))
    assert (record.priced, record.emptying) == (True, Emptying("spot-a1", 5, 2))
    assert len(journal.encoded()) < 10_000


def test_dollars_and_nodes_are_never_one_curve() -> None:
    journal = Journal()
    journal.add(batch(1), priced=False)
    journal.add(batch(2), priced=True)
    assert [each.at for each in decode(journal.encoded()).batches] == [2]


def test_a_new_leader_goes_on() -> None:
    before, after = Journal(), Journal()
    for number in range(MAX_BATCHES):
        before.add(batch(number), priced=True)
    after.add(batch(100), priced=True)
    after.resume(before.encoded())
    after.resume("?")
    found = [each.at for each in decode(after.encoded()).batches]
    assert found == [*range(1, MAX_BATCHES), 100]


@pytest.mark.parametrize(
    "text",
    ["", "?", "[]", '{"version": 2, "priced": true, "batches": []}', '{"version": 1}', " " * 100_000],
)
def test_what_nobody_wrote_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(text)


@pytest.mark.parametrize("changes", [{"cost": -1.0}, {"placed": -1}, {"seconds": -0.5}])
def test_impossible_numbers_are_not_read(changes: dict[str, float]) -> None:
    journal = Journal()
    journal.add(batch(1, **changes), priced=True)
    with pytest.raises(ValueError, match="less than 0"):
        decode(journal.encoded())


def planned(path: Path, prices: list[float], used: int, cpus: list[int]) -> BatchNote:
    """Nodes of 4 cores, a pod on the first `used` of them, and pods that wait."""
    cache, journal = Cache(offer_of), Journal()
    for number, price in enumerate(prices):
        cache.apply_node(node(f"n{number}").cpu(4).price(price).build())
    for number in range(used):
        cache.apply_pod(
            pod(f"on{number}").owner("ReplicaSet", "a", "a").requests(cpu=1).on(f"n{number}").build()
        )
    for number, cpu in enumerate(cpus):
        cache.apply_pod(pod(f"p{number}").requests(cpu=cpu).build())
    path.write_text("apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n")
    metrics = PlanMetrics(CollectorRegistry())
    Planning(cache, Settings(path, ConfigMetrics()), None, metrics, journal=journal).decide(news=True)
    return decode(journal.encoded()).batches[-1]


def test_a_batch_is_told_of_as_it_was(tmp_path: Path) -> None:
    found = planned(tmp_path / "c.yaml", [1.0, 2.0], 1, [3, 4, 4])
    assert (found.placed, found.unplaced, found.engine) == (2, 1, "greedy")
    assert (found.cost, found.bound) == (3.0, 3.0)
    small = planned(tmp_path / "c.yaml", [1.0, 0.5], 0, [1])
    assert small.bound == 0.5, "a part of a node cannot be had"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 9).map(float), min_size=1, max_size=6),
    st.integers(0, 6),
    st.lists(st.integers(1, 4), min_size=1, max_size=12),
)
def test_no_plan_is_below_the_bound(
    tmp_path_factory: pytest.TempPathFactory, prices: list[float], used: int, cpus: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "bound.yaml"
    found = planned(path, prices, min(used, len(prices)), cpus)
    assert sum(prices[:used]) - 1e-6 <= found.bound <= found.cost + 1e-6
