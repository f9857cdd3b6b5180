"""A search that stalls or is cancelled ends; the clock is the test's own."""

import time

import pytest

from tests.builders import node, pod
from tests.planner.cases import batch_of, filled
from tradewind.planner import budget
from tradewind.planner.budget import Budget
from tradewind.planner.engine import optimise
from tradewind.planner.exact import solve
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Outcome, Problem
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
    monkeypatch.setattr(budget, "time", found)
    return found


def test_it_ends_when_nothing_was_gained_for_so_long(clock: _Clock) -> None:
    search = Budget(idle=0.2)
    clock.now += 0.15
    assert not search.is_stalled()
    clock.now += 0.1
    assert search.is_stalled()


def test_what_took_long_to_the_last_gain_goes_on_for_half_as_long_again(clock: _Clock) -> None:
    search = Budget(idle=0.2)
    clock.now += 2.0
    search.record_gain()
    clock.now += 0.9
    assert not search.is_stalled()
    clock.now += 0.2
    assert search.is_stalled()


def test_another_search_has_its_own_time(clock: _Clock) -> None:
    search = Budget(idle=0.2)
    clock.now += 0.3
    search.begin()
    assert not search.is_stalled()
    clock.now += 0.25
    assert search.is_stalled()


def test_on_a_busy_machine_a_search_that_could_not_run_has_not_stalled(clock: _Clock) -> None:
    search = Budget(idle=0.2)
    clock.now += 0.5
    clock.stolen += 0.4
    assert not search.is_stalled()
    clock.now += 0.15
    assert search.is_stalled()


def test_on_a_machine_that_is_too_busy_pods_do_not_wait_for_ever(clock: _Clock) -> None:
    search = Budget(idle=0.2)
    clock.now += 0.75
    clock.stolen += 0.75
    assert not search.is_stalled()
    clock.now += 0.1
    clock.stolen += 0.1
    assert search.is_stalled()


def test_with_nobody_waiting_it_never_ends(clock: _Clock) -> None:
    search = Budget()
    clock.now += 1e6
    assert not search.is_stalled()
    assert not search.can_stall


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
        State(problem), range(20), counts, seconds=120, hint=greedy(problem), budget=Budget(idle=0.1)
    )
    assert time.monotonic() - started < 60
    assert found is None or not found.optimal


def test_a_cancelled_search_ends_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tradewind.planner.engine._WHOLE", 0)
    problem = _hard()
    found: list[Outcome] = []
    started = time.monotonic()
    optimise(problem, greedy(problem), 120, found.append, told=lambda: True)
    assert time.monotonic() - started < 60


def test_a_budget_ends_at_its_deadline(clock: _Clock) -> None:
    search = Budget(2.0)
    clock.now += 1.5
    assert not search.is_over()
    assert search.seconds_left == 0.5
    clock.now += 1.0
    assert search.is_over()
    assert search.seconds_left == 0
