"""How long a search may take: until its deadline, until it stalls, or until it is cancelled."""

import math
import time
from collections.abc import Callable

# A smaller gain, as a share of what a plan costs, does not keep a search going.
GAIN = 1e-3
# A search that other processes keep from running ends after this many times its patience.
_BUSY = 4.0


class Budget:
    """The time of one search.

    A search stalls after its last gain: after `idle` seconds, or half of the seconds up to that gain if these
    are more. So a plan that is found at once is not waited for, and one that keeps getting better has its
    time. Only seconds in which the process could run count, up to a limit.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        *,
        idle: float = math.inf,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._idle = idle
        self._is_cancelled = is_cancelled
        self._started = self._last = time.monotonic()
        self.deadline = self._started + seconds  # of time.monotonic
        self._worked = time.process_time()

    @property
    def can_stall(self) -> bool:
        return self._idle < math.inf

    @property
    def seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.0)

    def begin(self) -> None:
        """Give another search its own time to its first gain."""
        self.record_gain()

    def record_gain(self) -> None:
        self._last = time.monotonic()
        self._worked = time.process_time()

    def is_over(self) -> bool:
        return time.monotonic() >= self.deadline or self.is_stalled()

    def is_stalled(self) -> bool:
        """Whether the search has stalled or was cancelled."""
        if self._is_cancelled():
            return True
        patience = max(self._idle, (self._last - self._started) / 2)
        waited = time.monotonic() - self._last
        if waited <= patience:
            return False
        return waited > _BUSY * patience or time.process_time() - self._worked > patience
