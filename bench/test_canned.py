"""The canned API server is one to its clients: whole lists page by page, and changes that can be applied."""

import time

import msgspec
import pytest
import urllib3

from bench import canned, contenders, scale, sync, tail
from bench.canned import Canned
from bench.errors import MeasurementError
from bench.replay import Replay
from bench.runs import Runs
from bench.tail import Distribution

RUNS = Runs(count=1, calm=float("inf"), say=print)


def test_pages_add_up_to_the_list() -> None:
    server = Canned(nodes=5, pods=7, events_a_second=0)
    names, token = [], ""
    while True:
        page = msgspec.json.decode(server.page("pods", {"limit": "3", "continue": token}))
        names += [pod["metadata"]["name"] for pod in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
        assert page["metadata"]["remainingItemCount"] == 7 - len(names)
    assert names == [f"pod-{number:05}" for number in range(7)]
    assert len(msgspec.json.decode(server.page("nodes", {}))["items"]) == 5
    assert msgspec.json.decode(server.page("poddisruptionbudgets", {}))["items"] == []


def test_changes_come_at_the_rate_that_was_asked_for() -> None:
    with canned.running(10, 10, 200) as cluster:
        started = time.monotonic()
        lines = urllib3.request("GET", f"{cluster.url}/api/v1/pods?watch=true&timeoutSeconds=1").data.split(
            b"\n"
        )
        taken = time.monotonic() - started
    events = [msgspec.json.decode(line) for line in lines if line]
    # Nine in ten are of pods; none is ahead of its time, whatever else the machine does.
    assert 10 <= len(events) <= 0.9 * 200 * taken
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    living: set[str] = set()
    for event in events:
        uid = event["object"]["metadata"]["uid"]
        assert (event["type"] == "DELETED") is (uid in living)
        living ^= {uid}


def test_both_clients_sync_the_same_cluster() -> None:
    measured = sync.run(20, 600, RUNS)
    (only,) = measured.runs
    for side in (only.ours, only.official):
        assert (side.nodes, side.pods) == (20, 600)  # two pages of pods
        assert side.seconds > 0
        assert side.max_bytes > 2**20
    assert [outcome.goal.limit for outcome in measured.outcomes()] == [1 / 8, 1 / 4]


def test_the_service_time_is_measured_at_both_sizes() -> None:
    measured = scale.run(10, 30, 3, RUNS)
    (outcome,) = measured.outcomes()
    assert outcome.goal.limit == 3.0
    assert outcome.ratios == [measured.runs[0].large_ms / measured.runs[0].small_ms]


def test_answers_are_timed_beside_changes_and_a_planner() -> None:
    measured = tail.run(20, 10, [0, 100], RUNS)
    (only,) = measured.runs
    assert only.events > 0
    assert [outcome.goal.limit for outcome in measured.outcomes()] == [3.0] * 4
    for side in (only.alone, only.busy):
        for verbs in side.values():
            assert list(verbs) == ["filter", "prioritize"]
            for distribution in verbs.values():
                assert len(distribution.ms) == 101
                assert list(distribution.ms) == sorted(distribution.ms)


def test_percentiles_of_a_hundred_and_one_values_are_those_values() -> None:
    distribution = Distribution.of([number / 1e3 for number in range(100, -1, -1)])
    assert distribution.ms == pytest.approx(range(101))
    assert distribution.p99_by_p50 == pytest.approx(99 / 50)


def test_an_extender_that_keeps_no_node_is_not_measured() -> None:
    with (
        contenders.served_echo() as extender,
        Replay(extender.process.address, [], 0) as replay,
        pytest.raises(MeasurementError, match="no node pass"),
    ):
        replay.pair()
