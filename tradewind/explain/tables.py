"""Columns side by side, as text for a terminal."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

GAP = "  "


class Column(NamedTuple):
    heading: Sequence[str]  # lines; the last stands right above the cells
    cells: Sequence[str]
    right: bool = False  # aligned

    @property
    def width(self) -> int:
        return max(len(line) for line in (*self.heading, *self.cells))


def total_width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def lines(columns: Sequence[Column]) -> Iterator[str]:
    height = max(len(column.heading) for column in columns)
    padded = [[*[""] * (height - len(column.heading)), *column.heading, *column.cells] for column in columns]
    for line in zip(*padded, strict=True):
        cells = zip(line, columns, strict=True)
        aligned = (text.rjust(each.width) if each.right else text.ljust(each.width) for text, each in cells)
        yield GAP.join(aligned).rstrip()
