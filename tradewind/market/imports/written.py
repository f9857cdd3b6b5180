"""Rows as the text of a price table."""

import csv
import io
import math
from collections.abc import Sequence

from tradewind.market.table import COLUMNS, Row


def to_csv(rows: Sequence[Row]) -> str:
    """As the table is read; the same whatever the order in which rows were found."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, quote in sorted(rows):
        named = [text if text != "*" else "" for text in key[:-1]]
        writer.writerow([*named, key.capacity_type, *(_written(value) for value in quote)])
    return out.getvalue()


def _written(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"
