"""Plain CSV of types and prices, under the names that public lists use, and OpenCost's custom pricing."""

import math
from collections.abc import Iterator, Mapping

from tradewind.errors import PriceTableError
from tradewind.market.imports.lines import Line, Lines, collected
from tradewind.market.imports.systems import os_of_system
from tradewind.market.pools import INSTANCE_TYPE_LABELS, ON_DEMAND, SPOT
from tradewind.market.quotes import LARGEST, MAX_DOLLARS_AN_HOUR, Quote
from tradewind.market.rows import UNSAID, Key, Row

# Our column to the names that it has elsewhere, however spelled.
_ALIASES = {
    "instance_type": ("instance_type", "instancetype", "type", "name", "api_name"),
    "zone": ("zone", "availability_zone"),
    "region": ("region",),
    "os": ("os", "operating_system", "platform"),
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

_ALL_PERCENT = 100.0


def is_custom_pricing(lines: Lines) -> bool:
    return all(column in lines.header for column in _CUSTOM_PRICING)


def from_custom_pricing(lines: Lines) -> list[Row]:
    return collected(lines.lines, _custom_pricing)


def from_plain(lines: Lines) -> list[Row]:
    columns = {ours: found for ours, names in _ALIASES.items() if (found := lines.column(*names)) is not None}
    if "instance_type" not in columns or not columns.keys() & {"price", "on_demand", "spot"}:
        raise PriceTableError(
            f"line 1: no column of types and prices among {', '.join(lines.header)}; expected "
            f"{' or '.join(_ALIASES['instance_type'])}, and "
            f"{' or '.join([*_ALIASES['price'], *_ALIASES['on_demand'], *_ALIASES['spot']])}"
        )
    return collected(lines.lines, lambda line: _plain(line, columns))


def _plain(line: Line, columns: Mapping[str, str]) -> Iterator[Row]:
    def cell(ours: str) -> str:
        return line.cells[columns[ours]].strip() if ours in columns else ""

    def value(ours: str, largest: float = MAX_DOLLARS_AN_HOUR) -> float:
        return line.value(columns[ours], largest) if cell(ours) else math.nan

    if not cell("instance_type"):
        raise line.error(columns["instance_type"], "is empty")
    system = os_of_system(cell("os") or "Linux", None)
    if system is None:
        raise line.error(columns["os"], f'"{cell("os")}" is neither Linux nor Windows')
    key = Key(
        instance_type=cell("instance_type"),
        zone=cell("zone") or "*",
        region=cell("region") or "*",
        os=system,
    )
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


def _custom_pricing(line: Line) -> Iterator[Row]:
    # Volumes and GPUs have prices of their own there; OpenCost takes whatever else it reads for a node.
    if line.cells["assetclass"].strip().lower() in {"pv", "gpu"}:
        return
    price = line.value("marketpricehourly", LARGEST.price)
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
    yield Row(Key(region=line.cells.get("region", "").strip() or "*", os="*", **named), Quote(price))
