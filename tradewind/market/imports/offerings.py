"""Karpenter's metric of what it would pay for each instance type, zone and capacity type."""

import re
from collections import defaultdict

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote, number
from tradewind.market.rows import Key, Row, Size, raise_errors
from tradewind.market.settings import KARPENTER_OFFERINGS as METRIC

_CORES = "karpenter_cloudprovider_instance_type_cpu_cores"
_BYTES = "karpenter_cloudprovider_instance_type_memory_bytes"
_SERIES = re.compile(
    rf"(?P<name>{METRIC}|{_CORES}|{_BYTES})\{{(?P<labels>.*)\}}\s+(?P<value>\S+)(?:\s+\d+)?\s*"
)
_MILLICORES, _MAX_SIZE = 1000, 2.0**53
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


def from_exposition(text: str) -> list[Row]:
    """As Karpenter's /metrics has it, which has the sizes of the types too."""
    found: list[tuple[str, dict[str, str], str]] = []
    sizes: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for at, line in enumerate(text.splitlines(), 1):
        match = _SERIES.fullmatch(line)
        if match is None:
            continue
        labels = dict(_LABEL.findall(match["labels"]))
        if match["name"] == METRIC:
            found.append((f"line {at}", labels, match["value"]))
        else:
            sizes[labels.get("instance_type", "")][match["name"]] = _size(match["value"])
    return [
        row._replace(
            size=Size(int(size.get(_CORES, 0) * _MILLICORES), int(size.get(_BYTES, 0)))
            if (size := sizes.get(row.key.instance_type))
            else row.size
        )
        for row in _rows(found)
    ]


def _size(text: str) -> float:
    try:
        return number(text, _MAX_SIZE)
    except ValueError:
        return 0.0


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
