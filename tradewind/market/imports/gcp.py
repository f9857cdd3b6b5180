"""Google Cloud: the SKUs of Compute Engine in the Cloud Billing Catalog, which prices cores and memory.

Machine types are put together from both, with the shapes that their names stand for; shared-core types and
accelerators are left out.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import Quote
from tradewind.market.table import Key, Row

_DESCRIPTION = re.compile(
    r"(?:Spot Preemptible )?(?P<family>[A-Z]\d[A-Z]?)(?: Predefined| AMD| Arm)*"
    r" Instance (?P<what>Core|Ram) running in .*"
)
_TERMS = {"OnDemand": ON_DEMAND, "Preemptible": SPOT}
_UNITS = {"Core": "h", "Ram": "GiBy.h"}
_NANO = 1e-9

# GiB of memory for each core, and how many cores there may be.
_USUAL = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
_CLASSES = {
    "N1": {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9},
    "T2D": {"standard": 4.0},
    "T2A": {"standard": 4.0},
    "C3": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
    "C3D": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
    "N4": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
    "C2D": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
}
_SIZES = {
    "N1": (1, 2, 4, 8, 16, 32, 64, 96),
    "E2": (2, 4, 8, 16, 32),
    "T2D": (1, 2, 4, 8, 16, 32, 48, 60),
    "T2A": (1, 2, 4, 8, 16, 32, 48),
    "C3": (4, 8, 22, 44, 88, 176),
    "C3D": (4, 8, 16, 30, 60, 90, 180, 360),
    "C2D": (2, 4, 8, 16, 32, 56, 112),
    "N4": (2, 4, 8, 16, 32, 48, 64, 80),
}
_USUAL_SIZES = (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224)


class _Money(msgspec.Struct, rename="camel"):
    currency_code: str = "USD"
    units: str = "0"
    nanos: int = 0

    @property
    def dollars(self) -> float:
        return int(self.units) + self.nanos * _NANO


class _Rate(msgspec.Struct, rename="camel"):
    unit_price: _Money


class _Expression(msgspec.Struct, rename="camel"):
    usage_unit: str
    tiered_rates: list[_Rate]


class _Pricing(msgspec.Struct, rename="camel"):
    pricing_expression: _Expression


class _Category(msgspec.Struct, rename="camel"):
    resource_family: str = ""
    usage_type: str = ""


class _Sku(msgspec.Struct, rename="camel"):
    description: str
    category: _Category
    service_regions: list[str]
    pricing_info: list[_Pricing]


class _Catalogue(msgspec.Struct, rename="camel"):
    skus: list[_Sku]
    next_page_token: str = ""


def from_catalogue(text: str) -> list[Row]:
    catalogues = (
        decoded(text, list[_Catalogue]) if text.lstrip().startswith("[") else [decoded(text, _Catalogue)]
    )
    prices: defaultdict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for catalogue in catalogues:
        for sku in catalogue.skus:
            for family, region, terms, what, dollars in _priced(sku):
                prices[family, region, terms][what] = dollars
    rows = [
        row
        for (family, region, terms), parts in prices.items()
        if parts.keys() == _UNITS.keys()
        for row in _machines(family, region, terms, parts)
    ]
    if not rows:
        raise PriceTableError("no family with a price of cores and of memory among the SKUs")
    if catalogues[-1].next_page_token:
        raise PriceTableError(
            "the last page has a nextPageToken: fetch the others too and join all pages in one JSON array"
        )
    return rows


def _priced(sku: _Sku) -> Iterator[tuple[str, str, str, str, float]]:
    match = _DESCRIPTION.fullmatch(sku.description)
    terms = _TERMS.get(sku.category.usage_type)
    if match is None or terms is None or not sku.pricing_info:
        return
    expression = sku.pricing_info[-1].pricing_expression
    if expression.usage_unit != _UNITS[match["what"]] or not expression.tiered_rates:
        return
    money = expression.tiered_rates[-1].unit_price
    if money.currency_code != "USD":
        raise PriceTableError(f"{sku.description}: the price is in {money.currency_code}, not in USD")
    for region in sku.service_regions:
        yield match["family"], region, terms, match["what"], money.dollars


def _machines(family: str, region: str, terms: str, parts: dict[str, float]) -> Iterator[Row]:
    for name, gibibytes in _CLASSES.get(family, _USUAL).items():
        for cores in _SIZES.get(family, _USUAL_SIZES):
            price = round(cores * (parts["Core"] + gibibytes * parts["Ram"]), 10)
            instance_type = f"{family.lower()}-{name}-{cores}"
            yield Row(
                Key(instance_type=instance_type, region=region, capacity_type=terms), Quote(price, price)
            )
