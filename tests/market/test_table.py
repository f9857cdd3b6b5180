import math
from pathlib import Path

import pytest

from cluster.errors import PriceTableError
from market.pools import Pool
from market.quotes import Quote
from market.table import PriceTable, csv_rows, read

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


def quote(pool: tuple[str, str, str], region: str = "eu", node: str = "n") -> Quote:
    return PriceTable(csv_rows(_TABLE)).quote(node, Pool(*pool), region)


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
    found = [table.quote(name, Pool("m5.large", "", "spot"), "").price for name in ("n-1", "n-7", "n-8")]
    assert found == [1, 2, 3]


def test_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "instance_type,capacity_type,price,interruption_rate\nm5.*,Spot,0.1,0.2\n"
    )
    (tmp_path / "t.yaml").write_text(
        "prices:\n- {instanceType: m5.*, capacityType: spot, price: 0.1, interruptionRate: 0.2}\n"
    )
    pool = Pool("m5.large", "", "spot")
    found = [read(tmp_path / name).quote("n", pool, "") for name in ("t.csv", "t.yaml")]
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
