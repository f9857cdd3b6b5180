"""When a search has come to its end although there is time left: pods wait for what it still finds."""

import math
import time

# Of what a plan costs: less is no gain, and that near to the bound nothing is left to gain.
GAIN = 1e-3
NEAR = 5e-3


class Progress:
    """A search goes on for half as long again as it took to its last gain, and for at least `idle` seconds.

    So a plan that was found at once is not waited for, and one that keeps getting better has its time.
    """

    def __init__(self, idle: float = math.inf) -> None:
        self._idle = idle
        self._started = self._last = time.monotonic()

    def gained(self) -> None:
        self._last = time.monotonic()

    @property
    def hurried(self) -> bool:
        return self._idle < math.inf

    def stalled(self) -> bool:
        return time.monotonic() - self._last > max(self._idle, (self._last - self._started) / 2)

    def near(self, cost: float, bound: float) -> bool:
        """Whether that is so close to the bound that nobody should wait for more."""
        return self.hurried and cost - bound <= NEAR * abs(cost)
