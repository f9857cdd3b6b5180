import asyncio
import time

import pytest

from tests.builders import offer_of, pod
from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.controller.batching import Window, collect
from tradewind.planner.settings import BatchSettings

_SETTINGS = BatchSettings(pods=30, seconds=10, pause_seconds=0.1, wait_seconds=0.15, burst_seconds=1)


@pytest.mark.parametrize(
    ("news", "now", "remaining"),
    [
        pytest.param([(0.0, WorkCounter(1, 0))], 0.0, 0.1, id="one pod waits for a pause"),
        pytest.param(
            [(0.0, WorkCounter(1, 0)), (0.04, WorkCounter(2, 0))], 0.06, 0.08, id="another one begins it anew"
        ),
        pytest.param(
            [(0.0, WorkCounter(1, 0)), (0.04, WorkCounter(1, 0))], 0.1, 0.0, id="no news is a pause"
        ),
        pytest.param([(0.1, WorkCounter(2, 0))], 0.1, 0.05, id="one by one nobody waits longer than that"),
        pytest.param([(0.1, WorkCounter(30, 0))], 0.1, 0.1, id="a burst goes on until it pauses"),
        pytest.param([(0.14, WorkCounter(0, 500))], 0.14, 0.01, id="room that opens is no burst"),
    ],
)
def test_when_a_batch_is_closed(news: list[tuple[float, WorkCounter]], now: float, remaining: float) -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    for at, count in news:
        window.observe(count, at)
    assert window.remaining(now) == pytest.approx(remaining)


def _closes_at(each_seconds: float, pods: int) -> float:
    """When so many pods at a time come as often, without an end."""
    window, now, number = Window(_SETTINGS, WorkCounter(), 0.0), 0.0, 0
    while True:
        if now >= number * each_seconds:
            number += 1
            window.observe(WorkCounter(pods * number, 0), now)
        if window.remaining(now) <= 0:
            return now
        now = round(now + 0.005, 6)


@pytest.mark.parametrize(
    ("each_seconds", "pods", "closed"),
    [
        pytest.param(0.05, 1, 0.15, id="a trickle: at once"),
        # 30 in 0.15 s are 200 a second.
        pytest.param(0.005, 2, 1.0, id="a burst without an end: when its first pods have waited enough"),
        pytest.param(0.05, 5, 0.15, id="half as fast is none"),
        pytest.param(0.12, 100, 0.1, id="a pause ends any"),
    ],
)
def test_a_batch_closes_when_waiting_gains_no_more(each_seconds: float, pods: int, closed: float) -> None:
    assert _closes_at(each_seconds, pods) == pytest.approx(closed, abs=0.011)


def test_pods_that_came_while_another_batch_was_planned_have_waited_already() -> None:
    window = Window(_SETTINGS, WorkCounter(), opened=-0.4)
    window.observe(WorkCounter(2, 0), 0.0)
    assert window.remaining(0.0) <= 0


def test_what_was_seen_before_does_not_count() -> None:
    window = Window(_SETTINGS, WorkCounter(100, 5), 0.0)
    window.observe(WorkCounter(129, 5), 0.15)
    assert window.remaining(0.15) <= 0
    window.observe(WorkCounter(130, 5), 0.15)
    assert window.remaining(0.15) > 0


def test_where_plans_take_long_a_full_batch_waits_for_more() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0, min_seconds=2.0)
    for step in range(40):
        window.observe(WorkCounter(10 * (step + 1), 0), step / 20)
    assert window.remaining(1.95) == pytest.approx(0.05)
    assert window.remaining(2.0) == 0


def test_while_plans_are_being_written_only_time_closes_it() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    window.observe(WorkCounter(100, 0), 0.1)
    assert window.full
    assert window.remaining(5.0, busy=True) == 5
    assert window.remaining(5.0, busy=False) < 0
    assert window.remaining(10.0, busy=True) == 0


def _collected(cache: Cache, settings: BatchSettings, busy: list[bool]) -> tuple[WorkCounter, float]:
    """With how long it took; what is left of `busy` at the end was not asked for."""
    started = time.monotonic()
    work = collect(
        cache,
        settings,
        WorkCounter(),
        opened=started,
        min_seconds=0.0,
        busy=lambda: bool(busy) and busy.pop(),
    )
    return asyncio.run(work), time.monotonic() - started


def _waiting(pods: int) -> Cache:
    cache = Cache(offer_of)
    for number in range(pods):
        cache.apply_pod(pod(f"p-{number}").build())
    return cache


def test_a_batch_is_closed_in_time_unless_plans_are_being_written() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=60, wait_seconds=0.01, burst_seconds=0.01)
    assert _collected(_waiting(3), settings, [])[0] == WorkCounter(3, 0)
    busy = [True] * 5
    collected, seconds = _collected(_waiting(3), settings, busy)
    assert collected == WorkCounter(3, 0)
    assert busy == []
    assert seconds >= 0.1


def test_pods_that_come_while_plans_are_being_written_are_in_the_same_batch() -> None:
    cache = _waiting(3)
    looks = 0

    def busy() -> bool:
        nonlocal looks
        looks += 1
        if looks <= 4:
            cache.apply_pod(pod(f"late-{looks}").build())
        return looks <= 4

    settings = BatchSettings(pods=3, seconds=60, pause_seconds=60, wait_seconds=0.01, burst_seconds=0.01)
    collected = asyncio.run(
        collect(cache, settings, WorkCounter(), opened=time.monotonic(), min_seconds=0.0, busy=busy)
    )
    assert collected == WorkCounter(7, 0)


def test_a_pause_closes_a_batch() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=0.05)
    collected, seconds = _collected(_waiting(2), settings, [])
    assert collected == WorkCounter(2, 0)
    assert seconds >= 0.05


def test_a_batch_stays_open_while_pods_are_owed() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=0.01, wait_seconds=0.01, owed_seconds=0.7)
    cache, asked = _waiting(1), list[float]()

    def owed(patience: float) -> bool:
        asked.append(patience)
        cache.apply_pod(pod(f"late-{len(asked)}").build())
        return len(asked) < 3

    work = collect(
        cache,
        settings,
        WorkCounter(),
        opened=time.monotonic(),
        min_seconds=0.0,
        busy=lambda: False,
        owed=owed,
    )
    assert asyncio.run(work).arrivals >= 3
    assert asked == [0.7] * 3


@pytest.mark.parametrize(
    "limits", [{"seconds": 0.2}, {"seconds": 86_400, "owed_seconds": 0.1, "wait_seconds": 0.1}]
)
def test_pods_that_are_owed_for_ever_close_no_batch_later_than_its_time(limits: dict[str, float]) -> None:
    settings = BatchSettings(pause_seconds=0.01, **limits)  # type: ignore[arg-type]
    work = collect(
        _waiting(1),
        settings,
        WorkCounter(),
        opened=time.monotonic(),
        min_seconds=0.0,
        busy=lambda: False,
        owed=lambda _: True,
    )
    assert asyncio.run(work) == WorkCounter(1, 0)


@pytest.mark.parametrize(
    ("arrivals", "closed"),
    [
        pytest.param([0.0, 0.01, 0.02], 0.22, id="at least twice the usual pause"),
        pytest.param([0.0, 0.08, 0.1, 0.11, 0.12], 0.44, id="four times the longest so far"),
        pytest.param([*[0.0] * 20, 0.19, 0.5], 1.5, id="at most ten times the usual"),
        pytest.param([each / 20 for each in range(500)], 10.0, id="for ever: its time"),
    ],
)
def test_where_pods_crowd_only_a_long_pause_closes_a_batch(arrivals: list[float], closed: float) -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    window.crowded = True
    for number, at in enumerate(arrivals, 1):
        if window.remaining(at) <= 0:
            break
        window.observe(WorkCounter(number, 0), at)
    window.observe(WorkCounter(number, 3), closed - 0.01)  # room that opens is no arrival
    assert window.remaining(closed - 0.01) == pytest.approx(0.01)


@pytest.mark.parametrize(
    "arrivals",
    [
        pytest.param([0.0], id="one"),
        pytest.param([0.0, 0.05], id="two"),
        pytest.param([0.0, 0.15, 0.3, 0.45], id="one by one"),
    ],
)
def test_pods_that_come_one_by_one_are_not_waited_for_however_crowded_it_is(arrivals: list[float]) -> None:
    waiting, usual = Window(_SETTINGS, WorkCounter(), 0.0), Window(_SETTINGS, WorkCounter(), 0.0)
    waiting.crowded = True
    for number, at in enumerate(arrivals, 1):
        for window in (waiting, usual):
            window.observe(WorkCounter(number, 0), at)
    later = arrivals[-1] + 0.01
    assert waiting.remaining(later) == usual.remaining(later)


def test_a_crowd_that_dries_up_is_not_waited_for_any_longer() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    window.crowded = True
    window.observe(WorkCounter(12, 0), 0.0)
    arrivals = 12
    while window.remaining(at := 0.15 * (arrivals - 11)) > 0:
        arrivals += 1
        window.observe(WorkCounter(arrivals, 0), at)
    # Of 12 at first and then one each 0.15 s, seven have come in the second before.
    assert at == pytest.approx(1.2)


def test_many_at_first_are_no_reason_to_wait_for_those_that_trickle_in_later() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    window.crowded = True
    window.observe(WorkCounter(170, 0), 0.0)
    for number in range(1, 9):
        window.observe(WorkCounter(170 + number, 0), number / 8)
    assert window.rushed(1.0) is False
    assert window.remaining(1.0) <= 0


def test_a_crowded_batch_does_not_wait_for_a_writer_that_waits_for_it() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    window.crowded = True
    window.observe(WorkCounter(5, 0), 0.0)
    assert window.remaining(0.1, busy=True) == pytest.approx(0.1)


def test_the_time_before_the_first_pod_was_seen_is_no_pause_between_pods() -> None:
    window = Window(_SETTINGS, WorkCounter(), opened=-3.0)
    window.crowded = True
    window.observe(WorkCounter(5, 0), 0.0)
    assert window.remaining(0.0) == pytest.approx(0.2)


def test_a_batch_that_is_crowded_waits_for_those_that_still_come() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=0.02, wait_seconds=0.01, burst_seconds=0.01)
    cache, asked = _waiting(3), list[int]()

    def crowded() -> bool:
        asked.append(1)
        cache.apply_pod(pod("late").build())
        return True

    work = collect(
        cache,
        settings,
        WorkCounter(),
        opened=time.monotonic(),
        min_seconds=0.0,
        busy=lambda: False,
        crowded=crowded,
    )
    assert asyncio.run(work) == WorkCounter(4, 0)
    assert asked == [1]


def test_whether_pods_crowd_is_asked_while_plans_are_being_written_too() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=0.01, wait_seconds=0.01, burst_seconds=0.01)
    asked: list[bool] = []
    busy = [False, True]

    def crowded() -> bool:
        asked.append(bool(busy))
        return False

    work = collect(
        _waiting(3),
        settings,
        WorkCounter(),
        opened=time.monotonic(),
        min_seconds=0.0,
        busy=lambda: bool(busy) and busy.pop(),
        crowded=crowded,
    )
    asyncio.run(work)
    assert asked[0], "while it was busy"
