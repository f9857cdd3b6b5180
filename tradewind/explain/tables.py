"""Columns side by side, as text for a terminal."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

GAP = "  "
_NARROWEST = 2  # a letter and the ellipsis


class Column(NamedTuple):
    heading: Sequence[str]  # lines; the last stands right above the cells
    cells: Sequence[str]
    right: bool = False  # aligned

    @property
    def width(self) -> int:
        return max(len(line) for line in (*self.heading, *self.cells))


def total_width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def fitted(columns: Sequence[Column], width: int) -> list[Column]:
    """As many characters off the widest column as are too many, each time; none is left without a letter."""
    found = list(columns)
    while (excess := total_width(found) - width) > 0:
        widest = max(range(len(found)), key=lambda index: found[index].width)
        before = found[widest].width
        others = [each.width for index, each in enumerate(found) if index != widest]
        room = max(before - excess, min(before - 1, max(others, default=0)), _NARROWEST)
        if room >= before:
            break
        found[widest] = _cut(found[widest], room)
    return found


def _cut(column: Column, room: int) -> Column:
    def short(text: str) -> str:
        return text if len(text) <= room else text[: room - 1] + "\N{HORIZONTAL ELLIPSIS}"

    return column._replace(
        heading=[short(line) for line in column.heading], cells=[short(cell) for cell in column.cells]
    )


def lines(columns: Sequence[Column]) -> Iterator[str]:
    height = max(len(column.heading) for column in columns)
    padded = [[*[""] * (height - len(column.heading)), *column.heading, *column.cells] for column in columns]
    for line in zip(*padded, strict=True):
        cells = zip(line, columns, strict=True)
        aligned = (text.rjust(each.width) if each.right else text.ljust(each.width) for text, each in cells)
        yield GAP.join(aligned).rstrip()
