import json
import math
import os
from pathlib import Path

import pytest

from tests.builders import NodeBuilder, node
from tradewind.cli.main import main
from tradewind.errors import PriceTableError
from tradewind.market.imports import from_csv, from_spot_advisor, to_csv
from tradewind.market.pools import Pool
from tradewind.market.quotes import Quote
from tradewind.market.rows import csv_rows
from tradewind.market.table import PriceTable

_ADVISOR = {
    "ranges": [
        {"index": 0, "label": "<5%", "dots": 0, "max": 5},
        {"index": 1, "label": "5-10%", "dots": 1, "max": 11},
        {"index": 4, "label": ">20%", "dots": 4, "max": 100},
    ],
    "instance_types": {"m5.large": {"cores": 2}},
    "spot_advisor": {
        "us-east-1": {"Linux": {"m5.large": {"s": 60, "r": 1}, "c5.large": {"s": 50, "r": 4}}, "Windows": {}},
        "eu-west-1": {"Linux": {"m5.large": {"s": 70, "r": 0}}},
    },
}
_CUSTOM_PRICING = """\
EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version
2026-01-01 00:00:00 UTC,node-7,,node,metadata.name,,0.1337,
2026-01-01 00:00:00 UTC,m5.large,us,node,metadata.labels.node.kubernetes.io/instance-type,,0.2,
2026-01-01 00:00:00 UTC,i-0ABC,,node,spec.providerID,,0.3,
2026-01-01 00:00:00 UTC,gold,,node,metadata.labels.example.com/sku,,0.4,
2026-01-01 00:00:00 UTC,pvc-1,,pv,metadata.name,,0.0001,
2026-01-01 00:00:00 UTC,a100,,gpu,gpu.nvidia.com/class,,2,
"""
_NODE = node("n")


def quote(text: str, pool: tuple[str, str, str], region: str = "", known: NodeBuilder = _NODE) -> Quote:
    """Through the text of a table, as a user's file goes."""
    return PriceTable(csv_rows(text)).quote(known.build(), Pool(*pool), region)


def test_plain_csv_with_a_price_for_each_capacity_type() -> None:
    text = to_csv(from_csv("Name,on_demand_usd_h,spot_usd_h\nm5.large,0.096,0.03\nm5.huge,9,\n"))
    assert quote(text, ("m5.large", "", "spot")).price == 0.03
    assert quote(text, ("m5.large", "", "on-demand"))[:2] == (0.096, 0.096)
    assert quote(text, ("m5.huge", "", "spot")).price != 9


def test_no_spot_row_where_nothing_is_saved() -> None:
    rows = from_csv(
        "instance_type,on_demand_usd_h,spot_savings_pct,spot_usd_h_est,interruption_monthly_mid\na,1,0,1,0.25\n"
    )
    assert [row.key.capacity_type for row in rows] == ["on-demand"]


def test_custom_pricing() -> None:
    text = to_csv(from_csv(_CUSTOM_PRICING))
    assert quote(text, ("", "", "spot"), known=node("node-7")).price == 0.1337
    assert quote(text, ("m5.large", "", "spot"), region="us").price == 0.2
    known = _NODE.field("spec", "providerID", value="aws:///us-1a/i-0abc")
    assert quote(text, ("m5.large", "", "spot"), region="us", known=known).price == 0.3
    assert quote(text, ("", "", "spot"), known=_NODE.label("example.com/sku", "gold")).price == 0.4
    assert len(csv_rows(text)) == 4


def test_spot_advisor() -> None:
    on_demand = from_csv("instance_type,region,price\nm5.large,us-east-1,0.1\nm5.large,eu-west-1,0.1\n")
    text = to_csv(from_spot_advisor(json.dumps(_ADVISOR), None, on_demand))
    assert quote(text, ("m5.large", "", "spot"), "us-east-1") == pytest.approx((0.04, 0.04, 0.075))
    assert quote(text, ("m5.large", "", "spot"), "eu-west-1") == pytest.approx((0.03, 0.03, 0.025))
    assert quote(text, ("c5.large", "", "spot"), "us-east-1").interruption_rate == 0.25


def test_spot_advisor_keeps_the_on_demand_rows() -> None:
    """Else on-demand nodes have no price, and their estimate is all there is."""
    on_demand = from_csv("instance_type,price\nm5.large,0.1\nm5.huge,5\n")
    text = to_csv(from_spot_advisor(json.dumps(_ADVISOR), None, on_demand, "us-east-1"))
    assert quote(text, ("m5.large", "", "on-demand"), "us-east-1")[:2] == (0.1, 0.1)
    assert quote(text, ("m5.huge", "", "on-demand"), "us-east-1").price == 5
    assert quote(text, ("m5.large", "", "spot"), "us-east-1").price == pytest.approx(0.04)
    assert math.isnan(quote(text, ("m5.large", "", "on-demand"), "eu-west-1").price)


@pytest.mark.parametrize(
    ("list_of_prices", "region", "message"),
    [
        pytest.param(
            "instance_type,region,price\nm5.large,ap-south-1,0.1\n",
            None,
            "of ap-south-1, the Spot Advisor's list of eu-west-1, us-east-1",
            id="prices of another region",
        ),
        pytest.param(
            "instance_type,region,price\nm5.large,us-east-1,0.1\n",
            "eu-west-1",
            "of us-east-1, the Spot Advisor's list of eu-west-1",
            id="prices of a region that was not asked for",
        ),
        pytest.param(
            "instance_type,price\nm5.large,0.1\n",
            None,
            "say with --region",
            id="prices of nobody knows where",
        ),
        pytest.param(
            "instance_type,price\nm5.large,0.1\n",
            "us-east-2",
            "regions: eu-west-1, us-east-1",
            id="not listed",
        ),
    ],
)
def test_prices_of_another_region_are_refused(list_of_prices: str, region: str | None, message: str) -> None:
    with pytest.raises(PriceTableError, match=message):
        from_spot_advisor(json.dumps(_ADVISOR), None, from_csv(list_of_prices), region)


def test_two_columns_are_on_demand_prices() -> None:
    text = to_csv(from_csv("instance_type,price\nm5.large,0.1\n"))
    assert quote(text, ("m5.large", "", "on-demand")).price == 0.1
    assert math.isnan(quote(text, ("m5.large", "", "spot")).price)


def test_savings_make_a_spot_price() -> None:
    text = to_csv(from_csv("instance_type,on_demand_usd_h,spot_savings_pct\na,2,75\nb,2,0\n"))
    assert quote(text, ("a", "", "spot")).price == 0.5  # 2 x (1 - 0.75)
    assert math.isnan(quote(text, ("b", "", "spot")).price)


@pytest.mark.parametrize("saved", ["-1", "101", "most"])
def test_savings_beyond_all_are_an_error(saved: str) -> None:
    with pytest.raises(PriceTableError, match=f'line 2, column spot_savings_pct: "{saved}"'):
        from_csv(f"instance_type,on_demand_usd_h,spot_savings_pct\na,2,{saved}\n")


def test_spot_advisor_without_prices_still_has_rates() -> None:
    found = quote(
        to_csv(from_spot_advisor(json.dumps(_ADVISOR), None)), ("m5.large", "", "spot"), "us-east-1"
    )
    assert found == pytest.approx((float("nan"), float("nan"), 0.075), nan_ok=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "line 1: no header", id="nothing"),
        pytest.param("a,b\n1,2\n", "line 1: no column of types and prices", id="other columns"),
        pytest.param("name,price\nx,1\ny,-2\n", 'line 3, column price: "-2"', id="negative"),
        pytest.param("name,price\nx,1\ny\n", "line 3: 1 cells under 2", id="a short line"),
        pytest.param("name,price\nx,1\nx,1\n", "line 3: x has a price already", id="twice"),
        pytest.param("name,price\n,1\n", "line 2, column name: is empty", id="no name"),
        pytest.param("name,price,lifecycle\nx,1,odd\n", "line 2, column lifecycle", id="odd terms"),
        pytest.param("name,price\nx,\n", "no line with a price", id="no price at all"),
        pytest.param(
            _CUSTOM_PRICING.replace("metadata.name,,0.1337", "metadata.annotations.sku,,0.1337"),
            "line 2, column instanceidfield",
            id="an identity that nodes here do not have",
        ),
        pytest.param(
            _CUSTOM_PRICING.replace("0.1337", "1e9"), "line 2, column marketpricehourly", id="a billion"
        ),
        pytest.param('{"ranges": [\n {"index" 1}]}', "line 2, column 11: ", id="broken JSON"),
        pytest.param('{"ranges": []}', "spot_advisor", id="another JSON"),
        pytest.param(
            json.dumps(_ADVISOR).replace('"r": 1', '"r": 9'),
            "spot_advisor.us-east-1.Linux.m5.large.r: 9",
            id="a bucket that is not there",
        ),
    ],
)
def test_errors_name_the_place_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "list").write_text(text)
    (tmp_path / "table.csv").write_text("as it was")
    with pytest.raises(SystemExit) as ended:
        main(["prices", "import", str(tmp_path / "list"), "--output", str(tmp_path / "table.csv")])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert str(tmp_path / "list") in said
    assert (tmp_path / "table.csv").read_text() == "as it was"
    assert {path.name for path in tmp_path.iterdir()} == {"list", "table.csv"}


def test_all_errors_are_named_at_once() -> None:
    with pytest.raises(PriceTableError, match=r"line 2, column price.*line 4, column price"):
        from_csv("name,price\na,x\nb,1\nc,y\n")


_DATA = Path(os.environ.get("TRADEWIND_DATA") or Path(__file__).parents[3] / "shared" / "data")
_CATALOGUE = _DATA / "catalogs" / "aws_us_east_1_instances.csv"

# Type, on-demand price, spot price (None: not offered), rate.
_SPOT_CHECKS = [
    ("m5.large", 0.096, 0.03264, 0.175),
    ("c5.xlarge", 0.17, 0.0748, 0.025),
    ("t3.micro", 0.0104, 0.003224, 0.025),
    ("c6g.large", 0.068, 0.02788, 0.075),
    ("g4dn.xlarge", 0.526, 0.18936, 0.175),
    ("i3.large", 0.156, 0.039, 0.25),
    ("r5.2xlarge", 0.504, 0.19656, 0.25),
    ("m6i.4xlarge", 0.768, 0.26112, 0.25),
    ("a1.medium", 0.0255, None, None),
    ("u-6tb1.56xlarge", 46.40391, None, None),
]


@pytest.mark.skipif(not _CATALOGUE.exists(), reason="needs the public catalogue: set TRADEWIND_DATA")
@pytest.mark.parametrize(("name", "on_demand", "spot", "rate"), _SPOT_CHECKS)
def test_a_real_catalogue(
    tmp_path: Path, name: str, on_demand: float, spot: float | None, rate: float | None
) -> None:
    table = tmp_path / "prices.csv"
    main(["prices", "import", str(_CATALOGUE), "--output", str(table)])
    text = table.read_text()
    assert quote(text, (name, "", "on-demand"))[:2] == (on_demand, on_demand)
    found = quote(text, (name, "", "spot"))
    if spot is None:
        assert found == pytest.approx(Quote(), nan_ok=True)
    else:
        assert found == (spot, spot, rate)
