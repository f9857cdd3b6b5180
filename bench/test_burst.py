"""A burst in small, every way: all pods are bound, and those that are planned go where the plan says."""

from bench import burst
from bench.burst import PLAIN, PLAIN_ALL, PLANNED
from bench.runs import Runs


def test_every_way_places_the_burst() -> None:
    measured = burst.run(20, 30, Runs(count=1, calm=float("inf"), say=print))
    assert {way.name: len(measured.of(way)) for way in (PLAIN, PLAIN_ALL, PLANNED)} == {
        "plain": 1,
        "plain 100 %": 1,
        "planned": 1,
    }
    for each in measured.bursts:
        assert each.seconds > 0
        assert each.creation_seconds > 0
        assert each.cpu_seconds["all"] >= each.cpu_seconds["kube-scheduler"]
        assert ("planner" in each.cpu_seconds) is (each.way == "planned")
    (planned,) = measured.of(PLANNED)
    assert planned.as_planned == 30
    assert [outcome.goal.limit for outcome in measured.outcomes()] == [1.0, 0.33, 4.0]
