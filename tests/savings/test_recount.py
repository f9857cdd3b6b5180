"""The tables of docs/savings.md, each recounted from the raw objects by other code."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import planner_cases, savings_cases
from bench.savings import configured, figures, told
from tests.savings.recount import Object, Recount
from tradewind.cli.main import main

_ROOT = Path(__file__).parents[2]
_EXAMPLE = _ROOT / "tradewind" / "runtime" / "examples" / "cluster.json"
_DATA = planner_cases.data_directory()
_CAPACITY, _TYPE = "karpenter.sh/capacity-type", "node.kubernetes.io/instance-type"


def row(name: str) -> list[str]:
    """The figures of a row of the table."""
    document = (_ROOT / "docs" / "savings.md").read_text()
    found = re.search(rf"^\| {name} \|(.+)\|$", document, re.MULTILINE)
    assert found is not None
    return [cell.strip() for cell in found[1].split("|")]


def test_the_example() -> None:
    objects = json.loads(_EXAMPLE.read_text())["items"]
    found = told(["--cluster", _EXAMPLE])
    prices = {
        each["metadata"]["name"]: float(each["metadata"]["annotations"]["tradewind.dev/price"])
        for each in objects
        if each["kind"] == "Node"
    }
    assert Recount(objects, found).wrong(prices) == []
    assert found["saved"]["hourlyCost"] == pytest.approx(0.263)
    assert row("the example") == figures(found, 3)


@pytest.fixture(scope="module")
def eks() -> list[Object]:
    return savings_cases.eks()


def listed_prices(objects: Sequence[Object]) -> dict[str, float]:
    table = {
        (each["instance_type"], each["capacity_type"]): float(each["price"])
        for each in csv.DictReader(savings_cases.PRICE_TABLE.splitlines())
    }
    labels = {e["metadata"]["name"]: e["metadata"]["labels"] for e in objects if e["kind"] == "Node"}
    return {name: table[own[_TYPE], own[_CAPACITY]] for name, own in labels.items()}


def test_eks(eks: list[Object], tmp_path: Path) -> None:
    file = savings_cases.write(eks, tmp_path / "cluster.json")
    config = configured(tmp_path, savings_cases.PRICE_TABLE)
    found = told(["--cluster", file, *config, "--seconds", "60"])
    assert Recount(eks, found).wrong(listed_prices(eks)) == []
    assert row("EKS") == figures(found, 2)


def test_half_a_table_is_said_to_be_half_an_estimate(tmp_path: Path) -> None:
    """Of the five types, three are priced, on demand alone: everything else is estimated, and says so."""
    lines = savings_cases.PRICE_TABLE.splitlines()
    half = "\n".join([lines[0], *(line for line in lines if line.startswith("m5.") and "on-demand" in line)])
    small = savings_cases.write(savings_cases.eks(60, seed=3), tmp_path / "cluster.json")
    found = told(["--cluster", small, *configured(tmp_path, half)])
    assert found["prices"]["known"] < found["prices"]["nodes"] == 60
    assert 0 < found["now"]["hourlyCostEstimated"] < found["now"]["hourlyCost"]
    assert (
        0
        <= found["saved"]["hourlyCostEstimated"]
        <= found["saved"]["hourlyCost"]
        <= found["now"]["hourlyCost"]
    )
    assert {each["priceFrom"] for each in found["emptied"]} <= {"table", "estimated"}


def test_without_prices_there_are_no_dollars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = savings_cases.eks(60, seed=3)
    file = savings_cases.write(objects, tmp_path / "cluster.json")
    found = told(["--cluster", file])
    assert Recount(objects, found).wrong(None) == []
    for output in ("table", "md", "html"):
        main(["savings", "--cluster", str(file), "-o", output])
        assert "$" not in capsys.readouterr().out


@pytest.mark.skipif(_DATA is None, reason="needs the public data of $TRADEWIND_DATA")
def test_openb(tmp_path: Path) -> None:
    assert _DATA is not None
    objects = savings_cases.openb(_DATA)
    file = savings_cases.write(objects, tmp_path / "cluster.json")
    found = told(["--cluster", file, "--partial", "--seconds", "60"])
    assert Recount(objects, found).wrong(None) == []
    assert row("openb") == figures(found, 0)
