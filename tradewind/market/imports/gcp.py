"""Google Cloud: the SKUs of Compute Engine in the Cloud Billing Catalog, which prices the parts of machines.

Machine types are put together from cores and memory, with the shapes that their names stand for; on Windows
each core costs a licence more. Accelerators have rows of their own, as they can be attached to a machine.
Shared-core types are left out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.imports.systems import os_of_system
from tradewind.market.pools import LINUX, ON_DEMAND, SPOT, WINDOWS
from tradewind.market.quotes import Quote
from tradewind.market.rows import Key, Row, Size

_DESCRIPTION = re.compile(
    r"(?:Spot Preemptible )?(?P<family>[A-Z]\d[A-Z]?)(?: Predefined| AMD| Arm)*"
    r" Instance (?P<what>Core|Ram) running in .*"
)
# Attached to a machine; the name is that of the label on GKE's nodes, dashes for spaces.
_GPU = re.compile(
    r"(?P<model>Nvidia [\w ]+?) GPU(?: attached to Spot Preemptible VMs)? running in .*", re.IGNORECASE
)
_GPU_LABELS = {"nvidia-tesla-a100-80gb": "nvidia-a100-80gb"}  # where SKU and label differ
_LICENCE = re.compile(r"Licensing Fee for Windows Server \d+ .*\(CPU cost\)")
_ACCELERATED = ("A2", "A3", "G2")  # families whose machines all have accelerators
_TERMS = {"OnDemand": ON_DEMAND, "Preemptible": SPOT}
_UNITS = {"Core": "h", "Ram": "GiBy.h"}
_SYSTEMS = ("Linux", "Windows")
_NANO = 1e-9
_GIB = 2**30

# GiB of memory for each core, and how many cores there may be.
_USUAL = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
_CLASSES = {
    "N1": {"standard": 3.75, "highmem": 6.5, "highcpu": 0.9},
    "T2D": {"standard": 4.0},
    "T2A": {"standard": 4.0},
    "G2": {"standard": 4.0},
    "A2": {},  # of names that say how many accelerators there are
    "A3": {},
    "C3": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
    "C3D": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
    "N4": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
    "C2D": {"standard": 4.0, "highmem": 8.0, "highcpu": 2.0},
}
_SIZES = {
    "N1": (1, 2, 4, 8, 16, 32, 64, 96),
    "E2": (2, 4, 8, 16, 32),
    "G2": (4, 8, 12, 16, 24, 32, 48, 96),
    "T2D": (1, 2, 4, 8, 16, 32, 48, 60),
    "T2A": (1, 2, 4, 8, 16, 32, 48),
    "C3": (4, 8, 22, 44, 88, 176),
    "C3D": (4, 8, 16, 30, 60, 90, 180, 360),
    "C2D": (2, 4, 8, 16, 32, 56, 112),
    "N4": (2, 4, 8, 16, 32, 48, 64, 80),
}
# Cores and GiB of the machines whose names do not tell.
_NAMED: Mapping[str, Mapping[str, tuple[int, float]]] = {
    "A2": {
        "a2-highgpu-1g": (12, 85),
        "a2-highgpu-2g": (24, 170),
        "a2-highgpu-4g": (48, 340),
        "a2-highgpu-8g": (96, 680),
        "a2-megagpu-16g": (96, 1360),
    },
    "A3": {"a3-highgpu-8g": (208, 1872)},
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


class _Part(NamedTuple):
    """What a SKU is the price of."""

    what: str  # Core, Ram, or the model of an accelerator
    family: str  # of machines; empty for an accelerator
    region: str
    terms: str


def from_catalogue(text: str, system: str | None = None) -> list[Row]:
    catalogues = (
        decoded(text, list[_Catalogue]) if text.lstrip().startswith("[") else [decoded(text, _Catalogue)]
    )
    skus = [sku for catalogue in catalogues for sku in catalogue.skus]
    prices = {part: dollars for sku in skus for part, dollars in _priced(sku)}
    gpus = [_gpu(part, dollars) for part, dollars in prices.items() if not part.family]
    fees = [_dollars(sku) for sku in skus if _LICENCE.fullmatch(sku.description)]
    licences = {LINUX: 0.0, WINDOWS: max(fees, default=0.0)}
    systems = [name for word in _SYSTEMS if (name := os_of_system(word, system)) and (name == LINUX or fees)]
    machines = list(_all_machines(prices, with_accelerated=bool(gpus)))
    rows = [_licensed(row, name, licences[name]) for name in systems for row in machines]
    if not rows:
        raise PriceTableError("no family with a price of cores and of memory among the SKUs")
    if catalogues[-1].next_page_token:
        raise PriceTableError(
            "the last page has a nextPageToken: fetch the others too and join all pages in one JSON array"
        )
    return [*rows, *gpus]


def _priced(sku: _Sku) -> Iterator[tuple[_Part, float]]:
    machine, gpu = _DESCRIPTION.fullmatch(sku.description), _GPU.fullmatch(sku.description)
    terms = _TERMS.get(sku.category.usage_type)
    if terms is None or not sku.pricing_info or not (machine or gpu):
        return
    what = machine["what"] if machine else _model(gpu["model"] if gpu else "")
    expression = sku.pricing_info[-1].pricing_expression
    if expression.usage_unit != _UNITS.get(what, "h") or not expression.tiered_rates:
        return
    for region in sku.service_regions:
        yield _Part(what, machine["family"] if machine else "", region, terms), _dollars(sku)


def _dollars(sku: _Sku) -> float:
    rates = sku.pricing_info[-1].pricing_expression.tiered_rates if sku.pricing_info else []
    if not rates:
        return 0.0
    money = rates[-1].unit_price
    if money.currency_code != "USD":
        raise PriceTableError(f"{sku.description}: the price is in {money.currency_code}, not in USD")
    return money.dollars


def _model(name: str) -> str:
    label = name.lower().replace(" ", "-")
    return _GPU_LABELS.get(label, label)


def _gpu(part: _Part, dollars: float) -> Row:
    key = Key(gpu=part.what, region=part.region, os="*", capacity_type=part.terms)
    return Row(key, Quote(dollars, dollars))


def _all_machines(prices: Mapping[_Part, float], *, with_accelerated: bool) -> Iterator[Row]:
    """Without those of which the accelerators, most of the price, are not in the list."""
    for part, core in prices.items():
        gibibyte = prices.get(part._replace(what="Ram"))
        if part.what != "Core" or gibibyte is None:
            continue
        if part.family in _ACCELERATED and not with_accelerated:
            continue
        for name, (cores, memory) in _shapes(part.family):
            price = round(cores * core + memory * gibibyte, 10)
            key = Key(instance_type=name, region=part.region, capacity_type=part.terms)
            yield Row(key, Quote(price, price), Size(cores * 1000, int(memory * _GIB)))


def _shapes(family: str) -> Iterator[tuple[str, tuple[int, float]]]:
    yield from _NAMED.get(family, {}).items()
    for name, gibibytes in _CLASSES.get(family, _USUAL).items():
        for cores in _SIZES.get(family, _USUAL_SIZES):
            yield f"{family.lower()}-{name}-{cores}", (cores, cores * gibibytes)


def _licensed(row: Row, system: str, licence: float) -> Row:
    price = round(row.quote.price + row.size.cpu / 1000 * licence, 10)
    return Row(row.key._replace(os=system), Quote(price, price), row.size)
