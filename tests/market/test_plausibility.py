import logging
import math

import pytest

from tests.builders import NodeBuilder, node
from tradewind.market.market import Market
from tradewind.market.quotes import Origin
from tradewind.market.rows import csv_rows
from tradewind.market.settings import MarketSettings
from tradewind.market.table import PriceTable


def typed(name: str, instance_type: str = "c5d.18xlarge", cpu: int = 72, gib: int = 144) -> NodeBuilder:
    built = node(name).cpu(cpu).label("node.kubernetes.io/instance-type", instance_type)
    return built.field("status", "allocatable", "memory", value=f"{gib}Gi")


def market(listed: str = "", factor: float | None = 3.0) -> Market:
    rows = csv_rows("instance_type,capacity_type,price\n" + listed) if listed else []
    return Market(MarketSettings(plausible_factor=factor), PriceTable(rows))


@pytest.mark.parametrize(
    ("listed", "asked", "nodes", "expected", "origin"),
    [
        pytest.param(
            "c5d.18xlarge,on-demand,3.456\n", {"a": 0.0067}, [typed("a")], 3.456, Origin.TABLE, id="alone"
        ),
        pytest.param(
            "",
            {"a": 0.0067, "b": 3.4, "c": 3.5},
            [typed("a"), typed("b"), typed("c")],
            3.45,  # of b and c
            Origin.ESTIMATED,
            id="against two others of its type",
        ),
        pytest.param(
            "",
            {"a": 0.0067, "b": 0.096, "c": 0.1, "d": 0.09},
            [typed("a"), *(typed(name, "m5.large", 2, 8) for name in "bcd")],
            72 * 0.048,  # a core of an m5.large costs 0.096 / 2
            Origin.ESTIMATED,
            id="the only one of its type, against cores and memory",
        ),
        pytest.param(
            "",
            {"a": 30.0, "b": 0.096, "c": 0.1, "d": 0.09},
            [typed("a", "p3"), *(typed(name, "m5.large", 2, 8) for name in "bcd")],
            30.0,
            Origin.PROMETHEUS,
            id="an accelerator may make it many times dearer",
        ),
        pytest.param(
            "",
            {"a": 0.0052, "b": 0.096, "c": 0.1, "d": 0.09},
            [typed("a", "t3.nano", 2, 1), *(typed(name, "m5.large", 2, 8) for name in "bcd")],
            0.0052,  # 0.0026 a core, below 0.048 / 9; but 0.0052 a GiB, near 0.012
            Origin.PROMETHEUS,
            id="a small one with much core and little memory",
        ),
        pytest.param(
            "",
            {"b": 0.096, "c": 0.1, "d": 0.09},
            [node("a").cpu(72).price(0.01), *(typed(name, "m5.large", 2, 8) for name in "bcd")],
            0.01,
            Origin.NODE,
            id="a machine of one's own costs what is said",
        ),
        pytest.param(
            "",
            {"a": 1.0, "b": 9.0},
            [typed("a"), typed("b")],
            1.0,
            Origin.PROMETHEUS,
            id="of two nobody knows",
        ),
        pytest.param(
            "c5d.18xlarge,on-demand,3\n",
            {},
            [typed("a").price(8.9)],
            8.9,
            Origin.NODE,
            id="within the factor",
        ),
        pytest.param(
            "c5d.18xlarge,on-demand,3\n", {}, [typed("a").price(9.1)], 3, Origin.TABLE, id="beyond the factor"
        ),
        pytest.param(
            "c5d.18xlarge,on-demand,3\n", {}, [typed("a").price(0)], 0, Origin.NODE, id="free on purpose"
        ),
    ],
)
def test_an_implausible_price_is_not_used(
    listed: str, asked: dict[str, float], nodes: list[NodeBuilder], expected: float, origin: Origin
) -> None:
    one = market(listed)
    one.quote({"price": asked})
    built = [each.build() for each in nodes]
    assert one.offers(built)[0, 0] == pytest.approx(expected)
    assert one.origins("a").price is origin
    assert one.offer_of(built[0]).price == pytest.approx(expected)


def test_it_is_said_once_counted_and_explained(caplog: pytest.LogCaptureFixture) -> None:
    one = market("c5d.18xlarge,on-demand,3.456\n")
    one.quote({"price": {"a": 0.0067}})
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            one.offers([typed("a").build()])
    said = (
        "Prometheus says $0.0067 an hour, 516 times below $3.456, which the price table has for it; "
        "it is not used"
    )
    assert caplog.text.count(f"node a: {said}") == 1
    assert one.implausible() == {Origin.PROMETHEUS: 1}
    assert one.origins("a").implausible == said
    one.quote({"price": {"a": 3.4}})
    one.offers([typed("a").build()])
    assert not one.implausible()
    assert not one.origins("a").implausible


def test_thousands_of_them_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    one = market("c5d.18xlarge,on-demand,3.456\n")
    one.quote({"price": {f"n-{i}": 0.0067 for i in range(1000)}})
    one.offers([typed(f"n-{i}").build() for i in range(1000)])
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 11
    assert said[-1] == "990 more nodes have an implausible price"
    assert one.implausible() == {Origin.PROMETHEUS: 1000}


def test_the_factor_is_configured() -> None:
    for factor, expected in ((3.0, 3.0), (4.0, 9.1), (None, 9.1)):
        assert (
            market("c5d.18xlarge,on-demand,3\n", factor).offer_of(typed("a").price(9.1).build()).price
            == expected
        )


def test_nothing_known_is_nothing_implausible() -> None:
    assert math.isnan(market().offers([typed("a").build()])[0, 0])
