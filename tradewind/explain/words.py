"""Amounts and lists as people write them."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime


def counted(count: int, noun: str) -> str:
    """`1 node`, `2,000 nodes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def joined(parts: Sequence[str], word: str = "and") -> str:
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last


def clock(moment: datetime | float) -> str:
    found = moment if isinstance(moment, datetime) else datetime.fromtimestamp(moment, UTC)
    return f"{found.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def dollars(amount: float, digits: int = 3) -> str:
    """An amount an hour, with as many decimals as show so many digits of it."""
    if math.isnan(amount):
        return "at an unknown price"
    return f"${amount:,.{decimals_of(amount, digits)}f}/h"


def decimals_of(amount: float, digits: int = 3) -> int:
    """How many decimals show so many digits; cents at least."""
    return max(2, digits - 1 - math.floor(math.log10(amount))) if amount > 0 else 2
