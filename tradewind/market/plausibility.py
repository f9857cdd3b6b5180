"""Which prices cannot be: a cost model has been seen to report $0.0067 an hour for a machine of 72 cores."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from tradewind.cluster.snapshot import Floats
from tradewind.cluster.table import Mask
from tradewind.market.kinds import Kind, Kinds
from tradewind.market.quotes import Origin

Key = TypeVar("Key")

_LEAST_PEERS = 3  # the node itself among them: of two that differ nobody knows which is wrong

_SOURCES = {
    Origin.NODE: "its annotation says",
    Origin.TABLE: "the price table says",
    Origin.PROMETHEUS: "Prometheus says",
}


class Implausible(NamedTuple):
    source: Origin
    price: float
    reference: float
    reason: str

    def __str__(self) -> str:
        above = self.price > self.reference
        factor = self.price / self.reference if above else self.reference / self.price
        return (
            f"{_SOURCES[self.source]} ${self.price:.4g} an hour, {factor:.3g} times "
            f"{'above' if above else 'below'} ${self.reference:.4g}, {self.reason}; it is not used"
        )


class Norms:
    """What nodes of a kind cost, by the median of what is said of all of them."""

    def __init__(self, known: Iterable[tuple[Kind, Floats]] = ()) -> None:
        """`known` are prices above 0."""
        by_type: defaultdict[Hashable, list[Floats]] = defaultdict(list)
        cores: defaultdict[str, list[Floats]] = defaultdict(list)
        bytes_: defaultdict[str, list[Floats]] = defaultdict(list)
        for kind, prices in known:
            if kind.instance_type:
                by_type[_type(kind)].append(prices)
            if kind.shape.cpu and kind.shape.memory and not kind.accelerated:
                cores[kind.capacity_type].append(prices / kind.shape.cpu)
                bytes_[kind.capacity_type].append(prices / kind.shape.memory)
        self._by_type = _medians(by_type)
        self._by_core, self._by_byte = _medians(cores), _medians(bytes_)

    def peers(self, kind: Kind) -> float:
        """The median of the nodes of its type on its terms; NaN where there are too few."""
        return self._by_type.get(_type(kind), math.nan)

    def least(self, kind: Kind) -> float:
        """What its cores and its memory cost elsewhere, whichever is less; NaN where nobody knows.

        A lower limit only: an accelerator makes a node many times dearer than its cores. And only for nodes
        of a type: others may be machines of one's own, which cost what somebody says.
        """
        if not kind.instance_type:
            return math.nan
        core, byte = (medians.get(kind.capacity_type, math.nan) for medians in (self._by_core, self._by_byte))
        return min(core * kind.shape.cpu, byte * kind.shape.memory)


class Screen:
    """Takes prices out that are more than `factor` away from what they should be near.

    What a node or Prometheus says is held against the price table, else against the nodes of the same type
    and terms. Where there is neither, and for the table itself, a price is too low below 1 / factor squared
    of what the node's cores and memory cost elsewhere.
    """

    def __init__(self, kinds: Kinds, norms: Norms, factor: float) -> None:
        self._factor = factor
        self._peers = kinds.column(norms.peers)
        self._least = kinds.column(norms.least) / factor
        self.found: dict[int, Implausible] = {}  # by row

    def apply(self, own: Floats, listed: Floats, asked: Floats) -> None:
        """Each (3, N), in the order of trust; an implausible price is NaN afterwards, and its median too."""
        self._below(Origin.TABLE, listed)
        for source, said in ((Origin.NODE, own), (Origin.PROMETHEUS, asked)):
            self._compare(source, said, listed[0], "which the price table has for it")
            self._compare(
                source, said, np.where(np.isnan(listed[0]), self._peers, math.nan), "the median of its type"
            )
            alone = np.isnan(listed[0]) & np.isnan(self._peers)
            self._below(source, said, alone)

    def _compare(self, source: Origin, said: Floats, reference: Floats, reason: str) -> None:
        price = said[0]
        far = (price > reference * self._factor) | (price * self._factor < reference)
        self._take_out(source, said, reference, far & (price > 0) & (reference > 0), reason)

    def _below(self, source: Origin, said: Floats, among: Mask | bool = True) -> None:
        price = said[0]
        low = (price > 0) & (price * self._factor < self._least) & among
        self._take_out(
            source, said, self._least * self._factor, low, "what its cores and memory cost elsewhere"
        )

    def _take_out(self, source: Origin, said: Floats, reference: Floats, rows: Mask, reason: str) -> None:
        for row in np.flatnonzero(rows).tolist():
            found = Implausible(source, float(said[0, row]), float(reference[row]), reason)
            self.found.setdefault(row, found)
        said[:2, rows] = math.nan


def _type(kind: Kind) -> Hashable:
    return kind.instance_type, kind.capacity_type, kind.os, kind.attached


def _medians(values: Mapping[Key, list[Floats]]) -> Mapping[Key, float]:
    joined = {key: np.concatenate(found) for key, found in values.items()}
    return {key: float(np.median(found)) for key, found in joined.items() if found.size >= _LEAST_PEERS}
