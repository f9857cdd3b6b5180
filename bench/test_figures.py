"""The arithmetic between the raw measurements and the table."""

import math
from dataclasses import replace

import pytest

from bench import report, service, throughput
from bench.contenders import ALL
from bench.goals import Spread
from bench.measurement import Case, Measurement
from bench.runs import Runs
from bench.service import Service
from bench.throughput import Result, candidates, rotated

CASE = Case(nodes=5_000, percentage=100, pods=101)


def measured(contender: str, run: int, seconds: float) -> Measurement:
    """101 pods are 100 intervals: 100 / seconds pods a second."""
    alone = contender == "plain"
    return Measurement(
        contender=contender,
        run=run,
        pods=101,
        seconds=seconds,
        scheduler_cpu_seconds=2.02,
        extender_cpu_seconds=None if alone else 1.01,
        own_cpu_seconds=5.0,
        others_cpu_seconds=seconds / 4,
        service={}
        if alone
        else {"filter": Service(outcomes={"ok": 101}, mean_ms=1.0, p50_ms=0.5, p99_ms=2.0)},
    )


@pytest.fixture
def rows() -> list[report.Figures]:
    # pods/s: plain 100, 50, 20; echo 50, 50, 10. Within the runs echo has 0.5, 1.0 and 0.5 of plain, while
    # the medians of both are 50: other work slowed the second and third run of both.
    seconds = {"plain": (1.0, 2.0, 5.0), "echo": (2.0, 2.0, 10.0)}
    measurements = [measured(name, run, seconds[name][run]) for run in range(3) for name in seconds]
    return report.figures(Result(case=CASE, candidates=5_000, measurements=measurements, disturbed=[]))


def test_figures_are_medians_and_spreads(rows: list[report.Figures]) -> None:
    plain, echo = rows
    assert plain.pods_a_second == Spread(median=50.0, low=20.0, high=100.0)
    assert echo.pods_a_second == Spread(median=50.0, low=10.0, high=50.0)
    assert plain.scheduler_cpu_ms_a_pod == pytest.approx(20.0)
    assert plain.extender_cpu_ms_a_pod is None
    assert echo.extender_cpu_ms_a_pod == pytest.approx(10.0)
    assert echo.service_ms == {"filter": (0.5, 2.0)}
    assert echo.others_cores == pytest.approx(0.25)


def test_ratios_compare_what_ran_side_by_side(rows: list[report.Figures]) -> None:
    assert rows[1].ratios == {"plain": Spread(median=0.5, low=0.5, high=1.0)}


def test_the_table_has_a_line_for_each_contender(rows: list[report.Figures]) -> None:
    lines = report.table(rows).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert [cell.strip() for cell in lines[3].strip("|").split("|")] == [
        *("5,000", "100 %", "echo", "50 (10..50)", "0.50", "", ""),
        *("20.0", "10.0", "0.5 / 2.0", "", "0.25"),
    ]


def test_a_noisy_machine_is_told(rows: list[report.Figures]) -> None:
    assert report.warning(rows).startswith("Other work took up to 0.2 cores")
    assert not report.warning([replace(row, others_cores=0.1) for row in rows])


@pytest.mark.parametrize(
    ("nodes", "percentage", "expected"),
    [
        pytest.param(99, 0, 99, id="a small cluster is seen whole"),
        pytest.param(200, 0, 100, id="never fewer than a hundred"),
        pytest.param(1_000, 0, 420, id="50 - 1000/125 = 42 %"),
        pytest.param(5_000, 0, 500, id="50 - 5000/125 = 10 %"),
        pytest.param(20_000, 0, 1_000, id="never less than 5 %"),
        pytest.param(5_000, 20, 1_000, id="a percentage of one's own"),
        pytest.param(5_000, 100, 5_000, id="all of them"),
    ],
)
def test_candidates_follow_kube_schedulers_sampling(nodes: int, percentage: int, expected: int) -> None:
    assert candidates(nodes, percentage) == expected


def test_every_contender_is_once_at_every_place() -> None:
    orders = [rotated(ALL, run) for run in range(len(ALL))]
    for place in range(len(ALL)):
        assert {order[place].name for order in orders} == {contender.name for contender in ALL}


@pytest.mark.parametrize(
    ("noises", "kept", "count"),
    [
        pytest.param([0.1], 0.1, 1, id="calm at once"),
        pytest.param([0.9, 0.2], 0.2, 2, id="calm the second time"),
        pytest.param([0.9, 0.6, 0.5, 0.8, 0.0], 0.5, 4, id="never calm in four attempts"),
    ],
)
def test_a_disturbed_measurement_is_repeated(noises: list[float], kept: float, count: int) -> None:
    given = iter(noises)
    runs = Runs(count=1, calm=0.2, say=print)
    made = runs.attempts(0, lambda: replace(measured("echo", 0, 1.0), others_cpu_seconds=next(given)))
    assert (made[0].others_cores, len(made)) == (kept, count)


def test_the_plan_has_fewer_pods_where_more_nodes_are_seen() -> None:
    plan = throughput.Plan(sizes=[5_000], percentages=[0, 100], pods=None, contenders=ALL)
    assert [case.pods for case in plan.cases(5_000)] == [1_000, 150]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(0.25, 0.5, id="halfway into the first bucket of 50"),
        pytest.param(0.5, 1.0, id="at its bound"),
        pytest.param(0.7, 1.5, id="20 of the 40 in the second"),
        pytest.param(0.99, 2.0, id="above the last bound only that bound is known"),
    ],
)
def test_quantiles_are_read_off_the_buckets(share: float, expected: float) -> None:
    assert service.quantile(share, [(1.0, 50), (2.0, 90), (math.inf, 100)]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("outcomes", "complete"),
    [
        pytest.param({"ok": 100}, True, id="every pod asked about"),
        pytest.param({"ok": 104}, True, id="some asked about again"),
        pytest.param({"ok": 99}, False, id="a pod passed by the extender"),
        pytest.param({"ok": 100, "not_synced": 1}, False, id="an answer given without looking"),
        pytest.param({}, False, id="never called"),
    ],
)
def test_a_measurement_counts_only_if_the_extender_did_all_the_work(
    outcomes: dict[str, int], complete: bool
) -> None:
    assert Service(outcomes=outcomes).complete(100) is complete
