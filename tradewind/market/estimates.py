"""What a node of unknown price is likely to cost: as much as those that are like it."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from tradewind.cluster.snapshot import Floats
from tradewind.market.kinds import Kind, other_terms
from tradewind.market.pools import SPOT, Attached
from tradewind.market.settings import SPOT_PRICE_RATIO

_LEAST_RATIO = 0.05  # clouds speak of 90 % saved at most
_MILLICORES = 1000


class _OfType(NamedTuple):
    instance_type: str
    capacity_type: str
    os: str
    attached: Attached | None

    @property
    def other_terms(self) -> "_OfType":
        return self._replace(capacity_type=other_terms(self.capacity_type))


class Estimates:
    """Medians of known prices, the closest likeness first.

    Same type and terms; same shape and terms; same type, then same shape, on other terms; the price of a
    core on the same terms, then on the other ones. A price of other terms is never taken as it is: it goes
    through the ratio of spot to on-demand, the median of the types that are known on both, else the usual
    one. And no estimate makes a type cheaper on demand than on spot terms.

    Nothing is estimated across operating systems, whose licences no ratio knows, nor from a machine without
    accelerators for one with them.
    """

    def __init__(
        self, known: Iterable[tuple[Kind, Floats]] = (), usual_ratio: float = SPOT_PRICE_RATIO
    ) -> None:
        """`known` are prices above 0: a free node says nothing about its peers."""
        found: defaultdict[Hashable, list[Floats]] = defaultdict(list)
        for kind, prices in known:
            for likeness in _likenesses(kind):
                found[likeness].append(prices)
            if kind.shape.cpu and not kind.accelerated:
                found[_core(kind)].append(prices / kind.shape.cpu)
        joined = {likeness: np.concatenate(prices) for likeness, prices in found.items()}
        self._medians = {
            likeness: float(np.median(prices)) for likeness, prices in joined.items() if prices.size
        }
        self.ratio = _ratio(self._medians, usual_ratio)

    def price(self, kind: Kind) -> float:
        """NaN where no price of any node is known."""
        estimate = self._likely(kind)
        limit = self._medians.get(_type(kind.other_terms), math.nan) if kind.instance_type else math.nan
        if math.isnan(limit):
            return estimate
        return min(estimate, limit) if kind.capacity_type == SPOT else max(estimate, limit)

    def _likely(self, kind: Kind) -> float:
        other = kind.other_terms
        factor = self.ratio if kind.capacity_type == SPOT else 1 / self.ratio
        for likeness in _likenesses(kind):
            if likeness in self._medians:
                return self._medians[likeness]
        for likeness in _likenesses(other):
            if likeness in self._medians:
                return self._medians[likeness] * factor
        if kind.accelerated:
            return math.nan  # cores say nothing about what accelerators cost
        cores = kind.shape.cpu or _MILLICORES
        if _core(kind) in self._medians:
            return self._medians[_core(kind)] * cores
        return self._medians.get(_core(other), math.nan) * cores * factor


def _ratio(medians: Mapping[Hashable, float], usual: float) -> float:
    """Of spot to on-demand prices, within what can be, whatever the table says."""
    ratios = [
        price / medians[likeness.other_terms]
        for likeness, price in medians.items()
        if isinstance(likeness, _OfType)
        and likeness.capacity_type == SPOT
        and likeness.other_terms in medians
    ]
    return min(1.0, max(_LEAST_RATIO, float(np.median(ratios)))) if ratios else usual


def _likenesses(kind: Kind) -> Iterable[Hashable]:
    if kind.instance_type:
        yield _type(kind)
    yield "shape", kind.shape, kind.capacity_type, kind.os, kind.attached


def _type(kind: Kind) -> "_OfType":
    return _OfType(kind.instance_type, kind.capacity_type, kind.os, kind.attached)


def _core(kind: Kind) -> Hashable:
    return "core", kind.capacity_type, kind.os
