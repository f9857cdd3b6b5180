import asyncio
import time

import pytest

from tests.builders import offer_of, pod
from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.controller.batching import Collected, Window, collect
from tradewind.planner.settings import BatchSettings

_SETTINGS = BatchSettings(pods=30, seconds=10, pause_seconds=0.2, wait_seconds=10)


@pytest.mark.parametrize(
    ("news", "now", "remaining"),
    [
        pytest.param([(0.0, WorkCounter(1, 0))], 0.0, 0.2, id="one pod waits for a pause"),
        pytest.param(
            [(0.0, WorkCounter(1, 0)), (0.15, WorkCounter(2, 0))], 0.2, 0.15, id="another one begins it anew"
        ),
        pytest.param(
            [(0.0, WorkCounter(1, 0)), (0.15, WorkCounter(1, 0))], 0.2, 0.0, id="no news is a pause"
        ),
        pytest.param([(0.0, WorkCounter(29, 0))], 0.0, 0.2, id="one short of full"),
        pytest.param([(0.0, WorkCounter(1, 0)), (0.1, WorkCounter(30, 0))], 0.1, -0.1, id="full"),
        pytest.param([(0.0, WorkCounter(0, 500))], 0.0, 0.2, id="room that opens does not fill a batch"),
        pytest.param(
            [(t / 10, WorkCounter(1 + t // 5, t)) for t in range(100)], 9.95, 0.05, id="never a pause"
        ),
    ],
)
def test_when_a_batch_is_closed(news: list[tuple[float, WorkCounter]], now: float, remaining: float) -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    for at, count in news:
        window.observe(count, at)
    assert window.remaining(now) == pytest.approx(remaining)


@pytest.mark.parametrize(
    ("each_seconds", "pods", "closed"),
    [
        # A pod each 0.15 s: after 0.5 s there are 4 of 30.
        pytest.param(0.15, 1, True, id="a trickle"),
        # 15 of 30 after 0.5 s: the other half may come as fast.
        pytest.param(0.1, 3, False, id="as many again would fill it"),
        pytest.param(0.1, 2, True, id="one third would not"),
    ],
)
def test_nobody_waits_long_for_a_few_more(each_seconds: float, pods: int, *, closed: bool) -> None:
    settings = BatchSettings(pods=30, seconds=10, pause_seconds=0.2, wait_seconds=0.5)
    window = Window(settings, WorkCounter(), 0.0)
    for number in range(int(0.5 / each_seconds)):
        window.observe(WorkCounter(pods * (number + 1), number), number * each_seconds)
    assert window.remaining(0.3) > 0
    assert (window.remaining(0.5) <= 0) is closed


def test_what_was_seen_before_does_not_count() -> None:
    window = Window(_SETTINGS, WorkCounter(100, 5), 0.0)
    window.observe(WorkCounter(129, 5), 0.1)
    assert window.remaining(0.1) > 0
    window.observe(WorkCounter(130, 5), 0.1)
    assert window.remaining(0.1) <= 0


def test_where_plans_take_long_a_full_batch_waits_for_more() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0, min_seconds=1.0)
    for tenth in range(10):
        window.observe(WorkCounter(100 * (tenth + 1), 0), tenth / 10)
    assert window.remaining(0.9) == pytest.approx(0.1)
    assert window.remaining(1.0) == 0


def test_while_plans_are_being_written_only_time_closes_it() -> None:
    window = Window(_SETTINGS, WorkCounter(), 0.0)
    window.observe(WorkCounter(100, 0), 0.1)
    assert window.full
    assert window.remaining(5.0, busy=True) == 5
    assert window.remaining(5.0, busy=False) < 0
    assert window.remaining(10.0, busy=True) == 0


def _collected(cache: Cache, settings: BatchSettings, busy: list[bool]) -> tuple[Collected, float]:
    """With how long it took; what is left of `busy` at the end was not asked for."""
    started = time.monotonic()
    work = collect(cache, settings, WorkCounter(), min_seconds=0.0, busy=lambda: bool(busy) and busy.pop())
    return asyncio.run(work), time.monotonic() - started


def _waiting(pods: int) -> Cache:
    cache = Cache(offer_of)
    for number in range(pods):
        cache.apply_pod(pod(f"p-{number}").build())
    return cache


def test_a_full_batch_is_closed_at_once_unless_plans_are_being_written() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=60)
    assert _collected(_waiting(3), settings, [])[0] == Collected(WorkCounter(3, 0), full=True)
    busy = [True] * 5
    collected, seconds = _collected(_waiting(3), settings, busy)
    assert collected.full
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

    settings = BatchSettings(pods=3, seconds=60, pause_seconds=60)
    collected = asyncio.run(collect(cache, settings, WorkCounter(), min_seconds=0.0, busy=busy))
    assert collected == Collected(WorkCounter(7, 0), full=True)


def test_a_batch_that_a_pause_closed_is_not_full() -> None:
    settings = BatchSettings(pods=3, seconds=60, pause_seconds=0.05)
    collected, seconds = _collected(_waiting(2), settings, [])
    assert collected == Collected(WorkCounter(2, 0), full=False)
    assert seconds >= 0.05
