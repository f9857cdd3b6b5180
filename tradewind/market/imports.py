"""Price lists of others, turned into rows of a price table; errors name line and column.

Plain CSV          a header that names types and prices, under the names that public lists use
custom pricing     the CSV of OpenCost and Kubecost: InstanceID, InstanceIDField, MarketPriceHourly; nodes by
                   provider ID, name or any label
Spot Advisor       JSON with savings and buckets of interruption for each region and type
"""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.pools import INSTANCE_TYPE_LABELS, ON_DEMAND, SPOT
from tradewind.market.quotes import LARGEST, MAX_DOLLARS_AN_HOUR, Quote, number
from tradewind.market.table import COLUMNS, UNSAID, Key, Row, raise_errors

# Our column to the names that it has elsewhere, in lower case.
_ALIASES = {
    "instance_type": ("instance_type", "instancetype", "type", "name", "api_name"),
    "zone": ("zone", "availability_zone"),
    "region": ("region",),
    "capacity_type": ("capacity_type", "capacitytype", "lifecycle"),
    "price": ("price", "price_usd_h", "hourly_price", "usd_h"),
    "median_price": ("median_price", "median_usd_h"),
    "interruption_rate": ("interruption_rate", "interruption_monthly_mid"),
    "on_demand": ("on_demand_usd_h", "on_demand_price", "on_demand"),
    "spot": ("spot_usd_h", "spot_usd_h_est", "spot_price", "spot"),
    "savings": ("spot_savings_pct",),
}
_CUSTOM_PRICING = ("instanceid", "assetclass", "instanceidfield", "marketpricehourly")
_IDENTITIES = {"metadata.name": "node", "spec.providerID": "provider_id"}

# A bucket's rate is its middle. The last one is open: 25 % for "over 20 %".
_LABEL = re.compile(r"\s*(?:>\s*(?P<above>[\d.]+)|(?:<|(?P<from>[\d.]+)\s*-)\s*(?P<to>[\d.]+))\s*%?\s*")
_BEYOND_OPEN_BUCKET = 0.05
_ALL_PERCENT = 100.0


class _Line(NamedTuple):
    number: int
    cells: Mapping[str, str]  # by the column's name in lower case

    def error(self, column: str, reason: str) -> PriceTableError:
        return PriceTableError(f"line {self.number}, column {column}: {reason}")


def from_csv(text: str) -> list[Row]:
    header, lines = _lines(text)
    if all(column in header for column in _CUSTOM_PRICING):
        return _collected(lines, _custom_pricing)
    columns = {
        ours: found
        for ours, names in _ALIASES.items()
        if (found := next((name for name in names if name in header), None)) is not None
    }
    if "instance_type" not in columns or not columns.keys() & {"price", "on_demand", "spot"}:
        raise PriceTableError(
            f"line 1: no column of types and prices among {', '.join(header)}; "
            f"names that are known: {', '.join(name for names in _ALIASES.values() for name in names)}"
        )
    return _collected(lines, lambda line: _plain(line, columns))


def from_spot_advisor(
    text: str, system: str, on_demand: Sequence[Row] = (), region: str | None = None
) -> list[Row]:
    """Rates of all regions or of one; prices too if the on-demand ones are given: only savings are listed."""
    try:
        document = msgspec.json.decode(text, type=_Advisor)
    except msgspec.DecodeError as error:
        raise PriceTableError(f"{_place(text, error)}{error}") from error
    advice = [each for each in document.all(system) if region in {None, each.region}]
    if not advice:
        known = ", ".join(sorted(document.spot_advisor))
        where = f" in {region}" if region else ""
        raise PriceTableError(f"spot_advisor lists nothing for the system {system}{where}; regions: {known}")
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
            price = full.get((each.name, each.region), math.nan) * (1 - each.advice.s / _ALL_PERCENT)
            key = Key(instance_type=each.name, region=each.region, capacity_type=SPOT)
            rows.append(Row(key, Quote(price, price, rate)))
    raise_errors(errors)
    return [*rows, *_kept(full)]


def _full_prices(
    on_demand: Sequence[Row], advised: set[str], region: str | None
) -> Mapping[tuple[str, str], float]:
    """By type and region; a list without regions is of the one region that is asked for."""
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
        (row.key.instance_type, only if row.key.region == "*" else row.key.region): row.quote.price
        for row in on_demand
    }
    return {key: price for key, price in found.items() if key[1] in advised}


def _kept(full: Mapping[tuple[str, str], float]) -> list[Row]:
    return [
        Row(Key(instance_type=name, region=region, capacity_type=ON_DEMAND), Quote(price, price))
        for (name, region), price in full.items()
    ]


def to_csv(rows: Sequence[Row]) -> str:
    """As the table is read; the same whatever the order in which rows were found."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, quote in sorted(rows):
        named = [text if text != "*" else "" for text in key[:-1]]
        writer.writerow([*named, key.capacity_type, *(_written(value) for value in quote)])
    return out.getvalue()


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

    def all(self, system: str) -> Iterator["_Advised"]:
        for region, systems in self.spot_advisor.items():
            for name, advice in systems.get(system, {}).items():
                yield _Advised(region, name, advice, f"spot_advisor.{region}.{system}.{name}")


class _Advised(NamedTuple):
    region: str
    name: str
    advice: _Advice
    place: str


def _place(text: str, error: Exception) -> str:
    """Line and column of broken JSON; the path of a wrong value is in the message already."""
    _, found, position = str(error).rpartition("(byte ")
    if not found:
        return ""
    before = text.encode()[: int(position.rstrip(")"))].decode(errors="replace")
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}: "


def _lines(text: str) -> tuple[list[str], list[_Line]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise PriceTableError(f"line {reader.line_num}: {error}") from error
    if not rows:
        raise PriceTableError("line 1: no header")
    header = [name.strip().lower() for name in rows[0][1]]
    wide = len(header)
    ragged = [f"line {at}: {len(row)} cells under {wide} columns" for at, row in rows[1:] if len(row) != wide]
    raise_errors(ragged)
    return header, [_Line(line, dict(zip(header, row, strict=True))) for line, row in rows[1:]]


def _collected(lines: Sequence[_Line], rows_of: Any) -> list[Row]:
    """Every error there is, so that a file needs mending once."""
    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for line in lines:
        try:
            found = list(rows_of(line))
        except PriceTableError as error:
            errors.append(str(error))
            continue
        again = [_named(row.key) for row in found if row.key in rows]
        errors += [f"line {line.number}: {name} has a price already" for name in again]
        rows |= {row.key: row for row in found}
    raise_errors(errors)
    if not rows:
        raise PriceTableError("no line with a price")
    return list(rows.values())


def _plain(line: _Line, columns: Mapping[str, str]) -> Iterator[Row]:
    def cell(ours: str) -> str:
        return line.cells[columns[ours]].strip() if ours in columns else ""

    def value(ours: str, largest: float = MAX_DOLLARS_AN_HOUR) -> float:
        return _value(line, columns[ours], largest) if cell(ours) else math.nan

    if not cell("instance_type"):
        raise line.error(columns["instance_type"], "is empty")
    key = Key(instance_type=cell("instance_type"), zone=cell("zone") or "*", region=cell("region") or "*")
    rate = value("interruption_rate", 1.0)
    if cell("on_demand"):
        price = value("on_demand")
        yield Row(key._replace(capacity_type=ON_DEMAND), Quote(price, price))
    saved = value("savings", _ALL_PERCENT)
    price = value("spot") if cell("spot") else value("on_demand") * (1 - saved / _ALL_PERCENT)
    if price == price and saved != 0:  # noqa: PLR0124  not NaN; and nothing is saved where nothing is offered
        yield Row(key._replace(capacity_type=SPOT), Quote(price, price, rate))
    if cell("price"):
        terms = cell("capacity_type").lower().replace("_", "-")
        if terms not in {"", SPOT, ON_DEMAND}:
            raise line.error(columns["capacity_type"], f'"{terms}" is neither spot nor on-demand')
        if not terms:
            terms = UNSAID if math.isnan(rate) else "*"
        yield Row(key._replace(capacity_type=terms), Quote(value("price"), value("median_price"), rate))


def _custom_pricing(line: _Line) -> Iterator[Row]:
    # Volumes and GPUs have prices of their own there; OpenCost takes whatever else it reads for a node.
    if line.cells["assetclass"].strip().lower() in {"pv", "gpu"}:
        return
    price = _value(line, "marketpricehourly", LARGEST.price)
    identity = line.cells["instanceid"].strip()
    if not identity:
        raise line.error("instanceid", "is empty")
    field = line.cells["instanceidfield"].strip()
    kind, _, label = field.partition("metadata.labels.")
    if field in _IDENTITIES:
        named = {_IDENTITIES[field]: identity}
    elif label in INSTANCE_TYPE_LABELS and not kind:
        named = {"instance_type": identity}
    elif label and not kind:
        named = {"label": f"{label}={identity}"}
    else:
        known = ", ".join([*_IDENTITIES, "metadata.labels.<label>"])
        raise line.error("instanceidfield", f'"{field}": nodes are known by {known}')
    yield Row(Key(region=line.cells.get("region", "").strip() or "*", **named), Quote(price))


def _value(line: _Line, column: str, largest: float) -> float:
    text = line.cells[column].strip()
    try:
        return number(text, largest)
    except ValueError:
        raise line.error(column, f'"{text}" is not a number from 0 to {largest:g}') from None


def _named(key: Key) -> str:
    return " ".join(text for text in key if text not in {"*", UNSAID})


def _written(value: float) -> str:
    return "" if value != value else f"{value:.10g}"  # noqa: PLR0124  NaN
