"""What a source says of a node, where a value comes from, and which values make no sense."""

import logging
import math
from collections import Counter
from enum import StrEnum
from typing import NamedTuple

# Above this it is a typing error or another unit: the dearest instances cost some hundred dollars an hour.
MAX_DOLLARS_AN_HOUR = 100_000.0
# Nothing costs less, unless it is free. The quotient of two prices within these limits is finite.
MIN_DOLLARS_AN_HOUR = 1e-6

_MAX_REMEMBERED = 10_000  # complaints; one more than that starts anew

_log = logging.getLogger(__name__)


class Quote(NamedTuple):
    """NaN where the source says nothing."""

    price: float = math.nan  # dollars an hour
    median_price: float = math.nan  # the same over a longer time
    interruption_rate: float = math.nan  # how likely the node is to be interrupted within a month, 0..1

    def discounted(self, factor: float) -> "Quote":
        return (
            self
            if factor == 1
            else self._replace(price=self.price * factor, median_price=self.median_price * factor)
        )

    def overridden(self, other: "Quote") -> "Quote":
        """With what the other says, where it says something."""
        return Quote(
            *[mine if math.isnan(theirs) else theirs for mine, theirs in zip(self, other, strict=True)]
        )


NOTHING = Quote()
LARGEST = Quote(MAX_DOLLARS_AN_HOUR, MAX_DOLLARS_AN_HOUR, 1.0)
SMALLEST = Quote(MIN_DOLLARS_AN_HOUR, MIN_DOLLARS_AN_HOUR, 0.0)  # above 0


class Origin(StrEnum):
    NODE = "node"  # its annotations and labels
    TABLE = "table"
    PROMETHEUS = "prometheus"
    LEARNED = "learned"
    NOTICE = "notice"  # of its termination
    ESTIMATED = "estimated"  # from similar nodes, or from what is usual
    UNKNOWN = "unknown"  # nothing to estimate it from


GUESSED = frozenset({Origin.ESTIMATED, Origin.UNKNOWN})


class Origins(NamedTuple):
    """Of the values of one node."""

    price: Origin = Origin.UNKNOWN
    median_price: Origin = Origin.UNKNOWN
    interruption_rate: Origin = Origin.UNKNOWN
    implausible: str = ""  # what was said of its price, and why it is not used


def number(text: str, largest: float, smallest: float = 0.0) -> float:
    """Raise ValueError unless the text is 0 or a number from `smallest` to `largest`."""
    value = float(text)
    if value != 0 and not smallest <= value <= largest:  # NaN is neither
        raise ValueError(f"{text} is not from 0 to {largest:g}")
    return value


class Refusals:
    """Values that make no sense: counted each time, told once as long as they stay the same."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # by source
        self._told: dict[tuple[str, str, str], str] = {}

    def refuse(self, source: str, node: str, what: str, value: str) -> None:
        self.counts[source] += 1
        if self._told.get((source, node, what)) == value:
            return
        if len(self._told) >= _MAX_REMEMBERED:
            self._told.clear()
        self._told[source, node, what] = value
        _log.warning(
            '%s: %s "%s" of node %s is not 0 or a number from %g to %g; refused, the previous value stays',
            source,
            what,
            value,
            node,
            0 if "rate" in what else MIN_DOLLARS_AN_HOUR,
            1 if "rate" in what else MAX_DOLLARS_AN_HOUR,
        )
