"""What a node says of itself in its annotations."""

import logging
import math

from cluster.objects import ANNOTATION_PREFIX, Node

PRICE = ANNOTATION_PREFIX + "price"

# Above this it is a typing error or another unit: the dearest instances cost some hundred dollars an hour.
MAX_DOLLARS_AN_HOUR = 100_000.0

_log = logging.getLogger(__name__)


def price_of(node: Node) -> float:
    """Dollars an hour, NaN where the annotation is missing or makes no sense."""
    text = node.annotations.get(PRICE)
    if text is None:
        return math.nan
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if 0 <= price <= MAX_DOLLARS_AN_HOUR:
        return price
    _log.warning(
        'annotation %s: "%s" of node %s is not a price in dollars an hour; taken as unknown',
        PRICE,
        text,
        node.name,
    )
    return math.nan
