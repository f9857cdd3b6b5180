"""When a search has come to its end although there is time left: pods wait for what it still finds."""

import math
import time
from collections.abc import Callable

# Of what a plan costs: less is no gain, and that near to the bound nothing is left to gain.
GAIN = 1e-3
NEAR = 5e-3
# On a busy machine a search that has hardly run has not stalled, but pods wait no longer than so many times.
_BUSY = 4.0


class Progress:
    """A search goes on for half as long again as it took to its last gain, and for at least `idle` seconds.

    Seconds in which it could run, up to a limit. So a plan that was found at once is not waited for,
    and one that keeps getting better has its time; but it ends as soon as it is `told` that other pods wait.
    """

    def __init__(self, idle: float = math.inf, told: Callable[[], bool] = lambda: False) -> None:
        self._idle = idle
        self._told = told
        self._started = self._last = time.monotonic()
        self._worked = time.process_time()

    def begin(self) -> None:
        """Another search: what it is still to find is waited for as well."""
        self.gained()

    def gained(self) -> None:
        self._last = time.monotonic()
        self._worked = time.process_time()

    @property
    def hurried(self) -> bool:
        return self._idle < math.inf

    def stalled(self) -> bool:
        patience = max(self._idle, (self._last - self._started) / 2)
        waited, worked = time.monotonic() - self._last, time.process_time() - self._worked
        return self._told() or (waited > patience and (worked > patience or waited > _BUSY * patience))

    def near(self, cost: float, bound: float) -> bool:
        """Whether that is so close to the bound that nobody should wait for more."""
        return self.hurried and cost - bound <= NEAR * abs(cost)
