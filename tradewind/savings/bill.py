"""Money is what nodes cost: a sum of prices, with the part that is an estimate, and what is not in it."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tradewind.cluster.snapshot import Snapshot
from tradewind.market.quotes import GUESSED, Origin, Origins

HOURS_A_MONTH = 730


class Money(NamedTuple):
    """Of some nodes."""

    nodes: int
    hourly: float | None  # dollars of those that have a price; None where no node of the cluster has one
    estimated: float = 0.0  # dollars of that
    unpriced: int = 0  # nodes that are not in it

    @property
    def monthly(self) -> float | None:
        return None if self.hourly is None else self.hourly * HOURS_A_MONTH


class NodePrice(NamedTuple):
    price: float  # dollars an hour, NaN where unknown
    origin: Origin
    rate_known: bool = True  # whether it is durable, or a source gives its interruption rate

    @property
    def estimated(self) -> bool:
        return self.origin is Origin.ESTIMATED


class Bill:
    """The prices of all nodes of one moment."""

    def __init__(self, snapshot: Snapshot, origins_of: Callable[[str], Origins]) -> None:
        nodes = snapshot.nodes
        known = zip(nodes.names, nodes.price.tolist(), nodes.durable.tolist(), strict=True)
        self.prices = {
            name: _node_price(price, origins_of(name), durable=durable) for name, price, durable in known
        }
        self.priced = any(not math.isnan(each.price) for each in self.prices.values())
        self.total = self.of(self.prices)

    def of(self, names: Iterable[str]) -> Money:
        found = [self.prices[name] for name in names]
        if not self.priced:
            return Money(len(found), None)
        known = [each for each in found if not math.isnan(each.price)]
        return Money(
            nodes=len(found),
            hourly=math.fsum(each.price for each in known),
            estimated=math.fsum(each.price for each in known if each.estimated),
            unpriced=len(found) - len(known),
        )


def _node_price(price: float, origins: Origins, *, durable: bool) -> NodePrice:
    return NodePrice(price, origins.price, durable or origins.interruption_rate not in GUESSED)
