import logging
from dataclasses import dataclass

import pytest

from tests.cluster.conftest import Start, eventually
from tests.cluster.scripted import Do, ScriptedApi, page, watch
from tradewind.cluster.freshness import Freshness
from tradewind.config.document import DEFAULT
from tradewind.kube.watch import Pace


@dataclass
class Watch:
    name: str
    age_seconds: float = 0.0
    events: int = 0
    relists: int = 0
    errors: int = 0
    unreadable: int = 0
    trouble: str = ""


def test_one_silent_watch_is_enough(caplog: pytest.LogCaptureFixture) -> None:
    nodes, pods = Watch("nodes"), Watch("pods")
    freshness = Freshness([nodes, pods], 60)
    with caplog.at_level(logging.INFO, "tradewind"):
        pods.age_seconds = 60.0
        assert freshness.stale == ""
        pods.age_seconds, pods.trouble = 61.0, "the API server answers 503"
        for _ in range(3):
            assert (
                freshness.stale == "the watch of pods has been silent for 61 s, more than 60 s (staleSeconds)"
            )
        pods.age_seconds = 0.0
        assert freshness.stale == freshness.stale == ""
    began, ended = [record.message for record in caplog.records]
    assert began.startswith("the cluster state is stale, failing open: the watch of pods has been silent")
    assert began.endswith(": the API server answers 503")
    assert ended == "the cluster state is fresh again"


def test_a_cluster_from_a_file_is_never_stale() -> None:
    assert Freshness([], 60).stale == ""


def test_a_server_that_falls_silent_makes_the_state_stale_until_it_speaks_again(
    api: ScriptedApi, start: Start
) -> None:
    """A watch of 1 to 2 s that the server neither ends nor feeds, given up after 2 more."""
    api.script("pods", lists=[page()], watches=[watch(Do.HOLD)])
    pace = Pace(watch_seconds=1, patience_seconds=2, first_delay_seconds=0.01, max_delay_seconds=0.02)
    freshness = Freshness(start(pace).watches, 1.5)
    eventually(lambda: "silent" in freshness.stale)
    eventually(lambda: not freshness.stale)


def test_the_watches_of_a_quiet_cluster_end_before_its_state_counts_as_stale() -> None:
    assert 2 * Pace().watch_seconds + 10 < DEFAULT.stale_seconds
