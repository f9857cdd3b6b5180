"""The price table: a CSV or YAML file that says what nodes of a type cost and how often they are interrupted.

A row names a node, an instance type, a zone, a region, a capacity type, or several of these; what it leaves
out, or gives as `*`, may be anything, and patterns such as `m5.*` are allowed. For each value the most exact
row counts that gives it. A table is taken whole or refused whole.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cluster.errors import PriceTableError
from market.pools import ON_DEMAND, SPOT, Pool
from market.quotes import LARGEST, Quote, number

_MOST_SHOWN = 10  # errors

_CAPACITY_TYPES = {
    "": "*",
    "*": "*",
    "spot": SPOT,
    "preemptible": SPOT,
    "on-demand": ON_DEMAND,
    "on_demand": ON_DEMAND,
    "ondemand": ON_DEMAND,
    "reserved": ON_DEMAND,
}


class Key(NamedTuple):
    """Which nodes a row is about; from the most telling field to the least."""

    node: str = "*"
    instance_type: str = "*"
    zone: str = "*"
    region: str = "*"
    capacity_type: str = "*"


class Row(NamedTuple):
    key: Key
    quote: Quote


COLUMNS = (*Key._fields, *Quote._fields)


class PriceTable:
    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._by_type: dict[str, list[Row]] = {}
        self._others: list[Row] = []  # for a node's name, or for a pattern of types
        for row in sorted(rows, key=lambda row: _exactness(row.key)):
            exact = row.key.node == "*" and not _is_pattern(row.key.instance_type)
            (self._by_type.setdefault(row.key.instance_type, []) if exact else self._others).append(row)
        self._of_nodes = any(row.key.node != "*" for row in self._others)
        self._found: dict[Key, Quote] = {}

    def quote(self, node: str, pool: Pool, region: str) -> Quote:
        """What the table says of such a node."""
        wanted = Key(
            node if self._of_nodes else "", pool.instance_type, pool.zone, region, pool.capacity_type
        )
        found = self._found.get(wanted)
        if found is None:
            found = self._found[wanted] = self._look_up(wanted)
        return found

    def _look_up(self, wanted: Key) -> Quote:
        candidates = [*self._others, *self._by_type.get(wanted.instance_type, ())]
        matching = [row for row in candidates if _matches(row.key, wanted)]
        said: dict[str, float] = {}
        for row in sorted(matching, key=lambda row: _exactness(row.key)):
            said |= {name: value for name, value in row.quote._asdict().items() if value == value}  # noqa: PLR0124  not NaN
        return Quote(**said)


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
    header = [name.strip() for name in cells[0][1]]
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
    """Either way of writing names will do: instanceType, instance_type."""
    snake = {"".join(f"_{c.lower()}" if c.isupper() else c for c in str(key)): key for key in entry}
    return {name: "" if entry[key] is None else str(entry[key]) for name, key in snake.items()}


def _checked(entries: Iterable[tuple[str, Mapping[str, str], int]]) -> list[Row]:
    rows: list[Row] = []
    places: dict[Key, str] = {}
    errors: list[str] = []
    for place, cells, excess in entries:
        if excess > 0:
            errors.append(f"{place}: {excess} cells more than columns")
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
        more = f"; and {len(errors) - _MOST_SHOWN} more" if len(errors) > _MOST_SHOWN else ""
        raise PriceTableError("; ".join(errors[:_MOST_SHOWN]) + more)


def _wrong(cells: Mapping[str, str]) -> Iterator[str]:
    for name, text in cells.items():
        if name not in COLUMNS:
            yield f"{name}: unknown; known are {', '.join(COLUMNS)}"
        elif name in Quote._fields and text.strip():
            try:
                number(text, getattr(LARGEST, name))
            except ValueError:
                yield f'column {name}: "{text}" is not a number from 0 to {getattr(LARGEST, name):g}'
        elif name == "capacity_type" and text.strip().lower() not in _CAPACITY_TYPES:
            yield f'column {name}: "{text}" is neither spot nor on-demand'


def _row(cells: Mapping[str, str]) -> Row:
    key = {name: cells.get(name, "").strip() or "*" for name in Key._fields}
    key["capacity_type"] = _CAPACITY_TYPES[key["capacity_type"].lower()]
    values = {name: float(cells[name]) for name in Quote._fields if cells.get(name, "").strip()}
    return Row(Key(**key), Quote(**values))


def _is_pattern(text: str) -> bool:
    return any(character in text for character in "*?[")


def _matches(key: Key, wanted: Key) -> bool:
    return all(
        pattern == "*" or fnmatchcase(value, pattern) for pattern, value in zip(key, wanted, strict=True)
    )


def _exactness(key: Key) -> tuple[int, ...]:
    """Field by field: named, a pattern (the longer the better), anything."""
    return tuple(0 if text == "*" else len(text) if _is_pattern(text) else 1000 for text in key)
