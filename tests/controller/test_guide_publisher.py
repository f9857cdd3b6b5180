"""What is published is what the leader means, and nothing is written without need."""

import pytest
from prometheus_client import CollectorRegistry

from tests.config_maps import ConfigMaps
from tests.guides import guide
from tradewind.cluster import guide as guides
from tradewind.cluster.guide import JOURNAL_KEY, KEY, Role, decode
from tradewind.controller.guide_publisher import GuidePublisher
from tradewind.controller.metrics import StandingMetrics
from tradewind.planner import journal
from tradewind.planner.journal import BatchNote, Journal


class _Leader:
    def __init__(self, maps: ConfigMaps) -> None:
        self.leads = True
        self._registry = CollectorRegistry()
        metrics = StandingMetrics(self._registry)
        self.journal = Journal()
        self.publisher = GuidePublisher(maps.client(), "here", metrics, lambda: self.leads, self.journal)

    def plans(self, at: float) -> None:
        note = BatchNote(
            at=at,
            placed=3,
            unplaced=1,
            waves=2,
            engine="greedy",
            seconds=0.1,
            in_flight=0,
            cost=2.0,
            bound=1.0,
        )
        self.journal.add(note, priced=True)

    def outcome(self, outcome: str) -> float | None:
        return self._registry.get_sample_value("tradewind_guide_writes_total", {"outcome": outcome})


@pytest.fixture
def maps() -> ConfigMaps:
    return ConfigMaps()


@pytest.fixture
def leader(maps: ConfigMaps) -> _Leader:
    return _Leader(maps)


def _drained(maps: ConfigMaps) -> list[str]:
    assert maps.data is not None
    return decode(maps.data[KEY]).kinds[0].roles[Role.DRAIN]


def test_a_guide_is_written_when_it_says_something_else(maps: ConfigMaps, leader: _Leader) -> None:
    for drained, version in (("b", 1), ("b", 1), ("a", 2)):
        leader.publisher.publish(guide(drain=drained))
        assert (_drained(maps), maps.version) == ([drained], version)
    assert (leader.outcome("written"), leader.outcome("unchanged")) == (2, 1)


def test_bids_that_tremble_are_not_written(maps: ConfigMaps, leader: _Leader) -> None:
    leader.publisher.publish(guide(bid=0.00002))
    leader.publisher.publish(guide(bid=0.0000200001))
    assert maps.version == 1
    leader.publisher.publish(guide(bid=0.00003))
    assert maps.version == 2


def test_a_guide_is_renewed_before_it_gets_too_old(maps: ConfigMaps, leader: _Leader) -> None:
    """A solve before its time writes nothing. What a leader leaves lives for 30 s: its Lease for 15."""
    for age, version in ((44, 1), (40, 1), (30, 1), (29, 2), (20, 2), (14, 3)):
        leader.publisher.publish(guide(age=age, lives=45))
        assert maps.version == version, age


@pytest.mark.parametrize("spoiled", [None, {}, {KEY: "&&"}], ids=["deleted", "emptied", "corrupted"])
def test_whatever_became_of_it_is_mended(
    maps: ConfigMaps, leader: _Leader, spoiled: dict[str, str] | None
) -> None:
    leader.publisher.publish(guide())
    maps.data = spoiled
    maps.version += 1
    leader.publisher.publish(guide())
    assert _drained(maps) == ["b"]


def test_who_no_longer_leads_writes_nothing(maps: ConfigMaps, leader: _Leader) -> None:
    leader.leads = False
    leader.publisher.publish(guide())
    assert maps.data is None
    assert leader.outcome("refused") == 1


def test_the_next_leader_goes_on_from_there(maps: ConfigMaps, leader: _Leader) -> None:
    assert leader.publisher.needed() == frozenset()
    leader.publisher.publish(guide(drain="b"))
    follower = _Leader(maps)
    assert follower.publisher.needed() == {"a"}
    follower.publisher.publish(guide(drain="a"))
    assert _drained(maps) == ["a"]


def test_a_guide_that_is_too_old_is_no_beginning(leader: _Leader) -> None:
    leader.publisher.publish(guide(age=50))
    assert leader.publisher.needed() == frozenset()


def test_an_api_that_fails_is_told_of_once(
    maps: ConfigMaps, leader: _Leader, caplog: pytest.LogCaptureFixture
) -> None:
    maps.fails = 403
    for _ in range(2):
        leader.publisher.publish(guide())
    assert leader.outcome("failed") == 2
    assert len([each for each in caplog.messages if "the guide was not written" in each]) == 1
    assert leader.publisher.needed() == frozenset()


def test_a_guide_that_is_too_large_is_not_written(
    maps: ConfigMaps, leader: _Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guides, "MAX_BYTES", 10)
    leader.publisher.publish(guide())
    assert maps.data is None
    assert leader.outcome("too large") == 1


def _batches(maps: ConfigMaps) -> list[float]:
    assert maps.data is not None
    return [each.at for each in journal.decode(maps.data[JOURNAL_KEY]).batches]


def test_the_journal_travels_with_the_guide_and_seldom_alone(maps: ConfigMaps, leader: _Leader) -> None:
    leader.publisher.publish(guide(age=40, lives=3600))
    assert _batches(maps) == []
    leader.plans(1.0)
    leader.publisher.publish(guide(age=35, lives=3600))
    assert (_batches(maps), maps.version) == ([], 1), "not for the journal alone, so soon"
    leader.publisher.publish(guide(age=20, lives=3600))
    assert (_batches(maps), maps.version) == ([1.0], 2)
    leader.publisher.publish(guide(age=0, lives=3600))
    assert maps.version == 2, "it says the same"


def test_the_next_leader_goes_on_with_the_journal(maps: ConfigMaps, leader: _Leader) -> None:
    leader.plans(1.0)
    leader.publisher.publish(guide(age=20))
    follower = _Leader(maps)
    follower.plans(2.0)
    follower.publisher.needed()
    follower.publisher.publish(guide(drain="a"))
    assert _batches(maps) == [1.0, 2.0]
