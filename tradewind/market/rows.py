"""The rows of a price table, from CSV or YAML; errors name the place and what was expected.

A row names a node, its provider ID, a label, an instance type, a zone, a region, an operating system, a
capacity type, or several of these; what it leaves out, or gives as `*`, may be anything, and patterns such as
`m5.*` are allowed. A price without a capacity type is an on-demand price and one without an operating system
is of Linux, as in any list of two columns; `*` says that it holds for all. A row that names a `gpu` is the
price of one such accelerator, beside that of the machine.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from tradewind.cluster.quantity import amount, parse_nanos
from tradewind.errors import PriceTableError, QuantityError
from tradewind.market.pools import LINUX, ON_DEMAND, SPOT, WINDOWS
from tradewind.market.quotes import LARGEST, Quote, number

_MAX_SHOWN = 10  # errors
_LABEL = re.compile(r"|\*|[^*?\[=]+=.*")  # only the value may be a pattern

_CAPACITY_TYPES = {
    "*": "*",
    "spot": SPOT,
    "preemptible": SPOT,
    "on-demand": ON_DEMAND,
    "on_demand": ON_DEMAND,
    "ondemand": ON_DEMAND,
    "reserved": ON_DEMAND,
}
SYSTEMS = {"*": "*", "linux": LINUX, "windows": WINDOWS}
_WORDS = {
    "capacity_type": (_CAPACITY_TYPES, "neither spot nor on-demand"),
    "os": (SYSTEMS, "neither linux nor windows"),
}

UNSAID = ""


class Key(NamedTuple):
    """Which nodes a row is about; from the most telling field to the least."""

    node: str = "*"
    provider_id: str = "*"  # as in spec.providerID, or what is left of it in the lists of cost models
    label: str = "*"  # key=value
    gpu: str = "*"  # the row is about one accelerator of this model, not about the machine
    instance_type: str = "*"
    zone: str = "*"
    region: str = "*"
    os: str = LINUX
    capacity_type: str = "*"  # UNSAID: of on-demand nodes


class Size(NamedTuple):
    """What a machine of the type has, before Kubernetes keeps a part; 0 where nothing is said."""

    cpu: int = 0  # millicores
    memory: int = 0  # bytes
    gpu_count: int = 0


class Row(NamedTuple):
    key: Key
    quote: Quote
    size: Size = Size()


COLUMNS = (*Key._fields, *Quote._fields, *Size._fields)
OF_NODES = ("node", "provider_id", "label")  # what may differ within a pool
_RESOURCES = {"cpu": "cpu", "memory": "memory", "gpu_count": "nvidia.com/gpu"}


def squeezed(name: str) -> str:
    """InstanceType, instance_type and "Instance Type" are one name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_COLUMN_OF = {squeezed(name): name for name in COLUMNS}


def of_pools(key: Key) -> bool:
    """Whether the row is about all nodes of a kind, whichever they are."""
    return all(getattr(key, field) == "*" for field in OF_NODES)


def csv_rows(text: str) -> list[Row]:
    lines = csv.reader(io.StringIO(text), strict=True)
    try:
        cells = [(lines.line_num, line) for line in lines if line and not line[0].lstrip().startswith("#")]
    except csv.Error as error:
        raise PriceTableError(f"line {lines.line_num}: {error}") from error
    if not cells:
        raise PriceTableError("no header line")
    header = [_COLUMN_OF.get(squeezed(name), name.strip()) for name in cells[0][1]]
    unknown = [name for name in header if name not in COLUMNS]
    if unknown or len(set(header)) < len(header):
        raise PriceTableError(
            f"line {cells[0][0]}: the columns are {', '.join(header)}, not some of {', '.join(COLUMNS)}"
        )
    return _checked(
        (f"line {line}", dict(zip(header, row, strict=False)), len(row) - len(header))
        for line, row in cells[1:]
    )


def yaml_rows(text: str) -> list[Row]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PriceTableError(f"not YAML: {error}") from error
    entries = document.get("prices") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PriceTableError("not a mapping with a list of rows under `prices`")
    return _checked((f"prices[{index}]", _in_columns(entry), 0) for index, entry in enumerate(entries))


def _in_columns(entry: Mapping[str, Any]) -> dict[str, str]:
    """Either way of writing names will do: instanceType, instance_type; providerID too."""
    snake = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key)).lower(): key for key in entry}
    return {name: "" if entry[key] is None else str(entry[key]) for name, key in snake.items()}


def _checked(entries: Iterable[tuple[str, Mapping[str, str], int]]) -> list[Row]:
    rows: list[Row] = []
    places: dict[Key, str] = {}
    errors: list[str] = []
    for place, cells, excess in entries:
        if excess > 0:
            errors.append(f"{place}: {excess} cells more than columns")
            continue
        if excess < 0 and len(cells) == 1:
            errors.append(f"{place}: one cell for {1 - excess} columns; is the separator a comma?")
            continue
        wrong = list(_wrong(cells))
        errors += [f"{place}, {reason}" for reason in wrong]
        if wrong:
            continue
        row = _row(cells)
        if row.key in places:
            errors.append(f"{place}: says again what {places[row.key]} is about")
        places[row.key] = place
        rows.append(row)
    raise_errors(errors)
    return rows


def raise_errors(errors: Sequence[str]) -> None:
    if errors:
        more = f"; and {len(errors) - _MAX_SHOWN} more" if len(errors) > _MAX_SHOWN else ""
        raise PriceTableError("; ".join(errors[:_MAX_SHOWN]) + more)


def _wrong(cells: Mapping[str, str]) -> Iterator[str]:
    for name, text in cells.items():
        if name not in COLUMNS:
            yield f"{name}: unknown; known are {', '.join(COLUMNS)}"
        elif text.strip() and (reason := _reason(name, text.strip())):
            yield f'column {name}: "{text}" is {reason}'


def _reason(name: str, text: str) -> str:
    """What is wrong with a cell, empty where nothing is."""
    words, expected = _WORDS.get(name, ({}, ""))
    if name in Quote._fields:
        return _number_reason(text, getattr(LARGEST, name))
    if expected:
        return "" if text.lower() in words else expected
    if name in _RESOURCES:
        return _quantity_reason(name, text)
    if name == "label" and not _LABEL.fullmatch(text):
        return "not a label such as team=shop"
    return ""


def _number_reason(text: str, largest: float) -> str:
    try:
        number(text, largest)
    except ValueError:
        return f"not a number from 0 to {largest:g}"
    return ""


def _quantity_reason(name: str, text: str) -> str:
    try:
        found = _amount(name, text)
    except QuantityError as error:
        return str(error)
    return "" if found >= 0 else "below 0"


def _amount(name: str, text: str) -> int:
    return amount(_RESOURCES[name], parse_nanos(text))


def _row(cells: Mapping[str, str]) -> Row:
    said = {name: text.strip() for name, text in cells.items() if text.strip()}
    key = Key(**{name: said.get(name, "*") for name in Key._fields})
    quote = Quote(**{name: float(said[name]) for name in Quote._fields if name in said})
    size = Size(**{name: _amount(name, said[name]) for name in Size._fields if name in said})
    terms, system = said.get("capacity_type", ""), said.get("os", "")
    key = key._replace(
        provider_id=key.provider_id.lower(),
        gpu=key.gpu.lower(),
        os=SYSTEMS[system.lower()] if system else _unsaid_system(key, quote),
        capacity_type=_CAPACITY_TYPES[terms.lower()] if terms else _unsaid_terms(key, quote),
    )
    return Row(key, quote, size)


def _unsaid_terms(key: Key, quote: Quote) -> str:
    """A row that picks nodes means them on whatever terms, and so does one that has a rate."""
    return UNSAID if of_pools(key) and math.isnan(quote.interruption_rate) else "*"


def _unsaid_system(key: Key, quote: Quote) -> str:
    """A row that picks nodes means them as they are; accelerators and rates do not depend on the system."""
    priced = not (math.isnan(quote.price) and math.isnan(quote.median_price))
    return LINUX if of_pools(key) and key.gpu == "*" and priced else "*"
