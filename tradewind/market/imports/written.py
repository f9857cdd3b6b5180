"""Rows as the text of a price table."""

import csv
import io
import math
from collections.abc import Sequence

from tradewind.market.pools import LINUX
from tradewind.market.rows import COLUMNS, Row, Size, of_pools

_OPTIONAL = ("gpu", *Size._fields)  # columns that most tables do without
_MILLICORES = 1000


def to_csv(rows: Sequence[Row]) -> str:
    """As the table is read; the same whatever the order in which rows were found."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    cells = [_cells(row) for row in sorted(rows)]
    columns = [name for name in COLUMNS if name not in _OPTIONAL or any(row[name] for row in cells)]
    if all(row.key.os == LINUX or not of_pools(row.key) for row in rows):
        columns.remove("os")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in cells)
    return out.getvalue()


def _cells(row: Row) -> dict[str, str]:
    named = {name: text if text != "*" else "" for name, text in row.key._asdict().items()}
    said = {"os": row.key.os, "capacity_type": row.key.capacity_type}  # left out, they mean something else
    quote = {name: _written(value) for name, value in row.quote._asdict().items()}
    size = {name: str(value) if value else "" for name, value in row.size._asdict().items()}
    if row.size.cpu:
        size["cpu"] = f"{row.size.cpu / _MILLICORES:g}"
    return {**named, **said, **quote, **size}


def _written(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"
