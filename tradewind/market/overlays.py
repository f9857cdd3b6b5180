"""What Karpenter's NodeOverlays make of prices of types, so that both count with the same."""

import math
from collections.abc import Mapping, Sequence

from tradewind.cluster.karpenter import NodeOverlay
from tradewind.cluster.selectors import matches
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote


def overlay_for(overlays: Sequence[NodeOverlay], labels: Mapping[str, str]) -> NodeOverlay | None:
    """The one that counts most of those that match a node."""
    return next((each for each in overlays if matches(each.requirements, labels)), None)


def overlaid(quote: Quote, overlay: NodeOverlay | None) -> Quote:
    if overlay is None:
        return quote
    price = min(overlay.adjusted(quote.price), MAX_DOLLARS_AN_HOUR)
    known = overlay.price is None and not math.isnan(quote.median_price)
    median = min(overlay.adjusted(quote.median_price), MAX_DOLLARS_AN_HOUR) if known else price
    return quote._replace(price=price, median_price=median)
