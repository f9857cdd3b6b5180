"""When a search has come to its end although there is time left: pods wait for what it still finds."""

import math
import time
from collections.abc import Callable

# Of what a plan costs: less is no gain, and that near to the bound nothing is left to gain.
GAIN = 1e-3
NEAR = 5e-3


class Progress:
    """A search goes on for half as long again as it took to its last gain, and for at least `idle` seconds.

    So a plan that was found at once is not waited for, and one that keeps getting better has its time; but
    it ends as soon as it is `told` that other pods wait for that.
    """

    def __init__(self, idle: float = math.inf, told: Callable[[], bool] = lambda: False) -> None:
        self._idle = idle
        self._told = told
        self._started = self._last = time.monotonic()

    def gained(self) -> None:
        self._last = time.monotonic()

    @property
    def hurried(self) -> bool:
        return self._idle < math.inf

    def stalled(self) -> bool:
        patience = max(self._idle, (self._last - self._started) / 2)
        return self._told() or time.monotonic() - self._last > patience

    def near(self, cost: float, bound: float) -> bool:
        """Whether that is so close to the bound that nobody should wait for more."""
        return self.hurried and cost - bound <= NEAR * abs(cost)
