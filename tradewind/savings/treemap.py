"""Rectangles whose areas are given, as square as possible: a squarified treemap."""

from collections.abc import Sequence
from typing import NamedTuple


class Rectangle(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def treemap(areas: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """One for each area, which are above 0, best from the largest down; together they fill it all."""
    total = sum(areas)
    scaled = [area * width * height / total for area in areas]
    found: list[Rectangle] = []
    rest = Rectangle(0.0, 0.0, width, height)
    while len(found) < len(scaled):
        row = _row(scaled[len(found) :], min(rest.width, rest.height))
        placed, rest = _laid(row, rest)
        found += placed
    return found


def _row(areas: Sequence[float], side: float) -> Sequence[float]:
    """As many as make the worst of them squarer."""
    count, total, worst = 0, 0.0, float("inf")
    for count, area in enumerate(areas):
        ratio = _worst(areas[0], area, total + area, side)
        if ratio > worst:
            return areas[:count]
        total, worst = total + area, ratio
    return areas[: count + 1]


def _worst(first: float, last: float, total: float, side: float) -> float:
    """The largest ratio of sides in a row of this total along a side."""
    depth = total / side if side else 0.0
    if not depth:
        return float("inf")
    return max(max(each / depth / depth, depth * depth / each) for each in (first, last))


def _laid(row: Sequence[float], rest: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Along the shorter side, and what is left beside it."""
    total = sum(row)
    placed, at = [], 0.0
    if rest.width >= rest.height:
        depth = total / rest.height if rest.height else 0.0
        for area in row:
            length = area / depth if depth else 0.0
            placed.append(Rectangle(rest.x, rest.y + at, depth, length))
            at += length
        return placed, Rectangle(rest.x + depth, rest.y, max(rest.width - depth, 0.0), rest.height)
    depth = total / rest.width if rest.width else 0.0
    for area in row:
        length = area / depth if depth else 0.0
        placed.append(Rectangle(rest.x + at, rest.y, length, depth))
        at += length
    return placed, Rectangle(rest.x, rest.y + depth, rest.width, max(rest.height - depth, 0.0))
