"""A burst in small, every way: all pods are bound, and those that are planned go where the plan says."""

from bench import burst, crowd, workload
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


def test_so_many_pods_fit_on_a_thousand_nodes() -> None:
    """30 a node, by their sum and by the largest."""
    cores = sum(int(node["status"]["allocatable"]["cpu"]) for node in workload.nodes(1_000))
    asked = [
        int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].removesuffix("m"))
        for pod in workload.pods(30_000, "crowd", crowd.SHRINK)
    ]
    assert 0.3 * cores < sum(asked) / 1e3 < 0.6 * cores
    assert max(asked) == 500
    assert min(asked) == 12
