"""AWS' Spot Advisor: JSON with savings and buckets of interruption for each region and type."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.imports.systems import described, os_of_system
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import Quote
from tradewind.market.rows import Key, Row, raise_errors

# A bucket's rate is its middle. The last one is open: 25 % for "over 20 %".
_LABEL = re.compile(r"\s*(?:>\s*(?P<above>[\d.]+)|(?:<|(?P<from>[\d.]+)\s*-)\s*(?P<to>[\d.]+))\s*%?\s*")
_BEYOND_OPEN_BUCKET = 0.05
_ALL_PERCENT = 100.0


def from_spot_advisor(
    text: str, system: str | None, on_demand: Sequence[Row] = (), region: str | None = None
) -> list[Row]:
    """Rates of all regions or of one; prices too if the on-demand ones are given: only savings are listed."""
    document = decoded(text, _Advisor)
    advice = [each for each in document.all(system) if region in {None, each.region}]
    if not advice:
        known = ", ".join(sorted(document.spot_advisor))
        where = f" in {region}" if region else ""
        raise PriceTableError(f"spot_advisor lists nothing for {described(system)}{where}; regions: {known}")
    full = _full_prices(on_demand, {each.region for each in advice}, region)
    rates = {bucket.index: bucket.rate for bucket in document.ranges}
    errors: list[str] = []
    rows: list[Row] = []
    for each in advice:
        rate = rates.get(each.advice.r)
        if rate is None:
            errors.append(f"{each.place}.r: {each.advice.r} is no range with a label such as 5-10%")
        elif not 0 <= each.advice.s <= _ALL_PERCENT:
            errors.append(f"{each.place}.s: {each.advice.s} is not a percentage")
        else:
            price = full.get((each.name, each.region, each.os), math.nan) * (1 - each.advice.s / _ALL_PERCENT)
            key = Key(instance_type=each.name, region=each.region, os=each.os, capacity_type=SPOT)
            rows.append(Row(key, Quote(price, price, rate)))
    raise_errors(errors)
    return [*rows, *_kept(full)]


def _full_prices(
    on_demand: Sequence[Row], advised: set[str], region: str | None
) -> Mapping[tuple[str, str, str], float]:
    """By type, region and system; a list without regions is of the one region that is asked for."""
    if not on_demand:
        return {}
    listed = {row.key.region for row in on_demand} - {"*"}
    if listed and not listed & advised:
        raise PriceTableError(
            f"the on-demand prices are of {', '.join(sorted(listed))}, "
            f"the Spot Advisor's list of {', '.join(sorted(advised))}"
        )
    if not listed and len(advised) > 1:
        raise PriceTableError(
            "the on-demand prices have no column region and the Spot Advisor lists "
            f"{len(advised)} regions; say with --region which one the prices are of"
        )
    (only,) = advised if len(advised) == 1 else (region or "*",)
    found = {
        (row.key.instance_type, only if row.key.region == "*" else row.key.region, row.key.os): (
            row.quote.price
        )
        for row in on_demand
    }
    return {key: price for key, price in found.items() if key[1] in advised}


def _kept(full: Mapping[tuple[str, str, str], float]) -> list[Row]:
    return [
        Row(Key(instance_type=name, region=region, os=system, capacity_type=ON_DEMAND), Quote(price, price))
        for (name, region, system), price in full.items()
    ]


class _Bucket(msgspec.Struct):
    index: int
    label: str  # "<5%", "5-10%", ">20%"

    @property
    def rate(self) -> float | None:
        match = _LABEL.fullmatch(self.label)
        if match is None:
            return None
        if match["above"]:
            return float(match["above"]) / 100 + _BEYOND_OPEN_BUCKET
        return (float(match["from"] or 0) + float(match["to"])) / 200


class _Advice(msgspec.Struct):
    s: float  # savings, percent
    r: int  # index of the range of interruptions


class _Advisor(msgspec.Struct):
    ranges: list[_Bucket]
    spot_advisor: dict[str, dict[str, dict[str, _Advice]]]

    def all(self, wanted: str | None) -> Iterator["_Advised"]:
        for region, systems in self.spot_advisor.items():
            for system, types in systems.items():
                name_of_nodes = os_of_system(system, wanted)
                if name_of_nodes is None:
                    continue
                for name, advice in types.items():
                    place = f"spot_advisor.{region}.{system}.{name}"
                    yield _Advised(region, name, advice, name_of_nodes, place)


class _Advised(NamedTuple):
    region: str
    name: str
    advice: _Advice
    os: str
    place: str
