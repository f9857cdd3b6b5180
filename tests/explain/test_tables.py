"""Tables that fit: what is cut, and what never is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.explain.tables import Column, fitted, lines, total_width


def table(*widths: int) -> list[Column]:
    return [Column(["H"], ["x" * width, "y"]) for width in widths]


@pytest.mark.parametrize(
    ("widths", "room", "left"),
    [
        ((10, 20), 40, [10, 20]),  # 10 + 2 + 20 = 32: it fits
        ((10, 20), 32, [10, 20]),
        ((10, 20), 30, [10, 18]),  # two too many, off the widest
        ((10, 20), 20, [9, 9]),  # the widest down to the other, then both by turns
        ((10, 20), 1, [2, 2]),  # there is an end to it
        ((5,), 3, [3]),
        ((7, 7, 7), 19, [5, 5, 5]),
    ],
)
def test_the_widest_column_gives_way(widths: tuple[int, ...], room: int, left: list[int]) -> None:
    assert [column.width for column in fitted(table(*widths), room)] == left


def test_what_was_cut_ends_in_an_ellipsis() -> None:
    pods, nodes = Column(["POD"], ["shop/checkout-0", "a/b"]), Column(["NODE"], ["n", "n"])
    told = list(lines(fitted([pods, nodes], 16)))
    assert told == ["POD         NODE", "shop/chec\N{HORIZONTAL ELLIPSIS}  n", "a/b         n"]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 120))
def test_it_fits_or_nothing_more_can_be_cut(widths: list[int], room: int) -> None:
    columns = fitted(table(*widths), room)
    assert total_width(columns) <= room or all(column.width <= 2 for column in columns)
    if total_width(table(*widths)) <= room:
        assert columns == table(*widths)
    assert max(map(len, lines(columns))) <= total_width(columns)
