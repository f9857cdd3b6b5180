"""A guide is followed while it is good, and by nobody otherwise."""

import base64
import logging
import time
import zlib

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from tests.builders import offer_of
from tests.guides import guide, published
from tradewind.cluster import guide_follower
from tradewind.cluster.cache import Cache
from tradewind.cluster.guide import CONFIG_MAP, Guide, Role
from tradewind.cluster.guide_follower import GuideFollower
from tradewind.cluster.metrics import GuideMetrics


class _Clock:
    """What is shown of both clocks, shifted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = self.steady = 0.0
        monkeypatch.setattr(guide_follower, "time", self)

    def time(self) -> float:
        return time.time() + self.wall

    def monotonic(self) -> float:
        return time.monotonic() + self.steady

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


class _Replica:
    def __init__(self) -> None:
        self.cache = Cache(offer_of)
        self.registry = CollectorRegistry()
        self.follower = GuideFollower(self.cache, GuideMetrics(self.registry))
        self.resource = self.follower.resource("here")

    def sees(self, text: str | Guide, journal: str | None = None) -> None:
        self.resource.apply(self.resource.read(msgspec.Raw(published(text, journal=journal))))

    def journal(self) -> str | None:
        return self.follower.journal

    def followed(self) -> Guide | None:
        found = self.cache.snapshot().nodes.cluster.guide
        assert self.registry.get_sample_value("tradewind_guide_followed") == (found is not None)
        return found

    def refused(self, reason: str) -> float | None:
        return self.registry.get_sample_value("tradewind_guide_refused_total", {"reason": reason})


@pytest.fixture
def replica() -> _Replica:
    return _Replica()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    return _Clock(monkeypatch)


def test_what_is_published_is_followed_and_replaced(replica: _Replica) -> None:
    assert replica.followed() is None
    for drained in ("b", "a"):
        replica.sees(guide(drain=drained))
        followed = replica.followed()
        assert followed is not None
        assert followed.kinds[0].roles[Role.DRAIN] == [drained]
    age = replica.registry.get_sample_value("tradewind_guide_age_seconds")
    assert age is not None
    assert 0 <= age < 30


def _other_version() -> str:
    return base64.b64encode(zlib.compress(b'{"version": 7, "words": "none of ours"}')).decode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "corrupt", id="without data"),
        pytest.param("&&", "corrupt", id="corrupted"),
        pytest.param(_other_version(), "version", id="from another version"),
        pytest.param(guide(age=50), "old", id="too old already"),
    ],
)
def test_what_cannot_be_followed_takes_the_one_before_away(
    replica: _Replica, caplog: pytest.LogCaptureFixture, text: str | Guide, reason: str
) -> None:
    replica.sees(guide())
    assert replica.followed() is not None
    with caplog.at_level(logging.WARNING):
        replica.sees(text)
    assert replica.followed() is None
    assert replica.refused(reason) == 1
    assert "no guide of the standing plan is followed" in caplog.text
    replica.sees(guide())
    assert replica.followed() is not None


def test_a_guide_that_is_deleted_is_gone(replica: _Replica) -> None:
    replica.sees(guide())
    replica.resource.remove(CONFIG_MAP)
    assert replica.followed() is None
    assert replica.refused("deleted") == 1


def test_a_list_without_it_takes_it_away_and_one_with_it_does_not(replica: _Replica) -> None:
    replica.sees(guide())
    replica.resource.retain({CONFIG_MAP})
    assert replica.followed() is not None
    replica.resource.retain(set())
    assert replica.followed() is None


def test_there_never_was_one_is_no_news(replica: _Replica) -> None:
    replica.resource.retain(set())
    assert replica.refused("deleted") is None


def test_a_guide_lives_until_its_time_is_over(replica: _Replica, clock: _Clock) -> None:
    replica.sees(guide(lives=45))
    clock.pass_(40)
    replica.follower.check()
    assert replica.followed() is not None
    clock.pass_(6)
    replica.follower.check()
    assert replica.followed() is None
    assert replica.refused("old") == 1


def test_a_newer_one_begins_a_new_life(replica: _Replica, clock: _Clock) -> None:
    replica.sees(guide(lives=45))
    clock.pass_(40)
    replica.sees(guide(age=-40, lives=45))
    clock.pass_(40)
    replica.follower.check()
    assert replica.followed() is not None


def test_a_leader_whose_clock_is_ahead_is_not_followed_for_longer(replica: _Replica, clock: _Clock) -> None:
    """By its clock the guide is of in an hour."""
    replica.sees(guide(age=-3600, lives=45))
    assert replica.followed() is not None
    clock.pass_(46)
    replica.follower.check()
    assert replica.followed() is None


def test_only_this_object_is_asked_for(replica: _Replica) -> None:
    assert replica.resource.path == "/api/v1/namespaces/here/configmaps"
    assert replica.resource.selection == {"field_selector": "metadata.name=tradewind-guide"}


def test_the_journal_is_kept_whatever_becomes_of_the_guide(replica: _Replica) -> None:
    assert replica.journal() is None
    replica.sees(guide(), "batches")
    replica.sees("no guide", "more batches")
    assert replica.followed() is None
    assert replica.journal() == "more batches"
    replica.sees(guide())
    assert replica.journal() is None, "of a planner that writes none"
    replica.sees(guide(), "batches")
    replica.resource.remove(CONFIG_MAP)
    assert replica.journal() is None
