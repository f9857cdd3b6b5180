import math
from pathlib import Path

import pytest

from tests.builders import node
from tradewind.errors import PriceTableError
from tradewind.market.pools import Pool
from tradewind.market.quotes import Quote
from tradewind.market.rows import csv_rows
from tradewind.market.table import PriceTable, read

_POOL, _DURABLE = Pool("m5.large", "", "spot"), Pool("m5.large", "", "on-demand")

_TABLE = """\
# what we pay
instance_type,zone,region,capacity_type,price,median_price,interruption_rate
m5.large,,,on-demand,0.096,,
m5.large,,,spot,0.04,0.035,0.15
m5.large,eu-1a,,spot,0.05,,
m5.*,,,spot,0.2,,0.1
m5.x*,,,spot,0.3,,
,,,spot,,,0.07
,,us,spot,9,,
"""


def quote(pool: tuple[str, str, str], region: str = "eu") -> Quote:
    return PriceTable(csv_rows(_TABLE)).quote(node("n").build(), Pool(*pool), region)


@pytest.mark.parametrize(
    ("pool", "price", "rate"),
    [
        pytest.param(("m5.large", "eu-1b", "on-demand"), 0.096, math.nan, id="type and terms"),
        pytest.param(("m5.large", "eu-1b", "spot"), 0.04, 0.15, id="a named type beats a pattern"),
        pytest.param(
            ("m5.large", "eu-1a", "spot"),
            0.05,
            0.15,
            id="a named zone beats none; it says nothing of the rate",
        ),
        pytest.param(("m5.2xlarge", "eu-1a", "spot"), 0.2, 0.1, id="a pattern"),
        pytest.param(("m5.xlarge", "eu-1a", "spot"), 0.3, 0.1, id="a longer pattern beats a shorter one"),
        pytest.param(("c5.large", "eu-1a", "spot"), math.nan, 0.07, id="anything"),
        pytest.param(("c5.large", "eu-1a", "on-demand"), math.nan, math.nan, id="nothing"),
    ],
)
def test_the_most_exact_row_counts_for_each_value(
    pool: tuple[str, str, str], price: float, rate: float
) -> None:
    found = quote(pool)
    assert (found.price, found.interruption_rate) == pytest.approx((price, rate), nan_ok=True)


def test_regions() -> None:
    assert quote(("c5.large", "", "spot"), region="us").price == 9
    assert quote(("m5.large", "", "spot"), region="us").price == 0.04


def test_a_row_for_one_node_beats_all_others() -> None:
    table = PriceTable(csv_rows("node,instance_type,price\n,m5.large,1\nn-7,,2\nn-[89],,3\n"))
    found = [table.quote(node(name).build(), _DURABLE, "").price for name in ("n-1", "n-7", "n-8")]
    assert found == [1, 2, 3]


_AWS, _AZURE, _GCE = "aws:///us-1a/i-0Abc", "azure:///subscriptions/S/vm-0", "gce://shop/us-1a/n-0"


@pytest.mark.parametrize(
    ("provider_id", "row", "same"),
    [
        pytest.param(_AWS, _AWS, True, id="whole"),
        pytest.param(_AWS, "i-0abc", True, id="of AWS the instance, in any case"),
        pytest.param(_AWS, "us-1a/i-0abc", False, id="of AWS something else"),
        pytest.param(_AZURE, "/subscriptions/s/vm-0", True, id="of Azure the path"),
        pytest.param(_AZURE, "vm-0", False, id="of Azure the end of the path, which is not unique"),
        pytest.param(_GCE, _GCE.upper(), True, id="of Google the whole"),
        pytest.param(_GCE, "gce://shop/*", True, id="a pattern"),
        pytest.param("", "i-0abc", False, id="a node without one"),
    ],
)
def test_a_provider_id(provider_id: str, row: str, same: bool) -> None:
    table = PriceTable(csv_rows(f"provider_id,instance_type,price\n,m5.large,1\n{row},,2\n"))
    known = node("n").field("spec", "providerID", value=provider_id or None).build()
    assert table.quote(known, _DURABLE, "").price == (2 if same else 1)


def test_a_label() -> None:
    table = PriceTable(csv_rows("label,instance_type,price\n,m5.large,1\nsku=gold,,2\nsku=s*,,3\n"))
    found = [
        table.quote(node("n").label("sku", sku).build(), _DURABLE, "").price
        for sku in ("gold", "silver", "x")
    ]
    assert found == [2, 3, 1]


def test_the_name_beats_the_provider_id_which_beats_a_label() -> None:
    lines = ["n,,,3", ",i-0abc,,2", ",,sku=gold,1"]
    known = node("n").field("spec", "providerID", value=_AWS).label("sku", "gold").build()
    for best in (3, 2, 1):
        table = PriceTable(csv_rows("node,provider_id,label,price\n" + "\n".join(lines)))
        assert table.quote(known, _POOL, "").price == best
        del lines[0]


def test_a_row_for_a_node_may_name_its_pool_too() -> None:
    table = PriceTable(csv_rows("node,region,capacity_type,price\nn,us,spot,1\n"))
    assert table.quote(node("n").build(), _POOL, "us").price == 1
    assert math.isnan(table.quote(node("n").build(), _POOL, "eu").price)


def test_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "instance_type,capacity_type,price,interruption_rate\nm5.*,Spot,0.1,0.2\n"
    )
    (tmp_path / "t.yaml").write_text(
        "prices:\n- {instanceType: m5.*, capacityType: spot, price: 0.1, interruptionRate: 0.2}\n"
        "- {providerID: i-7, price: 9}\n"
    )
    found = [read(tmp_path / name).quote(node("n").build(), _POOL, "") for name in ("t.csv", "t.yaml")]
    assert [each.price for each in found] == [0.1, 0.1]
    assert [each.interruption_rate for each in found] == [0.2, 0.2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "no header", id="nothing"),
        pytest.param("instance_type,cost\na,1\n", "line 1: the columns are", id="a column nobody knows"),
        pytest.param("instance_type,price\na,1\nb,-1\n", 'line 3, column price: "-1"', id="negative"),
        pytest.param("instance_type,price\na,nan\n", "line 2, column price", id="not a number"),
        pytest.param("instance_type,price\na,1000000\n", "line 2, column price", id="a million an hour"),
        pytest.param(
            "instance_type,interruption_rate\na,7\n", "line 2, column interruption_rate", id="a rate of 7"
        ),
        pytest.param("instance_type,capacity_type\na,sport\n", 'capacity_type: "sport"', id="a typing error"),
        pytest.param("label,price\nshop,1\n", 'line 2, column label: "shop"', id="a label without a value"),
        pytest.param("label,price\n*=shop,1\n", 'line 2, column label: "*=shop"', id="any label"),
        pytest.param("instance_type,price\na,1\na,2\n", "line 3: says again what line 2", id="twice"),
        pytest.param("instance_type,price\na,1,2\n", "line 2: 1 cells more", id="too many cells"),
        pytest.param('instance_type,price\n"a,1\n', "line", id="an open quote"),
    ],
)
def test_a_broken_table_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PriceTableError) as caught:
        csv_rows(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "under `prices`"),
        ("prices: [{price: -1}]", "prices[0], column price"),
        ("prices: [{cost: 1}]", "prices[0], cost: unknown"),
        ("a: [", "not YAML"),
    ],
)
def test_broken_yaml(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(PriceTableError) as caught:
        read(tmp_path / "t.yaml")
    assert message in str(caught.value)
    assert "t.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("row", "on_demand", "spot"),
    [
        pytest.param("m5.large,,1,", 1, math.nan, id="left out: an on-demand price"),
        pytest.param("m5.large,*,1,", 1, 1, id="either"),
        pytest.param("m5.large,,1,0.2", 1, 1, id="with a rate, it is of spot nodes as well"),
    ],
)
def test_a_price_without_a_capacity_type(row: str, on_demand: float, spot: float) -> None:
    table = PriceTable(csv_rows(f"instance_type,capacity_type,price,interruption_rate\n{row}\n"))
    found = [table.quote(node("n").build(), pool, "").price for pool in (_DURABLE, _POOL)]
    assert found == pytest.approx([on_demand, spot], nan_ok=True)
