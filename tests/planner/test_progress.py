"""A search that nobody should wait for ends; the clock is the test's own."""

import math
import time

import pytest

from tests.builders import node, pod
from tests.planner.cases import batch_of, filled
from tradewind.planner import exact, progress
from tradewind.planner.engine import optimise
from tradewind.planner.exact import solve
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Outcome, Problem
from tradewind.planner.progress import Progress
from tradewind.planner.state import State


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.stolen = 0.0  # seconds in which others had the processors

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now - self.stolen


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    found = _Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def test_it_ends_when_nothing_was_gained_for_so_long(clock: _Clock) -> None:
    search = Progress(idle=0.2)
    clock.now += 0.15
    assert not search.stalled()
    clock.now += 0.1
    assert search.stalled()


def test_what_took_long_to_the_last_gain_goes_on_for_half_as_long_again(clock: _Clock) -> None:
    search = Progress(idle=0.2)
    clock.now += 2.0
    search.gained()
    clock.now += 0.9
    assert not search.stalled()
    clock.now += 0.2
    assert search.stalled()


def test_another_search_has_its_own_time(clock: _Clock) -> None:
    search = Progress(idle=0.2)
    clock.now += 0.3
    search.begin()
    assert not search.stalled()
    clock.now += 0.25
    assert search.stalled()


def test_on_a_busy_machine_a_search_that_could_not_run_has_not_stalled(clock: _Clock) -> None:
    search = Progress(idle=0.2)
    clock.now += 0.5
    clock.stolen += 0.4
    assert not search.stalled()
    clock.now += 0.15
    assert search.stalled()


def test_on_a_machine_that_is_too_busy_pods_do_not_wait_for_ever(clock: _Clock) -> None:
    search = Progress(idle=0.2)
    clock.now += 0.75
    clock.stolen += 0.75
    assert not search.stalled()
    clock.now += 0.1
    clock.stolen += 0.1
    assert search.stalled()


def test_with_nobody_waiting_it_never_ends(clock: _Clock) -> None:
    search = Progress()
    clock.now += 1e6
    assert not search.stalled()
    assert not search.near(100.0, 100.0)
    assert not search.hurried


@pytest.mark.parametrize(("cost", "near"), [(100.4, True), (101.0, False)])
def test_half_a_per_cent_above_the_bound_is_near(cost: float, *, near: bool) -> None:
    assert Progress(idle=1.0).near(cost, 100.0) is near


def _hard() -> Problem:
    """Sizes that do not go together: not proved to be the best in a minute."""
    nodes = [node(f"n{number}").cpu("7").price(1 + number / 7) for number in range(20)]
    pods = [pod(f"p{number}").requests(cpu=f"{701 + 37 * number % 1900}m") for number in range(60)]
    return batch_of(filled(nodes, pods)).problem


def test_the_exact_search_is_ended_from_beside() -> None:
    problem = _hard()
    counts = {index: each.count for index, each in enumerate(problem.classes)}
    started = time.monotonic()
    found = solve(
        State(problem), range(20), counts, seconds=120, hint=greedy(problem), progress=Progress(0.1)
    )
    assert time.monotonic() - started < 60
    assert found is None or not found.optimal


def test_a_search_that_stalls_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = _hard()
    monkeypatch.setattr("tradewind.planner.engine._WHOLE", 10_000)
    monkeypatch.setattr(exact, "_LOOK_SECONDS", 0.001)
    covered: list[Problem] = []

    def cover(problem: Problem, *_: object) -> float:
        covered.append(problem)
        return -math.inf

    monkeypatch.setattr("tradewind.planner.covering.cover", cover)
    optimise(problem, greedy(problem), 60, lambda _: None, idle=0.001)
    assert covered == []
    optimise(problem, greedy(problem), 1, lambda _: None)
    assert covered


def test_where_covering_gains_nothing_recreating_still_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the first one took: pods leave the dear nodes for cheap ones."""
    nodes = [node(f"n{number}").cpu("4").price(9 if number < 4 else 1) for number in range(60)]
    pods = [pod(f"p{number}").requests(cpu=f"{900 + number}m") for number in range(16)]
    problem = batch_of(filled(nodes, pods)).problem
    dear = {(index, index // 4): 1 for index in range(16)}
    monkeypatch.setattr("tradewind.planner.engine._WHOLE", 10)

    def cover(*_: object) -> float:
        time.sleep(0.3)
        return -math.inf

    monkeypatch.setattr("tradewind.planner.covering.cover", cover)
    found: list[Outcome] = []
    optimise(problem, dear, 60, found.append, idle=0.05)
    assert "recreate" in found[-1].engine


@pytest.mark.parametrize(
    ("idle", "further"), [(60.0, False), (math.inf, True)], ids=["pods wait", "nobody waits"]
)
def test_a_plan_near_the_bound_is_the_last_one_where_pods_wait(
    idle: float, monkeypatch: pytest.MonkeyPatch, *, further: bool
) -> None:
    """4 cores on one node are what the programme says."""
    nodes = [node(f"n{number}").cpu("4").price(1) for number in range(3)]
    problem = batch_of(filled(nodes, [pod(f"p{number}").requests(cpu="1") for number in range(4)])).problem
    searched: list[Problem] = []
    monkeypatch.setattr("tradewind.planner.engine._WHOLE", 0)
    monkeypatch.setattr("tradewind.planner.windows.improve", lambda problem, *_: searched.append(problem))
    optimise(problem, greedy(problem), 1, lambda _: None, idle=idle)
    assert bool(searched) is further
