"""When to close a batch of waiting pods: when waiting for more costs those that are there more than it gains.

Pods that come one by one gain nothing from each other worth a wait: over drawn hours, batches of 0.1 s and of
0.5 s cost the same. A burst does: its pods share the nodes that have to be opened. Where pods crowd, whoever
is bound first is in the way of the others, and the batch waits for the last of them.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable

from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.planner.settings import BatchSettings

# Between two looks at what came. Not in a thread that is woken: each pod of a burst would wake it.
_LOOK_SECONDS = 0.02
# The same while pods are owed: each look is at all pods.
_OWED_LOOK_SECONDS = 0.05
# What a large workload owes comes over half a minute: so many times as long it is waited for, no longer.
_OWED_LONGEST = 2.0

# Where pods crowd, a pause is so many times as long as any before it, within so many times the usual.
_LULL, _SHORTEST_LULL, _LONGEST_LULL = 4.0, 2.0, 10.0
# Pods a second, from the third on, below which nobody waits for those to come: where pods come one by one for
# ever, each of them would wait for the next. In the second before the newest, as few may follow a burst.
_RUSH, _RUSH_SECONDS, _RUSH_WINDOW = 10.0, 0.3, 1.0
# Between two looks at whether they do: each is at all pods that wait.
_CROWD_LOOK_SECONDS = 0.25

# Takes seconds: whether a workload owes pods, and one of its pods came within these.
Owed = Callable[[float], bool]


class Window:
    """Open from the first news on; closed by a pause, by its age, or when a burst has gone on for long."""

    def __init__(
        self, settings: BatchSettings, start: WorkCounter, opened: float, min_seconds: float = 0.0
    ) -> None:
        """`start` is the count before the first news, `opened` when that may have come.

        With as many pods as a burst has, it stays open for `min_seconds`: where plans take long, fewer are
        better.
        """
        self._settings = settings
        self._min_seconds = min_seconds
        self._start = start
        self._newest = start
        self._opened = self._last = self._arrival = opened
        self._first = math.inf  # when arrivals were seen
        self._longest = 0.0  # between two arrivals
        self._lately = deque([(-math.inf, 0)])  # when arrivals were seen, and how many had come by then
        self.crowded = False  # only a pause that is long for these pods closes it

    @property
    def full(self) -> bool:
        return self._arrived >= self._settings.pods

    @property
    def _arrived(self) -> int:
        return self._newest.arrivals - self._start.arrivals

    def observe(self, news: WorkCounter, now: float) -> None:
        if news.arrivals != self._newest.arrivals:
            self._longest = max(self._longest, now - self._arrival) if self._arrived else 0.0
            self._first, self._arrival = min(self._first, now), now
            self._lately.append((now, news.arrivals - self._start.arrivals))
            while self._lately[1][0] <= now - _RUSH_WINDOW:
                self._lately.popleft()
        if news != self._newest:
            self._newest, self._last = news, now

    def remaining(self, now: float, *, busy: bool = False) -> float:
        """Seconds until it closes; it is closed at 0 or less.

        While earlier plans keep the writer `busy`, only time closes it: another would bind no pod earlier.
        """
        settings = self._settings
        if self.crowded and self.rushed(now):  # nothing is written until it closes
            return min(self._opened + settings.seconds, self._arrival + self._lull) - now
        if busy:
            return self._opened + settings.seconds - now
        age = settings.burst_seconds if self._is_burst(now) else settings.wait_seconds
        if self.full:
            age = max(age, self._min_seconds)
        return min(self._opened + min(age, settings.seconds), self._last + settings.pause_seconds) - now

    def rushed(self, now: float) -> bool:
        """Whether pods come fast enough for more of them to be waited for."""
        lately = self._arrived - self._lately[0][1]
        return lately >= _RUSH * min(max(now - self._first, _RUSH_SECONDS), _RUSH_WINDOW)

    @property
    def _lull(self) -> float:
        """A busy control plane pauses for longer, and goes on."""
        pause = self._settings.pause_seconds
        return min(max(_LULL * self._longest, _SHORTEST_LULL * pause), _LONGEST_LULL * pause)

    def _is_burst(self, now: float) -> bool:
        """Whether, at the rate of so far, `pods` come in each wait."""
        age = max(now - self._opened, self._settings.wait_seconds)
        return self._arrived * self._settings.wait_seconds >= self._settings.pods * age


class Newcomers:
    """Pods that came after those that are being planned: for these a solve is not to last for long."""

    def __init__(self, cache: Cache, seen: WorkCounter, seconds: float) -> None:
        self._cache = cache
        self._seen = seen
        self._seconds = seconds
        self._since = math.inf

    def waited(self) -> bool:
        """Whether there are some, and were for so long."""
        if self._cache.work().arrivals == self._seen.arrivals:
            return False
        now = time.monotonic()
        self._since = min(self._since, now)
        return now - self._since >= self._seconds


async def collect(
    cache: Cache,
    settings: BatchSettings,
    seen: WorkCounter,
    *,
    opened: float,
    min_seconds: float,
    busy: Callable[[], bool],
    owed: Owed = lambda _: False,
    crowded: Callable[[], bool] = lambda: False,
) -> WorkCounter:
    """The newest count once the batch is closed that the news opened, and no workload owes it pods.

    Whether its pods are `crowded` is asked before it is closed, and now and then while plans are written.
    """
    window = Window(settings, seen, opened, min_seconds)
    deadline = time.monotonic() + min(settings.seconds, _OWED_LONGEST * settings.owed_seconds)
    look = -math.inf
    while True:
        news, now = cache.wait_for_work(seen, 0.0), time.monotonic()
        window.observe(news, now)
        writing = busy()
        left = window.remaining(now, busy=writing)
        if not window.crowded and window.rushed(now) and (left <= 0 or writing) and now >= look:
            look, window.crowded = now + _CROWD_LOOK_SECONDS, await asyncio.to_thread(crowded)
            left = window.remaining(now, busy=writing)
        if left > 0:
            await asyncio.sleep(min(left, _LOOK_SECONDS))
        elif now >= deadline or not await asyncio.to_thread(owed, settings.owed_seconds):
            return news
        else:
            await asyncio.sleep(_OWED_LOOK_SECONDS)
