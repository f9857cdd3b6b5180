"""Karpenter's NodeOverlays on the prices of nodes."""

import math

import pytest

from tests.builders import NodeBuilder, node
from tradewind.cluster.karpenter import NodeOverlay
from tradewind.cluster.selectors import parse_selector
from tradewind.market.market import Market
from tradewind.market.pools import Pool
from tradewind.market.rows import csv_rows
from tradewind.market.settings import Discount, MarketSettings
from tradewind.market.table import PriceTable

_TABLE = "instance_type,node,capacity_type,price,median_price\nm5.large,,on-demand,0.1,0.2\n,special,,0.5,\n"
_LESS = NodeOverlay("less", parse_selector("karpenter.sh/capacity-type=on-demand"), factor=0.7)


def typed(name: str, instance_type: str = "m5.large") -> NodeBuilder:
    built = node(name).label("node.kubernetes.io/instance-type", instance_type)
    return built.label("karpenter.sh/capacity-type", "on-demand")


def price(market: Market, built: NodeBuilder) -> float:
    return market.offer_of(built.build()).price


def market_of(*overlays: NodeOverlay) -> Market:
    market = Market(table=PriceTable(csv_rows(_TABLE)))
    market.overlay(overlays)
    return market


@pytest.mark.parametrize(
    ("built", "dollars"),
    [
        pytest.param(typed("a"), 0.07, id="the table's price of its type: 0.1 x 0.7"),
        pytest.param(typed("special"), 0.5, id="the table's price of this node is what is paid"),
        pytest.param(typed("a").price(0.15), 0.15, id="the node's own word is what is paid"),
        pytest.param(typed("a").label("karpenter.sh/capacity-type", "reserved"), 0.1, id="another node"),
        pytest.param(typed("a", "other"), math.nan, id="nothing to adjust"),
    ],
)
def test_prices_of_types_are_adjusted(built: NodeBuilder, dollars: float) -> None:
    assert price(market_of(_LESS), built) == pytest.approx(dollars, nan_ok=True)


def test_the_median_is_adjusted_too() -> None:
    """Else the price would seem to have fallen."""
    assert market_of(_LESS).offer_of(typed("a").build()).median_price == pytest.approx(0.14)


def test_one_of_several_counts() -> None:
    assert price(market_of(NodeOverlay("own", price=0.01), _LESS), typed("a")) == 0.01
    assert price(market_of(_LESS, NodeOverlay("own", price=0.01)), typed("a")) == pytest.approx(0.07)


def test_an_overlay_may_bring_the_only_price() -> None:
    assert price(market_of(NodeOverlay("own", price=0.4)), typed("a", "other")) == 0.4


def test_karpenters_own_prices_are_adjusted() -> None:
    """And of two nodes of one type only the one that matches."""
    market = Market()
    market.quote({}, {Pool("m5.large", "", "on-demand"): 0.1})
    market.overlay([NodeOverlay("mine", parse_selector("team=shop"), summand=-0.04)])
    assert price(market, typed("a")) == 0.1
    assert price(market, typed("b").label("team", "shop")) == pytest.approx(0.06)


def test_discounts_come_before() -> None:
    discount = Discount(selector="karpenter.sh/capacity-type=on-demand", factor=0.5)
    market = market_of(NodeOverlay("o", summand=0.01))
    market.configure(MarketSettings(discounts=(discount,)), market.table)
    assert price(market, typed("a")) == pytest.approx(0.1 * 0.5 + 0.01)


def test_the_same_overlays_are_no_news() -> None:
    market = market_of(_LESS)
    version = market.version
    market.overlay([_LESS])
    assert market.version == version
    market.overlay([])
    assert market.version > version
    assert price(market, typed("a")) == 0.1
