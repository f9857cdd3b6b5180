"""What a node of unknown price is likely to cost: as much as those that are like it."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from tradewind.market.pools import Shape

_MILLICORES = 1000


class Kind(NamedTuple):
    """What nodes must share to be alike."""

    instance_type: str  # empty where the node does not tell
    capacity_type: str
    shape: Shape


class Estimates:
    """Medians of the known prices, the closest likeness first.

    Same type and terms; same shape and terms; same type, same shape on other terms; and last the price of a
    core. A spot node that is only known as on-demand counts as dear as that: better than as cheap as a guess.
    """

    def __init__(self, known: Iterable[tuple[Kind, float]] = ()) -> None:
        by_kind: defaultdict[Kind, list[float]] = defaultdict(list)
        for kind, price in known:
            by_kind[kind].append(price)
        found: defaultdict[Hashable, list[float]] = defaultdict(list)
        for kind, prices in by_kind.items():
            for likeness in _likenesses(kind):
                found[likeness] += prices
            if kind.shape.cpu:
                for likeness in _by_the_core(kind):
                    found[likeness] += [price / kind.shape.cpu for price in prices]
        self._medians = {likeness: float(np.median(prices)) for likeness, prices in found.items()}

    def price(self, kind: Kind) -> float:
        """NaN where no price of any node is known."""
        for likeness in _likenesses(kind):
            if likeness in self._medians:
                return self._medians[likeness]
        for likeness in _by_the_core(kind):
            if likeness in self._medians:
                return self._medians[likeness] * (kind.shape.cpu or _MILLICORES)
        return math.nan


def _likenesses(kind: Kind) -> Iterable[Hashable]:
    if kind.instance_type:
        yield "type", kind.instance_type, kind.capacity_type
    yield "shape", kind.shape, kind.capacity_type
    if kind.instance_type:
        yield "type", kind.instance_type
    yield "shape", kind.shape


def _by_the_core(kind: Kind) -> Iterable[Hashable]:
    yield "core", kind.capacity_type
    yield "core"
