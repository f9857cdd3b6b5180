"""On what terms a node is had, as its labels and annotations tell."""

from typing import Final

from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Node
from tradewind.market.quotes import LARGEST, SMALLEST, Origin, Quote, Refusals, number

PRICE = ANNOTATION_PREFIX + "price"
MEDIAN_PRICE = ANNOTATION_PREFIX + "median-price"
INTERRUPTION_RATE = ANNOTATION_PREFIX + "interruption-rate"
_KEYS: Final = Quote._fields, (PRICE, MEDIAN_PRICE, INTERRUPTION_RATE), LARGEST, SMALLEST


def own_quote(node: Node, before: Quote, refusals: Refusals) -> Quote:
    """What the node says of itself; for what makes no sense, what it said before."""
    said = {}
    for field, key, largest, smallest in zip(*_KEYS, strict=True):
        text = node.annotations.get(key, node.labels.get(key))
        if text is None:
            continue
        try:
            said[field] = number(text, largest, smallest)
        except ValueError:
            refusals.refuse(Origin.NODE, node.name, key, text)
            said[field] = getattr(before, field)
    return Quote(**said)
