import logging
import math

import pytest

from market.annotations import price_of
from tests.builders import node


@pytest.mark.parametrize(
    ("text", "price"), [("0.192", 0.192), ("0", 0.0), ("1e-3", 0.001), (" 2 ", 2.0), ("100000", 100_000.0)]
)
def test_price(text: str, price: float) -> None:
    assert price_of(node("n").annotation("tradewind.dev/price", text).build()) == price


@pytest.mark.parametrize("text", ["", "cheap", "-1", "nan", "inf", "100001", "$0.2"])
def test_nonsense_is_unknown_and_named(text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert math.isnan(price_of(node("odd").annotation("tradewind.dev/price", text).build()))
    assert f'"{text}" of node odd' in caplog.text


def test_without_an_annotation_the_price_is_unknown() -> None:
    assert math.isnan(price_of(node("n").build()))
