"""What is known of a node until the node, the price table or the discounts change."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tradewind.cluster.karpenter import NodeOverlay
from tradewind.cluster.objects import Node
from tradewind.cluster.selectors import Selector, matches, parse_selector
from tradewind.market.kinds import Kind
from tradewind.market.notices import Notice, notice_of
from tradewind.market.offers import own_quote
from tradewind.market.overlays import overlaid, overlay_for
from tradewind.market.pools import Attached, Pool, Shape, attached_to, os_of, pool_of, region_of, shape_of
from tradewind.market.quotes import NOTHING, Quote, Refusals
from tradewind.market.settings import Discount
from tradewind.market.table import PriceTable


@lru_cache(maxsize=4096)
def _kind(
    instance_type: str, capacity_type: str, shape: Shape, system: str, attached: Attached | None
) -> Kind:
    """One object for all nodes of a kind, so that they are found without being compared."""
    return Kind(instance_type, capacity_type, shape, system, attached)


class Listing:
    """The price table, discounts and Karpenter's overlays applied. Never changes: news is a new listing."""

    def __init__(
        self,
        table: PriceTable,
        discounts: Sequence[Discount] = (),
        overlays: Sequence[NodeOverlay] = (),
    ) -> None:
        self.table = table
        self.overlays = overlays
        self._discounts: list[tuple[Selector, float]] = [
            (parse_selector(each.selector), each.factor) for each in discounts
        ]

    def quote(self, node: Node, pool: Pool, region: str) -> Quote:
        of_kind, of_node = self.table.quotes(node, pool, region)
        factor = math.prod(factor for selector, factor in self._discounts if matches(selector, node.labels))
        of_kind = overlaid(of_kind.discounted(factor), overlay_for(self.overlays, node.labels))
        return of_kind.overridden(of_node.discounted(factor))

    def overlaid(self, node: Node, price: float) -> float:
        """A price of the node's type that is not from the table."""
        overlay = overlay_for(self.overlays, node.labels)
        return overlay.adjusted(price) if overlay else price


@dataclass(frozen=True, slots=True)
class Facts:
    node: Node
    own: Quote
    pool: Pool
    kind: Kind
    region: str
    notice: Notice | None
    listing: Listing  # that `listed` is from
    listed: Quote

    @property
    def other_terms(self) -> float:
        """What the table says that the node would cost on the other terms, NaN where it says nothing."""
        kind = self.kind.other_terms
        pool = self.pool._replace(capacity_type=kind.capacity_type)
        return self.listing.quote(self.node, pool, self.region).price


def facts_of(node: Node, listing: Listing, before: Facts | None, refusals: Refusals) -> Facts:
    """`before` itself, where neither the node nor the listing has changed since."""
    if before is not None and before.node is node and before.listing is listing:
        return before
    pool, region = pool_of(node), region_of(node)
    own = before.own if before else NOTHING
    if before is None or before.node is not node:
        own = own_quote(node, own, refusals)
    return Facts(
        node=node,
        own=own,
        pool=pool,
        kind=_kind(pool.instance_type, pool.capacity_type, shape_of(node), os_of(node), attached_to(node)),
        region=region,
        notice=notice_of(node),
        listing=listing,
        listed=listing.quote(node, pool, region),
    )
