"""The table of what-if in docs/savings.md, each row recounted from the raw objects by other code."""

import json
from pathlib import Path

import pytest

from bench import planner_cases, savings_cases
from bench.savings import configured, told, what_if_figures
from tests.savings.recount import Object
from tests.savings.test_recount import _EXAMPLE, listed_prices, row
from tests.savings.what_if_recount import wrong

_DATA = planner_cases.data_directory()
_ZONE = "topology.kubernetes.io/zone"


def _zone(node: Object) -> str:
    return str(node["metadata"]["labels"].get(_ZONE, ""))


def test_the_example_without_a_node() -> None:
    objects = json.loads(_EXAMPLE.read_text())["items"]
    found = told(["--cluster", _EXAMPLE, "--without", "durable-a1"], "what-if")
    prices = {
        each["metadata"]["name"]: float(each["metadata"]["annotations"]["tradewind.dev/price"])
        for each in objects
        if each["kind"] == "Node"
    }
    assert wrong(objects, found, lambda node: node["metadata"]["name"] == "durable-a1", prices) == []
    assert row("the example, `--without durable-a1`") == what_if_figures(found, 3)


def test_eks_without_a_zone(tmp_path: Path) -> None:
    objects = savings_cases.eks()
    file = savings_cases.write(objects, tmp_path / "cluster.json")
    _, config = configured(tmp_path, savings_cases.PRICE_TABLE)
    flags = ["--lost-zone", "us-east-1a", "--seconds", "20"]
    found = told(["--cluster", file, "--config-now", config, *flags], "what-if")
    prices = listed_prices(objects)
    assert wrong(objects, found, lambda node: _zone(node) == "us-east-1a", prices) == []
    assert row("EKS, `--lost-zone us-east-1a`") == what_if_figures(found, 2)


def test_other_prices(tmp_path: Path) -> None:
    """Of a small EKS: twice the price for spot, in the table and in the sums."""
    objects = savings_cases.eks(60, seed=3)
    file = savings_cases.write(objects, tmp_path / "cluster.json")
    _, config = configured(tmp_path, savings_cases.PRICE_TABLE)
    found = told(["--cluster", file, "--config-now", config, "--price", "* spot x2"], "what-if")
    labels = {e["metadata"]["name"]: e["metadata"]["labels"] for e in objects if e["kind"] == "Node"}
    prices = {
        name: price * (2 if labels[name]["karpenter.sh/capacity-type"] == "spot" else 1)
        for name, price in listed_prices(objects).items()
    }
    assert wrong(objects, found, lambda _: False, prices) == []
    assert found["then"]["hourlyCost"] > found["now"]["hourlyCost"]


@pytest.mark.skipif(_DATA is None, reason="needs the public data of $TRADEWIND_DATA")
def test_openb_without_its_fullest_node(tmp_path: Path) -> None:
    assert _DATA is not None
    objects = savings_cases.openb(_DATA)
    name = savings_cases.fullest(objects)
    file = savings_cases.write(objects, tmp_path / "cluster.json")
    found = told(["--cluster", file, "--without", name, "--partial", "--seconds", "20"], "what-if")
    assert wrong(objects, found, lambda node: node["metadata"]["name"] == name, None) == []
    assert row("openb, `--without` its fullest node") == what_if_figures(found, 0)


def test_the_recount_finds_a_pod_too_many() -> None:
    objects = json.loads(_EXAMPLE.read_text())["items"]
    found = json.loads(json.dumps(told(["--cluster", _EXAMPLE, "--without", "durable-a1"], "what-if")))
    for pod in found["then"]["placements"]:
        found["then"]["placements"][pod] = "spot-a1"
    assert wrong(objects, found, lambda node: node["metadata"]["name"] == "durable-a1", None)
