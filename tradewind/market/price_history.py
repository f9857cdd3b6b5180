"""What the nodes of a pool cost over time, as seen: the median where no source gives one.

Kept as the hours at each price, forgotten by half in each half-life, as the evidence of interruptions is.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from tradewind.market.pools import Pool

# A day, so that a price that moves with the hours has been seen at all of them.
_LEAST_HOURS = 24.0
# Spot prices move a few times a day; beyond so many the rarest are forgotten.
_MAX_PRICES = 32
_FORGOTTEN_HOURS = 0.01

Hours = dict[float, float]
"""Price to the hours that it was seen for."""


class PriceHistory:
    def __init__(self) -> None:
        self.hours: dict[Pool, Hours] = {}
        self._now: dict[Pool, float] = {}  # the price since the last look

    def pass_time(self, factor: float, hours: float) -> None:
        """What was seen before counts by `factor`; the prices of the last look held for these hours."""
        for pool in self.hours.keys() | self._now.keys():
            seen = {price: before * factor for price, before in self.hours.get(pool, {}).items()}
            if pool in self._now:
                seen[self._now[pool]] = seen.get(self._now[pool], 0.0) + hours
            self.hours[pool] = _largest(seen)
        for pool in [pool for pool, seen in self.hours.items() if not seen]:
            del self.hours[pool]

    def look(self, prices: Iterable[tuple[Pool, float]]) -> None:
        """The prices of nodes from now on; nodes of one pool may differ by their system or discount."""
        of_pool: dict[Pool, list[float]] = {}
        for pool, price in prices:
            of_pool.setdefault(pool, []).append(price)
        self._now = {pool: round(float(np.median(found)), 6) for pool, found in of_pool.items()}

    def medians(self) -> Mapping[Pool, float]:
        """Of the pools that were seen for long enough."""
        return {
            pool: _median(seen) for pool, seen in self.hours.items() if sum(seen.values()) >= _LEAST_HOURS
        }


def _largest(seen: Hours) -> Hours:
    kept = sorted(seen.items(), key=lambda item: -item[1])[:_MAX_PRICES]
    return {price: hours for price, hours in kept if hours >= _FORGOTTEN_HOURS}


def _median(seen: Hours) -> float:
    """The price that was not exceeded for half of the time."""
    half, passed = sum(seen.values()) / 2, 0.0
    for price in sorted(seen):
        passed += seen[price]
        if passed >= half:
            return price
    raise ValueError("no hours at all")
