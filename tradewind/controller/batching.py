"""When to close a batch of waiting pods."""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.planner.settings import BatchSettings

# Between two looks at what came. Not in a thread that is woken: each pod of a burst would wake it.
_LOOK_SECONDS = 0.02


class Collected(NamedTuple):
    news: WorkCounter  # the newest count
    full: bool  # pods came faster than a pause could close it


class Window:
    """Open from the first news on; closed by the number of pods, by time, or when few or no more come."""

    def __init__(
        self, settings: BatchSettings, start: WorkCounter, now: float, min_seconds: float = 0.0
    ) -> None:
        """`start` is the count before the first news.

        The number of pods closes it only after `min_seconds`: where plans take long, fewer are better.
        """
        self._settings = settings
        self._min_seconds = min_seconds
        self._start = start
        self._newest = start
        self._opened = self._last = now

    @property
    def full(self) -> bool:
        return self._newest.arrivals - self._start.arrivals >= self._settings.pods

    def observe(self, news: WorkCounter, now: float) -> None:
        if news != self._newest:
            self._newest, self._last = news, now

    def remaining(self, now: float, *, busy: bool = False) -> float:
        """Seconds until it closes; it is closed at 0 or less.

        While earlier plans keep the writer `busy`, only time closes it: another would bind no pod earlier.
        """
        end = self._opened + self._settings.seconds
        if busy:
            return end - now
        if self.full:
            end = min(end, self._opened + self._min_seconds)
        elif not self._filling(now):
            end = min(end, self._opened + self._settings.wait_seconds)
        return min(end, self._last + self._settings.pause_seconds) - now

    def _filling(self, now: float) -> bool:
        """Whether, at the rate of so far, it would be full before its first pod waits that long again."""
        age, wait = now - self._opened, self._settings.wait_seconds
        return (self._newest.arrivals - self._start.arrivals) * (age + wait) >= self._settings.pods * age > 0


async def collect(
    cache: Cache, settings: BatchSettings, seen: WorkCounter, *, min_seconds: float, busy: Callable[[], bool]
) -> Collected:
    """Wait until the batch that the news opened is closed."""
    window = Window(settings, seen, time.monotonic(), min_seconds)
    while True:
        news, now = cache.wait_for_work(seen, 0.0), time.monotonic()
        window.observe(news, now)
        left = window.remaining(now, busy=busy())
        if left <= 0:
            return Collected(news, window.full)
        await asyncio.sleep(min(left, _LOOK_SECONDS))
