"""Learning and remembering against an API of one ConfigMap, with its versions and conflicts."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, cast

import pytest

from tests.builders import NodeBuilder, node
from tests.config_maps import ConfigMaps
from tradewind.cluster.cache import Cache
from tradewind.cluster.starts import Outcome
from tradewind.errors import ApiError
from tradewind.kube.memory import WriteOutcome
from tradewind.market import karpenter as market_karpenter
from tradewind.market import learning as market_learning
from tradewind.market import recall as market_recall
from tradewind.market.karpenter import Disruptions, interrupted_by_events
from tradewind.market.learned import decode
from tradewind.market.learning import MarketLearning
from tradewind.market.market import Market
from tradewind.market.memory import MarketMemory
from tradewind.market.metrics import MarketMetrics
from tradewind.market.quotes import Origin


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return 1e9 + self.now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(market_learning, "time", clock)
    monkeypatch.setattr(market_recall, "time", clock)
    monkeypatch.setattr(market_karpenter, "time", clock)
    return clock


@pytest.fixture
def maps(monkeypatch: pytest.MonkeyPatch) -> ConfigMaps:
    maps = ConfigMaps()
    monkeypatch.setattr(Replica, "maps", maps, raising=False)
    return maps


class Replica:
    maps: ClassVar[Any]  # of the test

    def __init__(self, clock: Clock, *, leads: bool = True) -> None:
        self.clock = clock
        self.leads = leads
        self.market = Market()
        self.cache = Cache(self.market.offer_of)
        self.metrics = MarketMetrics()
        memory = MarketMemory(self.maps, "here", self.metrics)
        self.events: set[str] = set()  # nodes of which Karpenter says that they are interrupted
        self.starts: list[Outcome] = []
        self.learning = MarketLearning(
            self.market,
            self.cache,
            memory,
            self.metrics,
            interrupted=lambda: set(self.events),
            starts=self._take_starts,
            offer=lambda: None,
            leading=lambda: self.leads,
        )

    def spend(self, hours: float) -> None:
        """In looks of a quarter of an hour."""
        for _ in range(int(hours * 4)):
            self.clock.now += 900
            self.learning.run()

    def _take_starts(self) -> list[Outcome]:
        taken, self.starts = self.starts, []
        return taken

    def troubles(self) -> Mapping[str, float]:
        return self.cache.snapshot().nodes.cluster.troubles.shares

    def rate(self) -> float:
        return self.market.offer_of(spot("any").build()).interruption_rate

    def writes(self, result: str) -> float:
        return (
            self.metrics.registry.get_sample_value("tradewind_learned_rates_writes_total", {"result": result})
            or 0
        )


def spot(name: str) -> NodeBuilder:
    return node(name).label("karpenter.sh/capacity-type", "spot")


def filled(replica: Replica, count: int = 5) -> Replica:
    for number in range(count):
        replica.cache.apply_node(spot(f"n-{number}").build())
    replica.learning.run()
    return replica


def test_a_lost_node_raises_the_rate_of_its_pool(clock: Clock, maps: ConfigMaps) -> None:
    del maps
    replica = filled(Replica(clock))
    replica.spend(24)
    calm = replica.rate()
    assert calm < 0.05
    replica.cache.remove_node("n-0")
    replica.learning.run()
    assert replica.rate() > 5 * calm
    replica.market.offer_of(spot("n-1").build())
    assert replica.market.origins("n-1").interruption_rate is Origin.LEARNED


def test_a_restart_remembers_and_counts_nothing_twice(clock: Clock, maps: ConfigMaps) -> None:
    through = filled(Replica(clock))
    through.spend(10)
    through.cache.remove_node("n-0")
    through.spend(1)
    through.learning.save()
    restarted = Replica(clock)
    for number in range(1, 5):
        restarted.cache.apply_node(spot(f"n-{number}").build())
    clock.now += 60
    through.learning.run()
    restarted.learning.run()
    assert restarted.rate() == pytest.approx(through.rate(), rel=1e-9)
    assert maps.data is not None


def test_a_node_that_was_lost_during_a_restart_counts(clock: Clock, maps: ConfigMaps) -> None:
    del maps
    before = filled(Replica(clock))
    before.spend(10)
    before.learning.save()
    after = Replica(clock)
    clock.now += 120
    for number in range(1, 5):
        after.cache.apply_node(spot(f"n-{number}").build())
    after.learning.run()
    assert after.rate() > 5 * before.rate()


def test_writes_are_rare_without_news_and_soon_with(clock: Clock, maps: ConfigMaps) -> None:
    replica = filled(Replica(clock))
    for _ in range(30):
        clock.now += 1
        replica.learning.run()
    assert maps.version == 1
    replica.cache.remove_node("n-0")
    for _ in range(11):
        clock.now += 1
        replica.learning.run()
    assert maps.version == 2


def test_two_that_both_think_they_lead_do_no_harm(clock: Clock, maps: ConfigMaps) -> None:
    first, second = filled(Replica(clock)), filled(Replica(clock))
    for _ in range(3):
        first.spend(1)
        second.learning.run()
    for each in (first, second):
        each.cache.remove_node("n-0")
        each.learning.run()
    clock.now += 700
    for each in (first, second, first, second):
        clock.now += 700
        each.learning.run()
    assert maps.data is not None
    (pool,) = decode(maps.data["rates.json"]).pools
    assert pool.interruptions == pytest.approx(1, rel=0.05)
    assert first.rate() == pytest.approx(second.rate(), rel=0.05)


def test_who_does_not_lead_reads_what_the_leader_wrote_and_writes_nothing(
    clock: Clock, maps: ConfigMaps
) -> None:
    leader, other = filled(Replica(clock)), filled(Replica(clock, leads=False))
    leader.spend(10)
    for each in (leader, other):
        each.cache.remove_node("n-0")
    leader.spend(1)
    leader.learning.save()
    version = maps.version
    assert other.rate() != pytest.approx(leader.rate(), rel=0.01)
    clock.now += 11
    other.learning.run()
    assert other.rate() == pytest.approx(leader.rate(), rel=1e-9)
    other.spend(24)
    other.learning.save()
    assert maps.version == version
    found = [each.metrics.registry.get_sample_value("tradewind_learning_leader") for each in (leader, other)]
    assert found == [1, 0]


def test_another_leader_goes_on_from_what_was_saved(clock: Clock, maps: ConfigMaps) -> None:
    """What the first saw after its last write is seen by the second: the nodes it names are gone."""
    del maps
    first, second = filled(Replica(clock)), filled(Replica(clock, leads=False))
    for _ in range(40):
        clock.now += 900
        for each in (first, second):
            each.learning.run()
    first.leads, second.leads = False, True
    for each in (first, second):
        each.cache.remove_node("n-0")  # nobody led at that moment
    clock.now += 60
    second.learning.run()
    first.learning.save()
    for _ in range(12):
        clock.now += 1
        for each in (first, second):
            each.learning.run()
    assert second.metrics.registry.get_sample_value("tradewind_interruptions_total") == 1
    assert first.rate() == pytest.approx(second.rate(), rel=1e-4)


def test_what_others_learned_stays_when_the_api_fails(clock: Clock, maps: ConfigMaps) -> None:
    leader, other = filled(Replica(clock)), Replica(clock, leads=False)
    leader.spend(24)
    clock.now += 11
    other.learning.run()
    known = other.rate()
    assert known < 0.05
    maps.fails = 403
    other.spend(1)
    assert other.rate() == known


def test_a_write_that_lost_the_race_is_left(clock: Clock, maps: ConfigMaps) -> None:
    memory = MarketMemory(cast("Any", maps), "here", MarketMetrics())
    replica = filled(Replica(clock))
    assert memory.read() is None
    replica.learning.save()
    written = dict(maps.data or {})
    assert memory.write(decode('{"at": 5, "pools": []}')) is WriteOutcome.CONFLICT
    assert maps.data == written


def test_nothing_is_learned_before_the_memory_was_read(clock: Clock, maps: ConfigMaps) -> None:
    maps.fails = 403
    replica = filled(Replica(clock))
    replica.spend(1)
    replica.learning.save()
    maps.fails = 0
    assert maps.data is None
    replica.spend(1)
    assert maps.data is not None


def test_a_failing_api_is_counted_and_outlived(clock: Clock, maps: ConfigMaps) -> None:
    replica = filled(Replica(clock))
    maps.fails = 500
    replica.spend(1)
    assert replica.writes("failed") > 0
    maps.fails = 0
    replica.spend(1)
    assert replica.writes("written") > 0


def test_a_memory_that_makes_no_sense_is_replaced(clock: Clock, maps: ConfigMaps) -> None:
    maps.data, maps.version = {"rates.json": "nonsense"}, 7
    replica = filled(Replica(clock))
    replica.spend(1)
    assert maps.data is not None
    assert decode(maps.data["rates.json"]).pools


def counted(replica: Replica) -> float:
    return replica.metrics.registry.get_sample_value("tradewind_interruptions_total") or 0


@pytest.mark.parametrize("terms", ["spot", "on-demand"])
@pytest.mark.parametrize("shuts_down", [False, True])
def test_consolidation_drift_and_expiry_are_no_interruptions(
    terms: str, shuts_down: bool, clock: Clock, maps: ConfigMaps
) -> None:
    del maps
    replica = filled(Replica(clock))
    chosen = node("chosen").label("karpenter.sh/capacity-type", terms)
    looks = [chosen, chosen.taint("karpenter.sh/disrupted")]
    if shuts_down:
        looks.append(looks[-1].taint("node.cloudprovider.kubernetes.io/shutdown"))
    for look in looks:
        replica.cache.apply_node(look.build())
        replica.spend(0.25)
    replica.cache.remove_node("chosen")
    replica.spend(1)
    assert counted(replica) == 0


@pytest.mark.parametrize("gone", [False, True])
def test_an_interruption_that_karpenter_handles_counts_once(
    gone: bool, clock: Clock, maps: ConfigMaps
) -> None:
    """Also where its Event is seen only after the node has gone."""
    del maps
    replica = filled(Replica(clock))
    replica.cache.apply_node(spot("n-0").taint("karpenter.sh/disrupted").build())
    replica.learning.run()
    if gone:
        replica.cache.remove_node("n-0")
        replica.learning.run()
    replica.events.add("n-0")
    replica.spend(1)
    replica.cache.remove_node("n-0")
    replica.spend(1)
    assert counted(replica) == 1


def test_without_the_right_to_read_events_karpenters_nodes_do_not_count(
    clock: Clock, maps: ConfigMaps, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    del maps

    def refuse() -> set[str]:
        raise ApiError("listing Events: 403 Forbidden")

    replica = filled(Replica(clock))
    monkeypatch.setattr(replica.learning, "_disruptions", Disruptions(refuse))
    replica.cache.apply_node(spot("n-0").taint("karpenter.sh/disrupted").build())
    replica.spend(2)
    replica.cache.remove_node("n-0")
    replica.spend(1)
    assert counted(replica) == 0
    assert caplog.text.count("403 Forbidden") == 1


class Events:
    """Answers as the API server does, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, path: str) -> bytes:
        self.asked.append(path)
        name = "n-7" if "SpotInterrupted" in path else "n-8"
        return json.dumps({"kind": "EventList", "items": [{"involvedObject": {"name": name}}]}).encode()


def test_the_events_that_tell_are_those_of_interruptions() -> None:
    events = Events()
    assert interrupted_by_events(cast("Any", events))() == {"n-7", "n-8"}
    path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3DNode%2Creason%3D"
    assert events.asked == [path + "SpotInterrupted", path + "InstanceUnhealthy"]


def test_starts_are_counted_by_the_leader_and_told_to_all(clock: Clock, maps: ConfigMaps) -> None:
    del maps
    leader, other = filled(Replica(clock)), filled(Replica(clock, leads=False))
    for replica in (leader, other):
        replica.starts = [Outcome("n-1", failed=True)]
        replica.learning.run()
    assert leader.troubles() == {"n-1": 0.333}
    assert other.troubles() == {}
    clock.now += 11
    leader.learning.run()  # writes
    other.learning.run()
    assert other.troubles() == {"n-1": 0.333}
    leader.cache.remove_node("n-1")
    leader.learning.run()
    assert leader.troubles() == {}


def test_a_new_leader_goes_on_with_the_starts_that_were_seen(clock: Clock, maps: ConfigMaps) -> None:
    del maps
    before = filled(Replica(clock))
    before.starts = [Outcome("n-1", failed=True)] * 2
    before.learning.run()
    before.learning.save()
    after = filled(Replica(clock))
    assert after.troubles() == {"n-1": 0.5}
    after.spend(24)
    assert after.troubles() == {"n-1": 0.333}
