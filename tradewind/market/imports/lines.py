"""CSV line by line: columns by name however it is spelled, and errors with line and column."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tradewind.errors import PriceTableError
from tradewind.market.pools import LINUX
from tradewind.market.quotes import number
from tradewind.market.rows import UNSAID, Key, Row, raise_errors, squeezed


class Line(NamedTuple):
    number: int
    cells: Mapping[str, str]  # by the column's name in lower case

    def error(self, column: str, reason: str) -> PriceTableError:
        return PriceTableError(f"line {self.number}, column {column}: {reason}")

    def value(self, column: str, largest: float) -> float:
        text = self.cells[column].strip()
        try:
            return number(text, largest)
        except ValueError:
            raise self.error(column, f'"{text}" is not a number from 0 to {largest:g}') from None


class Lines(NamedTuple):
    header: Sequence[str]  # in lower case
    lines: Sequence[Line]

    def column(self, *names: str) -> str | None:
        """The column with the first of these names, whatever is between their words."""
        known = {squeezed(name): name for name in self.header}
        return next((known[squeezed(name)] for name in names if squeezed(name) in known), None)


def read_lines(text: str, header_has: str = "") -> Lines:
    """The header is the first line, or the first that has this column."""
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise PriceTableError(f"line {reader.line_num}: {error}") from error
    if header_has:
        wanted = (at for at, (_, row) in enumerate(rows) if header_has in map(squeezed, row))
        rows = rows[next(wanted, 0) :]
    if not rows:
        raise PriceTableError("line 1: no header")
    header = [name.strip().lower() for name in rows[0][1]]
    wide = len(header)
    ragged = [f"line {at}: {len(row)} cells under {wide} columns" for at, row in rows[1:] if len(row) != wide]
    raise_errors(ragged)
    return Lines(header, [Line(line, dict(zip(header, row, strict=True))) for line, row in rows[1:]])


def collected(lines: Iterable[Line], rows_of: Callable[[Line], Iterator[Row]]) -> list[Row]:
    """Every error there is, so that a file needs mending once."""
    rows: dict[Key, Row] = {}
    errors: list[str] = []
    for line in lines:
        try:
            found = list(rows_of(line))
        except PriceTableError as error:
            errors.append(str(error))
            continue
        again = [_named(row.key) for row in found if row.key in rows]
        errors += [f"line {line.number}: {name} has a price already" for name in again]
        rows |= {row.key: row for row in found}
    raise_errors(errors)
    if not rows:
        raise PriceTableError("no line with a price")
    return list(rows.values())


def _named(key: Key) -> str:
    return " ".join(text for text in key if text not in {"*", UNSAID, LINUX})
