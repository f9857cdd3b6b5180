"""Lists of clouds and tools in their documented shapes, each through the command and the text of a table."""

import math
from pathlib import Path

import pytest

from tests.builders import NodeBuilder, node
from tradewind.cli.main import main
from tradewind.errors import PriceTableError
from tradewind.market.imports import read
from tradewind.market.pools import Pool
from tradewind.market.rows import csv_rows
from tradewind.market.table import PriceTable

_LISTS = Path(__file__).parent / "lists"
_US, _AZURE, _GCP = "us-east-1", "eastus", "us-central1"
_ON_DEMAND, _SPOT = "on-demand", "spot"


def imported(name: str, directory: Path, *flags: str) -> PriceTable:
    table = directory / "prices.csv"
    main(["prices", "import", str(_LISTS / name), "--output", str(table), *flags])
    return PriceTable(csv_rows(table.read_text()))


@pytest.mark.parametrize(
    ("name", "pool", "region", "price"),
    [
        ("aws-price-list.json", ("m5.large", "us-east-1a", _ON_DEMAND), _US, 0.096),
        ("aws-price-list.json", ("m5.large", "us-east-1a", _SPOT), _US, math.nan),
        ("aws-price-list.json", ("m5.large", "eu-west-1a", _ON_DEMAND), "eu-west-1", math.nan),
        ("aws-get-products.json", ("m5.large", "us-east-1a", _ON_DEMAND), _US, 0.096),
        ("aws-price-list.csv", ("m5.large", "us-east-1a", _ON_DEMAND), _US, 0.096),
        ("aws-spot-history.json", ("m5.large", "us-east-1a", _SPOT), _US, 0.0346),
        ("aws-spot-history.json", ("m5.large", "us-east-1b", _SPOT), _US, 0.04),
        ("aws-spot-history.json", ("m5.large", "us-east-1a", _ON_DEMAND), _US, math.nan),
        ("azure-retail-prices.json", ("Standard_D2s_v3", "eastus-1", _ON_DEMAND), _AZURE, 0.096),
        ("azure-retail-prices.json", ("Standard_D2s_v3", "eastus-1", _SPOT), _AZURE, 0.0192),
        # 4 cores and 16 GiB
        (
            "gcp-catalogue.json",
            ("n2-standard-4", "us-central1-a", _ON_DEMAND),
            _GCP,
            4 * 0.031611 + 16 * 0.004237,
        ),
        ("gcp-catalogue.json", ("n2-highmem-2", "us-central1-a", _SPOT), _GCP, 2 * 0.00765 + 16 * 0.001025),
        # 8 cores and 30 GiB
        (
            "gcp-catalogue.json",
            ("n1-standard-8", "us-central1-a", _ON_DEMAND),
            _GCP,
            8 * 0.031611 + 30 * 0.004237,
        ),
        ("gcp-catalogue.json", ("n1-standard-8", "us-central1-a", _SPOT), _GCP, math.nan),
        ("karpenter.prom", ("m5.large", "us-east-1a", _ON_DEMAND), _US, 0.096),
        ("karpenter.prom", ("m5.large", "us-east-1b", _SPOT), _US, 0.04),
        ("karpenter.prom", ("m5.large", "us-east-1b", _ON_DEMAND), _US, math.nan),
        ("karpenter-query.json", ("m5.large", "us-east-1a", _SPOT), _US, 0.0346),
    ],
)
def test_a_price_of_each_list(
    name: str, pool: tuple[str, str, str], region: str, price: float, tmp_path: Path
) -> None:
    found = imported(name, tmp_path).quote(node("n").build(), Pool(*pool), region)
    assert found.price == pytest.approx(price, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "pool", "region", "linux", "windows"),
    [
        ("aws-price-list.json", ("m5.large", "", _ON_DEMAND), _US, 0.096, 0.188),
        ("aws-price-list.csv", ("m5.large", "", _ON_DEMAND), _US, 0.096, 0.188),
        ("aws-spot-history.json", ("m5.large", "us-east-1a", _SPOT), _US, 0.0346, 0.126),
        ("azure-retail-prices.json", ("Standard_D2s_v3", "", _ON_DEMAND), _AZURE, 0.096, 0.188),
        (
            "gcp-catalogue.json",
            ("n2-standard-4", "", _ON_DEMAND),
            _GCP,
            4 * 0.031611 + 16 * 0.004237,
            4 * (0.031611 + 0.046) + 16 * 0.004237,  # each core with its licence
        ),
        ("karpenter.prom", ("m5.large", "us-east-1a", _ON_DEMAND), _US, 0.096, math.nan),
    ],
)
def test_windows_has_prices_of_its_own(
    *, name: str, pool: tuple[str, str, str], region: str, linux: float, windows: float, tmp_path: Path
) -> None:
    table = imported(name, tmp_path)
    nodes = [node("n").label("kubernetes.io/os", each).build() for each in ("linux", "windows")]
    found = [table.quote(each, Pool(*pool), region).price for each in nodes]
    assert found == pytest.approx([linux, windows], nan_ok=True)


@pytest.mark.parametrize(
    ("name", "pool", "region"),
    [
        ("aws-price-list.json", ("m5.large", "", _ON_DEMAND), _US),
        ("aws-spot-history.json", ("m5.large", "us-east-1a", _SPOT), _US),
        ("gcp-catalogue.json", ("n2-standard-4", "", _ON_DEMAND), _GCP),
    ],
)
def test_one_system_of_a_list(name: str, pool: tuple[str, str, str], region: str, tmp_path: Path) -> None:
    table = imported(name, tmp_path, "--system", "windows")
    assert math.isnan(table.quote(node("n").build(), Pool(*pool), region).price)
    windows = node("n").label("kubernetes.io/os", "windows").build()
    assert table.quote(windows, Pool(*pool), region).price > 0


def test_a_licence_of_ones_own_is_no_price_of_windows() -> None:
    """AWS lists such machines beside the others, at the price of Linux."""
    text = (_LISTS / "aws-price-list.json").read_text()
    own = text.replace(
        '"operatingSystem": "Linux", "tenancy": "Dedicated"',
        '"operatingSystem": "Windows", "licenseModel": "Bring your own license", "tenancy": "Shared"',
    )
    assert own != text
    prices = {row.key.os: row.quote.price for row in read(own)}
    assert prices == {"linux": 0.096, "windows": 0.188}


def test_rhel_is_linux_to_a_node() -> None:
    text = (
        (_LISTS / "aws-price-list.json")
        .read_text()
        .replace('"operatingSystem": "Windows"', '"operatingSystem": "RHEL"')
    )
    assert {row.key.os: row.quote.price for row in read(text)} == {"linux": 0.096}
    assert {row.key.os: row.quote.price for row in read(text, "RHEL")} == {"linux": 0.188}


@pytest.mark.parametrize(
    ("terms", "labels", "price"),
    [
        # 8 cores and 30 GiB, with two accelerators at $0.35
        pytest.param(
            _ON_DEMAND,
            {"gke-accelerator": "nvidia-tesla-t4", "gke-accelerator-count": "2"},
            8 * 0.031611 + 30 * 0.004237 + 2 * 0.35,
            id="two",
        ),
        pytest.param(_ON_DEMAND, {}, 8 * 0.031611 + 30 * 0.004237, id="none"),
        pytest.param(
            _ON_DEMAND,
            {"gke-accelerator": "nvidia-tesla-v100", "gke-accelerator-count": "1"},
            math.nan,
            id="not in the list",
        ),
        pytest.param(
            _ON_DEMAND, {"gke-accelerator": "nvidia-tesla-t4"}, math.nan, id="nobody knows how many"
        ),
    ],
)
def test_accelerators_are_added_to_the_machine(
    terms: str, labels: dict[str, str], price: float, tmp_path: Path
) -> None:
    known = node("n")
    for key, value in labels.items():
        known = known.label(f"cloud.google.com/{key}", value)
    found = imported("gcp-catalogue.json", tmp_path).quote(
        known.build(), Pool("n1-standard-8", "us-central1-a", terms), _GCP
    )
    assert found.price == pytest.approx(price, nan_ok=True)


def test_sizes_of_types(tmp_path: Path) -> None:
    assert imported("aws-price-list.json", tmp_path).sizes == {"m5.large": (2000, 8 * 2**30, 0)}
    assert imported("karpenter.prom", tmp_path).sizes == {"m5.large": (2000, 8 * 2**30, 0)}
    assert imported("gcp-catalogue.json", tmp_path).sizes["n1-standard-8"] == (8000, 30 * 2**30, 0)


def test_the_median_of_spot_prices(tmp_path: Path) -> None:
    pool = Pool("m5.large", "us-east-1a", _SPOT)
    found = imported("aws-spot-history.json", tmp_path).quote(node("n").build(), pool, _US)
    assert (found.price, found.median_price) == (0.0346, 0.032)


@pytest.mark.parametrize(
    ("provider_id", "price"),
    [
        pytest.param("aws:///us-east-1a/i-0abc", (0.06 + 0.06 + 0.02) / 2, id="AWS, with its traffic"),
        pytest.param(
            "azure:///subscriptions/S/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm-0",
            0.1,  # 0.6 in six hours
            id="Azure",
        ),
        pytest.param("gce://shop/us-central1-a/n-0", 0.3, id="Google"),
        pytest.param("aws:///us-east-1a/i-0other", math.nan, id="not in the export"),
    ],
)
def test_focus_says_what_a_machine_really_cost(provider_id: str, price: float, tmp_path: Path) -> None:
    known: NodeBuilder = node("n").field("spec", "providerID", value=provider_id)
    found = imported("focus.csv", tmp_path).quote(known.build(), Pool("m5.large", "", _SPOT), _US)
    assert found.price == pytest.approx(price, nan_ok=True)


def test_a_list_of_on_demand_prices_for_the_advisor_may_be_of_any_kind(tmp_path: Path) -> None:
    advisor = tmp_path / "advisor.json"
    advisor.write_text(
        '{"ranges": [{"index": 0, "label": "<5%"}], "spot_advisor": {"us-east-1": {"Linux": '
        '{"m5.large": {"s": 75, "r": 0}}}, "eu-west-1": {"Linux": {"m5.large": {"s": 50, "r": 0}}}}}'
    )
    listed = str(_LISTS / "aws-price-list.json")
    table = tmp_path / "prices.csv"
    main(["prices", "import", str(advisor), "--on-demand", listed, "--output", str(table)])
    found = PriceTable(csv_rows(table.read_text()))
    assert found.quote(node("n").build(), Pool("m5.large", "", _SPOT), _US).price == 0.096 * 0.25


def test_one_region_of_a_list(tmp_path: Path) -> None:
    assert imported("aws-spot-history.json", tmp_path, "--region", "us-east-1")
    with pytest.raises(SystemExit):
        imported("aws-price-list.json", tmp_path, "--region", "eu-west-1")


@pytest.mark.parametrize("header", ["Instance Type,Price", "instanceType,PRICE", "instance-type,price"])
def test_a_header_that_differs_in_spelling_is_understood(header: str) -> None:
    (row,) = read(f"{header}\nm5.large,0.1\n")
    assert (row.key.instance_type, row.quote.price) == ("m5.large", 0.1)
    (row,) = csv_rows(f"{header}\nm5.large,0.1\n")
    assert (row.key.instance_type, row.quote.price) == ("m5.large", 0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"foo": 1}', "JSON with foo at the top; expected one of spot_advisor", id="other JSON"),
        pytest.param("[]", "JSON with nothing at the top", id="an empty list"),
        pytest.param("Colour,Taste\nred,sweet\n", "expected instance_type or", id="other CSV"),
        pytest.param(
            (_LISTS / "azure-retail-prices.json")
            .read_text()
            .replace('"NextPageLink": null', '"NextPageLink": "x"'),
            "NextPageLink",
            id="not all pages of Azure",
        ),
        pytest.param(
            (_LISTS / "gcp-catalogue.json")
            .read_text()
            .replace('"nextPageToken": ""', '"nextPageToken": "x"'),
            "nextPageToken",
            id="not all pages of Google",
        ),
        pytest.param(
            (_LISTS / "azure-retail-prices.json")
            .read_text()
            .replace('"currencyCode": "USD"', '"currencyCode": "EUR"'),
            "Items[0].currencyCode: EUR, not USD",
            id="euros",
        ),
        pytest.param(
            (_LISTS / "aws-spot-history.json").read_text().replace("0.034600", "cheap"),
            'SpotPriceHistory[0].SpotPrice: "cheap"',
            id="no number",
        ),
        pytest.param(
            (_LISTS / "karpenter.prom").read_text().replace('zone="us-east-1b"', 'region="x"'),
            "line 5: no label zone",
            id="no zone",
        ),
        pytest.param(
            (_LISTS / "focus.csv").read_text().replace("2026-01-01T06:00:00Z", "later"),
            'line 6, column chargeperiodend: "later"',
            id="no time",
        ),
        pytest.param(
            (_LISTS / "focus.csv").read_text().replace("ChargePeriodEnd", "End"),
            "no column ChargePeriodEnd; FOCUS has",
            id="half of FOCUS",
        ),
        pytest.param(
            (_LISTS / "aws-price-list.csv").read_text().replace("Instance Type", "Volume Type"),
            "no column Instance Type: is it the list of AmazonEC2?",
            id="the list of another service",
        ),
    ],
)
def test_what_is_not_recognised_is_named_with_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(PriceTableError) as caught:
        read(text)
    assert message in str(caught.value)
