"""AWS: the Price List as JSON, as CSV and as `aws pricing get-products` answers, and spot price history."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import median

import msgspec

from tradewind.errors import PriceTableError
from tradewind.market.imports.documents import decoded
from tradewind.market.imports.lines import Line, Lines
from tradewind.market.imports.systems import described, os_of_system
from tradewind.market.pools import ON_DEMAND, SPOT
from tradewind.market.quotes import MAX_DOLLARS_AN_HOUR, Quote, number
from tradewind.market.rows import Key, Row, Size, raise_errors

# The machine itself: shared hardware, no other software, not the empty shell of a reservation.
_ATTRIBUTES = {
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "licenseModel": "No License required",  # else the licence is one's own, and Windows costs as Linux does
}
_CSV_COLUMNS = {
    "tenancy": "Shared",
    "preinstalledsw": "NA",
    "capacitystatus": "Used",
    "licensemodel": "No License required",
    "termtype": "OnDemand",
    "unit": "Hrs",
}
_SIZE = {"cpu": "vCPU", "memory": "Memory", "gpu_count": "GPU"}  # our name to that of the column
_GIB = 2**30
_FAMILIES = ("Compute Instance", "Compute Instance (bare metal)")


class _Dimension(msgspec.Struct, rename="camel"):
    unit: str
    price_per_unit: dict[str, str]


class _Term(msgspec.Struct, rename="camel"):
    price_dimensions: dict[str, _Dimension]


class _Product(msgspec.Struct, rename="camel"):
    attributes: dict[str, str]
    sku: str = ""
    product_family: str = ""


class _Terms(msgspec.Struct):
    on_demand: dict[str, dict[str, _Term]] = msgspec.field(name="OnDemand", default_factory=dict)


class _PriceList(msgspec.Struct):
    products: dict[str, _Product]
    terms: _Terms


class _OneTerms(msgspec.Struct):
    on_demand: dict[str, _Term] = msgspec.field(name="OnDemand", default_factory=dict)


class _OneProduct(msgspec.Struct):
    product: _Product
    terms: _OneTerms


class _Answer(msgspec.Struct, rename="pascal"):
    price_list: list[str]


class _Spot(msgspec.Struct, rename="pascal"):
    availability_zone: str
    instance_type: str
    product_description: str
    spot_price: str
    timestamp: str


class _History(msgspec.Struct, rename="pascal"):
    spot_price_history: list[_Spot]


def from_price_list(text: str, system: str | None) -> list[Row]:
    document = decoded(text, _PriceList)
    found = (
        (f"products.{sku}", product, document.terms.on_demand.get(sku, {}).values())
        for sku, product in document.products.items()
    )
    return _rows(found, system)


def from_get_products(text: str, system: str | None) -> list[Row]:
    """Each product is a text of JSON in the answer."""
    products = [decoded(each, _OneProduct) for each in decoded(text, _Answer).price_list]
    found = (
        (f"PriceList[{at}]", each.product, each.terms.on_demand.values()) for at, each in enumerate(products)
    )
    return _rows(found, system)


def _rows(found: Iterable[tuple[str, _Product, Iterable[_Term]]], system: str | None) -> list[Row]:
    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for place, product, terms in found:
        attributes = product.attributes
        name = os_of_system(attributes.get("operatingSystem", ""), system)
        if name is None or not _is_machine(product):
            continue
        key = _key(attributes["instanceType"], attributes.get("regionCode", ""), name)
        size = _size({ours: attributes.get(theirs.lower(), "") for ours, theirs in _SIZE.items()})
        for text in _hourly(terms):
            price = _price(text, f"{place}.pricePerUnit.USD", errors)
            if price > 0:
                rows[key] = Row(key, Quote(price, price), size)
    raise_errors(errors)
    if not rows:
        raise PriceTableError(f"no machine for {described(system)} with an hourly price in USD")
    return list(rows.values())


def _is_machine(product: _Product) -> bool:
    attributes = product.attributes
    return (
        product.product_family in _FAMILIES
        and "instanceType" in attributes
        and all(attributes.get(name, wanted) == wanted for name, wanted in _ATTRIBUTES.items())
    )


def _hourly(terms: Iterable[_Term]) -> Iterator[str]:
    for term in terms:
        for dimension in term.price_dimensions.values():
            if dimension.unit == "Hrs" and "USD" in dimension.price_per_unit:
                yield dimension.price_per_unit["USD"]


def _key(instance_type: str, region: str, system: str) -> Key:
    return Key(instance_type=instance_type, region=region or "*", os=system, capacity_type=ON_DEMAND)


def _size(said: Mapping[str, str]) -> Size:
    """Of texts such as 2, 8 GiB and 1; nothing where they are others: it is only wanted for new nodes."""
    found = {}
    for name, text in said.items():
        digits, _, unit = text.replace(",", "").partition(" ")
        try:
            found[name] = float(digits) * {"cpu": 1000, "memory": _GIB if unit == "GiB" else 0}.get(name, 1)
        except ValueError:
            found[name] = 0
    return Size(*[int(found[name]) for name in Size._fields])


def _price(text: str, place: str, errors: list[str]) -> float:
    try:
        return number(text, MAX_DOLLARS_AN_HOUR)
    except ValueError:
        errors.append(f'{place}: "{text}" is not a number from 0 to {MAX_DOLLARS_AN_HOUR:g}')
        return 0.0


def is_price_list(lines: Lines) -> bool:
    return lines.column("RateCode") is not None and lines.column("PricePerUnit") is not None


def from_price_list_csv(lines: Lines, system: str | None) -> list[Row]:
    names = [
        "Instance Type",
        "Operating System",
        "PricePerUnit",
        "Region Code",
        *_SIZE.values(),
        *_CSV_COLUMNS,
    ]
    columns = {name: lines.column(name) for name in names}
    missing = [name for name in ("Instance Type", "Operating System") if columns[name] is None]
    if missing:
        raise PriceTableError(f"no column {' and none '.join(missing)}: is it the list of AmazonEC2?")

    def cell(line: Line, name: str, default: str = "") -> str:
        column = columns[name]
        return line.cells[column].strip() if column else default

    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for line in lines.lines:
        name = os_of_system(cell(line, "Operating System"), system)
        if name is None or not cell(line, "Instance Type"):
            continue
        if any(cell(line, name, wanted) != wanted for name, wanted in _CSV_COLUMNS.items()):
            continue
        key = _key(cell(line, "Instance Type"), cell(line, "Region Code"), name)
        size = _size({ours: cell(line, theirs) for ours, theirs in _SIZE.items()})
        price = _price(cell(line, "PricePerUnit"), f"line {line.number}, column PricePerUnit", errors)
        if price > 0:
            rows[key] = Row(key, Quote(price, price), size)
    raise_errors(errors)
    if not rows:
        raise PriceTableError(f"no line with an on-demand price for {described(system)}")
    return list(rows.values())


def from_spot_history(text: str, system: str | None) -> list[Row]:
    """The latest price of each type and zone, and the median of those listed."""
    listed: defaultdict[Key, list[tuple[str, float]]] = defaultdict(list)
    errors: list[str] = []
    for at, spot in enumerate(decoded(text, _History).spot_price_history):
        name = os_of_system(spot.product_description.partition(" (")[0], system)
        if name is None:
            continue
        price = _price(spot.spot_price, f"SpotPriceHistory[{at}].SpotPrice", errors)
        key = Key(instance_type=spot.instance_type, zone=spot.availability_zone, os=name, capacity_type=SPOT)
        listed[key].append((spot.timestamp, price))
    raise_errors(errors)
    if not listed:
        raise PriceTableError(f"SpotPriceHistory has no price for {described(system)}")
    return [
        Row(key, Quote(max(prices)[1], median(price for _, price in prices)))
        for key, prices in listed.items()
    ]
