"""Karpenter's metric of what it would pay for each instance type, zone and capacity type."""

import re

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote, number
from tradewind.market.settings import KARPENTER_OFFERINGS as METRIC
from tradewind.market.table import Key, Row, raise_errors

_SERIES = re.compile(METRIC + r"\{(?P<labels>.*)\}\s+(?P<value>\S+)(?:\s+\d+)?\s*")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


def from_exposition(text: str) -> list[Row]:
    """As Karpenter's /metrics has it."""
    found: list[tuple[str, dict[str, str], str]] = []
    for at, line in enumerate(text.splitlines(), 1):
        match = _SERIES.fullmatch(line)
        if match is not None:
            found.append((f"line {at}", dict(_LABEL.findall(match["labels"])), match["value"]))
    return _rows(found)


def from_query(text: str) -> list[Row]:
    """As Prometheus answers an instant query for it."""
    series = decoded(text, _Answer).data.result
    return _rows([(f"data.result[{at}]", each.metric, each.value[1]) for at, each in enumerate(series)])


def _rows(found: list[tuple[str, dict[str, str], str]]) -> list[Row]:
    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for place, labels, text in found:
        missing = [name for name in ("instance_type", "zone", "capacity_type") if not labels.get(name)]
        if missing:
            errors.append(f"{place}: no label {', '.join(missing)}")
            continue
        try:
            price = number(text, MAX_DOLLARS_AN_HOUR)
        except ValueError:
            errors.append(f'{place}: "{text}" is not a number from 0 to {MAX_DOLLARS_AN_HOUR:g}')
            continue
        if price > 0 and labels["capacity_type"] in {SPOT, ON_DEMAND}:  # Karpenter's third is `reserved`
            key = Key(
                instance_type=labels["instance_type"],
                zone=labels["zone"],
                capacity_type=labels["capacity_type"],
            )
            rows[key] = Row(key, Quote(price))
    raise_errors(errors)
    if not rows:
        raise PriceTableError(f"no series of {METRIC} with a price")
    return list(rows.values())
