"""What a node of unknown price is likely to cost: as much as those that are like it."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from statistics import median

from market.pools import Pool, Shape

_MILLICORES = 1000


class Estimates:
    """Medians of the known prices, the closest likeness first.

    Same type and terms; same shape and terms; same type, same shape on other terms; and last the price of a
    core. A spot node that is only known as on-demand counts as dear as that: better than as cheap as a guess.
    """

    def __init__(self, known: Iterable[tuple[Pool, Shape, float]] = ()) -> None:
        prices: defaultdict[Hashable, list[float]] = defaultdict(list)
        for pool, shape, price in known:
            for likeness in _likenesses(pool, shape):
                prices[likeness].append(price)
            if shape.cpu:
                for likeness in _by_the_core(pool):
                    prices[likeness].append(price / shape.cpu)
        self._medians = {likeness: median(found) for likeness, found in prices.items()}

    def price(self, pool: Pool, shape: Shape) -> float:
        """NaN where no price of any node is known."""
        for likeness in _likenesses(pool, shape):
            if likeness in self._medians:
                return self._medians[likeness]
        for likeness in _by_the_core(pool):
            if likeness in self._medians:
                return self._medians[likeness] * (shape.cpu or _MILLICORES)
        return math.nan


def _likenesses(pool: Pool, shape: Shape) -> Iterable[Hashable]:
    if pool.instance_type:
        yield "type", pool.instance_type, pool.capacity_type
    yield "shape", shape, pool.capacity_type
    if pool.instance_type:
        yield "type", pool.instance_type
    yield "shape", shape


def _by_the_core(pool: Pool) -> Iterable[Hashable]:
    yield "core", pool.capacity_type
    yield "core"
