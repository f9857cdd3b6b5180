"""On what terms a node is had, as its labels and annotations tell."""

import logging
import math

from cluster.objects import ANNOTATION_PREFIX, Node
from cluster.snapshot import Offer

PRICE = ANNOTATION_PREFIX + "price"
MEDIAN_PRICE = ANNOTATION_PREFIX + "median-price"
INTERRUPTION_RATE = ANNOTATION_PREFIX + "interruption-rate"
CAPACITY_TYPE = ANNOTATION_PREFIX + "capacity-type"

# Above this it is a typing error or another unit: the dearest instances cost some hundred dollars an hour.
MAX_DOLLARS_AN_HOUR = 100_000.0

# What a spot node of which nothing is known is taken for: the lowest bucket of AWS's Spot Advisor ends here.
SPOT_INTERRUPTION_RATE = 0.05

# Label, and the value (in lower case) that means a node may be taken away.
_SPOT_LABELS = (
    (CAPACITY_TYPE, "spot"),
    ("karpenter.sh/capacity-type", "spot"),
    ("eks.amazonaws.com/capacitytype", "spot"),
    ("cloud.google.com/gke-spot", "true"),
    ("cloud.google.com/gke-preemptible", "true"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
    ("node.kubernetes.io/lifecycle", "spot"),
    ("node-role.kubernetes.io/spot-worker", "true"),  # kOps
)

_log = logging.getLogger(__name__)


def offer_of(node: Node) -> Offer:
    price = _number(node, PRICE, MAX_DOLLARS_AN_HOUR)
    median_price = _number(node, MEDIAN_PRICE, MAX_DOLLARS_AN_HOUR)
    rate = _number(node, INTERRUPTION_RATE, 1.0)
    durable = is_durable(node)
    if math.isnan(rate):
        rate = 0.0 if durable else SPOT_INTERRUPTION_RATE
    return Offer(price, price if math.isnan(median_price) else median_price, rate, durable)


def is_durable(node: Node) -> bool:
    """Not known as a spot node; our own annotation has the last word."""
    own = node.annotations.get(CAPACITY_TYPE)
    if own is not None:
        return own.lower() != "spot"
    labels = {key.lower(): value.lower() for key, value in node.labels.items()}
    return not any(labels.get(key) == value for key, value in _SPOT_LABELS)


def _number(node: Node, annotation: str, largest: float) -> float:
    """NaN where the annotation is missing or makes no sense."""
    text = node.annotations.get(annotation)
    if text is None:
        return math.nan
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if 0 <= number <= largest:
        return number
    _log.warning(
        'annotation %s: "%s" of node %s is not a number from 0 to %g; taken as unknown',
        annotation,
        text,
        node.name,
        largest,
    )
    return math.nan
