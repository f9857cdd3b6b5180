import logging
import math

import pytest

from tests.builders import node, offer_of
from tradewind.market.pools import is_durable
from tradewind.market.settings import SPOT_INTERRUPTION_RATE


@pytest.mark.parametrize(
    ("text", "price"), [("0.192", 0.192), ("0", 0.0), ("1e-3", 0.001), (" 2 ", 2.0), ("100000", 100_000.0)]
)
def test_price(text: str, price: float) -> None:
    assert offer_of(node("n").annotation("tradewind.dev/price", text).build()).price == price


@pytest.mark.parametrize("text", ["", "cheap", "-1", "nan", "inf", "100001", "$0.2"])
def test_nonsense_is_unknown_and_named(text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert math.isnan(offer_of(node("odd").annotation("tradewind.dev/price", text).build()).price)
    assert f'"{text}" of node odd' in caplog.text


def test_what_is_not_said() -> None:
    offer = offer_of(node("n").build())
    assert math.isnan(offer.price)
    assert math.isnan(offer.median_price)
    assert offer[2:] == (0, True, False)


def test_the_median_is_the_price_where_only_that_is_known() -> None:
    assert offer_of(node("n").price(0.3).build()).median_price == 0.3
    both = node("n").price(0.3).annotation("tradewind.dev/median-price", "0.2")
    assert offer_of(both.build()).median_price == 0.2


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("karpenter.sh/capacity-type", "spot"),
        ("eks.amazonaws.com/capacityType", "SPOT"),
        ("cloud.google.com/gke-spot", "true"),
        ("cloud.google.com/gke-preemptible", "true"),
        ("kubernetes.azure.com/scalesetpriority", "spot"),
        ("node.kubernetes.io/lifecycle", "spot"),
        ("node-role.kubernetes.io/spot-worker", "true"),
        ("tradewind.dev/capacity-type", "spot"),
    ],
)
def test_the_usual_labels_of_spot_nodes(label: str, value: str) -> None:
    spot = node("n").label(label, value)
    assert not is_durable(spot.build())
    assert is_durable(node("n").label(label, "on-demand").build())
    assert is_durable(spot.annotation("tradewind.dev/capacity-type", "on-demand").build())
    assert offer_of(spot.build()).interruption_rate == SPOT_INTERRUPTION_RATE
    known = spot.annotation("tradewind.dev/interruption-rate", "0.2")
    assert offer_of(known.build()).interruption_rate == 0.2
