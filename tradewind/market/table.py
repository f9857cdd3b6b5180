"""The price table: a CSV or YAML file that says what nodes of a type cost and how often they are interrupted.

A row names a node, its provider ID, a label, an instance type, a zone, a region, a capacity type, or several
of these; what it leaves out, or gives as `*`, may be anything, and patterns such as `m5.*` are allowed. For
each value the most exact row counts that gives it. A price without a capacity type is an on-demand price, as
in any list of two columns; `*` says that it holds for both. A table is taken whole or refused whole.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tradewind.cluster.objects import Node
from tradewind.errors import PriceTableError
from tradewind.market.pools import ON_DEMAND, SPOT, Pool
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


UNSAID = ""


class Key(NamedTuple):
    """Which nodes a row is about; from the most telling field to the least."""

    node: str = "*"
    provider_id: str = "*"  # as in spec.providerID, or what is left of it in the lists of cost models
    label: str = "*"  # key=value
    instance_type: str = "*"
    zone: str = "*"
    region: str = "*"
    capacity_type: str = "*"  # UNSAID: of on-demand nodes


class Row(NamedTuple):
    key: Key
    quote: Quote


COLUMNS = (*Key._fields, *Quote._fields)


def squeezed(name: str) -> str:
    """InstanceType, instance_type and "Instance Type" are one name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


_COLUMN_OF = {squeezed(name): name for name in COLUMNS}
_OF_NODES = ("node", "provider_id", "label")  # what may differ within a pool
_INDEXED = (*_OF_NODES, "instance_type")

# A field and its value to the rows that have it; None for rows that have patterns only.
_Index = dict[tuple[str | None, str], list[Row]]
# A field to what rows may call a node there; none of them where nothing is asked about.
_Names = Mapping[str, Sequence[str]]


class PriceTable:
    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._pool_rows: _Index = {}
        self._node_rows: _Index = {}
        self._found: dict[tuple[Pool, str], Sequence[Row]] = {}  # rows for a pool in a region
        self.regions: set[str] = set()  # that rows name
        for row in rows:
            if not _is_pattern(row.key.region):
                self.regions.add(row.key.region)
            of_pools = all(getattr(row.key, field) == "*" for field in _OF_NODES)
            index = self._pool_rows if of_pools else self._node_rows
            index.setdefault(_place(row.key), []).append(row)

    def __bool__(self) -> bool:
        return bool(self._pool_rows or self._node_rows)

    def quote(self, node: Node, pool: Pool, region: str) -> Quote:
        """What the table says of this node; a row that picks nodes is more exact than any that does not."""
        pool_names = {
            "instance_type": (pool.instance_type,),
            "zone": (pool.zone,),
            "region": (region,),
            "capacity_type": (pool.capacity_type,),
        }
        rows = self._found.get((pool, region))
        if rows is None:
            rows = self._found[pool, region] = _matching(self._pool_rows, pool_names)
        if self._node_rows:
            rows = [*rows, *_matching(self._node_rows, pool_names | _node_names(node))]
        said: dict[str, float] = {}
        for row in rows:
            said |= {name: value for name, value in row.quote._asdict().items() if value == value}  # noqa: PLR0124  not NaN
        return Quote(**said)


def _node_names(node: Node) -> dict[str, Sequence[str]]:
    return {
        "node": (node.name,),
        "provider_id": _provider_ids(node.provider_id),
        "label": [f"{key}={value}" for key, value in node.labels.items()],
    }


def _provider_ids(provider_id: str) -> Sequence[str]:
    """Whole, and as OpenCost's lists have it: on AWS the instance alone, on Azure the path alone."""
    whole = provider_id.lower()
    provider, _, rest = whole.partition("://")
    return whole, rest.rpartition("/")[2] if provider == "aws" else rest


def _place(key: Key) -> tuple[str | None, str]:
    """Under the first field that tells much and is no pattern, so that few rows are looked at for a node."""
    named = ((field, getattr(key, field)) for field in _INDEXED)
    return next(((field, text) for field, text in named if not _is_pattern(text)), (None, ""))


def _matching(index: _Index, names: _Names) -> list[Row]:
    """Least exact first."""
    places = [(None, ""), *((field, name) for field in _INDEXED for name in names.get(field, ()))]
    rows = [row for place in places for row in index.get(place, ()) if _matches(row.key, names)]
    return sorted(rows, key=lambda row: _exactness(row.key))


def read(path: Path) -> PriceTable:
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = _yaml_rows(text) if path.suffix in {".yaml", ".yml"} else csv_rows(text)
    except (OSError, UnicodeDecodeError, PriceTableError) as error:
        raise PriceTableError(f"{path}: {error}") from error
    return PriceTable(rows)


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


def _yaml_rows(text: str) -> list[Row]:
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
        elif name in Quote._fields and text.strip():
            try:
                number(text, getattr(LARGEST, name))
            except ValueError:
                yield f'column {name}: "{text}" is not a number from 0 to {getattr(LARGEST, name):g}'
        elif name == "capacity_type" and text.strip() and text.strip().lower() not in _CAPACITY_TYPES:
            yield f'column {name}: "{text}" is neither spot nor on-demand'
        elif name == "label" and not _LABEL.fullmatch(text.strip()):
            yield f'column {name}: "{text}" is not a label such as team=shop'


def _row(cells: Mapping[str, str]) -> Row:
    key = {name: cells.get(name, "").strip() or "*" for name in Key._fields}
    key["provider_id"] = key["provider_id"].lower()
    quote = Quote(**{name: float(cells[name]) for name in Quote._fields if cells.get(name, "").strip()})
    terms = cells.get("capacity_type", "").strip().lower()
    key["capacity_type"] = _CAPACITY_TYPES[terms] if terms else _unsaid(Key(**key), quote)
    return Row(Key(**key), quote)


def _unsaid(key: Key, quote: Quote) -> str:
    """A row that picks nodes means them on whatever terms, and so does one that has a rate."""
    of_pools = all(getattr(key, field) == "*" for field in _OF_NODES)
    return UNSAID if of_pools and math.isnan(quote.interruption_rate) else "*"


def _is_pattern(text: str) -> bool:
    return any(character in text for character in "*?[")


def _matches(key: Key, names: _Names) -> bool:
    if key.capacity_type == UNSAID:
        key = key._replace(capacity_type=ON_DEMAND)
    return all(
        pattern == "*" or any(fnmatchcase(name, pattern) for name in names[field])
        for field, pattern in zip(Key._fields, key, strict=True)
    )


def _exactness(key: Key) -> tuple[int, ...]:
    """Field by field: named, a pattern (the longer the better), anything."""
    return tuple(0 if text in {"*", UNSAID} else len(text) if _is_pattern(text) else 1000 for text in key)
