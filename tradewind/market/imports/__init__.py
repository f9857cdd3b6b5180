"""Price lists of others, turned into rows of a price table; errors say where, and what was expected."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports import aws, azure, focus, gcp, offerings, plain
from tradewind.market.imports.advisor import from_spot_advisor
from tradewind.market.imports.documents import decoded
from tradewind.market.imports.lines import read_lines
from tradewind.market.imports.written import to_csv
from tradewind.market.rows import Row
from tradewind.market.settings import KARPENTER_OFFERINGS

__all__ = ["from_csv", "from_spot_advisor", "read", "to_csv"]

_Read = Callable[[str, str | None], list[Row]]

# A key at the top of the document, or of its first page, to what it is and who reads it.
_DOCUMENTS: Mapping[str, tuple[str, _Read]] = {
    "spot_advisor": ("AWS' Spot Advisor", from_spot_advisor),
    "products": ("AWS' Price List", aws.from_price_list),
    "PriceList": ("the answer of aws pricing get-products", aws.from_get_products),
    "SpotPriceHistory": ("the answer of aws ec2 describe-spot-price-history", aws.from_spot_history),
    "Items": ("Azure's Retail Prices", azure.from_retail_prices),
    "skus": ("Google's Cloud Billing Catalog", gcp.from_catalogue),
    "data": (
        f"Prometheus' answer to {KARPENTER_OFFERINGS}",
        lambda text, _system: offerings.from_query(text),
    ),
}


def read(
    text: str, system: str | None = None, on_demand: Sequence[Row] = (), region: str | None = None
) -> list[Row]:
    """Any list that is known, by what is in it; of one system, or of Linux and Windows."""
    if not text.lstrip().startswith(("{", "[")):
        rows = offerings.from_exposition(text) if KARPENTER_OFFERINGS in text else from_csv(text, system)
        return _of_region(rows, region)
    key = _key(text)
    if key == "spot_advisor":
        return from_spot_advisor(text, system, on_demand, region)
    return _of_region(_DOCUMENTS[key][1](text, system), region)


def from_csv(text: str, system: str | None = None) -> list[Row]:
    if "RateCode" in text and "PricePerUnit" in text:
        lines = read_lines(text, "ratecode")  # after lines about the list itself
        if aws.is_price_list(lines):
            return aws.from_price_list_csv(lines, system)
    lines = read_lines(text)
    if plain.is_custom_pricing(lines):
        return plain.from_custom_pricing(lines)
    return focus.from_focus(lines) if focus.is_focus(lines) else plain.from_plain(lines)


def _key(text: str) -> str:
    raw = decoded(
        text, list[dict[str, msgspec.Raw]] if text.lstrip().startswith("[") else dict[str, msgspec.Raw]
    )
    keys = list((raw[0] if raw else {}) if isinstance(raw, list) else raw)
    found = next((key for key in _DOCUMENTS if key in keys), None)
    if found is None:
        known = "; ".join(f"{key} ({name})" for key, (name, _) in _DOCUMENTS.items())
        raise PriceTableError(
            f"JSON with {', '.join(keys[:10]) or 'nothing'} at the top; expected one of {known}"
        )
    return found


def _of_region(rows: list[Row], region: str | None) -> list[Row]:
    """Zones are named after their region."""
    if region is None:
        return rows
    chosen = [
        row for row in rows if row.key.region in {region, "*"} and row.key.zone.startswith((region, "*"))
    ]
    if not chosen:
        known = sorted({row.key.region for row in rows} - {"*"} or {row.key.zone for row in rows} - {"*"})
        raise PriceTableError(f"no price for the region {region}; there are {', '.join(known[:10])}")
    return chosen
